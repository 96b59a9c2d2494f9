"""Which pages to fetch: members of a category, links of a list page, a file of titles, a lock file.

A new kind of selection is a class with a method `find`, and an entry of `KINDS`.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.lock import read_lock
from wikitext_builder.store.store import Rejected, Revision, Store, Wanted
from wikitext_builder.store.titles import read_titles
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import ApiError, FoundPage, Site, continuation, expected_fields
from wikitext_builder.wiki.titles import tidy_title, title_fault

DONE = "done"  # the position of a listing that has ended
LINK = re.compile(r"\[\[([^\[\]{}|<>\n]+)(?:\||\]\])")
TRANSCLUSION = re.compile(r"\{\{([^{}|<>\n\[\]]+)(?:\||\}\})")
NO_LINKS = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)", re.DOTALL | re.IGNORECASE)
PAGE_AT = re.compile(r"(.+)@([1-9]\d*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What a selection can use to find its pages."""

    store: Store  # notes how far a listing is, so that a killed one can be resumed
    wikipedia: Wikipedia
    as_of: str = ""  # ISO 8601 in UTC; empty: now
    progress: Progress = no_progress

    def wanted(self, titles: Sequence[str]) -> tuple[Wanted, ...]:
        """Want the pages of some titles, at the date."""
        return tuple(Wanted(title=title, as_of=self.as_of) for title in titles)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The pages that a selection found."""

    wanted: tuple[Wanted, ...] = ()
    locked: dict[int, Revision] = field(default_factory=dict)  # by id, as a lock file describes them
    rejected: tuple[Rejected, ...] = ()


class Selection(Protocol):
    """A choice of pages."""

    def find(self, lookup: Lookup) -> Selected:
        """Find the pages.

        Raises:
            BuilderError: The selection cannot be read, or has no pages.
        """
        ...


def select_pages(lookup: Lookup, selections: Sequence[Selection], *, limit: int | None = None) -> Selected:
    """Return all pages of selections, each once, in the order of titles (by code point) and revision ids.

    Args:
        lookup: What selections find their pages with.
        selections: One or more.
        limit: Take only the first ones of this order, so that a larger limit only adds pages.

    Raises:
        BuilderError: Nothing is selected, or a selection cannot be read.
    """
    wanted: set[Wanted] = set()
    locked: dict[int, Revision] = {}
    rejected: list[Rejected] = []
    for selection in selections:
        found = selection.find(lookup)
        wanted.update(found.wanted)
        locked |= found.locked
        rejected += found.rejected
    if not wanted and not rejected:
        raise BuilderError("nothing is selected; check the names in `select`")
    return Selected(wanted=tuple(sorted(wanted)[:limit]), locked=locked, rejected=tuple(rejected))


# --- files


@dataclass(frozen=True, slots=True, kw_only=True)
class TitlesFile:
    """A text file with one title per line."""

    path: Path

    def find(self, lookup: Lookup) -> Selected:
        """Read the file."""
        titles, rejected = read_titles(self.path)
        return Selected(wanted=lookup.wanted(titles), rejected=tuple(rejected))


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """Exactly the revisions of a lock file."""

    path: Path

    def find(self, lookup: Lookup) -> Selected:
        """Read the file."""
        revisions = read_lock(self.path, language=lookup.wikipedia.language.code)
        return Selected(
            wanted=tuple(Wanted(title=one.title, revision_id=one.revision_id) for one in revisions),
            locked={one.revision_id: one for one in revisions},
        )


# --- categories


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """The articles in a category, as it is today."""

    name: str  # without its namespace

    def find(self, lookup: Lookup) -> Selected:
        """List the members; the store notes each piece, so that a killed listing can be resumed."""
        store, wikipedia = lookup.store, lookup.wikipedia
        listing = f"{wikipedia.language.code} category {self.name}"
        position = store.note(listing)
        try:
            self._list(lookup, listing, position)
        except ApiError as error:
            if error.code != "badcontinue" or position is None:
                raise
            self._list(lookup, listing, None)  # the wiki has forgotten our position
        titles = store.listed(listing)
        if not titles:
            raise BuilderError(
                f"Category:{self.name} of {wikipedia.api} has no articles or does not exist; check its name"
            )
        return Selected(wanted=lookup.wanted(titles))

    def _list(self, lookup: Lookup, listing: str, position: str | None) -> None:
        if position == DONE:
            return
        wikipedia, stage = lookup.wikipedia, f"listing {self.name}"
        parameters = {
            "list": "categorymembers",
            "cmtitle": f"Category:{self.name}",
            "cmnamespace": "0",
            "cmtype": "page",
            "cmprop": "title",
            "cmlimit": "max",
        }
        count = len(lookup.store.listed(listing))
        lookup.progress(stage, count, None)
        for answer in wikipedia.query(parameters, json.loads(position) if position else None):
            token = continuation(wikipedia.api, answer)
            with expected_fields(wikipedia.api):
                members = [str(one["title"]) for one in answer["query"]["categorymembers"] if one["ns"] == 0]
            lookup.store.note_listing(listing, members, json.dumps(token) if token else DONE)
            count += len(members)
            lookup.progress(stage, count, None if token else count)


# --- list pages


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """The articles that a page's own wikitext links to, at one revision or at the date of the fetch."""

    title: str
    revision_id: int = 0  # 0: the date decides

    def find(self, lookup: Lookup) -> Selected:
        """Read the links of the page; the store notes them, so that they are read once."""
        store, wikipedia = lookup.store, lookup.wikipedia
        at = f"@{self.revision_id}" if self.revision_id else lookup.as_of
        listing = f"{wikipedia.language.code} list {self.title} {at}"
        if store.note(listing) != DONE:
            page = self._page(wikipedia, lookup.as_of)
            revision = page.revisions[0]
            if revision.text is None:
                raise BuilderError(
                    f"{self.title}: the text of revision {revision.revision_id} is hidden; name another"
                )
            store.note_listing(listing, _links(page.title, revision.text, wikipedia.site()), DONE)
        return Selected(wanted=lookup.wanted(store.listed(listing)))

    def _page(self, wikipedia: Wikipedia, as_of: str) -> FoundPage:
        """Return the page with the revision that counts as its first."""
        if self.revision_id:
            when, found = f"revision {self.revision_id}", wikipedia.find({"revids": str(self.revision_id)})
        else:
            dated = {"rvstart": as_of, "rvdir": "older", "rvlimit": "1"} if as_of else {}
            found = wikipedia.find({"titles": self.title, "redirects": "1", **dated})
            when = f"revision of {as_of}" if as_of else "such page"
        page = next((one for one in found.pages.values() if one.revisions), None)
        if page is None:
            raise BuilderError(
                f"{self.title}: there is no {when} at {wikipedia.api}; check the title and the date"
            )
        if self.revision_id and tidy_title(self.title).casefold() != page.title.casefold():
            raise BuilderError(
                f"revision {self.revision_id} is of {page.title!r}, not of {self.title!r}; name that page"
            )
        return page


