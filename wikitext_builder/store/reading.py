"""Reads a store: counts, its languages, pages with all that their lines are made from, templates."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, did_you_mean
from wikitext_builder.store.schema import Row, sha1_of
from wikitext_builder.store.store import LATEST, Store
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import Language, language_of, names_said, with_names

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
    gone = {(page.title, page.revision_id) for page in rejected}
    missing = [wish for wish in store.missing(language) if (wish.title, wish.revision_id) not in gone]
    here = {revision.title for revision in revisions} if missing else set()
    return StoreStatus(
        language=language,
        wiki=store.wiki(language),
        pages=len(revisions),
        revisions=store.revision_count(language),
        wanted=store.wanted_count(language),
        missing=sum(bool(wish.as_of or wish.revision_id) or wish.title not in here for wish in missing),
        rejected=dict(sorted(Counter(page.reason for page in rejected).items())),
        redirects=len(store.redirects(language)),
        rendered=rendered.pop("", 0),
        not_rendered=rendered,
        expanded=expansions.pop("", 0),
        not_expanded=expansions,
        templates=StoredTemplates(store, language).count(),
    )


# --- languages


def language_in(store: Store, given: str | None) -> str:
    """Return the code of a store's language: the given one, or the only one that the store holds."""
    if given is not None:
        return language_of(given).code
    held = store.languages()
    if len(held) > 1:
        raise BuilderError(f"{store.path}: holds pages of {', '.join(held)}; choose one with --language")
    return held[0] if held else "en"


def note_names(store: Store, language: Language) -> Language:
    """Keep in a store what a wiki says of itself, beside what it said before; return all of it."""
    named = with_names(_noted_language(store, language.code), names_said(language))
    if said := names_said(named):
        store.set_note(f"{language.code} names", json.dumps(said, ensure_ascii=False))
    return named


def stored_language(store: Store, code: str, *, as_of: str = "") -> Language:
    """Return a language with what the store knows of its wiki, and of redirects between its templates."""
    language = _noted_language(store, code)
    redirects = store.template_redirects(language.code, as_of=as_of)
    if not redirects:
        return language
    from wikitext_builder.extraction.templates import known_redirects

    return replace(language, redirects=known_redirects(redirects, language))


def _noted_language(store: Store, code: str) -> Language:
    language = language_of(code)
    try:
        return with_names(language, json.loads(store.note(f"{language.code} names") or "{}"))
    except (ValueError, AttributeError, TypeError) as error:
        raise BuilderError(f"{store.path}: the names of {language.code} are damaged: {error}") from error


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


# --- pages


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
            wikidata_id=store.item(language, page.page_id),
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
        revisions = {revision.title: revision.revision_id for revision in opened.revisions(language)}
        if title not in revisions:
            first = title[:1].casefold()
            alike = (name for name in revisions if name.casefold().startswith(first))
            raise BuilderError(
                f"{store}: no article {title!r} of {language}{did_you_mean(title, alike)}; write the title as"
                " Wikipedia does, `wikitext-builder lock` lists the titles of a store"
            )
        return next(stored_pages(opened, language, [revisions[title]], html=html))


# --- templates


class StoredTemplates:
    """The templates of one Wikipedia in an open store: the newest revisions, or those up to a date."""

    def __init__(self, store: Store, language: str = "en", *, as_of: str = "") -> None:
        self._store = store
        self._where = (language, as_of or LATEST)
        self._cache: dict[str, str | None] = {}
        self._room = CACHE_CHARACTERS

    def get(self, name: str, /) -> str | None:
        """Return the wikitext of a template, which can be a redirect; None if it is not there."""
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
        """Yield the names, in their order."""
        query = "SELECT DISTINCT name FROM templates WHERE language = ? AND timestamp <= ? ORDER BY name"
        return (row[0] for row in self._store.scan(query, self._where))

    def count(self) -> int:
        """Return the number of templates, redirects included."""
        query = "SELECT count(DISTINCT name) FROM templates WHERE language = ? AND timestamp <= ?"
        return int(self._store.read(query, self._where)[0][0])

    def digest(self) -> str:
        """Return the sha256 of all names and texts, because a dataset depends on them."""
        digest = hashlib.sha256()
        for name, _revision_id, sha1, _body in self._newest("''"):
            digest.update(f"{name}\t{sha1}\n".encode())
        return digest.hexdigest()

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield each name with its wikitext, in the order of names."""
        for name, revision_id, sha1, body in self._newest("body"):
            yield name, self._store.unpack(revision_id, sha1, body)

    def add(self, pages: Iterable[tuple[str, Page]]) -> int:
        """Keep templates by name, all in one transaction; return how many revisions are new."""
        language, _ = self._where
        rows = (
            (language, name, page.timestamp, page.revision_id, sha1_of(page.wikitext),
             self._store.pack(page.wikitext))
            for name, page in pages
        )  # fmt: skip
        return self._store.write("INSERT OR IGNORE INTO templates VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _newest(self, body: str) -> Iterator[Row]:
        """Yield the rows of the newest revisions."""
        # SQLite takes all columns from the row with the greatest value.
        query = (
            f"SELECT name, revision_id, sha1, {body}, max(timestamp || printf('%020d', revision_id))"  # noqa: S608
            " FROM templates WHERE language = ? AND timestamp <= ? GROUP BY name ORDER BY name"
        )
        return (row[:4] for row in self._store.scan(query, self._where))


def templates_in(store: Store, language: str = "en", *, as_of: str = "") -> StoredTemplates | None:
    """Return the templates of an open store; None if it has none, and calls stay as they are without them."""
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
