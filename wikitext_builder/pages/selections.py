"""Which pages to fetch, by category, list, title or time, and what each of them must be or may not be.

A new selection is a class with a method `find`, and an entry of `SELECTIONS`. The selections by time list
candidates; the filter of the same name then confirms each page when it is here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.pages.categories import BADGES, Badged, Category
from wikitext_builder.pages.lock import read_lock, read_titles
from wikitext_builder.pages.lookup import (
    DONE,
    Lookup,
    Selected,
    Selection,
    created_titles,
    links_of,
    logged,
    moved_in,
    sampled,
    titles_in,
)
from wikitext_builder.pages.page_filters import CREATED, FILTERS, PROMOTED, Created, Named, Promoted, dated
from wikitext_builder.pages.rows import Rejected, Revision, Wanted
from wikitext_builder.pages.rules import (
    ASKS,
    Filter,
    Makers,
    Past,
    Rule,
    Texts,
    WhyNot,
    first_fault,
    parse_all,
    parse_kind,
)
from wikitext_builder.wiki.classify import tidy_title, title_fault
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.dates import Span, past_span
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import FoundPage

PAGE_AT = re.compile(r"(.+)@([1-9]\d*)")
DEPTH = re.compile(r"(.+?) *\| *depth *= *(\d)")  # no title has a |


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
            store.note_listing(listing, links_of(page.title, revision.text, wikipedia.site()), DONE)
        return Selected(wanted=lookup.wanted(store.listed(listing)))

    def _page(self, wikipedia: Wikipedia, as_of: str) -> FoundPage:
        """Return the page with the revision that counts as its first."""
        if self.revision_id:
            when, found = f"revision {self.revision_id}", wikipedia.find({"revids": str(self.revision_id)})
        else:
            dated = {"rvstart": as_of, "rvdir": "older", "rvlimit": "1"} if as_of else {}
            found = wikipedia.find({"titles": self.title, "redirects": "1", **dated})
            when = f"revision up to {as_of}" if as_of else "such page"
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


# --- time


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentPages:
    """The articles that the log of creations names in a span of time, as live leaderboards take them."""

    span: Span

    def find(self, lookup: Lookup) -> Selected:
        """List the log, and find today's titles of its pages."""
        titles, rejected = created_titles(lookup, self.span)
        return Selected(wanted=lookup.wanted(titles), rejected=rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSince:
    """The articles whose first revision is of a span of time."""

    span: Span
    language: Language = field(repr=False)

    def find(self, lookup: Lookup) -> Selected:
        """List what was created, moved among the articles or imported."""
        created, rejected = created_titles(lookup, self.span)
        moved = logged(lookup, "move", self.span, moved_in)
        imported = logged(lookup, "import", self.span, titles_in)
        condition = Created(span=self.span, language=self.language, moved=frozenset(moved))
        wanted = lookup.wanted({*created, *moved, *imported})
        return Selected(wanted=wanted, rejected=rejected, condition=condition)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedSince:
    """The articles that became Good or Featured in a span of time."""

    span: Span
    language: Language = field(repr=False)

    def find(self, lookup: Lookup) -> Selected:
        """List what joined the categories since then."""
        since, titles = self.span.since, set[str]()
        for category in self.language.categories:
            found = lookup.list_members(
                f"category {category} since {since}",
                f"{category} since {since[:10]}",
                category,
                cmsort="timestamp",
                cmdir="newer",
                cmstart=since,
            )
            titles.update(found)
        condition = Promoted(span=self.span, language=self.language)
        return Selected(wanted=lookup.wanted(titles), condition=condition)


# --- selections as users write them


def _of_quality(name: str, language: Language) -> Selection:
    category = language.good_category if name == "good" else language.featured_category
    if not language.categories:
        return Badged(names=(name,))
    if category is None:
        raise BuilderError(f"the {language.code} Wikipedia has no such category; name one as category:NAME")
    return Category(name=category)


def _category(value: str, language: Language) -> Selection:
    deep = DEPTH.fullmatch(value)
    value = deep[1] if deep else value
    prefix, colon, rest = value.partition(":")
    spaces = {space.lower() for space in ("Category", *language.category_namespaces)}
    has_namespace = bool(colon) and prefix.strip().lower() in spaces
    name = _checked_title(rest.strip() if has_namespace else value)
    return Category(name=name, depth=int(deep[2]) if deep else 0)


def _list_page(value: str, _language: Language) -> Selection:
    at = PAGE_AT.fullmatch(value)
    title = _checked_title(at[1] if at else value)
    return ListPage(title=title, revision_id=int(at[2]) if at else 0)


def _checked_title(name: str) -> str:
    title = tidy_title(name)
    if fault := title_fault(title):
        raise BuilderError(f"no page can have this title, {fault}")
    return title


SELECTIONS: Makers[Selection] = {
    "good": lambda _, language: _of_quality("good", language),
    "featured": lambda _, language: _of_quality("featured", language),
    "category:NAME[|depth=N]": _category,
    "list:PAGE[@REVISION]": _list_page,
    "titles:FILE": lambda value, _: TitlesFile(path=Path(value)),
    "lock:FILE": lambda value, _: LockFile(path=Path(value)),
    CREATED: lambda value, language: CreatedSince(span=past_span(value), language=language),
    PROMOTED: lambda value, language: PromotedSince(span=past_span(value), language=dated(language)),
    "recent:DATE[..DATE]": lambda value, _: RecentPages(span=past_span(value)),
}


def parse_selection(text: str, language: Language) -> Selection:
    """Return the selection that a text names, in one of the forms of `SELECTIONS`.

    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> parse_selection("good", LANGUAGES["en"])
    Category(name='Good articles', depth=0)
    >>> parse_selection("list:Wikipedia:Featured articles@715000000", LANGUAGES["en"])
    ListPage(title='Wikipedia:Featured articles', revision_id=715000000)
    """
    return parse_kind("select", text, language, SELECTIONS)


def default_selections(language: Language) -> tuple[Selection, ...]:
    """Return Good and Featured articles, or the one of them that a Wikipedia has."""
    return tuple(Category(name=name) for name in language.categories) or (Badged(names=tuple(BADGES)),)


@dataclass(frozen=True, slots=True)
class Wish:
    """What each page must be, or none may be, as a user wrote it: a filter, or another selection."""

    text: str
    choice: Filter | Selection
    include: bool

    def rule(self, lookup: Lookup) -> Rule:
        """The rule; of a selection the titles that it finds."""
        found = self.choice
        if isinstance(found, Selection):
            found = Named.of(one.title for one in found.find(lookup).wanted)
        return Rule(text=self.text, condition=found, include=self.include)


def parse_wishes(include: Texts, exclude: Texts, language: Language) -> tuple[Wish, ...]:
    """Return what two arguments ask for, as `FILTERS` or as selections that are not filters."""
    makers: Makers[Filter | Selection] = {**SELECTIONS, **FILTERS}
    return tuple(Wish(*found) for found in parse_all(include, exclude, language, makers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The pages to ask for, and what each of them must be when it is here."""

    selected: Selected
    rules: tuple[Rule, ...] = ()
    unless: Mapping[Wanted, tuple[Filter, ...]] = field(default_factory=dict)  # one of these must hold

    def check(self, wanted: Wanted, page: Page, past: Past) -> None:
        """Check a page that came, first by rules that need no request; RejectedError: it is not taken."""
        cheap = [rule for rule in self.rules if rule.condition.cost < ASKS]
        dear = [rule for rule in self.rules if rule.condition.cost >= ASKS]
        found = (
            first_fault(cheap, page, past) or self._unmet(wanted, page, past) or first_fault(dear, page, past)
        )
        if found:
            raise RejectedError(*found)

    def _unmet(self, wanted: Wanted, page: Page, past: Past) -> WhyNot:
        """Why the selections that found a page do not take it; None if one of them does."""
        found = None
        for condition in self.unless.get(wanted, ()):
            if (found := condition.why_not(page, past)) is None:
                break
        return found

    @property
    def shown(self) -> str:
        """All that decides, as a text: it differs if another choice may take another page."""
        conditions = {repr(one) for several in self.unless.values() for one in several}
        return repr((self.rules, sorted(conditions))) if self.rules or conditions else ""


def select_pages(
    lookup: Lookup,
    selections: Sequence[Selection],
    *,
    wishes: Sequence[Wish] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Choice:
    """Return all pages of selections, each once, in the order of titles (by code point) and revision ids.

    A title that wishes exclude is rejected here, without a request. A larger `limit` or `sample` only adds
    pages.
    """
    conditions: dict[Wanted, tuple[Filter, ...] | None] = {}  # None: a selection takes it without one
    locked: dict[int, Revision] = {}
    rejected: list[Rejected] = []
    for selection in selections:
        found = selection.find(lookup)
        for one in found.wanted:
            before = conditions.get(one, ())
            if before is None or found.condition is None:
                conditions[one] = None
            else:
                conditions[one] = (*before, found.condition)
        locked |= found.locked
        rejected += found.rejected
    if not conditions and not rejected:
        raise BuilderError("nothing is selected; check the names in --select")
    rules = tuple(wish.rule(lookup) for wish in wishes)
    excluded = [
        (rule, rule.condition.titles)
        for rule in rules
        if not rule.include and isinstance(rule.condition, Named)
    ]
    wanted = []
    for one in sorted(sampled(conditions, sample, seed))[:limit]:
        rule = next((rule for rule, titles in excluded if one.title in titles), None)
        if rule is None:
            wanted.append(one)
        else:
            detail = f"--exclude {rule.text}"
            rejected.append(Rejected(title=one.title, reason=rule.reason, detail=detail))
    selected = Selected(wanted=tuple(wanted), locked=locked, rejected=tuple(rejected))
    return Choice(
        selected=selected,
        rules=rules,
        unless={one: several for one in wanted if (several := conditions[one])},
    )
