"""Chooses the pages of each split and has them extracted, in rounds: the next page replaces a rejected one.

A split that is smaller than asked for is a warning; a dataset without a train set, or with fewer words than
`test_words`, is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from wikitext_builder.article import SPLITS
from wikitext_builder.building.plan import Plan
from wikitext_builder.building.shards import (
    PAGES_PER_SHARD,
    Extraction,
    PackedTemplates,
    make_shard,
    report_in,
)
from wikitext_builder.building.splits import Split, choose, rank_for_test
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.files import lines_sha256, write_whole
from wikitext_builder.progress import Progress
from wikitext_builder.runners.dask import Cluster
from wikitext_builder.runners.processes import Runner
from wikitext_builder.store.reading import StoredPage, stored_pages, templates_in
from wikitext_builder.store.rows import Rejected, Revision
from wikitext_builder.store.store import Store

LOG = logging.getLogger(__name__)
ROUND: Final = 256  # articles whose words are counted first; later rounds go by the mean of these


@dataclass(slots=True, kw_only=True)
class Extracted:
    """The pages that went in, and those that did not."""

    split: Split
    shards: dict[int, Path] = field(default_factory=dict)  # by page id
    rejected: list[Rejected] = field(default_factory=list)
    words: dict[int, int] = field(default_factory=dict)  # by page id, if the recipe counts them
    wikitext_bytes: int = 0  # extracted in this run
    shards_found: int = 0  # which a build that was stopped had made

    def add(self, path: Path, page_ids: Iterable[int], *, is_new: bool) -> None:
        """Take a shard on the disk."""
        report = report_in(path)
        self.shards |= dict.fromkeys(page_ids, path)
        self.rejected += report.rejected
        self.words |= report.words
        self.wikitext_bytes += report.wikitext_bytes if is_new else 0
        self.shards_found += not is_new
        for page in report.rejected:
            LOG.info("rejected %s: %s, %s", page.title, page.reason, page.detail)


def extract_pages(plan: Plan, folder: Path, runner: Runner, progress: Progress) -> Extracted:
    """Extract the pages that the split needs, into shards in a folder."""
    folder.mkdir(exist_ok=True)
    extraction = _extraction_of(plan, is_remote=isinstance(runner, Cluster))
    revisions = {revision.page_id: revision for revision in plan.revisions}
    extracted = Extracted(split=_split(plan, revisions, {}))
    while todo := [page for page in extracted.split.page_ids.tolist() if page not in extracted.shards]:
        groups = [todo[start : start + PAGES_PER_SHARD] for start in range(0, len(todo), PAGES_PER_SHARD)]
        shards = {_path_of(folder, [revisions[page] for page in group]): group for group in groups}
        total = len(extracted.shards) + len(todo)
        new = [path for path in shards if not path.exists()]
        if there := shards.keys() - set(new):
            note = f"resumes: {len(there):,} shards are already done"
            progress("extract", len(extracted.shards), total, note)
        for path in there:
            extracted.add(path, shards[path], is_new=False)
        tasks = _tasks(plan, ([revisions[page] for page in shards[path]] for path in new))
        for path, data in zip(new, runner.map(make_shard, tasks, extraction), strict=True):
            write_whole(path, data)
            extracted.add(path, shards[path], is_new=True)
            rejected = f"{len(extracted.rejected)} rejected" if extracted.rejected else ""
            progress("extract", len(extracted.shards), total, rejected)
        gone = {page.page_id for page in extracted.rejected}
        usable = [page for page in revisions if page not in gone]
        extracted.split = _split(plan, usable, extracted.words)
    _refuse_few_words(plan, extracted)
    extracted.rejected = _needed(plan, extracted)
    _refuse_empty_train(plan, extracted)
    return extracted


def _extraction_of(plan: Plan, *, is_remote: bool) -> Extraction:
    templates: Path | PackedTemplates | None = None
    with Store.open(plan.store) as store:
        if stored := templates_in(store, plan.recipe.language, as_of=plan.as_of):
            templates = PackedTemplates(stored) if is_remote else plan.store.resolve()
    return Extraction(recipe=plan.recipe, language=plan.language, as_of=plan.as_of, templates=templates)


def _split(plan: Plan, usable: Iterable[int], words: Mapping[int, int]) -> Split:
    usable = list(usable)
    return choose(
        usable,
        train=plan.recipe.train_articles,
        valid=plan.recipe.valid_articles,
        test=_test_size(plan.recipe, usable, words),
        seed=plan.recipe.seed,
        given_valid=plan.given.get("valid", ()),
        given_test=plan.given.get("test", ()),
    )


def _path_of(folder: Path, revisions: Iterable[Revision]) -> Path:
    """The path of the shard of some pages."""
    names = (str(revision.revision_id) for revision in revisions)
    return folder / lines_sha256(names)[:24]


def _tasks(plan: Plan, groups: Iterable[Sequence[Revision]]) -> Iterator[list[StoredPage]]:
    """The pages of each group, as the store has them, under the titles of the plan's revisions."""
    with Store.open(plan.store) as store:
        for revisions in groups:
            numbers = [revision.revision_id for revision in revisions]
            html = plan.recipe.source == "rendered"
            pages = stored_pages(store, plan.recipe.language, numbers, html=html)
            yield [
                replace(stored, page=replace(stored.page, title=revision.title))
                for stored, revision in zip(pages, revisions, strict=True)
            ]


