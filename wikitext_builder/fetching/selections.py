"""Selects pages to fetch: by category, badge, list, file or time, with filters that each page must pass.

A new selection is a class with a method `find`, and an entry of `SELECTIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.lookup import (
    DONE,
    Lookup,
    Selected,
    Selection,
    created_titles,
    links_of,
    moved_titles,
    sampled,
)
from wikitext_builder.fetching.page_filters import (
    CREATED,
    FILTERS,
    Created,
    Filter,
    Makers,
    Named,
    Rule,
    Texts,
    parse_kind,
    parse_rules,
)
from wikitext_builder.store.lock import lock_language, read_lock, read_titles
from wikitext_builder.store.schema import Rejected, Revision, Wanted
from wikitext_builder.wiki.classify import tidy_title, title_fault
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.dates import Span, past_span
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import FoundPage

PAGE_AT = re.compile(r"(.+)@([1-9]\d*)")
# Items of Wikidata. In a Wikipedia without Good articles, for example, no page has that badge.
BADGES: Final = {"good": "Q17437798", "featured": "Q17437796"}


# --- listings


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """The articles in a category today, without those of its sub-categories."""

    name: str  # without its namespace

    def find(self, lookup: Lookup) -> Selected:
        """List the members; the store notes each part, so that a killed listing can be resumed."""
        members = {"cmtitle": f"Category:{self.name}", "cmtype": "page", "cmnamespace": "0", "cmlimit": "max"}
        titles = lookup.list_titles(
            f"category {self.name}", self.name, "categorymembers", {"cmprop": "title", **members}
        )
        if not titles:
            raise BuilderError(
                f"Category:{self.name} of {lookup.wikipedia.api} has no articles or does not exist; check its"
                " name, or name another as --select category:NAME"
            )
        return Selected(wanted=lookup.wanted(titles))


@dataclass(frozen=True, slots=True, kw_only=True)
class Badged:
    """The articles that have one of the badges today."""

    names: tuple[str, ...]  # of `BADGES`

    def find(self, lookup: Lookup) -> Selected:
        """List the pages with the badge; the store notes each part, so that a killed listing resumes."""
        titles = set[str]()
        for name in self.names:
            badge = {"pwppropname": f"wikibase-badge-{BADGES[name]}", "pwpprop": "title", "pwplimit": "max"}
            titles.update(lookup.list_titles(f"badge {name}", name, "pageswithprop", badge))
        if not titles:
            raise BuilderError(
                f"{lookup.wikipedia.api}: no article has the badge of {' or '.join(self.names)} articles;"
                " name a category of them: --select category:NAME"
            )
        return Selected(wanted=lookup.wanted(titles))


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
            wanted=tuple(Wanted(title=row.title, revision_id=row.revision_id) for row in revisions),
            locked={row.revision_id: row for row in revisions},
        )


# --- list pages


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """The articles that a page's own wikitext links to, at a revision or at the date of the fetch."""

    title: str
    revision_id: int = 0  # 0 for the revision at the date

    def find(self, lookup: Lookup) -> Selected:
        """Read the links of the page, once, because the store notes them."""
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
        """Return the page with the selected revision as its first."""
        if self.revision_id:
            target, found = f"revision {self.revision_id}", wikipedia.find({"revids": str(self.revision_id)})
        else:
            dated = {"rvstart": as_of, "rvdir": "older", "rvlimit": "1"} if as_of else {}
            found = wikipedia.find({"titles": self.title, "redirects": "1", **dated})
            target = f"revision up to {as_of}" if as_of else "such page"
        page = next((page for page in found.pages.values() if page.revisions), None)
        if page is None:
            raise BuilderError(
                f"{self.title}: there is no {target} at {wikipedia.api}; check the title and the date"
            )
        if self.revision_id and tidy_title(self.title).casefold() != page.title.casefold():
            raise BuilderError(
                f"revision {self.revision_id} is of {page.title!r}, not of {self.title!r}; name that page"
            )
        return page


