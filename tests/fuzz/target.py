"""A target: a reader of foreign bytes, the errors that it documents, and the laws of its result."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# In memory where there is such a folder: a file system writes each of many small files to its disk.
MEMORY: Final = Path("/dev/shm")
# For readers of files; each input replaces the file before.
HERE: Final = Path(tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
atexit.register(shutil.rmtree, HERE, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader of foreign bytes."""

    run: Callable[[bytes], str]  # returns the result as text; raises if it breaks a law
    refuses: tuple[type[Exception], ...]  # the errors that the reader documents
    seeds: tuple[bytes, ...]  # whole inputs, where mutations begin
    words: tuple[bytes, ...] = ()  # what mutations insert
    longest: int = 4_096  # bytes of an input


def outcome(target: Target, content: bytes) -> str:
    """What comes of some bytes: the result, or the error that refuses them.

    Raises:
        Exception: A finding: an error that is not documented, a broken law, or text that is not UTF-8.
    """
    try:
        found = target.run(content)
    except target.refuses as error:
        found = f"refused: {error}"
    found.encode()
    return found.replace(str(HERE), "")


def text_of(content: bytes) -> str:
    """The text of an input."""
    return content.decode("utf-8", "replace")


def written(name: str, content: bytes) -> Path:
    """A file with the bytes of an input."""
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path