def _links(title: str, text: str, site: Site) -> list[str]:
    if titles := linked_titles(text, site):
        return titles
    inner = sorted({name.strip() for name in TRANSCLUSION.findall(text) if "/" in name})
    advice = f"; it transcludes {', '.join(inner[:20])}: name each of them as list:PAGE" if inner else ""
    raise BuilderError(f"{title}: its own wikitext does not link to any article{advice}")


def linked_titles(wikitext: str, site: Site) -> list[str]:
    """Return the titles in namespace 0 that a text links to, each once, in their order."""
    targets = LINK.findall(NO_LINKS.sub("", wikitext))
    return sorted({title for target in targets if (title := _link_title(target, site))})


def _link_title(target: str, site: Site) -> str:
    title = tidy_title(html.unescape(target).partition("#")[0])
    prefix, colon, _ = title.partition(":")
    if title_fault(title) or title.startswith((":", "/")):
        return ""
    if colon and site.namespaces.get(prefix.strip().lower(), 0) != 0:
        return ""
    return title[0].upper() + title[1:] if site.capital_first and len(title[0].upper()) == 1 else title


# --- selections as users write them


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of selection, as users write it."""

    form: str  # category:NAME; the text after the colon is its value
    make: Callable[[str, Language], Selection]  # from the value, which is empty if the form has none


def _good(_value: str, language: Language) -> Selection:
    return _named(language.good_category, language)


def _featured(_value: str, language: Language) -> Selection:
    return _named(language.featured_category, language)


def _named(category: str | None, language: Language) -> Selection:
    if category is None:
        raise BuilderError(f"the {language.code} Wikipedia has no such category; name one as category:NAME")
    return Category(name=category)


def _category(value: str, language: Language) -> Selection:
    prefix, colon, rest = value.partition(":")
    spaces = {space.lower() for space in ("Category", *language.category_namespaces)}
    has_namespace = bool(colon) and prefix.strip().lower() in spaces
    return Category(name=_checked_title(rest.strip() if has_namespace else value))


def _list_page(value: str, _language: Language) -> Selection:
    at = PAGE_AT.fullmatch(value)
    title = _checked_title(at[1] if at else value)
    return ListPage(title=title, revision_id=int(at[2]) if at else 0)


def _checked_title(name: str) -> str:
    title = tidy_title(name)
    if fault := title_fault(title):
        raise BuilderError(f"no page can have this title, {fault}")
    return title


KINDS = {
    "good": Kind(form="good", make=_good),
    "featured": Kind(form="featured", make=_featured),
    "category": Kind(form="category:NAME", make=_category),
    "list": Kind(form="list:PAGE[@REVISION]", make=_list_page),
    "titles": Kind(form="titles:FILE", make=lambda value, _: TitlesFile(path=Path(value))),
    "lock": Kind(form="lock:FILE", make=lambda value, _: LockFile(path=Path(value))),
}


def parse_selection(text: str, language: Language) -> Selection:
    """Return the selection that a text names, in one of the forms of `KINDS`.

    Raises:
        BuilderError: It has another form, or names a title that no page can have.

    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> parse_selection("good", LANGUAGES["en"])
    Category(name='Good articles')
    >>> parse_selection("list:Wikipedia:Featured articles@715000000", LANGUAGES["en"])
    ListPage(title='Wikipedia:Featured articles', revision_id=715000000)
    """
    name, colon, value = text.partition(":")
    kind, value = KINDS.get(name), value.strip()
    if kind is None or {bool(colon), bool(value)} != {":" in kind.form}:
        *forms, last = (one.form for one in KINDS.values())
        raise BuilderError(f"`select={text}`: expected {', '.join(forms)} or {last}")
    try:
        return kind.make(value, language)
    except BuilderError as error:
        raise BuilderError(f"`select={text}`: {error}") from error


def default_selections(language: Language) -> tuple[Selection, ...]:
    """Return Good and Featured articles, or the one of them that a Wikipedia has.

    Raises:
        BuilderError: It has neither.
    """
    names = (language.good_category, language.featured_category)
    found = tuple(Category(name=name) for name in names if name is not None)
    if not found:
        raise BuilderError(
            f"no category of Good articles is known for {language.code}; name one: `select=category:NAME`"
        )
    return found
