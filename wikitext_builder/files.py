"""Writes files that are complete or absent whenever the program ends, and identifies files by SHA-256."""

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

ROOMS_NOT_HASHED = ("cli", "sample", "stats", "webpages")  # rooms that do not affect the bytes of a dataset
CODE_ENDINGS = (".py", ".tsv", ".toml", ".txt", ".jinja")


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal; the file is read in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines_sha256(lines: Iterable[str]) -> str:
    r"""Return the SHA-256 of lines in UTF-8, each with a newline, hexadecimal.

    >>> lines_sha256(["abc"])[:12]
    'edeaaff3f177'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


@cache
def code_hash(*packages: str) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of the code and tables of packages.

    Without packages, the hash is of this package, which decides the bytes of datasets. The rooms that only
    show and compare are never hashed.
    """
    lines = []
    for package in packages or (__package__,):
        folder = Path(str(import_module(package).__file__)).parent
        files = [path for path in folder.rglob("*") if path.suffix in CODE_ENDINGS]
        names = sorted(path.relative_to(folder).as_posix() for path in files)
        hashed = [name for name in names if name.partition("/")[0] not in ROOMS_NOT_HASHED]
        lines += [f"{name} {file_sha256(folder / name)}" for name in hashed]
    return lines_sha256(lines)[:16]


@contextmanager
def new_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for writing. Readers see all of it after the block, or nothing if the block fails.

    The new file gets the permissions of the file that it replaces.
    """
    path = Path(path)
    part = path.with_name(f".{secrets.token_hex(8)}.part")  # the file's name plus an ending could be too long
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
