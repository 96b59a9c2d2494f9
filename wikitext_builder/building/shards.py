"""Shards: pages of the store become tokenized articles, some dozens in one file.

Each page goes one way: read, extract, tokenize, check, keep what an export needs. Workers that do not reach
the store read copies of its pages and templates, which are packed for them.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from wikitext_builder.article import Article, heading_level
from wikitext_builder.building.plan import NO_TEXT
from wikitext_builder.dataset.manifest import TITLE
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.expander import Templates
from wikitext_builder.extraction.markup import own_categories
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.store.reading import StoredPage, open_templates, stored_pages
from wikitext_builder.store.rows import Rejected
from wikitext_builder.store.store import Store
from wikitext_builder.tokens.tokenizer import tokenize_article
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import Language

PAGES_PER_SHARD = 32  # about 2 MB of wikitext: seconds of work, so little is lost if a worker dies
FILE_CHARACTERS = 2**20  # of the templates in one packed file; a worker reads the files that its pages need


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTask:
    """Which pages become which file, and how."""

    store: str  # its path; or the location of `pack_pages`' result, if workers do not reach the store
    language: Language
    recipe: Recipe
    revision_ids: tuple[int, ...]
    titles: tuple[str, ...]  # of their pages: those of a lock file, if the store has a page under another one
    location: str  # of the shard
    as_of: str = ""  # take templates up to this time; empty: the newest ones
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
            for one in _stored(task):
                size += len(one.page.wikitext.encode())
                lines.append(json.dumps(asdict(_used(one, task, templates)), ensure_ascii=False) + "\n")
        _pack(task.location, "".join(lines))
    rejected, words = [], dict[int, int]()
    for found in read_shard(task.location):
        if isinstance(found, Rejected):
            rejected.append(found)
        elif task.recipe.test_words is not None:
            words[found.page_id] = sum(len(line.split()) for line in found.lines)
    return ShardResult(
        pages=len(task.revision_ids), rejected=tuple(rejected), wikitext_bytes=size, words=words
    )


def _used(one: StoredPage, task: ShardTask, templates: Templates | None) -> Article | Rejected:
    """The article of a page, or why there is none: exceptions on one page reject that page only."""
    try:
        with time_limit(SECONDS_PER_PAGE):
            return _article(one, task, templates)
    except RejectedError as error:
        reason, detail = error.reason, error.detail
    except (BuilderError, MemoryError):  # not the page's fault
        raise
    except Exception as error:  # it is written to the list of rejected pages
        reason, detail = "extraction-failed", f"{type(error).__name__}: {error}; please report it"
    return Rejected.of(one.page, reason, detail)


def _article(one: StoredPage, task: ShardTask, templates: Templates | None) -> Article:
    page, recipe, language, html = one.page, task.recipe, task.language, one.html
    read = partial(extract, expansions=one.expansions, templates=templates)
    if html is not None:
        read = partial(extract_rendered, html)
    article = read(page, language=language, sections=recipe.sections, incomplete=recipe.incomplete)
    article = tokenize_article(article, language=language.code)
    if not TITLE.fullmatch(article.lines[1]):
        raise RejectedError("no-title", f"its title {article.title!r} leaves an empty heading")
    if not any(line and not heading_level(line) for line in article.lines):
        raise RejectedError(NO_TEXT, "only headings are left of it")
    if not recipe.articles:
        return replace(article, plain_lines=(), formulas=())
    return replace(
        article,
        categories=own_categories(page.wikitext, language),
        quality=classifier(language).quality(page.wikitext),
        wikidata_id=one.wikidata_id,
    )


def read_shard(location: str) -> Iterator[Article | Rejected]:
    """What a shard holds, in order."""
    try:
        for line in _unpack(location).split("\n")[:-1]:
            record = msgspec.json.decode(line)
            kind: type[Article | Rejected] = Rejected if "reason" in record else Article
            yield msgspec.convert(record, kind)
    except (zstandard.ZstdError, ValueError, TypeError, KeyError) as error:
        raise BuilderError(f"{location}: damaged ({error}); remove it and build again") from error


def _pack(location: str, text: str) -> None:
    blobs.write(location, zstandard.compress(text.encode(), level=3))


def _unpack(location: str) -> str:
    return zstandard.decompress(blobs.read(location)).decode()


# --- pages and templates, from the store or packed


def _stored(task: ShardTask) -> Iterator[StoredPage]:
    """The pages of a task as the store has them."""
    if blobs.is_url(task.store):
        for line in _unpack(task.store).splitlines():
            yield msgspec.json.decode(line, type=StoredPage)
        return
    with Store.open(Path(task.store)) as store:
        rows = stored_pages(
            store, task.language.code, task.revision_ids, html=task.recipe.source == "rendered"
        )
        for one, title in zip(rows, task.titles, strict=True):
            yield replace(one, page=replace(one.page, title=title))


@contextmanager
def _templates(task: ShardTask) -> Iterator[Templates | None]:
    """The templates that the pages can call; None if there are none."""
    if blobs.is_url(task.store):
        yield PackedTemplates(task.templates) if task.templates else None
        return
    with open_templates(task.store, language=task.language.code, as_of=task.as_of or None) as templates:
        yield templates


def packed(task: ShardTask, folder: str) -> ShardTask:
    """The same task for workers that do not reach the store: its pages and templates are in a folder."""
    pages, templates = f"{folder}/pages/{task.location.rpartition('/')[2]}", f"{folder}/templates"
    if not blobs.exists(pages):
        _pack(pages, "\n".join(json.dumps(asdict(one)) for one in _stored(task)))
    return replace(task, store=pages, templates=templates if _pack_templates(task, templates) else "")


def _pack_templates(task: ShardTask, folder: str) -> bool:
    """Copy the templates of a store into numbered files, unless that is done; False if there are none."""
    if not blobs.exists(f"{folder}/index.json.zst"):
        with open_templates(task.store, language=task.language.code, as_of=task.as_of or None) as templates:
            if templates is None:
                return False
            names = []  # the first one in each file
            for number, some in enumerate(_pieces(templates.items())):
                names.append(next(iter(some)))
                _pack(f"{folder}/{number}.json.zst", json.dumps(some, ensure_ascii=False))
        _pack(f"{folder}/index.json.zst", json.dumps(names))
    return True


def _pieces(items: Iterable[tuple[str, str]]) -> Iterator[dict[str, str]]:
    piece: dict[str, str] = {}
    size = 0
    for name, wikitext in items:
        piece[name] = wikitext
        size += len(wikitext)
        if size >= FILE_CHARACTERS:
            yield piece
            piece, size = {}, 0
    if piece:
        yield piece


class PackedTemplates:
    """The templates in a folder that `packed` wrote."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def get(self, name: str, /) -> str | None:
        """The wikitext of a template; None if it is not there."""
        number = bisect_right(_json_of(f"{self._folder}/index.json.zst"), name) - 1
        text: str | None = _json_of(f"{self._folder}/{number}.json.zst").get(name) if number >= 0 else None
        return text


@lru_cache(maxsize=16)
def _json_of(location: str) -> Any:  # noqa: ANN401 - names, or texts by name
    return json.loads(_unpack(location))
