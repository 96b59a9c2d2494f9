"""SHA-256 of files and of lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


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
