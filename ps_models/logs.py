"""What a run writes down: `updates.jsonl`, `epochs.csv`, and TensorBoard's events where asked for."""

from __future__ import annotations

import csv
import fcntl
import json
import os
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
    """The logs of a run in its folder, which is the run's alone while they are open.

    A run that goes on cuts off what came after its checkpoint.

    Raises:
        BuilderError: Another process has them open.
    """

    def __init__(
        self, folder: Path, *, lengths: Mapping[str, int] | None = None, events: Events | None = None
    ) -> None:
        self._events = events
        self._updates = (folder / UPDATES).open("a", encoding="utf-8", buffering=1)  # a line at a time
        self._epochs = (folder / EPOCHS).open("a", encoding="utf-8", buffering=1, newline="")
        try:
            fcntl.flock(self._updates, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise BuilderError(f"{folder}: another process trains into it; wait for it or stop it") from error
        for name, file in ((UPDATES, self._updates), (EPOCHS, self._epochs)):
            file.truncate(min(file.tell(), lengths[name] if lengths else 0))
            file.seek(0, os.SEEK_END)

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
