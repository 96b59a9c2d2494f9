"""Files that are complete or absent, whenever a program ends."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def new_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for writing. A reader sees all of it after the block, or nothing if the block fails.

    What was there before gives the new file its permissions.
    """
    path = Path(path)
    part = path.with_name(f".{secrets.token_hex(8)}.part")  # the name with an ending could be too long
    try:
        with part.open("xb") as file:
            if path.is_file():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file in one step, see `new_file`."""
    with new_file(path) as file:
        file.write(data)
