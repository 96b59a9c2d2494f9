"""Chooses the pages of each split and extracts them in rounds, in which further pages replace rejected ones.

A split that is smaller than requested is a warning; a dataset without a train set, or with fewer words than
`test_words`, is an error.

The runner extracts pages in shards. A shard is a line of JSON that reports on its pages, followed by the
articles as compressed lines of JSON.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import zstandard

from wikitext_builder.article import SPLITS, Article, heading_level
from wikitext_builder.building.dask import Cluster
from wikitext_builder.building.plan import Plan
from wikitext_builder.building.splits import Split, choose, rank_for_test
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.manifest import TITLE
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.expander import Templates
from wikitext_builder.extraction.markup import own_categories
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.files import lines_sha256, write_whole
from wikitext_builder.processes import SECONDS_PER_PAGE, Runner, time_limit
from wikitext_builder.progress import Progress
from wikitext_builder.store.reading import (
    StoredPage,
    StoredTemplates,
    open_templates,
    stored_pages,
    templates_in,
)
from wikitext_builder.store.schema import Rejected, Revision
from wikitext_builder.store.store import Store
from wikitext_builder.tokens.tokenizer import tokenize_article
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import Language

LOG = logging.getLogger(__name__)
MIN_ROUND_ARTICLES: Final = 256  # whose words are counted first; later rounds use their mean length


@dataclass(slots=True, kw_only=True)
class Extracted:
    """The extracted pages: their shards, and those that were rejected."""

    split: Split
    shards: dict[int, Path] = field(default_factory=dict)  # by page id
    rejected: list[Rejected] = field(default_factory=list)
    words: dict[int, int] = field(default_factory=dict)  # by page id, if the recipe counts them
    wikitext_bytes: int = 0  # extracted in this run
    shards_found: int = 0  # from a stopped build

    def add(self, path: Path, page_ids: Iterable[int], *, is_new: bool) -> None:
        """Add a shard on the disk."""
        report = read_report(path)
        self.shards |= dict.fromkeys(page_ids, path)
        self.rejected += report.rejected
        self.words |= report.words
        self.wikitext_bytes += report.wikitext_bytes if is_new else 0
        self.shards_found += not is_new
        for page in report.rejected:
            LOG.info("rejected %s: %s, %s", page.title, page.reason, page.detail)


def extract_pages(plan: Plan, folder: Path, runner: Runner, progress: Progress) -> Extracted:
    """Extract the pages that the split needs into shards in a folder."""
    folder.mkdir(exist_ok=True)
    extraction = _extraction_of(plan, is_remote=isinstance(runner, Cluster))
    revisions = {revision.page_id: revision for revision in plan.revisions}
    extracted = Extracted(split=_split(plan, revisions, {}))
    _refuse_empty_train(plan, extracted)  # before hours of work
    while todo := [
        page_id for page_id in extracted.split.page_ids.tolist() if page_id not in extracted.shards
    ]:
        groups = [todo[start : start + PAGES_PER_SHARD] for start in range(0, len(todo), PAGES_PER_SHARD)]
        shards = {_shard_path(folder, [revisions[page_id] for page_id in group]): group for group in groups}
        total = len(extracted.shards) + len(todo)
        new = [path for path in shards if not path.exists()]
        if done := shards.keys() - set(new):
            note = f"resumes: {len(done):,} shards are already done"
            progress("extract", len(extracted.shards), total, note)
        for path in done:
            extracted.add(path, shards[path], is_new=False)
        tasks = _tasks(plan, ([revisions[page_id] for page_id in shards[path]] for path in new))
        for path, data in zip(new, runner.map(make_shard, tasks, extraction), strict=True):
            write_whole(path, data)
            extracted.add(path, shards[path], is_new=True)
            rejected = f"{len(extracted.rejected)} rejected" if extracted.rejected else ""
            progress("extract", len(extracted.shards), total, rejected)
        rejected_ids = {page.page_id for page in extracted.rejected}
        usable = [page_id for page_id in revisions if page_id not in rejected_ids]
        extracted.split = _split(plan, usable, extracted.words)
    _refuse_few_words(plan, extracted)
    extracted.rejected = _replaced_pages(plan, extracted)
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


def _shard_path(folder: Path, revisions: Iterable[Revision]) -> Path:
    """Return the path of the shard of these revisions."""
    names = (str(revision.revision_id) for revision in revisions)
    return folder / lines_sha256(names)[:24]


def _tasks(plan: Plan, groups: Iterable[Sequence[Revision]]) -> Iterator[list[StoredPage]]:
    """Yield the stored pages of each group, under the titles of the plan's revisions."""
    with Store.open(plan.store) as store:
        for revisions in groups:
            revision_ids = [revision.revision_id for revision in revisions]
            html = any(revision.html for revision in revisions)
            pages = stored_pages(store, plan.recipe.language, revision_ids, html=html)
            yield [
                replace(
                    stored,
                    page=replace(stored.page, title=revision.title),
                    html=stored.html if revision.html else None,
                )
                for stored, revision in zip(pages, revisions, strict=True)
            ]


