"""One fetch per store at a time: the next one waits, so that no page is asked for twice."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wikitext_builder.progress import Progress


@contextmanager
def only_fetch(store: Path, progress: Progress) -> Iterator[None]:
    """Wait while another fetch works on a store; the system releases the lock of one that is killed."""
    path = Path(f"{store.resolve()}-fetch")
    while True:
        with path.open("ab") as lock:
            take(lock, f"another fetch works on {store}; this one follows", progress)
            if not _is_file(path, lock.fileno()):  # the one before has ended and removed it
                continue
            try:
                yield
            finally:
                if not os.fstat(lock.fileno()).st_size:  # ours is empty
                    path.unlink(missing_ok=True)
            return


def take(lock: IO[bytes], busy: str, progress: Progress) -> None:
    """Lock an open file, and say when one has to wait for another process that holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        progress("waiting", 0, None, busy)
        fcntl.flock(lock, fcntl.LOCK_EX)
        progress("waiting", 1, 1)


def _is_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