# --- time


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentPages:
    """The articles in the log of creations in a span of time, as live leaderboards take them."""

    span: Span

    def find(self, lookup: Lookup) -> Selected:
        """List the log, and find today's titles of its pages."""
        titles, rejected = created_titles(lookup, self.span)
        return Selected(wanted=lookup.wanted(titles), rejected=rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSince:
    """The articles whose first revision is in a span of time."""

    span: Span
    language: Language = field(repr=False)

    def find(self, lookup: Lookup) -> Selected:
        """List pages that were created or became articles; the filter of this name then checks each page."""
        created, rejected = created_titles(lookup, self.span)
        wanted = lookup.wanted({*created, *moved_titles(lookup, self.span)})
        created_filter = Created(span=self.span, language=self.language)
        rule: Rule[Filter] = Rule(text="created-since", filter=created_filter, include=True)
        return Selected(wanted=wanted, rejected=rejected, rules=(rule,))


# --- selections as users write them


def _of_quality(name: str, language: Language) -> Selection:
    category = language.good_category if name == "good" else language.featured_category
    if not language.categories:
        return Badged(names=(name,))
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


SELECTIONS: Makers[Selection] = {
    "good": lambda _, language: _of_quality("good", language),
    "featured": lambda _, language: _of_quality("featured", language),
    "category:NAME": _category,
    "list:PAGE[@REVISION]": _list_page,
    "titles:FILE": lambda value, _: TitlesFile(path=Path(value)),
    "lock:FILE": lambda value, _: LockFile(path=Path(value)),
    CREATED: lambda value, language: CreatedSince(span=past_span(value), language=language),
    "recent:DATE[..DATE]": lambda value, _: RecentPages(span=past_span(value)),
}
FILTERS_OF_FETCH: Makers[Filter | Selection] = {**SELECTIONS, **FILTERS}


def parse_selections(texts: Texts, language: Language) -> list[Selection]:
    """Return the selections that texts name, in the forms of `SELECTIONS`; default: good and featured.

    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> parse_selections(["good", "list:Wikipedia:Featured articles@715000000"], LANGUAGES["en"])
    [Category(name='Good articles'), ListPage(title='Wikipedia:Featured articles', revision_id=715000000)]
    """
    texts = [texts] if isinstance(texts, str) else texts
    selections = [parse_kind("select", text, language, SELECTIONS) for text in texts]
    if len(selections) > 1 and any(isinstance(selection, CreatedSince) for selection in selections):
        raise BuilderError(
            "--select created-since proves each page by its first revision: select nothing else with it, and"
            " fetch other pages into the same store by another command"
        )
    # Both, or the only one that a Wikipedia has.
    default: list[Selection] = [Category(name=name) for name in language.categories]
    return selections or default or [Badged(names=tuple(BADGES))]


def language_selected(texts: Texts) -> str:
    """Return the language of the first lock file that texts select; empty without one."""
    paths = (text.partition(":") for text in ([texts] if isinstance(texts, str) else texts))
    return next((lock_language(Path(path)) for kind, _, path in paths if kind == "lock"), "")


def parse_conditions(
    include: Texts, exclude: Texts, language: Language
) -> tuple[Rule[Filter | Selection], ...]:
    """Return the rules that two arguments name, as `FILTERS` or as selections that are not filters."""
    return parse_rules(include, exclude, language, FILTERS_OF_FETCH)


def select_pages(
    lookup: Lookup,
    selections: Sequence[Selection],
    *,
    conditions: Sequence[Rule[Filter | Selection]] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Selected:
    """Return the distinct pages of selections, in the order of titles (by code point) and revision ids.

    A title that conditions exclude is rejected without a request. A larger `limit` or `sample` only adds
    pages.
    """
    joined = _joined([selection.find(lookup) for selection in selections])
    rules = tuple(_resolved(rule, lookup) for rule in conditions)
    wanted, rejected = list[Wanted](), list(joined.rejected)
    for page in sorted(sampled(joined.wanted, sample, seed))[:limit]:
        if rule := next((rule for rule in rules if _excludes(rule, page)), None):
            detail = f"--exclude {rule.text}"
            rejected.append(Rejected(title=page.title, reason=rule.reason, detail=detail))
        else:
            wanted.append(page)
    return Selected(
        wanted=tuple(wanted),
        locked=joined.locked,
        rejected=tuple(rejected),
        rules=(*rules, *joined.rules),
    )


def _joined(found: Sequence[Selected]) -> Selected:
    """Join the results of selections, each page once."""
    wanted = {page for selected in found for page in selected.wanted}
    rejected = tuple(page for selected in found for page in selected.rejected)
    if not wanted and not rejected:
        raise BuilderError("nothing is selected; check the names in --select")
    locked: dict[int, Revision] = {}
    for selected in found:
        locked |= selected.locked
    rules = tuple(rule for selected in found for rule in selected.rules)
    return Selected(wanted=tuple(wanted), locked=locked, rejected=rejected, rules=rules)


def _resolved(rule: Rule[Filter | Selection], lookup: Lookup) -> Rule[Filter]:
    """Replace a selection by the filter of the titles that it finds."""
    page_filter = rule.filter
    if isinstance(page_filter, Selection):
        page_filter = Named.of(page.title for page in page_filter.find(lookup).wanted)
    return Rule(text=rule.text, filter=page_filter, include=rule.include)


def _excludes(rule: Rule[Filter], page: Wanted) -> bool:
    """Return True if a rule excludes a page by its title alone."""
    return not rule.include and isinstance(rule.filter, Named) and page.title in rule.filter.titles