def sources_of(plan: Plan, extracted: Extracted) -> dict[str, int]:
    """Count the articles of a dataset by the source of their lines."""
    with_html = {revision.page_id for revision in plan.revisions if revision.html}
    articles = extracted.split.page_ids.tolist()
    rendered = sum(page_id in with_html for page_id in articles)
    return {"rendered": rendered, "wikitext": len(articles) - rendered}


# --- sizes of splits


def warnings_of(plan: Plan, splits: Mapping[str, SplitCounts]) -> Iterator[str]:
    """Yield warnings about splits that are smaller than requested, and pages without HTML."""
    pages, missing = len(plan.revisions), sum(not revision.html for revision in plan.revisions)
    expects_html = missing < pages or not plan.language.is_english
    if plan.recipe.source == "rendered" and missing and expects_html:
        yield (
            f"{missing:,} of {pages:,} pages have no HTML in the store or the lock file, so their lines come"
            " from wikitext; `fetch --rendered` or an HTML snapshot brings it"
        )
    if plan.other_html:
        yield (
            f"{plan.other_html:,} of {pages:,} pages have other HTML in {plan.store} than the lock file"
            " names, or none: their text can differ"
        )
    train, others = splits["train"].articles, splits["valid"].articles + splits["test"].articles
    if "train" in plan.recipe.splits and train < others:
        yield f"train has {train:,} articles, fewer than valid and test together ({others:,}); fetch more"
    for name in plan.recipe.splits:
        articles, titles = splits[name].articles, len(plan.given.get(name, ()))
        size: int | None = getattr(plan.recipe, f"{name}_articles")
        expected = titles or (1 if size is None else size)
        if articles < expected and titles:
            yield (
                f"{name} has {articles:,} articles, but {titles:,} titles were given: rejected.jsonl says why"
                " the others are missing"
            )
        elif articles < expected:
            yield (
                f"{name} has {articles:,} articles, but {plan.recipe.name} expects {expected:,}: the store"
                " has too few"
            )


def _refuse_empty_train(plan: Plan, extracted: Extracted) -> None:
    """Refuse to write a dataset whose first split is empty: without train it has no vocabulary."""
    first = plan.recipe.splits[0]
    sizes = {name: len(extracted.split.of(name)) for name in SPLITS}
    if sizes[first]:
        return
    articles, rejected = sum(sizes.values()), Counter(page.reason for page in extracted.rejected)
    advice = "fetch or import more pages"
    if articles >= len(SPLITS):  # 10 : 1 : 1 for train, valid and test, as in WikiText-2
        share = max(1, articles // 12)
        advice += f", or use --valid-articles {share} and --test-articles {share}"
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(rejected.items()))
    rejections = f" ({rejected.total():,} pages were rejected: {reasons})" if rejected else ""
    raise BuilderError(
        f"{plan.store}: {articles:,} articles{rejections} are too few for {plan.recipe.name}: valid takes"
        f" {sizes['valid']:,}, test {sizes['test']:,}, and none is left for {first}; {advice}"
    )


