"""One fetch per store at a time: the next one waits, so that no page is asked for twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from wikitext_builder.progress import Progress


@contextmanager
def only_fetch(store: Path, progress: Progress) -> Iterator[None]:
    """Wait while another fetch works on a store; the system releases the lock of one that is killed."""
    path = Path(f"{store.resolve()}-fetch")
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        progress("waiting", 0, None, f"another fetch works on {store}; this one follows")
        lock.acquire()
        progress("waiting", 1, 1)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # still locked: who waits sees that it is gone, and makes another
        lock.release()
