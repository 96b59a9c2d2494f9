"""Shards: some pages become tokenized articles, in one file. What a worker does, wherever it runs.

Each page goes one way: extract, tokenize, check, keep what an export needs. A shard is a line of JSON that
says what happened to its pages, and then the articles as compressed lines of JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import zstandard

from wikitext_builder.article import Article, heading_level
from wikitext_builder.dataset.manifest import TITLE
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.expander import Templates
from wikitext_builder.extraction.markup import own_categories
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.runners.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.store.reading import StoredPage, StoredTemplates, open_templates
from wikitext_builder.store.rows import Rejected
from wikitext_builder.tokens.tokenizer import tokenize_article
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import Language

PAGES_PER_SHARD = 32  # about 2 MB of wikitext: seconds of work, so little is lost if a worker dies


class PackedTemplates:
    """The templates of a store, compressed, for workers that do not reach it."""

    def __init__(self, templates: StoredTemplates) -> None:
        self._packed = {name: zstandard.compress(text.encode()) for name, text in templates.items()}

    def get(self, name: str, /) -> str | None:
        """The wikitext of a template; None if it is not there."""
        packed = self._packed.get(name)
        return None if packed is None else zstandard.decompress(packed).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """How the pages of a build become articles."""

    recipe: Recipe
    language: Language
    as_of: str = ""  # take templates up to this time; empty: the newest ones
    templates: Path | PackedTemplates | None = None  # the store that has them, themselves, or none

    def open_templates(self) -> AbstractContextManager[Templates | None]:
        """Open the templates that pages can call."""
        if isinstance(self.templates, Path):
            return open_templates(self.templates, language=self.language.code, as_of=self.as_of or None)
        return nullcontext(self.templates)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReport:
    """What happened to the pages of a shard."""

    pages: int
    wikitext_bytes: int
    rejected: tuple[Rejected, ...]
    words: Mapping[int, int]  # by page id, of its article, without `<eos>`; empty if the recipe counts none


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
        pages=len(articles) + len(rejected),
        wikitext_bytes=size,
        rejected=tuple(rejected),
        words={one.page_id: sum(len(line.split()) for line in one.lines) for one in counted},
    )
    lines = b"".join(msgspec.json.encode(article) + b"\n" for article in articles)
    return msgspec.json.encode(report) + b"\n" + zstandard.compress(lines, level=3)


def _article_or_reason(
    stored: StoredPage, extraction: Extraction, templates: Templates | None
) -> Article | Rejected:
    """The article of a page, or why there is none: exceptions on one page reject that page only."""
    try:
        with time_limit(SECONDS_PER_PAGE):
            return _article(stored, extraction, templates)
    except RejectedError as error:
        reason, detail = error.reason, error.detail
    except (BuilderError, MemoryError):  # not the page's fault
        raise
    except Exception as error:  # it is written to the list of rejected pages
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


def report_in(path: Path) -> ShardReport:
    """What happened to the pages of a shard on the disk."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        return msgspec.json.decode(line, type=ShardReport)
    except ValueError as error:
        raise _damaged(path, error) from error


def articles_in(shard: bytes, path: Path) -> Iterator[Article]:
    """The articles of a shard that was read from a path, in order."""
    try:
        for line in zstandard.decompress(shard.partition(b"\n")[2]).split(b"\n")[:-1]:
            yield msgspec.json.decode(line, type=Article)
    except (zstandard.ZstdError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> BuilderError:
    return BuilderError(f"{path}: damaged ({error}); remove the folder {path.parent} and build again")
