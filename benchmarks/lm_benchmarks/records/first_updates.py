"""A record of how a training run began, with the loss of each update."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lm_benchmarks.records.lines import append_line, object_of, plain_record, read_lines, strings, typed
from lm_benchmarks.records.trained import Trained, trained_of_json

FORMAT: Final = 1
ENDS: Final = 10  # updates: the mean loss of the first and of the last ones is reported


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUpdates:
    """How a training run began."""

    trained: Trained
    parameters: int
    losses: tuple[float, ...]  # nats per token, of each update before it changes the weights
    tokens: int  # that the updates scored
    seconds: float  # of the updates alone
    device: str
    versions: Mapping[str, str]
    written: str  # ISO 8601, UTC

    @property
    def first_loss(self) -> float:
        """The mean loss of the first ten updates."""
        return _mean(self.losses[:ENDS])

    @property
    def last_loss(self) -> float:
        """The mean loss of the last ten updates."""
        return _mean(self.losses[-ENDS:])


def append_first_updates(path: Path, found: FirstUpdates) -> None:
    """Append a record to a file.

    Raises:
        HarnessError: The file cannot be written, or its last line is not whole.
    """
    append_line(path, json.dumps({"format": FORMAT, **asdict(found)}, ensure_ascii=False, allow_nan=False))


def read_first_updates(path: Path) -> list[FirstUpdates]:
    """The records of a file, in order.

    Raises:
        HarnessError: The file cannot be read, or a line is not such a record.
    """
    return read_lines(path, first_updates_of_json, writer="first_updates")


def first_updates_of_json(line: str) -> FirstUpdates:
    """The record of a line.

    Raises:
        ValueError: The line is not such a record.
    """
    found: FirstUpdates = plain_record(
        object_of(line, "first updates", FORMAT),
        FirstUpdates,
        trained=trained_of_json,
        losses=lambda items: tuple(
            typed(item, (int, float), "losses") for item in typed(items, list, "losses")
        ),
        versions=lambda value: strings(value, "versions"),
    )
    if not found.losses:
        raise ValueError("no update")
    return found


def _mean(losses: Sequence[float]) -> float:
    return sum(losses) / len(losses)
