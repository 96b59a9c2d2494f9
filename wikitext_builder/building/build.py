"""Builds a dataset from the pages of a store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from wikitext_builder.article import SPLITS
from wikitext_builder.building import card
from wikitext_builder.building.batches import WrittenBatch, all_left_out
from wikitext_builder.building.exports import export_files, join_files
from wikitext_builder.building.licence import write_licence
from wikitext_builder.building.plan import (
    NO_TEXT,
    BuildOptions,
    Plan,
    built_already,
    identity_of,
    make_plan,
    settled,
)
from wikitext_builder.building.stages import (
    NoArticlesError,
    batches_of,
    count_batches,
    extract_pages,
    finish,
    give_memory_back,
    refuse_empty_train,
    warnings_of,
    write_batches,
)
from wikitext_builder.building.work_folder import disk_errors, remove_leftovers, state_disk, working_folder
from wikitext_builder.dataset.counts import NOTHING
from wikitext_builder.dataset.manifest import Manifest
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners import blobs
from wikitext_builder.runners.dask import open_runners
from wikitext_builder.runners.processes import Runner, Serial
from wikitext_builder.store.lock import read_attribution
from wikitext_builder.store.rows import Rejected
from wikitext_builder.wiki.dates import days_of, months_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did. Times and sizes are of this run; no file of the dataset has them."""

    manifest: Manifest
    already_built: bool = False
    shards_found: int = 0  # of pages, which another build of the same dataset had made
    pages: int = 0  # extracted, rejected ones included
    wikitext_bytes: int = 0  # extracted in this run
    older: int = 0  # revisions that were not used, because newer ones of the same pages were
    rejected: dict[str, int] = field(default_factory=dict)  # pages by reason
    left_out: dict[str, int] = field(default_factory=dict)  # template calls without a text, by name
    left_out_reasons: dict[str, int] = field(default_factory=dict)  # why, if the store has templates
    expanded: int = 0  # template calls with a text from the store's templates
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    warnings: tuple[str, ...] = ()  # splits that are smaller than the recipe or the given titles ask for


def build(
    recipe: str | Recipe,
    store: str | Path,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    work: str | None = None,
    progress: Progress = no_progress,
    **options: Unpack[BuildOptions],
) -> BuildReport:
    """Build a dataset from the pages of a store.

    The dataset grows in the folder `.NAME.partial` beside `out`, which is renamed when it is complete. After
    a stop, the same call resumes. The number of workers does not change the bytes.

    Args:
        recipe: wikitext-2, wikitext-103, demo, live, or your own recipe.
        store: The store of fetched or imported pages.
        out: The folder to create.
        workers: Processes on this machine; None: one per core.
        scheduler: Address of a Dask scheduler to run the build on, such as tcp://host:8786.
        work: URL for intermediate results, if workers cannot access this disk, such as s3://bucket/folder.
        progress: Called as the build proceeds.
        options: Which revisions to take, and recipe fields to change; see `BuildOptions`.

    Returns:
        The manifest of the dataset, and what the build did.

    Raises:
        BuilderError: There is nothing to build from, `out` holds something else, or a disk or worker fails.
    """
    plan = make_plan(recipe, Path(store), Path(out), work_url=work or "", **options)
    with open_runners(len(plan.revisions), workers=workers, scheduler=scheduler) as (runner, here):
        return carry_out(plan, progress, runner=runner, here=here)


def build_months(
    recipe: str | Recipe,
    store: str | Path,
    out: str | Path,
    *,
    months: str,
    **options: Any,
) -> dict[str, BuildReport | None]:
    """Build a dataset per month from the pages of a store, in folders such as `2026-10` of `out`.

    Args:
        recipe: See `build`; `live` makes only a test set.
        store: The store, which knows the dates of its pages from selections by time.
        out: The parent folder.
        months: FROM..TO, inclusive, such as 2026-08..2026-10.
        options: See `build`.

    Returns:
        The report per month; None for a month without pages, or whose pages are all rejected.

    Raises:
        BuilderError: An argument is wrong, no month has a page, or a build fails.
    """
    names, rules = months_of(months), options.pop("include", None) or ()
    rules = [rules] if isinstance(rules, str) else list(rules)
    others = ("workers", "scheduler", "work", "progress")  # they do not decide what is built
    deciding = {name: value for name, value in options.items() if name not in others}
    reports: dict[str, BuildReport | None] = {}
    for month in names:
        include = [*rules, f"created-since:{days_of(month)}"]
        plan = make_plan(recipe, Path(store), Path(out) / month, include=include, **deciding)
        Path(out).mkdir(parents=True, exist_ok=True)
        reports[month] = None
        with suppress(NoArticlesError):
            if plan.revisions:
                reports[month] = build(recipe, store, plan.out, include=include, **options)
    if not any(reports.values()):
        raise BuilderError(
            f"{store}: no page was created in {months}, as far as it knows, or all were rejected; see"
            " `wikitext-builder fetch`"
        )
    return reports


