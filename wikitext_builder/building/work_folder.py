"""The folder in which a dataset grows: only a build's own, locked by one build; errors of the disk."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from rich.filesize import decimal

from wikitext_builder.building.plan import Identity, Plan
from wikitext_builder.errors import BuilderError
from wikitext_builder.runners import blobs
from wikitext_builder.store.store import Store

LOG = logging.getLogger(__name__)
MARK = "a build of wikitext-builder works in this folder\n"  # in the lock of a working folder
OURS = re.compile(r"lock|dataset|[0-9a-f]{24}")  # what a build makes in it; the last: results of an identity


@contextlib.contextmanager
def working_folder(plan: Plan, identity: Identity) -> Iterator[str]:
    """Make or find the working folder, lock it, and remove it after success.

    Yields the location of intermediate results; those of another dataset are removed.
    """
    _expect_ours(plan.work)
    plan.work.mkdir(parents=True, exist_ok=True)
    with (plan.work / "lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BuilderError(f"{plan.work}: another build is running there; wait for it") from error
        lock.write(MARK)
        lock.flush()
        if plan.work_url:
            location = f"{plan.work_url.rstrip('/')}/{identity.digest()}"
        else:  # absolute: a cluster's workers run in other folders
            location = str(plan.work.resolve() / identity.digest())
            _remove_others(plan.work, keep=identity.digest())
        yield location
        blobs.remove_folder(location)
        (plan.work / "lock").unlink()
        with contextlib.suppress(OSError):  # something else lies there too
            plan.work.rmdir()


def remove_leftovers(plan: Plan, identity: Identity) -> None:
    """Remove the working folder of a build that was killed after its dataset had its name."""
    if plan.work.exists():
        # An error says that a build is running there.
        with contextlib.suppress(BuilderError), working_folder(plan, identity):
            pass


def _expect_ours(work: Path) -> None:
    """Refuse a working folder that none of our builds made, before anything in it is removed."""
    if work.is_symlink() or (work.exists() and not work.is_dir()):
        raise BuilderError(f"{work}: a link or a file; a build needs this name for its own folder: move it")
    names = sorted(path.name for path in work.iterdir()) if work.exists() else []
    lock = work / "lock"
    marked = lock.is_file() and not lock.is_symlink() and lock.read_bytes()[:99] in (MARK.encode(), b"")
    if foreign := [name for name in names if not (marked and OURS.fullmatch(name))]:
        raise BuilderError(
            f"{work}: has {foreign[0]!r}, which no build has made there; a build needs this name for its own"
            " folder: move it"
        )


def _remove_others(folder: Path, *, keep: str) -> None:
    for path in folder.iterdir():
        if path.is_dir() and path.name != keep and not path.is_symlink():
            shutil.rmtree(path)
    for part in (folder / keep).rglob("*.part"):
        part.unlink()


@contextlib.contextmanager
def disk_errors(out: Path) -> Iterator[None]:
    """Turn an error of the disk into one that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        raise BuilderError(
            f"{error.filename or out}: {error.strerror or error}; check disk space and permissions, then run"
            " it again to resume"
        ) from error


def state_disk(plan: Plan) -> None:
    """Say how much disk a large build needs while it works, or one that may not have enough.

    A compressed page of 16 kB becomes 10 times its size: pieces, and then text, tokens, archives and Parquet.
    Each format of whole articles adds 3.5 times (`benchmarks/speed/build.py`, English pages).
    """
    with Store.open(plan.store) as store:
        pages = len(plan.revisions) * store.average_size(plan.recipe.language)
    needed = round(pages * (10.5 + 3.5 * len(plan.recipe.articles)))
    free = shutil.disk_usage(plan.out.parent).free
    if needed > min(free, 10**9):
        LOG.warning(
            "the build needs about %s of disk beside %s; %s are free",
            decimal(needed),
            plan.out,
            decimal(free),
        )


def sync(folder: Path) -> None:
    """Write a folder to the disk for certain, before it gets its final name."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
