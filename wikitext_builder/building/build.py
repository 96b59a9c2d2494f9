"""Builds a dataset from the pages of a store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from wikitext_builder.building.plan import disk_errors, make_plan
from wikitext_builder.building.sizes import NoArticlesError
from wikitext_builder.building.stages import BuildReport, carry_out
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.choice import open_runners
from wikitext_builder.text_overlap.overlap import overlap
from wikitext_builder.text_overlap.result import is_compared, write_into_card
from wikitext_builder.text_overlap.sources import files_of
from wikitext_builder.wiki.dates import days_of, months_of

DATES: Final = ("created", "promoted")  # that a store knows of a page


class BuildOptions(TypedDict, total=False):
    """What a build can be told besides its recipe, its store and its folder; None is as if it were absent."""

    language: str | None
    """Code of the Wikipedia."""
    as_of: str | None
    """Take the newest revisions of the store that are not after this date, such as 2016-08-31."""
    lock: str | Path | None
    """Take exactly the revisions of this lock file."""
    include: str | Sequence[str]
    """Take only pages of a file or a time: `lock:FILE`, `titles:FILE`, `created-since:DATE` and the like."""
    exclude: str | Sequence[str]
    """Leave such pages out."""
    within: str | Sequence[str]
    """The old name of `include`."""
    without: str | Sequence[str]
    """The old name of `exclude`."""
    valid_titles: str | Path | None
    """A file with the titles of valid, one per line."""
    test_titles: str | Path | None
    """A file with the titles of test, one per line."""
    train_articles: int | None
    """At most this many; like all that follow, instead of the recipe's value."""
    valid_articles: int | None
    """How many articles valid gets."""
    test_articles: int | None
    """How many articles test gets."""
    test_words: int | None
    """How many words test gets at least: articles are taken until they have them. For `live` alone."""
    min_count: int | None
    """Words that occur fewer times in train become `<unk>`."""
    sections: str | None
    """official or clean: how much of a removed section goes."""
    source: str | None
    """Lines come from wikitext, or from rendered pages (HTML) where the store has them."""
    seed: str | None
    """Another seed gives another split."""
    articles: str | Sequence[str] | None
    """Export whole articles as plain text too: parquet, jsonl or both."""


def build_months(
    recipe: str | Recipe,
    store: str | Path,
    out: str | Path,
    *,
    months: str,
    by: str = "created",
    **options: Any,
) -> dict[str, BuildReport | None]:
    """Build a dataset for each month from the pages of a store, in folders such as `2026-10` of `out`.

    Args:
        recipe: See `build`; `live` is a test set alone.
        store: The store, which knows the dates of its pages from selections by time.
        out: The folder of the folders.
        months: FROM..TO, both included, such as 2026-08..2026-10.
        by: Pages are of the month in which they were `created` or `promoted`.
        options: See `build`.

    Returns:
        What was built, by month; None for a month without pages, or whose pages are all rejected.

    Raises:
        BuilderError: An argument is wrong, no month has a page, or a build fails.
    """
    if by not in DATES:
        raise BuilderError(f"--by {by}: expected {' or '.join(DATES)}")
    names, rules = months_of(months), options.pop("include", ())
    rules = [rules] if isinstance(rules, str) else list(rules)
    reports: dict[str, BuildReport | None] = {}
    for month in names:
        include = [*rules, f"{by}-since:{days_of(month)}"]
        plan = make_plan(recipe, Path(store), Path(out) / month, include=include, **_of_plan(options))
        Path(out).mkdir(parents=True, exist_ok=True)
        reports[month] = None
        with suppress(NoArticlesError):
            if plan.revisions:
                reports[month] = build(recipe, store, plan.out, include=include, **options)
    if not any(reports.values()):
        raise BuilderError(
            f"{store}: no page was {by} in {months}, as far as it knows, or all were rejected; see"
            " `wikitext-builder fetch`"
        )
    return reports


def _of_plan(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a build that decide what is built."""
    others = ("workers", "scheduler", "work", "against", "progress")
    return {name: value for name, value in options.items() if name not in others}


def build(
    recipe: str | Recipe,
    store: str | Path,
    out: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    work: str | None = None,
    against: str | Path | Sequence[str | Path] = (),
    progress: Progress = no_progress,
    **options: Unpack[BuildOptions],
) -> BuildReport:
    """Build a dataset from the pages of a store.

    It grows in the folder `.NAME.partial` beside `out` and gets its name when it is complete. If a build was
    stopped, the same call resumes it. The number of workers does not change the bytes.

    Args:
        recipe: wikitext-2, wikitext-103, demo, or a recipe of your own.
        store: The store of fetched or imported pages.
        out: The folder to make.
        workers: Processes on this machine; None: one per core.
        scheduler: Address of a Dask scheduler whose workers do the work, such as tcp://host:8786.
        work: URL for intermediate results, for workers that do not reach this disk, such as s3://bucket/folder.
        against: Other text with which the dataset is compared when it is built, see `overlap`. The result is
            written into it, and does not change its manifest.
        progress: Is called as the build proceeds.
        options: Which revisions to take, and fields of the recipe to change; see `BuildOptions`.

    Returns:
        The manifest of the dataset, and what the build did.

    Raises:
        BuilderError: There is nothing to build from, `out` holds something else, or a disk or worker fails.
    """
    plan = make_plan(recipe, Path(store), Path(out), work_url=work or "", **options)
    others = [against] if isinstance(against, str | Path) else list(against)
    if others:
        files_of(others)  # what is missing is an error now, and not after the build
    for one in others:
        if plan.out.resolve().is_relative_to(Path(one).resolve()):
            raise BuilderError(
                f"--against: {one} is or holds {plan.out}, all of which would stand in it; name other text"
            )
    with open_runners(len(plan.revisions), workers=workers, scheduler=scheduler) as (runner, here):
        report = carry_out(plan, progress, runner=runner, here=here)
    if not others or is_compared(plan.out, others):
        return report
    found = overlap(plan.out, against=others, workers=workers, progress=progress)
    with disk_errors(plan.out):
        write_into_card(plan.out, found)
    return replace(report, overlap=found)
