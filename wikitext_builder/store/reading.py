"""Reads a store: counts, languages, templates, and pages with everything that their lines are made from."""

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
from wikitext_builder.wiki.languages import Language, language_of, reported_names, with_names

CACHE_CHARACTERS = 2**24  # of cached templates


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """The counts of one Wikipedia's pages in a store."""

    language: str
    wiki: str  # the name that the wiki reports; empty if nothing was fetched from an API
    pages: int
    revisions: int  # includes older revisions of pages and titles, which no build takes
    wanted: int
    missing: int  # wanted, but neither stored nor rejected
    rejected: Mapping[str, int]  # by reason
    redirects: int
    rendered: int  # revisions with their HTML
    not_rendered: Mapping[str, int]  # by reason
    expanded: int  # template calls
    not_expanded: Mapping[str, int]  # by reason
    templates: int  # from dumps, including redirects


def status(store: str | Path) -> list[StoreStatus]:
    """Count what a store contains, per Wikipedia, in the order of language codes.

    Args:
        store: Path of the store.

    Raises:
        BuilderError: The store does not exist.
    """
    with Store.open(Path(store)) as opened:
        return [status_of(opened, language) for language in opened.languages()]


def status_of(store: Store, language: str) -> StoreStatus:
    """Count what an open store has of a Wikipedia."""
    expansions, rendered = store.counts("expansions", language), store.counts("rendered", language)
    revisions, rejected = store.revisions(language), store.rejected(language)
    # Changed conditions mark rejected and excluded pages as missing, although the store has them.
    rejected_pages = {(page.title, page.revision_id) for page in rejected}
    missing = [
        page for page in store.missing(language) if (page.title, page.revision_id) not in rejected_pages
    ]
    titles = {revision.title for revision in revisions} if missing else set()
    return StoreStatus(
        language=language,
        wiki=store.wiki(language),
        pages=len(revisions),
        revisions=store.revision_count(language),
        wanted=store.wanted_count(language),
        missing=sum(bool(page.as_of or page.revision_id) or page.title not in titles for page in missing),
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
    """Return the code of the given language, or of the only language in the store."""
    if given is not None:
        return language_of(given).code
    codes = store.languages()
    if len(codes) > 1:
        raise BuilderError(f"{store.path}: holds pages of {', '.join(codes)}; choose one with --language")
    return codes[0] if codes else "en"


def note_names(store: Store, language: Language) -> Language:
    """Add the names that a wiki reports to those in a store; return the language with all of them."""
    named = with_names(_noted_language(store, language.code), reported_names(language))
    if names := reported_names(named):
        store.set_note(f"{language.code} names", json.dumps(names, ensure_ascii=False))
    return named


def stored_language(store: Store, code: str, *, as_of: str = "") -> Language:
    """Return a language with the names of its wiki and the redirects of its templates in the store."""
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
    """Return the language of a store, with the names that its wiki reports, for `extract`.

    Args:
        store: Path of the store.
        language: Code of the Wikipedia; None: the only one in the store.

    Raises:
        BuilderError: The store does not exist, or holds several languages and `language` is None.
    """
    with Store.open(Path(store)) as opened:
        return stored_language(opened, language_in(opened, language))


# --- pages


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page, the texts of its template calls, and its HTML."""

    page: Page
    expansions: Mapping[str, str] = field(default_factory=dict)  # text of a template call by its wikitext
    html: str | None = None  # None if the store has none, or if it was not read
    wikidata_id: str = ""  # such as Q1490; empty if unknown


def stored_pages(
    store: Store, language: str, revision_ids: Sequence[int], *, html: bool = False
) -> Iterator[StoredPage]:
    """Yield pages in the order of `revision_ids`; with `html`, also the HTML that the store has."""
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
    """Read the newest revision of a page from a store.

    Args:
        store: Path of the store.
        title: The title as Wikipedia writes it.
        language: Code of the Wikipedia; None: the only one in the store.
        html: Also read the page's HTML, if the store has it.

    Raises:
        BuilderError: The store or the page does not exist, or the page is damaged.
    """
    with Store.open(Path(store)) as opened:
        language = language_in(opened, language)
        revisions = {revision.title: revision.revision_id for revision in opened.revisions(language)}
        if title not in revisions:
            first = title[:1].casefold()
            candidates = (name for name in revisions if name.casefold().startswith(first))
            raise BuilderError(
                f"{store}: no article {title!r} of {language}{did_you_mean(title, candidates)}; write the"
                " title as Wikipedia does, `wikitext-builder lock` lists the titles of a store"
            )
        return next(stored_pages(opened, language, [revisions[title]], html=html))


# --- templates


class StoredTemplates:
    """The templates of a Wikipedia in an open store: the newest revisions, or the newest up to a date."""

    def __init__(self, store: Store, language: str = "en", *, as_of: str = "") -> None:
        self._store = store
        self._language_and_time = (language, as_of or LATEST)
        self._cache: dict[str, str | None] = {}
        self._free_characters = CACHE_CHARACTERS

    def get(self, name: str, /) -> str | None:
        """Return the wikitext of a template, which can be a redirect; None if the store lacks it."""
        if name not in self._cache:
            query = (
                "SELECT revision_id, sha1, body FROM templates WHERE language = ? AND timestamp <= ?"
                " AND name = ? ORDER BY timestamp DESC, revision_id DESC LIMIT 1"
            )
            rows = self._store.read(query, (*self._language_and_time, name))
            wikitext = self._store.unpack(*rows[0]) if rows else None
            self._free_characters -= len(name) + len(wikitext or "")
            if self._free_characters < 0:
                self._cache.clear()
                self._free_characters = CACHE_CHARACTERS
            self._cache[name] = wikitext
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names in order."""
        query = "SELECT DISTINCT name FROM templates WHERE language = ? AND timestamp <= ? ORDER BY name"
        return (row[0] for row in self._store.scan(query, self._language_and_time))

    def count(self) -> int:
        """Return the number of templates, including redirects."""
        query = "SELECT count(DISTINCT name) FROM templates WHERE language = ? AND timestamp <= ?"
        return int(self._store.read(query, self._language_and_time)[0][0])

    def digest(self) -> str:
        """Return the SHA-256 of all names and texts, on which a dataset depends."""
        digest = hashlib.sha256()
        for name, _revision_id, sha1, _body in self._newest("''"):
            digest.update(f"{name}\t{sha1}\n".encode())
        return digest.hexdigest()

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield each name with its wikitext, in the order of names."""
        for name, revision_id, sha1, body in self._newest("body"):
            yield name, self._store.unpack(revision_id, sha1, body)

    def add(self, pages: Iterable[tuple[str, Page]]) -> int:
        """Store templates by name, all in one transaction; return how many revisions are new."""
        language, _ = self._language_and_time
        rows = (
            (language, name, page.timestamp, page.revision_id, sha1_of(page.wikitext),
             self._store.pack(page.wikitext))
            for name, page in pages
        )  # fmt: skip
        return self._store.write("INSERT OR IGNORE INTO templates VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _newest(self, body: str) -> Iterator[Row]:
        """Yield the rows of the newest revisions."""
        # SQLite takes all columns from the row with the maximum.
        query = (
            f"SELECT name, revision_id, sha1, {body}, max(timestamp || printf('%020d', revision_id))"  # noqa: S608
            " FROM templates WHERE language = ? AND timestamp <= ? GROUP BY name ORDER BY name"
        )
        return (row[:4] for row in self._store.scan(query, self._language_and_time))


def templates_in(store: Store, language: str = "en", *, as_of: str = "") -> StoredTemplates | None:
    """Return the templates of an open store; None if it has none, so that calls are not expanded."""
    templates = StoredTemplates(store, language, as_of=as_of)
    return templates if next(iter(templates), None) is not None else None


@contextmanager
def open_templates(
    store: str | Path, *, language: str | None = None, as_of: str | None = None
) -> Iterator[StoredTemplates | None]:
    """Open the templates of a store for `extract`; None if it has none.

    Args:
        store: Path of the store.
        language: Code of the Wikipedia; None: the only one in the store.
        as_of: Take the newest revisions on or before this date or time.

    Raises:
        BuilderError: The store does not exist.

    Example:
        >>> import wikitext_builder as wb
        >>> with wb.open_templates("pages.store") as templates:  # doctest: +SKIP
        ...     wb.extract(page, templates=templates)
    """
    with Store.open(Path(store)) as opened:
        yield templates_in(opened, language_in(opened, language), as_of=parse_date(as_of))
