"""Builds a dataset from the pages of a store."""

from __future__ import annotations

from pathlib import Path

from wikitext_builder.building.plan import make_plan
from wikitext_builder.building.stages import BuildReport, carry_out
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.choice import open_runners


def build(
    recipe: str | Recipe,
    store: str | Path,
    out: str | Path,
    *,
    language: str | None = None,
    as_of: str | None = None,
    lock: str | Path | None = None,
    valid_titles: str | Path | None = None,
    test_titles: str | Path | None = None,
    train_articles: int | None = None,
    valid_articles: int | None = None,
    test_articles: int | None = None,
    min_count: int | None = None,
    sections: str | None = None,
    source: str | None = None,
    seed: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    work: str | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Build a dataset from the pages of a store.

    It grows in the folder `.NAME.partial` beside `out` and gets its name when it is complete. If a build was
    stopped, the same call resumes it. The number of workers does not change the bytes.

    Args:
        recipe: wikitext-2, wikitext-103, demo, or a recipe of your own.
        store: The store of fetched or imported pages.
        out: The folder to make.
        language: Code of the Wikipedia.
        as_of: Take the newest revisions of the store that are not after this date, such as 2016-08-31.
        lock: Take exactly the revisions of this lock file.
        valid_titles: A file with the titles of valid, one per line.
        test_titles: A file with the titles of test, one per line.
        train_articles: At most this many; like the next six arguments, instead of the recipe's value.
        valid_articles: How many articles valid gets.
        test_articles: How many articles test gets.
        min_count: Words that occur fewer times in train become `<unk>`.
        sections: official or clean: how much of a removed section goes.
        source: Lines come from wikitext, or from rendered pages (HTML) where the store has them.
        seed: Another seed gives another split.
        workers: Processes on this machine; None: one per core.
        scheduler: Address of a Dask scheduler whose workers do the work, such as tcp://host:8786.
        work: URL for intermediate results, for workers that do not reach this disk, such as s3://bucket/folder.
        progress: Is called as the build proceeds.

    Returns:
        The manifest of the dataset, and what the build did.

    Raises:
        BuilderError: There is nothing to build from, `out` holds something else, or a disk or worker fails.
    """
    plan = make_plan(
        recipe,
        Path(store),
        Path(out),
        as_of=as_of,
        lock=None if lock is None else Path(lock),
        valid_titles=None if valid_titles is None else Path(valid_titles),
        test_titles=None if test_titles is None else Path(test_titles),
        work_url=work or "",
        language=language,
        train_articles=train_articles,
        valid_articles=valid_articles,
        test_articles=test_articles,
        min_count=min_count,
        sections=sections,
        source=source,
        seed=seed,
    )
    with open_runners(len(plan.revisions), workers=workers, scheduler=scheduler) as (runner, here):
        return carry_out(plan, progress, runner=runner, here=here)
