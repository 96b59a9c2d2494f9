"""What identifies files, lines and the running code: SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

UNDECIDING = ("cli", "sample", "stats", "text_overlap", "webpages")  # rooms that change no dataset
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