def carry_out(
    plan: Plan, progress: Progress = no_progress, *, runner: Runner | None = None, here: Runner | None = None
) -> BuildReport:
    """Build the dataset of a plan, as `build` says; the bytes do not depend on the runners.

    `runner` runs what can run on other machines, `here` what writes the dataset's own files.
    """
    runner, here = runner or Serial(), here or runner or Serial()
    identity = identity_of(plan)
    if built := built_already(plan.out, identity):
        remove_leftovers(plan, identity)
        warnings = tuple(warnings_of(plan, built.splits))
        return BuildReport(manifest=built, already_built=True, older=plan.older, warnings=warnings)
    with disk_errors(plan.out), working_folder(plan, identity) as location:
        state_disk(plan)
        found = blobs.count_files(f"{location}/shards")
        seconds, start = dict[str, float](), time.perf_counter()

        def ended(stage: str) -> None:
            seconds[stage] = time.perf_counter() - start - sum(seconds.values())

        pieces = _make_pieces(plan, location, runner, progress, found, ended)
        give_memory_back()
        written, dataset = pieces.written, plan.work / "dataset"
        entries = join_files(plan, written, dataset, here, progress)
        days = sorted({one.timestamp[:10] for one in read_attribution(dataset)})
        write_licence(dataset, plan, days)
        ended("join")
        splits = {
            name: sum((one.counts[name] for one in written), replace(NOTHING, types=pieces.types[name]))
            for name in SPLITS
        }
        entries |= export_files(plan, written, location, dataset, (runner, here), progress)
        ended("export")
        left_out = all_left_out(one.left_out() for one in written)
        card.write_source(dataset, plan)
        card.write_rejected(dataset, pieces.rejected)
        card.write_left_out(dataset, left_out)
        empty = any(one.reason == NO_TEXT for one in pieces.rejected)
        needed = bool(left_out) or empty or any(one.expanded for one in written)
        identity = settled(plan, identity, with_templates=needed)
        as_of = plan.as_of if identity.templates else ""
        card.write_card(dataset, plan, splits, pieces.vocabulary, days, as_of=as_of)
        manifest = finish(plan, identity, splits, pieces.vocabulary, entries, dataset, days)
        ended("describe")
    return BuildReport(
        manifest=manifest,
        shards_found=found,
        pages=pieces.pages,
        wikitext_bytes=pieces.wikitext_bytes,
        older=plan.older,
        rejected=dict(Counter(one.reason for one in pieces.rejected)),
        left_out={name: one.calls for name, one in left_out.items()},
        left_out_reasons=card.reasons_of(left_out),
        expanded=sum(one.expanded for one in written),
        seconds=seconds,
        warnings=tuple(warnings_of(plan, splits)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pieces:
    """What was made of the pages; the numbers of each page are forgotten, so that memory has room."""

    written: list[WrittenBatch]
    vocabulary: int
    types: dict[str, int]  # by split
    rejected: list[Rejected]
    pages: int
    wikitext_bytes: int


def _make_pieces(
    plan: Plan,
    location: str,
    runner: Runner,
    progress: Progress,
    found: int,
    ended: Callable[[str], None],
) -> _Pieces:
    """Extract the pages, count their words, and write them with the vocabulary, batch by batch."""
    extracted = extract_pages(plan, location, runner, progress, found)
    give_memory_back()
    batches = batches_of(plan, extracted, location)
    refuse_empty_train(plan, extracted.split, len(extracted.rejected))
    ended("extract")
    vocabulary, types = count_batches(plan, batches, len(extracted.places), runner, progress)
    ended("count")
    written = write_batches(plan, batches, vocabulary, location, runner, progress)
    ended("write")
    return _Pieces(
        written=written,
        vocabulary=len(vocabulary),
        types=types,
        rejected=extracted.rejected,
        pages=extracted.pages,
        wikitext_bytes=extracted.wikitext_bytes,
    )