# --- how large splits are


def warnings_of(plan: Plan, splits: Mapping[str, SplitCounts]) -> Iterator[str]:
    """Say which splits are smaller than asked for, and how many pages have no HTML: nobody should miss it."""
    if plan.recipe.source == "rendered":
        with Store.open(plan.store) as store:
            sha1s = store.rendered_sha1s(plan.recipe.language)
            with_html = {number for number, sha1 in sha1s if sha1}
        if missing := sum(revision.revision_id not in with_html for revision in plan.revisions):
            yield (
                f"{missing:,} of {len(plan.revisions):,} pages have no HTML in {plan.store}, so their lines"
                " come from wikitext; `fetch --rendered` or an HTML snapshot brings it"
            )
    for name in plan.recipe.splits:
        articles, titles = splits[name].articles, len(plan.given.get(name, ()))
        size: int | None = getattr(plan.recipe, f"{name}_articles")
        wanted = titles or (1 if size is None else size)
        if articles < wanted and titles:
            yield (
                f"{name} has {articles:,} articles, but {titles:,} titles were given: rejected.jsonl says why"
                " the others are missing"
            )
        elif articles < wanted:
            yield (
                f"{name} has {articles:,} articles, but {plan.recipe.name} expects {wanted:,}: the store has"
                " too few"
            )


def _refuse_empty_train(plan: Plan, extracted: Extracted) -> None:
    """Refuse to write a dataset whose first split is empty: without train it has no vocabulary."""
    first = plan.recipe.splits[0]
    sizes = {name: len(extracted.split.of(name)) for name in SPLITS}
    if sizes[first]:
        return
    articles = sum(sizes.values())
    advice = "fetch or import more pages"
    if articles >= len(SPLITS):  # ten parts for train and one each for valid and test, as in WikiText-2
        share = max(1, articles // 12)
        advice += f", or use --valid-articles {share} and --test-articles {share}"
    raise BuilderError(
        f"{plan.store}: {articles:,} articles ({len(extracted.rejected):,} pages were rejected) are too few"
        f" for {plan.recipe.name}: valid takes {sizes['valid']:,}, test {sizes['test']:,}, and none is left"
        f" for {first}; {advice}"
    )


def _test_size(recipe: Recipe, usable: Sequence[int], words: Mapping[int, int]) -> int | None:
    """How many articles test gets; None: all.

    With `test_words` it is the smallest number that has these words. `words` has those of extracted pages: if
    these are too few, it is a guess that names at least one page that is not extracted.
    """
    if recipe.test_words is None:
        return recipe.test_articles
    total = 0
    for number, page_id in enumerate(sorted(usable, key=lambda page: rank_for_test(page, recipe.seed))):
        if total >= recipe.test_words:
            return number
        if page_id not in words:
            return number + max(ROUND, (recipe.test_words - total) * number // max(total, 1))
        total += words[page_id]
    return len(usable)


def _needed(plan: Plan, extracted: Extracted) -> list[Rejected]:
    """The rejected pages whose places other articles took; a count of words also meets later pages."""
    test = extracted.split.of("test").tolist()
    if plan.recipe.test_words is None or not test:
        return extracted.rejected
    last = max(rank_for_test(page_id, plan.recipe.seed) for page_id in test)
    return [page for page in extracted.rejected if rank_for_test(page.page_id, plan.recipe.seed) < last]


def _refuse_few_words(plan: Plan, extracted: Extracted) -> None:
    """Refuse a test set that has fewer words than `test_words`."""
    wanted = plan.recipe.test_words or 0
    test = extracted.split.of("test").tolist()
    found = sum(extracted.words.get(page_id, 0) for page_id in test)
    if found < wanted:
        raise BuilderError(
            f"{plan.store}: {len(test):,} articles have {found:,} words; --test-words expects"
            f" {wanted:,}: fetch or import more pages, or ask for fewer words"
        )
