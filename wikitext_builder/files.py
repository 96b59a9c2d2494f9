"""Files that are complete or absent, whenever a program ends, and what identifies them: SHA-256."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO

UNDECIDING = ("cli", "sample", "stats", "webpages")  # rooms that change no dataset
CODE = (".py", ".tsv", ".toml", ".txt", ".jinja")  # endings of files that decide


def file_sha256(path: Path) -> str:
    """SHA-256 of the bytes of a file, hexadecimal; the file is read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines_sha256(lines: Iterable[str]) -> str:
    r"""SHA-256 over lines in UTF-8, each with a newline, hexadecimal.

    >>> lines_sha256(["abc"])[:12]
    'edeaaff3f177'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


@cache
def code_hash(*packages: str) -> str:
    """What the code and tables of packages are: 16 hexadecimal digits of SHA-256.

    Without packages, what decides the bytes of a dataset: all files of this one. The files of rooms that only
    show and compare never count.
    """
    lines = []
    for package in packages or (__package__,):
        folder = Path(str(import_module(package).__file__)).parent
        files = [path for path in folder.rglob("*") if path.suffix in CODE]
        names = sorted(path.relative_to(folder).as_posix() for path in files)
        deciding = [name for name in names if name.partition("/")[0] not in UNDECIDING]
        lines += [f"{name} {file_sha256(folder / name)}" for name in deciding]
    return lines_sha256(lines)[:16]


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
