"""Builds a dataset from the pages of a store, in a working folder that the build locks."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

from filelock import FileLock, Timeout

from wikitext_builder.building import card
from wikitext_builder.building.card import Loss, reasons_of, write_left_out, write_licence
from wikitext_builder.building.dask import open_runner
from wikitext_builder.building.exports import TEXT_KINDS, write_archive, write_croissant
from wikitext_builder.building.extracting import extract_pages, sources_of, warnings_of
from wikitext_builder.building.plan import (
    BuildOptions,
    Plan,
    existing_dataset,
    make_plan,
    source_of,
    versions_of,
)
from wikitext_builder.building.texts import vocabulary_of, write_raw, write_tokens
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.manifest import CROISSANT, Manifest, file_entry, write_manifest
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.processes import Runner, Serial
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.lock import read_attribution


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did. Times and sizes describe this run, and are in no file of the dataset."""

    manifest: Manifest
    already_built: bool = False
    shards_found: int = 0  # shards of pages from an earlier, stopped build of the same dataset
    pages: int = 0  # extracted pages, including rejected ones
    wikitext_bytes: int = 0  # extracted in this run
    older: int = 0  # revisions that were not used, because their pages have newer ones
    rejected: dict[str, int] = field(default_factory=dict)  # pages by reason
    left_out: dict[str, int] = field(default_factory=dict)  # template calls without a text, by name
    left_out_reasons: dict[str, int] = field(default_factory=dict)  # why; only if the store has templates
    loss: Loss | None = None  # words and sentences that were removed with these calls
    expanded: int = 0  # template calls with a text from the store's templates
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    warnings: tuple[str, ...] = ()  # about splits that are too small, and many lost words


def build(
    recipe: str | Path | Recipe,
    store: str | Path,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress = no_progress,
    **options: Unpack[BuildOptions],
) -> BuildReport:
    """Build a dataset from the pages of a store.

    The dataset grows in the folder `.NAME.partial` beside `out`, which is renamed when it is complete. After
    a stop, the same call resumes. Neither the number of workers nor where they are changes the bytes.

    Args:
        recipe: wikitext-2, wikitext-103, demo, live, or your own recipe; or the `manifest.json` of a dataset
            to build again, together with its lock file.
        store: The store of fetched or imported pages.
        out: The folder to create.
        workers: Processes on this machine; None: one per core.
        scheduler: Address of a Dask scheduler whose workers extract the pages, such as tcp://host:8786; the
            workers do not need access to the store or `out`.
        progress: Called as the build proceeds.
        options: Which revisions to take, and recipe fields to change; see `BuildOptions`.

    Returns:
        The manifest of the dataset, and what the build did.

    Raises:
        BuilderError: The store has no pages for the recipe, `out` holds something else, or a disk or a worker
            fails.
    """
    plan = make_plan(recipe, Path(store), Path(out), **options)
    with open_runner(len(plan.revisions), workers=workers, scheduler=scheduler) as runner:
        return carry_out(plan, progress, runner=runner)


def carry_out(plan: Plan, progress: Progress = no_progress, *, runner: Runner | None = None) -> BuildReport:
    """Build the dataset of a plan, as `build` says; the bytes do not depend on the runner."""
    source = source_of(plan)
    if manifest := existing_dataset(plan.out, source):
        remove_leftovers(plan, source)
        warnings = tuple(warnings_of(plan, manifest.splits))
        return BuildReport(manifest=manifest, already_built=True, older=plan.older, warnings=warnings)
    with disk_errors(plan.out), working_folder(plan, source) as folder:
        return _build(plan, source, folder, runner or Serial(), progress)


