"""Conditions that only a wiki can answer: promoted since a date, one of a series, rated by editors.

The others are in `wikitext_builder/pages/page_filters.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import cast

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.page_filters import ASKS, CONDITIONS, Condition, Kind, Past, WhyNot
from wikitext_builder.pages.page_history import WikiPast
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.dates import Span, days_before, parse_span
from wikitext_builder.wiki.languages import Language

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
