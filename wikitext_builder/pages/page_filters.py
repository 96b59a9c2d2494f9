"""What a page must be, or must not be, to be taken: for `fetch` and `import`, and of a store for `build`.

A new kind is a class with `cost` and `why_not`, and an entry of `CONDITIONS`. Kinds that need a wiki are in
`fetching/conditions.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar, cast

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.macros.php_strings import with_first
from wikitext_builder.extraction.page import extract
from wikitext_builder.pages.attribution import article_url, read_attribution
from wikitext_builder.pages.database import Packed
from wikitext_builder.pages.lock import read_lock, read_titles
from wikitext_builder.pages.page_history import Past, WikiPast
from wikitext_builder.pages.store import Revision
from wikitext_builder.runners.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.dates import Span, days_before, parse_span
from wikitext_builder.wiki.languages import Language, language_of
from wikitext_builder.wiki.titles import tidy_title, title_fault

UNKNOWN = "creation-unknown"  # a reason that is neither yes nor no: such a page is never taken
ASKS = 3  # the cost of a condition that asks a wiki
RANGE = re.compile(r"(\d{1,9})?-(\d{1,9})?", re.ASCII)
WhyNot = tuple[str, str] | None  # a reason and a sentence; None: the page is what it must be
Made = TypeVar("Made", covariant=True)


class Condition(Protocol):
    """What a page must be."""

    @property
    def cost(self) -> int:
        """0: a look, 1: it reads the text, 2: it extracts the article, `ASKS`: it asks a wiki."""
        ...

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """Why a page is not so; None if it is.

        Raises:
            RejectedError: It cannot be known, so that the page is not used either way.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition of a user: each page must meet it, or none may."""

    text: str  # as the user wrote it
    condition: Condition
    within: bool  # False: without

    @property
    def reason(self) -> str:
        """The reason to count pages by that are in a set that none may be in, or the other way round."""
        return f"{'within' if self.within else 'without'}-{self.text.partition(':')[0]}"

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """Why a page is not taken; None if it is."""
        found = self.condition.why_not(page, past)
        if self.within or (found and found[0] == UNKNOWN):
            return found and (found[0] or self.reason, found[1])
        return None if found else (self.reason, f"--without {self.text}")


def first_fault(rules: Iterable[Rule], page: Page, past: Past) -> WhyNot:
    """Why a page is not taken, by the first rule that says so, the cheap ones first; None if it is taken."""
    for rule in sorted(rules, key=lambda one: one.condition.cost):
        if found := rule.why_not(page, past):
            return found
    return None


# --- kinds


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
        """See `Condition`."""
        named = page.title in self.titles or page.page_id in self.page_ids
        return None if named else ("", "it is not one of these pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Its length is in a range."""

    unit: str  # words of the article, or bytes of its wikitext
    least: int
    most: int
    language: str

    @property
    def cost(self) -> int:
        """See `Condition`."""
        return 2 if self.unit == "words" else 1

    def why_not(self, page: Page, _past: Past) -> WhyNot:
        """See `Condition`."""
        if self.unit == "bytes":
            length = len(page.wikitext.encode())
        else:
            with time_limit(SECONDS_PER_PAGE):
                length = sum(
                    len(line.strip("= ").split()) for line in extract(page, language=self.language).lines
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
        """See `Condition`."""
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
        """See `Condition`."""
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


# --- as users write them


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[Made]):
    """One kind of selection or condition, as users write it."""

    form: str  # category:NAME; the text after the colon is its value
    make: Callable[[str, Language], Made]  # from the value, which is empty if the form has none


def parse_kind(argument: str, text: str, language: Language, kinds: Mapping[str, Kind[Made]]) -> Made:
    """Return what a text in one of the forms of `kinds` names; `argument` is for errors.

    Raises:
        BuilderError: It has another form, or its value is wrong.
    """
    name, colon, value = text.partition(":")
    kind, value = kinds.get(name), value.strip()
    if kind is None or {bool(colon), bool(value)} != {":" in kind.form}:
        *forms, last = (one.form for one in kinds.values())
        raise BuilderError(f"--{argument} {text}: expected {', '.join(forms)} or {last}")
    try:
        return kind.make(value, language)
    except BuilderError as error:
        raise BuilderError(f"--{argument} {text}: {error}") from error


