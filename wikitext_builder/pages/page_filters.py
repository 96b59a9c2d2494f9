"""Filters that a page must pass (`include`) or must not (`exclude`), in `fetch`, `import` and `build`.

A new filter is a class with `cost` and `why_not`, and an entry of `FILTERS`. For `fetch` a selection is a
filter too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract
from wikitext_builder.pages.lock import (
    language_in_lock,
    read_attribution,
    read_lock,
    read_titles,
)
from wikitext_builder.pages.rows import Revision
from wikitext_builder.pages.rules import ASKS, UNKNOWN, Filter, Makers, Past, Rule, Texts, WhyNot, parse_all
from wikitext_builder.runners.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.wiki.classify import classifier, tidy_title, title_fault, with_first
from wikitext_builder.wiki.dates import PAGE_DATES, Span, days_before, parse_span
from wikitext_builder.wiki.languages import Language, language_of

RANGE = re.compile(r"(\d{1,9})?-(\d{1,9})?", re.ASCII)
UNKNOWN_MARKS = ", as far as known: add what its talk pages say as `talk_mark` to languages.toml"
QUIET_DAYS = 30  # a mark that a vandal removed is back sooner; a real demotion lasts longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """It is in a file of titles or a lock file; of a lock file the page ids count too, because pages move."""

    titles: frozenset[str] = field(repr=False)
    page_ids: frozenset[int] = field(repr=False)
    digest: str  # of the names, so that two of these can be compared by what they print
    cost: int = 0

    @classmethod
    def of(cls, titles: Iterable[str], page_ids: Iterable[int] = ()) -> Named:
        """The condition for these names."""
        names, numbers = frozenset(titles), frozenset(page_ids)
        digest = hashlib.sha256(repr((sorted(names), sorted(numbers))).encode()).hexdigest()
        return cls(titles=names, page_ids=numbers, digest=digest)

    def why_not(self, page: Page | Revision, _past: Past | None = None) -> WhyNot:
        """See `Filter`."""
        named = page.title in self.titles or page.page_id in self.page_ids
        return None if named else ("", "it is not one of these pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Its length is in a range."""

    unit: str  # words of the article, or bytes of its wikitext
    least: int
    most: int
    language: str
    names: Language = field(repr=False)

    @property
    def cost(self) -> int:
        """See `Filter`."""
        return 2 if self.unit == "words" else 1

    def why_not(self, page: Page, _past: Past) -> WhyNot:
        """See `Filter`."""
        if self.unit == "bytes":
            length = len(page.wikitext.encode())
        else:
            with time_limit(SECONDS_PER_PAGE):
                length = sum(
                    len(line.strip("= ").split()) for line in extract(page, language=self.names).lines
                )
        found = f"{length:,} {self.unit}"
        if length < self.least:
            return "too-short", f"{found}, fewer than {self.least:,}"
        return ("too-long", f"{found}, more than {self.most:,}") if length > self.most else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Its wikitext calls one of some templates."""

    names: tuple[str, ...]
    language: Language = field(repr=False)
    cost: int = 1

    def why_not(self, page: Page, _past: Past) -> WhyNot:
        """See `Filter`."""
        called = classifier(self.language).calls(self.names, page.wikitext)
        return None if called else ("", f"it calls none of the templates {', '.join(self.names)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """Its first revision is of a span of time, and its text did not come from an older page."""

    span: Span
    language: Language = field(repr=False)
    moved: frozenset[str] = field(default=frozenset(), repr=False)  # titles that a log of moves names
    cost: int = ASKS

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """See `Filter`."""
        first = past.first(page)
        found = f"its first revision is of {first.timestamp}"
        if not first.timestamp:
            return UNKNOWN, "its first revision is not known"
        if first.timestamp < self.span.since:
            moved = "moved-in" if page.title in self.moved else "created-earlier"
            why = past.why_older(page, self.span.since) or moved
            return why, f"{found}, before {self.span.since}"
        if first.timestamp > self.span.until:
            return "created-later", f"{found}, after {self.span.until}"
        words = classifier(self.language).copied_from(first.summary)
        return ("split", f"{found}, which says: {words}") if words else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """It became Good or Featured in a span of time, and was neither when that began nor a month before."""

    span: Span
    language: Language = field(repr=False)
    cost: int = ASKS

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """See `Filter`."""
        listed, text = past.promoted(page, self.span.since)
        if listed < self.span.since:
            since = f"has listed it since {listed}" if listed else "does not list it"
            return "promoted-earlier" if listed else "not-promoted", f"its category {since}"
        marked = classifier(self.language).is_marked
        title, early = page.title, days_before(self.span.since, QUIET_DAYS)
        if not marked(page.wikitext):  # the mark may be on the talk page
            title = f"Talk:{page.title}"
            marked = classifier(self.language).is_marked_talk
            if not marked(past.text_at(title, self.span.until)):
                known = "" if self.language.talk_mark else UNKNOWN_MARKS
                return (
                    "no-mark",
                    f"its category lists it, but neither its text nor its talk page has a mark{known}",
                )
            text = past.text_at(title, self.span.since)
        elif self.span.until < page.timestamp and not marked(past.text_at(title, self.span.until)):
            return "promoted-later", f"{title!r} had no mark at {self.span.until}"
        if marked(text):
            return "promoted-earlier", f"{title!r} had the mark at {self.span.since}"
        if marked(past.text_at(title, early)):
            return "promoted-earlier", f"{title!r} had the mark at {early}, and lost it for a short time"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A bot made it, or a user who made many like it on that day."""

    cost: int = ASKS

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """See `Filter`."""
        found = past.series(past.first(page))
        return None if found else ("", "a person made it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """A project of the wiki's editors rates it so."""

    classes: frozenset[str] = field(repr=False)
    shown: str
    cost: int = ASKS

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """See `Filter`."""
        found = past.classes(page)
        what = ", ".join(sorted(found)) or "nothing"
        return None if found & self.classes else ("", f"rated {what}, not {self.shown}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A date that the store knows of its page is of a span of time."""

    what: str  # created or promoted
    span: Span

    def why_not(self, revision: Revision) -> WhyNot:
        """Why a revision is not so; None if it is."""
        found = getattr(revision, self.what)
        return None if self.span.has(found) else ("", f"{self.what} {found or 'at an unknown time'}")


# --- as users write them


def titles_in(path: Path) -> frozenset[str]:
    """The titles of a file as pages have them; BuilderError: no page can have one of them."""
    titles, bad = read_titles(path)
    if bad:
        raise BuilderError(bad[0].detail)
    return frozenset(with_first(title, upper=True) for title in titles)


def _titles(value: str, _language: Language) -> Named:
    return Named.of(titles_in(Path(value)))


def _lock(value: str, language: Language, *, is_known: bool = False) -> Named:
    revisions = read_lock(Path(value), language=language.code)
    _expect_wiki(value, language_in_lock(Path(value), language).index_address, language, is_known=is_known)
    return Named.of((one.title for one in revisions), (one.page_id for one in revisions))


def _dataset(value: str, language: Language, *, is_known: bool = False) -> Named:
    rows = list(read_attribution(Path(value)))
    for url in dict.fromkeys(row.url.partition("?")[0] for row in rows):
        _expect_wiki(value, url, language, is_known=is_known)
    return Named.of((row.title for row in rows), (row.page_id for row in rows))


def _expect_wiki(value: str, address: str, language: Language, *, is_known: bool) -> None:
    """Refuse a file of another wiki, whose page ids are of other pages.

    `fetch` and `import` read it before they know the wiki: they refuse another Wikipedia only.
    """
    host, own = (one.partition("://")[2].partition("/")[0] for one in (address, language.index_address))
    if host != own and (is_known or host.endswith(".wikipedia.org")):
        raise BuilderError(f"{value}: expected pages of {own}, found those of {host or address}")


def _length(unit: str) -> Callable[[str, Language], Filter]:
    def make(value: str, language: Language) -> Filter:
        found = RANGE.fullmatch(value)
        if found is None or value == "-":
            raise BuilderError("expected MIN-MAX, MIN- or -MAX")
        least, most = int(found[1] or 0), int(found[2] or 10**9)
        if least > most:
            raise BuilderError(f"no page has {least} or more and {most} or fewer; expected MIN-MAX")
        return Length(unit=unit, least=least, most=most, language=language.code, names=language)

    return make


def _stubs(_value: str, language: Language) -> Filter:
    if not language.stub_marks:
        raise BuilderError(
            f"no templates of stubs are known for the {language.code} Wikipedia; it may have none. Name them"
            " as template:NAME, or give a length, bytes:MIN-"
        )
    return Calls(names=language.stub_marks, language=language)


def _template(value: str, language: Language) -> Filter:
    names = tuple(tidy_title(name) for name in value.split(","))
    for name in names:
        if fault := title_fault(name):
            raise BuilderError(f"expected names of templates, separated by commas, found {name!r}: {fault}")
    return Calls(names=names, language=language)


def _quality(value: str, _language: Language) -> Filter:
    classes = re.split(r"\s*,\s*", value)
    if not all(classes):
        raise BuilderError("expected names of classes, separated by commas")
    return Quality(classes=frozenset(classes), shown=value)


def dated(language: Language) -> Language:
    """A language whose categories of Good and Featured say since when a page is in them."""
    if not language.categories:
        raise BuilderError(
            f"the categories of Good and Featured articles of the {language.code} Wikipedia are not known,"
            " and badges have no dates; select by created-since:DATE, or good for those of today"
        )
    return language


CREATED, PROMOTED = (f"{what}-since:DATE[..DATE]" for what in PAGE_DATES)
OF_FILES: Makers[Named] = {"titles:FILE": _titles, "lock:FILE": _lock, "dataset:FOLDER": _dataset}
# `build` has the filters of revisions in a store, `import` those that ask no wiki, `fetch` all.
STORED: Makers[Named | Dated] = {
    **OF_FILES,
    "lock:FILE": partial(_lock, is_known=True),
    "dataset:FOLDER": partial(_dataset, is_known=True),
    CREATED: lambda value, _language: Dated(what="created", span=parse_span(value)),
    PROMOTED: lambda value, _language: Dated(what="promoted", span=parse_span(value)),
}
WITHOUT_WIKI: Makers[Filter] = {
    **OF_FILES,
    "words:MIN-MAX": _length("words"),
    "bytes:MIN-MAX": _length("bytes"),
    "stubs": _stubs,
    "template:NAME[,NAME]": _template,
    CREATED: lambda value, language: Created(span=parse_span(value), language=language),
}
FILTERS: Makers[Filter] = {
    **WITHOUT_WIKI,
    PROMOTED: lambda value, language: Promoted(span=parse_span(value), language=dated(language)),
    "series": lambda _value, _language: Series(),
    "quality:CLASS[,CLASS]": _quality,
}


def parse_rules(include: Texts, exclude: Texts, language: Language) -> tuple[Rule, ...]:
    """Return the rules that two arguments name, each in the forms of filters that ask no wiki."""
    found = parse_all(include, exclude, language, WITHOUT_WIKI)
    return tuple(Rule(text=text, condition=one, include=included) for text, one, included in found)


def chosen(
    revisions: Sequence[Revision], include: Texts, exclude: Texts, language: str | Language
) -> Sequence[Revision]:
    """Return the revisions that are all that `include` names and nothing that `exclude` names (`STORED`)."""
    rules = parse_all(include, exclude, language_of(language), STORED)
    if not rules:
        return revisions
    return [one for one in revisions if all((rule.why_not(one) is None) == yes for _, rule, yes in rules)]
