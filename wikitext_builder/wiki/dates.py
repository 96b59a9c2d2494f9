"""Dates as MediaWiki writes them: ISO 8601, in UTC, to the second."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time

from wikitext_builder.errors import BuilderError

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def parse_date(text: str | None) -> str:
    """Return a date or time as MediaWiki writes it; a date alone is its last second, None is empty.

    Raises:
        BuilderError: The text is not an ISO date.

    >>> parse_date("2016-08-31"), parse_date("2016-08-31T12:00:00+02:00"), parse_date(None)
    ('2016-08-31T23:59:59Z', '2016-08-31T10:00:00Z', '')
    """
    if text is None:
        return ""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            moment = datetime.combine(date.fromisoformat(text), time(23, 59, 59), UTC)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BuilderError(
            f"{text!r} is not a date ({error}); write 2016-08-31 or 2016-08-31T12:00:00Z"
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)