def _titles(value: str, _language: Language) -> Named:
    titles, bad = read_titles(Path(value))
    if bad:
        raise BuilderError(bad[0].detail)
    return Named.of(with_first(title, upper=True) for title in titles)


def _lock(value: str, language: Language) -> Named:
    revisions = read_lock(Path(value), language=language.code)
    return Named.of((one.title for one in revisions), (one.page_id for one in revisions))


def _dataset(value: str, language: Language) -> Named:
    rows = list(read_attribution(Path(value)))
    start = article_url(language.code, 0).removesuffix("0")
    if other := next((row.url for row in rows if not row.url.startswith(start)), None):
        raise BuilderError(f"{value}: {other} is not of the {language.code} Wikipedia")
    return Named.of((row.title for row in rows), (row.page_id for row in rows))


def _length(unit: str) -> Callable[[str, Language], Condition]:
    def make(value: str, language: Language) -> Condition:
        found = RANGE.fullmatch(value)
        if found is None or value == "-":
            raise BuilderError("expected MIN-MAX, MIN- or -MAX")
        least, most = int(found[1] or 0), int(found[2] or 10**9)
        if least > most:
            raise BuilderError(f"no page has {least} or more and {most} or fewer; expected MIN-MAX")
        return Length(unit=unit, least=least, most=most, language=language.code)

    return make


def _stubs(_value: str, language: Language) -> Condition:
    if not language.stub_marks:
        raise BuilderError(
            f"no templates of stubs are known for the {language.code} Wikipedia; it may have none. Name them"
            " as template:NAME, or give a length, bytes:MIN-"
        )
    return Calls(names=language.stub_marks, language=language)


def _template(value: str, language: Language) -> Condition:
    names = tuple(tidy_title(name) for name in value.split(","))
    for name in names:
        if fault := title_fault(name):
            raise BuilderError(f"expected names of templates, separated by commas, found {name!r}: {fault}")
    return Calls(names=names, language=language)


def _created(value: str, language: Language) -> Condition:
    return Created(span=parse_span(value), language=language)


NAMED: dict[str, Kind[Named]] = {
    "titles": Kind(form="titles:FILE", make=_titles),
    "lock": Kind(form="lock:FILE", make=_lock),
    "dataset": Kind(form="dataset:FOLDER", make=_dataset),
}
CONDITIONS: dict[str, Kind[Condition]] = {
    **NAMED,
    "words": Kind(form="words:MIN-MAX", make=_length("words")),
    "bytes": Kind(form="bytes:MIN-MAX", make=_length("bytes")),
    "stubs": Kind(form="stubs", make=_stubs),
    "template": Kind(form="template:NAME[,NAME]", make=_template),
    "created-since": Kind(form="created-since:DATE[..DATE]", make=_created),
}


def parse_rules(
    within: str | Sequence[str], without: str | Sequence[str], language: Language
) -> tuple[Rule, ...]:
    """Return the rules that two arguments name, each in the forms of `CONDITIONS`.

    Raises:
        BuilderError: A text has none of the forms.
    """
    return tuple(
        Rule(
            text=text, condition=parse_kind(argument, text, language, CONDITIONS), within=argument == "within"
        )
        for argument, text in arguments(within, without)
    )


def arguments(within: str | Sequence[str], without: str | Sequence[str]) -> list[tuple[str, str]]:
    """Return each text of two arguments with the name of its argument.

    >>> arguments("words:300-", ["stubs", "series"])
    [('within', 'words:300-'), ('without', 'stubs'), ('without', 'series')]
    """
    both = (("within", within), ("without", without))
    return [(name, text) for name, given in both for text in ([given] if isinstance(given, str) else given)]


