"""Shards: pages of the store as tokenized articles, in one file each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import zstandard

from wikitext_builder.article import Article, Page, heading_level
from wikitext_builder.building.plan import NO_TEXT
from wikitext_builder.building.templates import PackedTemplates
from wikitext_builder.dataset.files import TITLE
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.expansion.expander import Templates
from wikitext_builder.extraction.links import own_categories
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.pages.reading import StoredPage, open_templates, stored_pages
from wikitext_builder.pages.store import Rejected, Store
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.tokens.tokenizer import tokenize_article
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import language_of

PAGES_PER_SHARD = 32  # about 2 MB of wikitext: seconds of work, so little is lost if a worker dies


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTask:
    """Which pages become which file, and how."""

    store: str  # its path; or the location of `pack_pages`' result, if workers do not reach the store
    language: str
    sections: str
    revision_ids: tuple[int, ...]
    titles: tuple[str, ...]  # of their pages: those of a lock file, if the store has a page under another one
    location: str  # of the shard
    source: str = "wikitext"  # or "rendered", see `Recipe`
    plain: bool = False  # keep the plain text and what else an export of articles needs
    as_of: str = ""  # take templates up to this time; empty: the newest ones
    count: bool = False  # the words of each article
    templates: str = ""  # the folder of `pack_templates`, if workers do not reach the store and there are any


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """What happened to the pages of a shard."""

    pages: int
    rejected: tuple[Rejected, ...]
    wikitext_bytes: int  # 0 if the shard was there already
    words: Mapping[int, int]  # by page id: of its article, without `<eos>`


def make_shard(task: ShardTask) -> ShardResult:
    """Extract and tokenize the pages of a task into its file, unless it is there already."""
    size = 0
    if not blobs.exists(task.location):
        lines = []
        with _templates(task) as templates:
            for one in _inputs(task):
                size += len(one.page.wikitext.encode())
                record = asdict(_use(one, task, templates))
                lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        blobs.write(task.location, zstandard.compress("".join(lines).encode(), level=3))
    rejected, words = [], dict[int, int]()
    for found in read_shard(task.location):
        if isinstance(found, Rejected):
            rejected.append(found)
        elif task.count:
            words[found.page_id] = sum(len(line.split()) for line in found.lines)
    return ShardResult(
        pages=len(task.revision_ids), rejected=tuple(rejected), wikitext_bytes=size, words=words
    )


def _inputs(task: ShardTask) -> Iterator[StoredPage]:
    if blobs.is_url(task.store):
        for line in zstandard.decompress(blobs.read(task.store)).decode().splitlines():
            fields = json.loads(line)
            yield StoredPage(page=Page(**fields.pop("page")), **fields)
        return
    with Store.open(Path(task.store)) as store:
        rows = stored_pages(store, task.language, task.revision_ids, html=task.source == "rendered")
        for one, title in zip(rows, task.titles, strict=True):
            yield replace(one, page=replace(one.page, title=title))


@contextmanager
def _templates(task: ShardTask) -> Iterator[Templates | None]:
    """The templates that the pages can call; None if there are none."""
    if blobs.is_url(task.store):
        yield PackedTemplates(task.templates) if task.templates else None
        return
    with open_templates(task.store, language=task.language, as_of=task.as_of or None) as templates:
        yield templates


def pack_pages(task: ShardTask, location: str) -> None:
    """Copy the pages of a task to a location for workers that do not reach the store."""
    if not blobs.exists(location):
        lines = [json.dumps(asdict(one)) for one in _inputs(task)]
        blobs.write(location, zstandard.compress("\n".join(lines).encode(), level=3))


def _article(one: StoredPage, task: ShardTask, templates: Templates | None) -> Article:
    page = one.page
    if one.html is None:
        return extract(
            page,
            language=task.language,
            sections=task.sections,
            expansions=one.expansions,
            templates=templates,
        )
    return extract_rendered(one.html, page, language=task.language, sections=task.sections)


def _checked(article: Article) -> Article:
    """The article, if it has a title and a text."""
    if not TITLE.fullmatch(article.lines[1]):
        raise RejectedError("no-title", f"its title {article.title!r} leaves no word for a heading")
    if not any(line and not heading_level(line) for line in article.lines):
        raise RejectedError(NO_TEXT, "nothing but headings is left of it")
    return article


def _for_export(article: Article, one: StoredPage, task: ShardTask) -> Article:
    categories = own_categories(one.page.wikitext, task.language)
    quality = classifier(language_of(task.language)).quality(one.page.wikitext)
    return replace(article, categories=categories, quality=quality, wikidata_id=one.wikidata_id)


def _without_plain(article: Article) -> Article:
    return replace(article, plain_lines=(), formulas=())


def _use(one: StoredPage, task: ShardTask, templates: Templates | None) -> Article | Rejected:
    """An article, or why there is none: a page that breaks our code must not break the build."""
    try:
        with time_limit(SECONDS_PER_PAGE):
            article = _checked(tokenize_article(_article(one, task, templates), language=task.language))
            return _for_export(article, one, task) if task.plain else _without_plain(article)
    except RejectedError as error:
        reason, detail = error.reason, error.detail
    except (BuilderError, MemoryError):  # not the page's fault
        raise
    except Exception as error:  # it is written to the list of rejected pages
        reason, detail = "extraction-failed", f"{type(error).__name__}: {error}; please report it"
    return Rejected.of(one.page, reason, detail)


def read_shard(location: str) -> Iterator[Article | Rejected]:
    """What a shard holds, in order.

    Raises:
        BuilderError: The file is damaged.
    """
    try:
        lines = zstandard.decompress(blobs.read(location)).decode().split("\n")[:-1]
        yield from (_parse(json.loads(line)) for line in lines)
    except (zstandard.ZstdError, ValueError, TypeError, KeyError) as error:
        raise BuilderError(f"{location}: damaged ({error}); remove it and build again") from error


def _parse(record: dict[str, Any]) -> Article | Rejected:
    if "reason" in record:
        return Rejected(**record)
    found: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in record.items()}
    return Article(**found)