def _test_size(recipe: Recipe, usable: Sequence[int], words: Mapping[int, int]) -> int | None:
    """Return the number of articles of test; None for all.

    With `test_words` it is the smallest number of articles with so many words. `words` has the counts of the
    extracted pages; if they are not enough, the number is an estimate, and includes a page not yet extracted.
    """
    if recipe.test_words is None:
        return recipe.test_articles
    total = 0
    for number, page_id in enumerate(sorted(usable, key=lambda page: rank_for_test(page, recipe.seed))):
        if total >= recipe.test_words:
            return number
        if page_id not in words:
            return number + max(MIN_ROUND_ARTICLES, (recipe.test_words - total) * number // max(total, 1))
        total += words[page_id]
    return len(usable)


def _replaced_pages(plan: Plan, extracted: Extracted) -> list[Rejected]:
    """Return the rejected pages that others replaced; with `test_words`, rounds also extract later pages."""
    test = extracted.split.of("test").tolist()
    if plan.recipe.test_words is None or not test:
        return extracted.rejected
    last = max(rank_for_test(page_id, plan.recipe.seed) for page_id in test)
    return [page for page in extracted.rejected if rank_for_test(page.page_id, plan.recipe.seed) < last]


def _refuse_few_words(plan: Plan, extracted: Extracted) -> None:
    """Refuse a test set that has fewer words than `test_words`."""
    expected = plan.recipe.test_words or 0
    test = extracted.split.of("test").tolist()
    words = sum(extracted.words.get(page_id, 0) for page_id in test)
    if words < expected:
        raise BuilderError(
            f"{plan.store}: {len(test):,} articles have {words:,} words; --test-words expects"
            f" {expected:,}: fetch or import more pages, or ask for fewer words"
        )


PAGES_PER_SHARD = 32  # about 2 MB of wikitext: seconds of work, so little is lost if a worker dies


class PackedTemplates:
    """The compressed templates of a store, for workers without access to it."""

    def __init__(self, templates: StoredTemplates) -> None:
        self._compressed = {name: zstandard.compress(text.encode()) for name, text in templates.items()}

    def get(self, name: str, /) -> str | None:
        """Return the wikitext of a template; None if the store has none."""
        compressed = self._compressed.get(name)
        return None if compressed is None else zstandard.decompress(compressed).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """Settings for turning the pages of a build into articles."""

    recipe: Recipe
    language: Language
    as_of: str = ""  # take templates as of this time; empty: the newest ones
    templates: Path | PackedTemplates | None = None  # a path is that of their store

    def open_templates(self) -> AbstractContextManager[Templates | None]:
        """Open the templates that pages can call."""
        if isinstance(self.templates, Path):
            return open_templates(self.templates, language=self.language.code, as_of=self.as_of or None)
        return nullcontext(self.templates)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReport:
    """The report on the pages of a shard."""

    wikitext_bytes: int
    rejected: tuple[Rejected, ...]
    words: Mapping[int, int]  # by page id, without `<eos>`; empty if the recipe counts none


def make_shard(pages: Iterable[StoredPage], extraction: Extraction) -> bytes:
    """Extract and tokenize pages; return their shard."""
    articles: list[Article] = []
    rejected: list[Rejected] = []
    size = 0
    with extraction.open_templates() as templates:
        for stored in pages:
            size += len(stored.page.wikitext.encode())
            result = _article_or_reason(stored, extraction, templates)
            if isinstance(result, Article):
                articles.append(result)
            else:
                rejected.append(result)
    counted = articles if extraction.recipe.test_words is not None else []
    report = ShardReport(
        wikitext_bytes=size,
        rejected=tuple(rejected),
        words={article.page_id: sum(len(line.split()) for line in article.lines) for article in counted},
    )
    lines = b"".join(msgspec.json.encode(article) + b"\n" for article in articles)
    return msgspec.json.encode(report) + b"\n" + zstandard.compress(lines, level=3)


def _article_or_reason(
    stored: StoredPage, extraction: Extraction, templates: Templates | None
) -> Article | Rejected:
    """Return the article of a page, or its rejection: an exception on a page rejects only that page."""
    try:
        with time_limit(SECONDS_PER_PAGE):
            return _article(stored, extraction, templates)
    except RejectedError as error:
        reason, detail = error.reason, error.detail
    except (BuilderError, MemoryError):  # not the page's fault
        raise
    except Exception as error:  # listed among the rejected pages
        reason, detail = "extraction-failed", f"{type(error).__name__}: {error}; please report it"
    return Rejected.of(stored.page, reason, detail)


def _article(stored: StoredPage, extraction: Extraction, templates: Templates | None) -> Article:
    page, recipe, language = stored.page, extraction.recipe, extraction.language
    read = partial(extract, expansions=stored.expansions, templates=templates)
    if stored.html is not None:
        read = partial(extract_rendered, stored.html)
    article = read(page, language=language, sections=recipe.sections, incomplete=recipe.incomplete)
    article = tokenize_article(article, language=language.code)
    if not TITLE.fullmatch(article.lines[1]):
        raise RejectedError("no-title", f"its title {article.title!r} leaves an empty heading")
    if not any(line and not heading_level(line) for line in article.lines):
        raise RejectedError("no-text", "only headings are left of it")
    if not recipe.articles:
        return replace(article, plain_lines=(), formulas=())
    return replace(
        article,
        categories=own_categories(page.wikitext, language),
        quality=classifier(language).quality(page.wikitext),
        wikidata_id=stored.wikidata_id,
    )


def read_report(path: Path) -> ShardReport:
    """Read the report of a shard on the disk."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        return msgspec.json.decode(line, type=ShardReport)
    except ValueError as error:
        raise _damaged(path, error) from error


def articles_in(shard: bytes, path: Path) -> Iterator[Article]:
    """Yield the articles of a shard, which was read from a path, in order."""
    try:
        for line in zstandard.decompress(shard.partition(b"\n")[2]).split(b"\n")[:-1]:
            yield msgspec.json.decode(line, type=Article)
    except (zstandard.ZstdError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> BuilderError:
    return BuilderError(f"{path}: damaged ({error}); remove the folder {path.parent} and build again")
