"""Times as `#time` reads and writes them.

A time is that of the revision and never that of the clock, so that a page gives the same text forever.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, datetime

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros.dates import MONTHS, month_number
from wikitext_builder.extraction.macros.php import whole_number

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ENGLISH_FORMATS = "FMlD"  # they give names, which other languages write differently
UNKNOWN_FORMATS = "creIOPTZo"  # time zones and the like; other letters stand for themselves
NOT_ENGLISH = UNKNOWN_FORMATS + ENGLISH_FORMATS
PIECE = re.compile(r"\"([^\"]*)\"|\\(.)|(x.?.?)|([A-Za-z])|(.)", re.DOTALL)
CLOCK = r"(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?(?:Z|UTC))?)?"
DATES = tuple(
    re.compile(pattern + CLOCK, re.ASCII)
    for pattern in (
        r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
        r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
        r"(?P<d>\d{1,2})[ -](?P<m>[A-Za-z]{3,9}),?[ -](?P<y>\d{4})",
        r"(?P<m>[A-Za-z]{3,9}) (?P<d>\d{1,2}),? (?P<y>\d{4})",
        r"(?P<d>\d{1,2}) (?P<m>[A-Za-z]{3,9})(?P<y>)",
        r"(?P<m>[A-Za-z]{3,9}) (?P<y>\d{4})(?P<d>)",
        r"(?P<y>\d{4})-(?P<m>\d{2})(?P<d>)",
    )
)

_FORMATS: dict[str, Callable[[datetime], object]] = {
    "Y": lambda t: t.year,
    "y": lambda t: f"{t.year % 100:02}",
    "n": lambda t: t.month,
    "m": lambda t: f"{t.month:02}",
    "F": lambda t: MONTHS[t.month - 1],
    "M": lambda t: MONTHS[t.month - 1][:3],
    "j": lambda t: t.day,
    "d": lambda t: f"{t.day:02}",
    "z": lambda t: t.timetuple().tm_yday - 1,
    "W": lambda t: f"{t.isocalendar().week:02}",
    "N": lambda t: t.isoweekday(),
    "w": lambda t: t.isoweekday() % 7,
    "l": lambda t: DAYS[t.weekday()],
    "D": lambda t: DAYS[t.weekday()][:3],
    "t": lambda t: monthrange(t.year, t.month)[1],
    "L": lambda t: int(t.year % 4 == 0 and (t.year % 100 != 0 or t.year % 400 == 0)),
    "G": lambda t: t.hour,
    "H": lambda t: f"{t.hour:02}",
    "g": lambda t: (t.hour + 11) % 12 + 1,
    "h": lambda t: f"{(t.hour + 11) % 12 + 1:02}",
    "i": lambda t: f"{t.minute:02}",
    "s": lambda t: f"{t.second:02}",
    "a": lambda t: "am" if t.hour < 12 else "pm",
    "A": lambda t: "AM" if t.hour < 12 else "PM",
    "U": lambda t: int(t.timestamp()),
}


def revision_time(timestamp: str) -> datetime:
    """The time of a revision; the current time for wikitext without one."""
    return datetime.fromisoformat(timestamp) if timestamp else datetime.now(UTC)


def formatted_time(pattern: str, moment: datetime, language: str = "en") -> str:
    r"""A time in the letters of `#time`.

    Raises:
        RejectedError: A letter is unknown, or stands for a name in another language than English.

    >>> formatted_time('j F Y, H:i "UTC" \\a', datetime(2016, 8, 3, 9, 5, tzinfo=UTC))
    '3 August 2016, 09:05 UTC a'
    """
    pieces = []
    for quoted, escaped, extended, letter, other in PIECE.findall(pattern):
        if extended or (letter and letter in (UNKNOWN_FORMATS if language == "en" else NOT_ENGLISH)):
            raise RejectedError("function", f"#time with {extended or letter}")
        written = str(_FORMATS[letter](moment)) if letter in _FORMATS else letter
        pieces.append(written or quoted or escaped or other)
    return "".join(pieces)


def parsed_time(text: str, now: datetime) -> datetime | None:
    """The time that a text gives; None if it has no date of these forms.

    >>> parsed_time("4 March 2012", datetime(2016, 8, 3, tzinfo=UTC)).isoformat()
    '2012-03-04T00:00:00+00:00'
    >>> parsed_time("next week", datetime(2016, 8, 3, tzinfo=UTC)) is None
    True
    """
    if year := whole_number(text) if len(text) == 4 else None:
        return datetime(year, now.month, min(now.day, 28), tzinfo=UTC)
    for pattern in DATES:
        if match := pattern.fullmatch(text):
            hour, minute, second = (int(value or 0) for value in match.groups()[3:])
            month, year, day = month_number(match["m"]), int(match["y"] or now.year), int(match["d"] or 1)
            try:
                return datetime(year, month or 0, day, hour, minute, second, tzinfo=UTC)
            except ValueError:
                return None
    return None
