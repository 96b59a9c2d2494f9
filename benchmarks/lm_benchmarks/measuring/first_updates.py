"""The first updates of a preset: whether a model of the published size can be trained at all, and how fast.

They say nothing of how good it will be. A record keeps the loss of each update; a run whose loss is no number
any more ends with an error instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from lm_benchmarks.measuring.run import device_name, versions
from lm_benchmarks.records.lines import append_line, object_of, plain_record, read_lines, strings, typed
from lm_benchmarks.records.trained import Trained, trained, trained_of_json
from ps_models.configs import config_of, make_model
from ps_models.devices import choose_device
from ps_models.experiment import train_model
from ps_models.training.checkpoint import LAST, Checkpoint, read_checkpoint
from ps_models.training.logs import UPDATES
from ps_models.training.loop import Pace, StoppedError
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress

FORMAT: Final = 1
ENDS: Final = 10  # updates whose mean loss is told of a run's begin and of its end


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUpdates:
    """How a training run began."""

    trained: Trained
    parameters: int
    losses: tuple[float, ...]  # nats a token that each update scored before it
    tokens: int  # that they scored
    seconds: float  # of the updates alone
    device: str
    versions: Mapping[str, str]
    written: str  # ISO 8601, UTC

    @property
    def first_loss(self) -> float:
        """Mean of the first few."""
        return _mean(self.losses[:ENDS])

    @property
    def last_loss(self) -> float:
        """Mean of the last few."""
        return _mean(self.losses[-ENDS:])


def first_updates(
    model: str,
    data: Path,
    folder: Path,
    *,
    preset: str | None = None,
    settings: Sequence[str] = (),
    updates: int = 100,
    device: str = "auto",
    now: Callable[[], str],
    progress: Progress = no_progress,
) -> FirstUpdates:
    """Train a model for so many updates.

    Args:
        model: A name in MODELS.
        data: The dataset.
        folder: For the checkpoint, which is large, and the log; a run that stopped there goes on.
        preset: A name in the model's presets.
        settings: `key=value` each.
        updates: How many.
        device: A name for `choose_device`.
        now: The time as ISO 8601 in UTC.
        progress: Told how far it is.

    Raises:
        BuilderError: Something is missing or wrong, the loss is no number any more, or another run is there.
        StoppedError: The user stopped it.
    """
    if _updates(folder) < updates:
        options: dict[str, Any] = {"preset": preset, "settings": settings, "device": device}
        try:
            pace = Pace(max_updates=updates)
            train_model(model, data, folder, **options, resume=True, progress=progress, pace=pace)
        except StoppedError:
            if _updates(folder) < updates:  # not by what was asked
                raise
    checkpoint = read_checkpoint(folder / LAST, training=True)
    _expect_run(folder, checkpoint, (model, preset, updates))
    position = (checkpoint.training or {})["position"]
    lines = (folder / UPDATES).read_text(encoding="utf-8").splitlines()
    how = trained(checkpoint, folder / LAST, None)
    made = make_model(checkpoint.model, config_of(checkpoint.model, checkpoint.config))
    return FirstUpdates(
        trained=replace(how, command=f"{how.command} --max-updates {updates}"),
        parameters=sum(parameter.numel() for parameter in made.parameters()),
        losses=tuple(round(json.loads(line)["loss"], 6) for line in lines),
        tokens=position["targets"],
        seconds=position["seconds"],
        device=device_name(choose_device(device)),
        versions=versions(),
        written=now(),
    )


def append_first_updates(path: Path, found: FirstUpdates) -> None:
    """Add a record to the end of a file.

    Raises:
        BuilderError: The file cannot be written, or its last line is not whole.
    """
    append_line(path, json.dumps({"format": FORMAT, **asdict(found)}, ensure_ascii=False, allow_nan=False))


def read_first_updates(path: Path) -> list[FirstUpdates]:
    """The records of a file, in order.

    Raises:
        BuilderError: The file cannot be read, or a line is no such record.
    """
    return read_lines(path, first_updates_of_json, writer="lm-benchmarks first-updates")


def first_updates_of_json(line: str) -> FirstUpdates:
    """The record of a line.

    Raises:
        ValueError: The line is none.
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


def _expect_run(folder: Path, checkpoint: Checkpoint, wanted: tuple[str, str | None, int]) -> None:
    found = (checkpoint.model, checkpoint.facts["preset"], checkpoint.facts["update"])
    if found != wanted:
        told, expected = (
            f"{updates} updates of {model} with {preset}" for model, preset, updates in (found, wanted)
        )
        raise BuilderError(f"{folder}: holds {told}, expected {expected}; use another folder")


def _updates(folder: Path) -> int:
    return int(read_checkpoint(folder / LAST).facts["update"]) if (folder / LAST).exists() else 0


def _mean(losses: Sequence[float]) -> float:
    return sum(losses) / len(losses)
