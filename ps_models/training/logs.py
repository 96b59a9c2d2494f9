"""Writes the logs of a run: `updates.jsonl`, `epochs.csv` and, if wanted, numbers for trackers."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol, TextIO

from ps_models.errors import ModelError

UPDATES, EPOCHS = LOGS = ("updates.jsonl", "epochs.csv")
FIRST_BYTES: Final = {UPDATES: b'{"update": ', EPOCHS: b"epoch,"}


class Events(Protocol):
    """Takes numbers over time, like TensorBoard's `SummaryWriter`."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object:
        """Take one number at one step."""
        ...


def _expect_log(path: Path) -> None:
    """Reject a link, and a file that is not a log: the run would truncate it."""
    is_file, first_bytes = path.is_file() and not path.is_symlink(), b""
    if is_file:
        with path.open("rb") as file:
            first_bytes = file.read(len(FIRST_BYTES[path.name]))
    if is_file != os.path.lexists(path) or not FIRST_BYTES[path.name].startswith(first_bytes):
        raise ModelError(
            f"{path}: is a link or not a training log, and the run writes a log of that name; move it or"
            " choose another --out"
        )


class RunLog:
    """The logs of a run in its folder; while they are open, no other run can use the folder.

    A resumed run removes the lines that were logged after its checkpoint.
    """

    def __init__(
        self, folder: Path, *, lengths: Mapping[str, int] | None = None, events: Events | None = None
    ) -> None:
        self._events = events
        for name in LOGS:
            _expect_log(folder / name)
        self._updates = (folder / UPDATES).open("a", encoding="utf-8", buffering=1)  # line by line
        self._epochs = (folder / EPOCHS).open("a", encoding="utf-8", buffering=1, newline="")
        try:
            fcntl.flock(self._updates, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise ModelError(
                f"{folder}: another process trains in this folder; wait for it or stop it"
            ) from error
        for name, file in ((UPDATES, self._updates), (EPOCHS, self._epochs)):
            file.truncate(min(file.tell(), lengths[name] if lengths else 0))
            file.seek(0, os.SEEK_END)

    def update(self, record: Mapping[str, float]) -> None:
        """Write the numbers of an update, including `update`."""
        with _writing(self._updates):
            self._updates.write(json.dumps(record) + "\n")
        self._send(record, "update")

    def epoch(self, record: Mapping[str, float]) -> None:
        """Write the numbers of an epoch, including `epoch`; the first call sets the columns."""
        lines = io.StringIO()
        writer = csv.DictWriter(lines, list(record), lineterminator="\n")
        if not self._epochs.tell():
            writer.writeheader()
        writer.writerow(record)
        with _writing(self._epochs):
            self._epochs.write(lines.getvalue())
        self._send(record, "epoch")

    def lengths(self) -> dict[str, int]:
        """Flush the files and return their lengths, to which a resumed run truncates them."""
        self._updates.flush()
        self._epochs.flush()
        return {UPDATES: self._updates.tell(), EPOCHS: self._epochs.tell()}

    def close(self) -> None:
        """Write everything and close the files."""
        with ExitStack() as stack:
            for file in (self._epochs, self._updates):
                stack.enter_context(_writing(file))
                stack.callback(file.close)

    def _send(self, record: Mapping[str, float], axis: str) -> None:
        if self._events is not None:
            for name, value in record.items():
                if name != axis:
                    self._events.add_scalar(f"{axis}/{name}", value, int(record[axis]))


@contextmanager
def _writing(file: TextIO) -> Iterator[None]:
    """Turn an OSError while a file is written into an error that names it and says what to do."""
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"{file.name}: cannot be written ({error}); free disk space, then run the same command to resume"
        ) from error


@contextmanager
def events_to(names: Collection[str], folder: Path) -> Iterator[Events | None]:
    """Open the trackers that take the numbers of a run besides its logs: TensorBoard if it is named."""
    if not names:
        yield None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ModelError(f"{error}; install the package tensorboard, or train without it") from error
    # The writer's thread writes the last numbers when it is closed.
    with SummaryWriter(str(folder / "tensorboard")) as writer:
        yield writer