# --- revisions of a store


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A date that the store knows of its page is of a span of time."""

    what: str  # created or promoted
    span: Span

    def why_not(self, revision: Revision) -> WhyNot:
        """Why a revision is not so; None if it is."""
        found = getattr(revision, self.what)
        return None if self.span.has(found) else ("", f"{self.what} {found or 'at an unknown time'}")


STORED: dict[str, Kind[Named | Dated]] = {
    **NAMED,
    "created-since": Kind(
        form="created-since:DATE[..DATE]",
        make=lambda value, _language: Dated(what="created", span=parse_span(value)),
    ),
    "promoted-since": Kind(
        form="promoted-since:DATE[..DATE]",
        make=lambda value, _language: Dated(what="promoted", span=parse_span(value)),
    ),
}


def chosen(
    revisions: Sequence[Revision],
    within: str | Sequence[str],
    without: str | Sequence[str],
    language: str,
) -> Sequence[Revision]:
    """Return those revisions that are all that `within` names and nothing that `without` names.

    Args:
        revisions: Of a store, with the dates that it knows.
        within: Texts in the forms of `STORED`.
        without: The same.
        language: Code of the Wikipedia.

    Raises:
        BuilderError: A text has none of the forms.
    """
    rules = [
        (parse_kind(argument, text, language_of(language), STORED), argument == "within")
        for argument, text in arguments(within, without)
    ]
    if not rules:
        return revisions
    taken = (
        one
        for one in revisions
        if all((condition.why_not(one) is None) == inside for condition, inside in rules)
    )
    return Packed(Revision, taken)


UNKNOWN_MARKS = ", as far as known: add what talk pages of this Wikipedia say to TALK_MARKS in classify.py"
QUIET_DAYS = 30  # a mark that a vandal removed is back sooner; a real demotion lasts longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """It became Good or Featured in a span of time, and was neither when that began nor a month before."""

    span: Span
    language: Language = field(repr=False)
    cost: int = ASKS

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """See `Condition`."""
        wiki = cast(WikiPast, past)
        listed, text = wiki.promoted(page, self.span.since)
        if listed < self.span.since:
            since = f"has listed it since {listed}" if listed else "does not list it"
            return "promoted-earlier" if listed else "not-promoted", f"its category {since}"
        marked = classifier(self.language).is_marked
        title, early = page.title, days_before(self.span.since, QUIET_DAYS)
        if not marked(page.wikitext):  # the mark may be on the talk page
            title = f"Talk:{page.title}"
            marked = classifier(self.language).is_marked_talk
            if not marked(wiki.text_at(title, self.span.until)):
                known = "" if classifier(self.language).knows_talk_marks else UNKNOWN_MARKS
                return (
                    "no-mark",
                    f"its category lists it, but neither its text nor its talk page has a mark{known}",
                )
            text = wiki.text_at(title, self.span.since)
        elif self.span.until < page.timestamp and not marked(wiki.text_at(title, self.span.until)):
            return "promoted-later", f"{title!r} had no mark at {self.span.until}"
        if marked(text):
            return "promoted-earlier", f"{title!r} had the mark at {self.span.since}"
        if marked(wiki.text_at(title, early)):
            return "promoted-earlier", f"{title!r} had the mark at {early}, and lost it for a short time"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A bot made it, or a user who made many like it on that day."""

    cost: int = ASKS

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """See `Condition`."""
        found = cast(WikiPast, past).series(past.first(page))
        return None if found else ("", "a person made it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """A project of the wiki's editors rates it so."""

    classes: frozenset[str] = field(repr=False)
    shown: str
    cost: int = ASKS

    def why_not(self, page: Page, past: Past) -> WhyNot:
        """See `Condition`."""
        found = cast(WikiPast, past).classes(page)
        what = ", ".join(sorted(found)) or "nothing"
        return None if found & self.classes else ("", f"rated {what}, not {self.shown}")


def _quality(value: str, _language: Language) -> Condition:
    classes = re.split(r"\s*,\s*", value)
    if not all(classes):
        raise BuilderError("expected names of classes, separated by commas")
    return Quality(classes=frozenset(classes), shown=value)


def _promoted(value: str, language: Language) -> Condition:
    return Promoted(span=parse_span(value), language=language)


WIKI_CONDITIONS: dict[str, Kind[Condition]] = {
    **CONDITIONS,
    "promoted-since": Kind(form="promoted-since:DATE[..DATE]", make=_promoted),
    "series": Kind(form="series", make=lambda _value, _language: Series()),
    "quality": Kind(form="quality:CLASS[,CLASS]", make=_quality),
}
