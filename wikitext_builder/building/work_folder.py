"""The folder in which a dataset grows, locked by one build; errors of the disk."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from rich.filesize import decimal

from wikitext_builder.building.plan import Plan
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.store import Store

LOG = logging.getLogger(__name__)
RESULTS = re.compile(r"[0-9a-f]{24}")  # a folder of results, named by the source of its dataset
LOCK = "lock"


@contextlib.contextmanager
def working_folder(plan: Plan, source: str) -> Iterator[Path]:
    """Lock the working folder, yield the folder of the results of a source, and remove both after success.

    Results of other sources are removed before. Nothing else that lies there is touched.
    """
    results = plan.work / source[:24]
    plan.work.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(plan.work / LOCK).acquire(timeout=0)
    except Timeout as error:
        raise BuilderError(f"{plan.work}: another build is running there; wait for it") from error
    with held:
        for path in plan.work.iterdir():
            if RESULTS.fullmatch(path.name) and path != results and not path.is_symlink():
                shutil.rmtree(path)
        results.mkdir(exist_ok=True)
        yield results
        shutil.rmtree(results)
        (plan.work / LOCK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else lies there too
            plan.work.rmdir()


def remove_leftovers(plan: Plan, source: str) -> None:
    """Remove the working folder of a build that was killed after its dataset had its name."""
    if plan.work.exists():
        # An error says that a build is running there.
        with contextlib.suppress(BuilderError), working_folder(plan, source):
            pass


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

    A compressed page of 16 kB becomes 8 times its size: shards, and then text, tokens, archives and Parquet.
    Whole articles add 1.5 times (`benchmarks/speed/build.py`, English pages).
    """
    with Store.open(plan.store) as store:
        pages = len(plan.revisions) * store.average_size(plan.recipe.language)
    needed = round(pages * (8 + 1.5 * plan.recipe.articles))
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
