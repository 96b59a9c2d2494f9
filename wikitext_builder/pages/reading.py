"""Reads a store: counts, pages with all that their lines are made from, templates."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, nearest
from wikitext_builder.pages.database import Row, sha1_of
from wikitext_builder.pages.store import LATEST, Store, item_of
from wikitext_builder.pages.store_languages import language_in, stored_language
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import Language

CACHE_CHARACTERS = 2**24  # of templates that are kept in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """The counts of one Wikipedia's pages in a store."""

    language: str
    wiki: str  # the name that it gives itself; empty if nothing was fetched from an API
    pages: int
    revisions: int  # those beyond `pages` are older ones of the same pages or titles, which no build takes
    wanted: int
    missing: int  # wanted, and neither here nor rejected
    rejected: Mapping[str, int]  # by reason
    redirects: int
    rendered: int  # revisions with their HTML
    not_rendered: Mapping[str, int]  # by reason
    expanded: int  # template calls
    not_expanded: Mapping[str, int]  # by reason
    templates: int  # from dumps, redirects included


def status(store: str | Path) -> list[StoreStatus]:
    """Count what a store contains, per Wikipedia, in the order of language codes.

    Args:
        store: Path of the store.

    Raises:
        BuilderError: There is no such store.
    """
    with Store.open(Path(store)) as opened:
        return [status_of(opened, language) for language in opened.languages()]


