"""What a run writes down: `updates.jsonl`, `epochs.csv`, and TensorBoard's events where asked for."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from wikitext_builder.errors import BuilderError

UPDATES, EPOCHS = "updates.jsonl", "epochs.csv"


class Events(Protocol):
    """Where numbers over time are sent, such as TensorBoard's `SummaryWriter`."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object:
        """One number at one step."""
        ...


class RunLog:
    """The logs of a run in its folder. A run that goes on cuts off what came after its checkpoint."""

    def __init__(
        self, folder: Path, *, lengths: Mapping[str, int] | None = None, events: Events | None = None
    ) -> None:
        self._events = events
        for name in (UPDATES, EPOCHS):
            path = folder / name
            length = lengths[name] if lengths else 0
            if path.exists() and path.stat().st_size > length:
                with path.open("rb+") as file:
                    file.truncate(length)
        self._updates = (folder / UPDATES).open("a", encoding="utf-8")
        self._epochs = (folder / EPOCHS).open("a", encoding="utf-8", newline="")

    def update(self, record: Mapping[str, float]) -> None:
        """Write the numbers of an update, `update` among them."""
        self._updates.write(json.dumps(record) + "\n")
        self._send(record, "update")

    def epoch(self, record: Mapping[str, float]) -> None:
        """Write the numbers of an epoch, `epoch` among them; the first one decides the columns."""
        writer = csv.DictWriter(self._epochs, list(record), lineterminator="\n")
        if not self._epochs.tell():
            writer.writeheader()
        writer.writerow(record)
        self._send(record, "epoch")

    def lengths(self) -> dict[str, int]:
        """How long the files are, all being written out: where a run that goes on cuts them."""
        self._updates.flush()
        self._epochs.flush()
        return {UPDATES: self._updates.tell(), EPOCHS: self._epochs.tell()}

    def close(self) -> None:
        """Write all out."""
        self._updates.close()
        self._epochs.close()

    def _send(self, record: Mapping[str, float], axis: str) -> None:
        if self._events is not None:
            for name, value in record.items():
                if name != axis:
                    self._events.add_scalar(f"{axis}/{name}", value, int(record[axis]))


def tensorboard(folder: Path) -> Events:
    """TensorBoard's writer into a run's folder.

    Raises:
        BuilderError: The package is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise BuilderError(f"{error}; install the package tensorboard, or leave --tensorboard out") from error
    writer: Events = SummaryWriter(str(folder / "tensorboard"))
    return writer