def _build(plan: Plan, source: str, folder: Path, runner: Runner, progress: Progress) -> BuildReport:
    """Build in a folder, which can have shards of a stopped build."""
    seconds, start = dict[str, float](), time.perf_counter()

    def ended(stage: str) -> None:
        seconds[stage] = time.perf_counter() - start - sum(seconds.values())

    extracted = extract_pages(plan, folder / "shards", runner, progress)
    ended("extract")
    dataset = folder / "dataset"
    shutil.rmtree(dataset, ignore_errors=True)  # from a stopped build
    dataset.mkdir()
    counts = write_raw(plan, extracted, dataset, runner, progress)
    vocabulary = vocabulary_of(plan, counts)
    ended("count")
    unknown = {
        split: write_tokens(dataset, split, counts.splits[split].lines, vocabulary, progress)
        for split in plan.recipe.splits
    }
    ended("write")
    splits = counts.of_splits(unknown)
    days = sorted({line.timestamp[:10] for line in read_attribution(dataset)})
    write_licence(dataset, plan, days)
    for number, kind in enumerate(TEXT_KINDS, start=1):
        write_archive(dataset, plan.recipe, kind)
        progress("export", number, len(TEXT_KINDS))
    card.write_source(dataset, plan)
    card.write_rejected(dataset, extracted.rejected)
    write_left_out(dataset, counts.left_out)
    sources = sources_of(plan, extracted)
    card.write_card(dataset, plan, splits, len(vocabulary), days, sources)
    ended("export")
    manifest = _finish(plan, source, splits, len(vocabulary), dataset, days, sources)
    ended("describe")
    loss = Loss.of(counts.left_out, counts.plain_words, counts.sentence_ends)
    return BuildReport(
        manifest=manifest,
        shards_found=extracted.shards_found,
        pages=len(extracted.shards),
        wikitext_bytes=extracted.wikitext_bytes,
        older=plan.older,
        rejected=dict(Counter(page.reason for page in extracted.rejected)),
        left_out={name: calls.calls for name, calls in counts.left_out.items()},
        left_out_reasons=reasons_of(counts.left_out),
        loss=loss,
        expanded=counts.expanded,
        seconds=seconds,
        warnings=(*warnings_of(plan, splits), *loss.warnings()),
    )


def _finish(
    plan: Plan,
    source: str,
    splits: Mapping[str, SplitCounts],
    vocabulary: int,
    dataset: Path,
    days: list[str],
    sources: dict[str, int],
) -> Manifest:
    """Write the manifest last, sync all files to the disk, and give the dataset its final name.

    Refuses a store that another program changed meanwhile, because the dataset would mix two states.
    """
    if source_of(plan) != source:
        raise BuilderError(
            f"{plan.store}: another program changed its templates or expansions while they were read;"
            " run the build again"
        )
    paths = sorted(path for path in dataset.rglob("*") if path.is_file())
    manifest = Manifest(
        recipe=plan.recipe,
        as_of=plan.as_of,
        given={split: tuple(sorted(page_ids)) for split, page_ids in plan.given.items()},
        source=source,
        versions=versions_of(plan),
        sources=sources,
        vocabulary=vocabulary,
        splits=dict(splits),
        files={path.relative_to(dataset).as_posix(): file_entry(path) for path in paths},
    )
    write_croissant(dataset, plan, manifest, days)
    manifest = replace(manifest, files=manifest.files | {CROISSANT: file_entry(dataset / CROISSANT)})
    write_manifest(dataset, manifest)
    sync(dataset)
    dataset.rename(plan.out)
    return manifest


RESULTS_FOLDER = re.compile(r"[0-9a-f]{24}")  # named by the source of its dataset
LOCK = "lock"


@contextlib.contextmanager
def working_folder(plan: Plan, source: str) -> Iterator[Path]:
    """Lock the working folder, yield the folder for the results of a source, and remove both after success.

    Results of other sources are removed first. Other files in the folder are left alone.
    """
    results = plan.work / source[:24]
    plan.work.mkdir(parents=True, exist_ok=True)
    try:
        file_lock = FileLock(plan.work / LOCK).acquire(timeout=0)
    except Timeout as error:
        raise BuilderError(f"{plan.work}: another build is running there; wait for it") from error
    with file_lock:
        for path in plan.work.iterdir():
            if RESULTS_FOLDER.fullmatch(path.name) and path != results and not path.is_symlink():
                shutil.rmtree(path)
        results.mkdir(exist_ok=True)
        yield results
        shutil.rmtree(results)
        (plan.work / LOCK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder has other files
            plan.work.rmdir()


def remove_leftovers(plan: Plan, source: str) -> None:
    """Remove the working folder of a build that was killed after renaming its dataset."""
    if plan.work.exists():
        # An error means that a build is running in the folder.
        with contextlib.suppress(BuilderError), working_folder(plan, source):
            pass


@contextlib.contextmanager
def disk_errors(out: Path) -> Iterator[None]:
    """Turn an error of the disk into a `BuilderError` that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        raise BuilderError(
            f"{error.filename or out}: {error.strerror or error}; check disk space and permissions, then run"
            " it again to resume"
        ) from error


def sync(folder: Path) -> None:
    """Flush a folder to the disk before it gets its final name."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
