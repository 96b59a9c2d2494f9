"""Filters pages that must pass (`include`) or must not pass (`exclude`), in `fetch`, `import` and `build`.

A new filter is a class with `cost` and `why_not`, and an entry of `FILTERS`. In `fetch` a selection is a
filter too, which the pages that it finds pass.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract
from wikitext_builder.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.store.lock import language_in_lock, read_attribution, read_lock, read_titles
from wikitext_builder.store.schema import Revision
from wikitext_builder.wiki.classify import classifier, tidy_title, title_fault
from wikitext_builder.wiki.dates import Span, parse_span
from wikitext_builder.wiki.languages import Language, language_of, with_first

RANGE = re.compile(r"(\d{1,9})?-(\d{1,9})?", re.ASCII)
UNKNOWN = "creation-unknown"  # creation date unknown: rejected by --include and by --exclude
ASKS_WIKI = 3  # the cost of a filter that asks a wiki
Fault = tuple[str, str] | None  # a reason and a sentence; None if the page passes
Texts = str | Sequence[str]  # filters as users write them
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRevision:
    """The first revision of a page."""

    timestamp: str = ""  # ISO 8601 in UTC; empty if unknown
    summary: str = ""


# A function that returns the first revision of a page id, as far as the page's source knows it.
FirstOf = Callable[[int], FirstRevision]


class Filter(Protocol):
    """A condition on pages."""

    @property
    def cost(self) -> int:
        """Relative cost: 0 metadata, 1 scans the text, 2 runs extraction, `ASKS_WIKI` asks a wiki."""
        ...

    def why_not(self, page: Page, first_of: FirstOf) -> Fault:
        """Return why a page does not pass; None if it passes.

        Raises:
            RejectedError: The filter cannot decide, so the page is not used.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[Kind]):
    """A filter that a user gave: each page must pass it, or no page may."""

    text: str  # as the user wrote it
    filter: Kind
    include: bool  # False: exclude

    @property
    def reason(self) -> str:
        """The rejection reason, such as `within-titles` or `without-titles`."""
        return f"{'within' if self.include else 'without'}-{self.text.partition(':')[0]}"

    def verdict(self, fault: Fault) -> Fault:
        """Return why a page is not taken, from the fault that the filter found; None if it is taken."""
        if fault and (self.include or fault[0] == UNKNOWN):
            return fault[0] or self.reason, fault[1]
        return None if fault or self.include else (self.reason, f"--exclude {self.text}")


def first_fault(rules: Iterable[Rule[Filter]], page: Page, first_of: FirstOf) -> Fault:
    """Return the fault for which the first rule, cheapest first, rejects a page; None if it is taken."""
    for rule in sorted(rules, key=lambda rule: rule.filter.cost):
        if fault := rule.verdict(rule.filter.why_not(page, first_of)):
            return fault
    return None