def status_of(store: Store, language: str) -> StoreStatus:
    """Count what an open store has of one Wikipedia."""
    expansions, rendered = store.counts("expansions", language), store.counts("rendered", language)
    revisions, rejected = store.revisions(language), store.rejected(language)
    # Other conditions ask again for what is rejected or, if it is excluded, here.
    gone = {(one.title, one.revision_id) for one in rejected}
    missing = [one for one in store.missing(language) if (one.title, one.revision_id) not in gone]
    here = {one.title for one in revisions} if missing else set()
    return StoreStatus(
        language=language,
        wiki=store.wiki(language),
        pages=len(revisions),
        revisions=store.revision_count(language),
        wanted=store.wanted_count(language),
        missing=sum(bool(one.as_of or one.revision_id) or one.title not in here for one in missing),
        rejected=dict(sorted(Counter(one.reason for one in rejected).items())),
        redirects=len(store.redirects(language)),
        rendered=rendered.pop("", 0),
        not_rendered=rendered,
        expanded=expansions.pop("", 0),
        not_expanded=expansions,
        templates=StoredTemplates(store, language).count(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page, the texts of its template calls, and its HTML."""

    page: Page
    expansions: Mapping[str, str] = field(default_factory=dict)  # text of a template call by its wikitext
    html: str | None = None  # None: the store has none, or nobody asked for it
    wikidata_id: str = ""  # such as Q1490; empty if it is not known


def stored_pages(
    store: Store, language: str, revision_ids: Sequence[int], *, html: bool = False
) -> Iterator[StoredPage]:
    """Read pages one by one, in the order of `revision_ids`, with HTML if that is asked for and there."""
    for page in store.pages(language, revision_ids):
        yield StoredPage(
            page=page,
            expansions=store.expansions(language, page.revision_id),
            html=store.rendered(language, page.revision_id) if html else None,
            wikidata_id=item_of(store, language, page.page_id),
        )


def read_page(
    store: str | Path, *, title: str, language: str | None = None, html: bool = False
) -> StoredPage:
    """Read the newest revision of one page from a store.

    Args:
        store: Path of the store.
        title: The title as Wikipedia writes it.
        language: Code of the Wikipedia; None: the one that the store holds.
        html: Also read the page's HTML, if the store has it.

    Raises:
        BuilderError: There is no such store or page, or the page is damaged.
    """
    with Store.open(Path(store)) as opened:
        language = language_in(opened, language)
        numbers = [one.revision_id for one in opened.revisions(language) if one.title == title]
        if not numbers:
            first = title[:1].casefold()
            alike = (
                one.title for one in opened.revisions(language) if one.title.casefold().startswith(first)
            )
            raise BuilderError(
                f"{store}: no article {title!r} of {language}{nearest(title, alike)}; write the title as"
                " Wikipedia does, `wikitext-builder lock` lists the titles of a store"
            )
        return next(stored_pages(opened, language, numbers[:1], html=html))


def store_language(store: str | Path, language: str | None = None) -> Language:
    """Return the language of a store, with what its wiki says about itself, for `extract`.

    Args:
        store: Path of the store.
        language: Code of the Wikipedia; None: the one that the store holds.

    Raises:
        BuilderError: There is no such store, or it holds several languages and none is given.
    """
    with Store.open(Path(store)) as opened:
        return stored_language(opened, language_in(opened, language))


# --- templates


class StoredTemplates:
    """The templates of one Wikipedia in an open store: the newest revisions, or those up to a date."""

    def __init__(self, store: Store, language: str = "en", *, as_of: str = "") -> None:
        self._store = store
        self._where = (language, as_of or LATEST)
        self._cache: dict[str, str | None] = {}
        self._room = CACHE_CHARACTERS

    def get(self, name: str, /) -> str | None:
        """The wikitext of a template, which can be a redirect; None if it is not there."""
        if name not in self._cache:
            query = (
                "SELECT revision_id, sha1, body FROM templates WHERE language = ? AND timestamp <= ?"
                " AND name = ? ORDER BY timestamp DESC, revision_id DESC LIMIT 1"
            )
            rows = self._store.read(query, (*self._where, name))
            wikitext = self._store.unpack(*rows[0]) if rows else None
            self._room -= len(name) + len(wikitext or "")
            if self._room < 0:
                self._cache.clear()
                self._room = CACHE_CHARACTERS
            self._cache[name] = wikitext
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in their order."""
        query = "SELECT DISTINCT name FROM templates WHERE language = ? AND timestamp <= ? ORDER BY name"
        return (row[0] for row in self._scan(query))

    def count(self) -> int:
        """The number of templates, redirects included."""
        query = "SELECT count(DISTINCT name) FROM templates WHERE language = ? AND timestamp <= ?"
        rows = self._store.read(query, self._where)
        return int(rows[0][0]) if rows else 0

    def digest(self) -> str:
        """The sha256 of all names and texts, because a dataset depends on them."""
        digest = hashlib.sha256()
        for name, _revision_id, sha1, _body in self._newest("''"):
            digest.update(f"{name}\t{sha1}\n".encode())
        return digest.hexdigest()

    def items(self) -> Iterator[tuple[str, str]]:
        """Each name with its wikitext, in the order of names."""
        for name, revision_id, sha1, body in self._newest("body"):
            yield name, self._store.unpack(revision_id, sha1, body)

    def add(self, pages: Iterable[tuple[str, Page]]) -> int:
        """Keep templates by name, all in one transaction; return how many revisions are new."""
        language, _ = self._where
        rows = ((language, name, *self._row(page)) for name, page in pages)
        return self._store.write("INSERT OR IGNORE INTO templates VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _row(self, page: Page) -> tuple[object, ...]:
        packed = self._store.pack(page.wikitext)
        return page.timestamp, page.revision_id, sha1_of(page.wikitext), packed

    def _newest(self, body: str) -> Iterator[Row]:
        """The rows of the newest revisions: SQLite takes all columns from the row with the greatest value."""
        query = (
            f"SELECT name, revision_id, sha1, {body}, max(timestamp || printf('%020d', revision_id))"  # noqa: S608
            " FROM templates WHERE language = ? AND timestamp <= ? GROUP BY name ORDER BY name"
        )
        return (row[:4] for row in self._scan(query))

    def _scan(self, query: str) -> Iterator[Row]:
        return self._store.scan(query, self._where)


def templates_in(store: Store, language: str = "en", *, as_of: str = "") -> StoredTemplates | None:
    """The templates of an open store; None if it has none, and calls stay as they are without them."""
    templates = StoredTemplates(store, language, as_of=as_of)
    return templates if next(iter(templates), None) is not None else None


@contextmanager
def open_templates(
    store: str | Path, *, language: str | None = None, as_of: str | None = None
) -> Iterator[StoredTemplates | None]:
    """Open the templates of a store for `extract`; None if it has none.

    Args:
        store: Path of the store.
        language: Code of the Wikipedia; None: the one that the store holds.
        as_of: Take the newest revisions up to this date or time.

    Raises:
        BuilderError: There is no such store.

    Example:
        >>> import wikitext_builder as wb
        >>> with wb.open_templates("pages.store") as templates:  # doctest: +SKIP
        ...     wb.extract(page, templates=templates)
    """
    with Store.open(Path(store)) as opened:
        yield templates_in(opened, language_in(opened, language), as_of=parse_date(as_of))
