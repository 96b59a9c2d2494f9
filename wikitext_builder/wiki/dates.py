"""Reads and writes dates as MediaWiki does: ISO 8601, in UTC, to the second."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from wikitext_builder.errors import BuilderError

DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
NO_END = "9999-12-31T23:59:59Z"  # the end of a span without an end
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def is_timestamp(text: str) -> bool:
    """Return True for a time as MediaWiki writes it, if calendar and clock have it.

    >>> is_timestamp("2016-02-29T23:59:59Z"), is_timestamp("2015-02-29T23:59:59Z"), is_timestamp("2016-02-29")
    (True, False, False)
    """
    if not TIMESTAMP.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def now() -> str:
    """Return the current time, to the second."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def parse_date(text: str | None) -> str:
    """Return a date or time as MediaWiki writes it; a date stands for its last second, None is empty.

    >>> parse_date("2016-08-31"), parse_date("2016-08-31T12:00:00+02:00"), parse_date(None)
    ('2016-08-31T23:59:59Z', '2016-08-31T10:00:00Z', '')
    """
    if text is None:
        return ""
    is_day = DATE.fullmatch(text) is not None
    if not is_day and "T" not in text and " " not in text:  # 20160831 would mean the first second of its day
        raise BuilderError(f"{text!r} is not a date; write 2016-08-31 or 2016-08-31T12:00:00Z")
    try:
        if is_day:
            moment = datetime.combine(date.fromisoformat(text), time(23, 59, 59), UTC)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BuilderError(
            f"{text!r} is not a date ({error}); write 2016-08-31 or 2016-08-31T12:00:00Z"
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span between two times, both included; ISO 8601 in UTC."""

    since: str
    until: str

    def has(self, timestamp: str) -> bool:
        """Return True if a time is in the span; an unknown (empty) time is not."""
        return self.since <= timestamp <= self.until


def parse_span(text: str) -> Span:
    """Return a span: `FROM..TO`, both days included, or `FROM` alone, without an end.

    >>> parse_span("2026-10-01..2026-10-31")
    Span(since='2026-10-01T00:00:00Z', until='2026-10-31T23:59:59Z')
    >>> parse_span("2026-10-01").until
    '9999-12-31T23:59:59Z'
    """
    first, dots, last = text.partition("..")
    since = parse_date(f"{first}T00:00:00Z" if DATE.fullmatch(first) else first)
    until = parse_date(last) if dots else NO_END
    if until < since:
        raise BuilderError(f"{text!r}: {until} is before {since}; write FROM..TO")
    return Span(since=since, until=until)


def past_span(text: str) -> Span:
    """Parse the span of a listing, which is made only once: it has no end, or one in the past."""
    span = parse_span(text)
    if now() < span.until < NO_END:
        raise BuilderError(
            f"{text!r}: its last day is not over (in UTC); end it earlier, or write FROM alone"
        )
    return span