# --- filters


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The page is in a titles file or lock file; lock files also match by page id, because pages move."""

    titles: frozenset[str] = field(repr=False)
    page_ids: frozenset[int] = field(repr=False)
    digest: str  # of the names, for comparing two filters by their repr
    cost: int = 0

    @classmethod
    def of(cls, titles: Iterable[str], page_ids: Iterable[int] = ()) -> Named:
        """Return the filter of these pages."""
        names, ids = frozenset(titles), frozenset(page_ids)
        digest = hashlib.sha256(repr((sorted(names), sorted(ids))).encode()).hexdigest()
        return cls(titles=names, page_ids=ids, digest=digest)

    def why_not(self, page: Page | Revision, _first_of: FirstOf) -> Fault:
        """See `Filter`."""
        is_named = page.title in self.titles or page.page_id in self.page_ids
        return None if is_named else ("", "it is not one of these pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """The page's length is in a range."""

    unit: str  # words of the article, or bytes of its wikitext
    minimum: int
    maximum: int
    language: Language = field(repr=False)

    @property
    def cost(self) -> int:
        """See `Filter`."""
        return 2 if self.unit == "words" else 1

    def why_not(self, page: Page, _first_of: FirstOf) -> Fault:
        """See `Filter`."""
        length = len(page.wikitext.encode()) if self.unit == "bytes" else self._words(page)
        size = f"{length:,} {self.unit}"
        if length < self.minimum:
            return "too-short", f"{size}, fewer than {self.minimum:,}"
        return ("too-long", f"{size}, more than {self.maximum:,}") if length > self.maximum else None

    def _words(self, page: Page) -> int:
        with time_limit(SECONDS_PER_PAGE):
            lines = extract(page, language=self.language).lines
        return sum(len(line.strip("= ").split()) for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The page's wikitext calls one of the templates."""

    names: tuple[str, ...]
    language: Language = field(repr=False)
    cost: int = 1

    def why_not(self, page: Page, _first_of: FirstOf) -> Fault:
        """See `Filter`."""
        calls = classifier(self.language).calls(self.names, page.wikitext)
        return None if calls else ("", f"it calls none of the templates {', '.join(self.names)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The page's first revision is in a span of time, and its text does not come from an older page."""

    span: Span
    language: Language = field(repr=False)
    cost: int = ASKS_WIKI

    def why_not(self, page: Page | Revision, first_of: FirstOf) -> Fault:
        """See `Filter`."""
        first = first_of(page.page_id)
        creation = f"its first revision is of {first.timestamp}"
        if not first.timestamp:
            return UNKNOWN, "its first revision is not known"
        if first.timestamp < self.span.since:
            return "created-earlier", f"{creation}, before {self.span.since}"
        if first.timestamp > self.span.until:
            return "created-later", f"{creation}, after {self.span.until}"
        words = classifier(self.language).copied_from(first.summary)
        return ("split", f"{creation}, which says: {words}") if words else None


# --- filters as users write them


# Functions that make filters or selections, by the form in which users write them: for `category:NAME` the
# function gets the value, for `stubs` an empty one.
Makers = Mapping[str, Callable[[str, Language], Kind]]


def parse_kind(argument: str, text: str, language: Language, makers: Makers[Kind]) -> Kind:
    """Make the filter or selection that a text in a form of `makers` names; `argument` is for errors."""
    name, colon, value = text.partition(":")
    form, value = next((form for form in makers if form.partition(":")[0] == name), ""), value.strip()
    if not form or {bool(colon), bool(value)} != {":" in form}:
        *forms, last = makers
        raise BuilderError(f"--{argument} {text}: expected {', '.join(forms)} or {last}")
    try:
        return makers[form](value, language)
    except BuilderError as error:
        raise BuilderError(f"--{argument} {text}: {error}") from error


def parse_rules(
    include: Texts, exclude: Texts, language: Language, makers: Makers[Kind]
) -> tuple[Rule[Kind], ...]:
    """Return the rules that two arguments name, each in a form of `makers`."""
    arguments = {"include": include, "exclude": exclude}
    return tuple(
        Rule(text=text, filter=parse_kind(name, text, language, makers), include=name == "include")
        for name, texts in arguments.items()
        for text in ([texts] if isinstance(texts, str) else texts)
    )


def titles_in(path: Path) -> frozenset[str]:
    """Return the titles in a file as pages have them; BuilderError: no page can have one of them."""
    titles, rejected = read_titles(path)
    if rejected:
        raise BuilderError(rejected[0].detail)
    return frozenset(with_first(title, upper=True) for title in titles)


def _titles(value: str, _language: Language) -> Named:
    return Named.of(titles_in(Path(value)))


def _lock(value: str, language: Language, *, is_known: bool = False) -> Named:
    revisions = read_lock(Path(value), language=language.code)
    _expect_wiki(value, language_in_lock(Path(value), language).index_address, language, is_known=is_known)
    return Named.of((row.title for row in revisions), (row.page_id for row in revisions))


def _dataset(value: str, language: Language, *, is_known: bool = False) -> Named:
    rows = list(read_attribution(Path(value)))
    for url in dict.fromkeys(row.url.partition("?")[0] for row in rows):
        _expect_wiki(value, url, language, is_known=is_known)
    return Named.of((row.title for row in rows), (row.page_id for row in rows))


def _expect_wiki(value: str, wiki_url: str, language: Language, *, is_known: bool) -> None:
    """Refuse a file of another wiki, whose page ids mean other pages.

    `fetch` and `import` read the file before they know the wiki, so they refuse only another Wikipedia.
    """
    host, expected = (url.partition("://")[2].partition("/")[0] for url in (wiki_url, language.index_address))
    if host != expected and (is_known or host.endswith(".wikipedia.org")):
        raise BuilderError(f"{value}: expected pages of {expected}, found those of {host or wiki_url}")


def _length(unit: str) -> Callable[[str, Language], Filter]:
    def make(value: str, language: Language) -> Filter:
        bounds = RANGE.fullmatch(value)
        if bounds is None or value == "-":
            raise BuilderError("expected MIN-MAX, MIN- or -MAX")
        minimum, maximum = int(bounds[1] or 0), int(bounds[2] or 10**9)
        if minimum > maximum:
            raise BuilderError(f"no page has {minimum} or more and {maximum} or fewer; expected MIN-MAX")
        return Length(unit=unit, minimum=minimum, maximum=maximum, language=language)

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


def _created(value: str, language: Language) -> Created:
    return Created(span=parse_span(value), language=language)


CREATED = "created-since:DATE[..DATE]"
FILE_FILTERS: Makers[Named] = {"titles:FILE": _titles, "lock:FILE": _lock, "dataset:FOLDER": _dataset}
# `build` filters revisions in a store, `fetch` and `import` filter pages.
REVISION_FILTERS: Makers[Named | Created] = {
    **FILE_FILTERS,
    "lock:FILE": partial(_lock, is_known=True),
    "dataset:FOLDER": partial(_dataset, is_known=True),
    CREATED: _created,
}
FILTERS: Makers[Filter] = {
    **FILE_FILTERS,
    "words:MIN-MAX": _length("words"),
    "bytes:MIN-MAX": _length("bytes"),
    "stubs": _stubs,
    "template:NAME[,NAME]": _template,
    CREATED: _created,
}


def chosen(
    revisions: Sequence[Revision], include: Texts, exclude: Texts, language: str | Language
) -> Sequence[Revision]:
    """Return the revisions that pass all of `include` and none of `exclude`, see `REVISION_FILTERS`."""
    rules = parse_rules(include, exclude, language_of(language), REVISION_FILTERS)

    def is_chosen(revision: Revision) -> bool:
        first = FirstRevision(timestamp=revision.created)
        return not any(rule.verdict(rule.filter.why_not(revision, lambda _: first)) for rule in rules)

    return [revision for revision in revisions if is_chosen(revision)]
