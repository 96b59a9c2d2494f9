"""Dates, ages and spans of time; times as `#time` reads them.

A time is that of the revision and never that of the clock, so that a page gives the same text forever.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime

from wikitext_builder.extraction.macros import Call, Macro, macro, series, words
from wikitext_builder.extraction.macros.php import whole_number

MONTHS = words("months")
NUMBERED = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}


def month_number(value: str) -> int | None:
    """Return the number of a month given as a number or a name.

    >>> month_number("02"), month_number("Sept"), month_number("13")
    (2, 9, None)
    """
    if value.isdecimal() and value.isascii():
        number = whole_number(value, digits=2)
        return number if number and number <= 12 else None
    return NUMBERED.get(value[:3].lower()) if value.isalpha() and len(value) >= 3 else None


def written(year: str, month: str, day: str, *, day_comes_first: bool) -> str | None:
    """Return a date in words, without the parts that are empty; None if the month is invalid.

    >>> written("1976", "12", "23", day_comes_first=True), written("1976", "12", "", day_comes_first=False)
    ('23 December 1976', 'December 1976')
    """
    if not month:
        return year
    number = month_number(month)
    if number is None:
        return None
    name = MONTHS[number - 1]
    if not day:
        return f"{name} {year}"
    plain = whole_number(day)
    if plain is None:
        return None
    return f"{plain} {name} {year}" if day_comes_first else f"{name} {plain}, {year}"


def as_date(year: str, month: str, day: str) -> date | None:
    """Return a date of the calendar; None if the values are not a date."""
    years, months, days = whole_number(year), month_number(month or "1"), whole_number(day or "1")
    if years is None or months is None or days is None:
        return None
    try:
        return date(years, months, days)
    except ValueError:
        return None


def today(call: Call) -> date:
    """Return the day of the revision; today for wikitext without one."""
    timestamp = call.page.timestamp
    return date.fromisoformat(timestamp[:10]) if timestamp else datetime.now(UTC).date()


def two_dates(call: Call) -> tuple[date, date] | None:
    """Return two dates, in three arguments each or in one; None unless all parts of both are known.

    Without a second one it is the day of the revision.
    """
    parts = [
        call.get(f"{part}{end}", part * (end == "1")) for end in "12" for part in ("year", "month", "day")
    ]
    parts = parts if any(parts) else call.numbered(6)
    if not (any(parts[2:]) or month_number(parts[1])):
        first, second = (parts_of(text) for text in parts[:2])
        parts = [*first, *second]
    if not any(parts[3:]):
        parts[3:] = [str(part) for part in today(call).timetuple()[:3]]
    start, end = (as_date(*parts[:3]), as_date(*parts[3:])) if all(parts) else (None, None)
    return (start, end) if start and end else None


def date_in(text: str) -> re.Match[str] | None:
    """What `DATES` finds of a text that is a date."""
    return next(filter(None, (pattern.fullmatch(text) for pattern in DATES)), None)


def parts_of(text: str) -> list[str]:
    """Year, month and day of a date in one text; the whole text in front if it has another form."""
    match = date_in(text)
    return [match["y"], match["m"], match["d"]] if match else [text, "", ""]


@macro("As of", reads="1|2|3|LC|alt|bare|df|lc|post|pre|since")
def as_of(call: Call) -> str | None:
    """`As of May 2000`, with the words that its switches choose."""
    if alternative := call.get("alt"):
        return alternative + call.get("post")
    values = call.numbered(3)
    when = written(*values, day_comes_first=call.get("df").upper() != "US")
    when = values[0] if when is None else when  # an invalid month is not shown
    words = "since" if call.get("since") else "as of"
    words = "" if call.get("bare") else words if call.get("lc", "LC") else words.capitalize()
    before = [words, call.get("pre") if words else "", when]
    return " ".join(filter(None, before)) + call.get("post")


@macro("Dts", reads="1|2|3|4|abbr|format")
def sortable_date(call: Call) -> str | None:
    """`{{dts|1976|12|23}}` or `{{dts|23 December 1976}}`, as Module:Date table sorting shows them."""
    year, month, day, era = call.numbered(4)
    style = call.get("format").lower()
    if not (month or day or era):
        match = date_in(year)
        if match is None and year.isalpha() and month_number(year):
            year, month = "", year
        elif match is None and not re.fullmatch(r"-?\d+", year):
            return year
        if match:
            style = style or ("dmy" if match.start("d") < match.start("m") else "mdy")
            year, month, day = match["y"], match["m"], match["d"]
    style = style or "mdy"
    before = year.startswith("-") or era.lower() in {"bc", "bce"}
    parts = zip("ymd", (year.lstrip("-0"), month, day), strict=True)
    year, month, day = (part if letter in style else "" for letter, part in parts)
    shown = written(year, month, day, day_comes_first=style.startswith("dm"))
    if shown is None:
        return call.get("1") if month not in call.numbered(4) else None
    short = month.isalpha() and len(month) in {3, 4} and month not in MONTHS
    if short if call.get("abbr") == "" else call.get("abbr") not in {"off", "no"}:
        shown = re.sub("|".join(MONTHS), lambda name: name[0][:3], shown)
    return shown.strip(", ") + (" BC" if before and year else "")


UNITS = {"y": "year", "m": "month", "d": "day"}
TWO_DATES = "1|2|3|4|5|6|year|month|day|year1|month1|day1|year2|month2|day2"


def age_in(letters: str, joint: str = "") -> Macro:
    """`38 years, 3 days` in some units, between two dates or up to the day of the revision."""

    def macro(call: Call) -> str | None:
        dates = two_dates(call)
        if dates is None:
            return None
        counts = lengths(min(dates), max(dates), letters)
        sign = "−" if dates[1] < dates[0] and any(counts.values()) else ""
        if len(letters) == 1:
            number = counts[letters]
            return sign + (str(number) if call.get("3", "day1", "day") else f"{number:,}")
        last = letters[-1]
        shown = [
            f"{count} {UNITS[unit]}{'' if count == 1 else 's'}"
            for unit, count in counts.items()
            if count or (unit == last and (letters == "yd" or not any(counts.values())))
        ]
        return sign + series(shown, joint)

    return macro


def lengths(start: date, end: date, units: str) -> dict[str, int]:
    """Return the number of full years, months and days between two dates, in some of these units.

    >>> lengths(date(2000, 2, 29), date(2001, 3, 1), "ymd")
    {'y': 1, 'm': 0, 'd': 1}
    """
    months = (end.year - start.year) * 12 + end.month - start.month - (end.day < start.day)
    counts: dict[str, int] = {}
    if "y" in units:
        counts["y"], months = divmod(months, 12)
    if "m" in units:
        counts["m"] = months
    passed = 12 * counts.get("y", 0) + counts.get("m", 0)
    days = (end - _later(start, passed)).days
    return counts | ({"d": days} if "d" in units else {})


def _later(day: date, months: int) -> date:
    """Return the same day of a later month, or the last day of that month."""
    years, month = divmod(day.month - 1 + months, 12)
    last = monthrange(day.year + years, month + 1)[1]
    return date(day.year + years, month + 1, min(day.day, last))


for _name, _units, _joint in (
    ("Age", "y", ""), ("Age in years", "y", ""), ("Age in days", "d", ""), ("Age in months", "m", ""),
    ("Age in years and days", "yd", ", "),
    ("Age in years and months", "ym", ", "), ("Age in years, months and days", "ymd", " and "),
):  # fmt: skip
    macro(_name, reads=TWO_DATES)(age_in(_units, _joint))


CLOCK = r"(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?(?:Z|UTC))?)?"
DATES = tuple(
    re.compile(pattern + CLOCK, re.ASCII)
    for pattern in (
        r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
        r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
        r"(?P<d>\d{1,2})[ -](?P<m>[A-Za-z]{3,9}),?[ -](?P<y>\d{4})",
        r"(?P<m>[A-Za-z]{3,9}) (?P<d>\d{1,2}),? (?P<y>\d{4})",
        r"(?P<d>\d{1,2}) (?P<m>[A-Za-z]{3,9})(?P<y>)",
        r"(?P<m>[A-Za-z]{3,9}) (?P<d>\d{1,2})(?P<y>)",
        r"(?P<m>[A-Za-z]{3,9}) (?P<y>\d{4})(?P<d>)",
        r"(?P<y>\d{4})-(?P<m>\d{2})(?P<d>)",
    )
)


def parsed_time(text: str, now: datetime) -> datetime | None:
    """Return the time that a text gives; None if it has no date of these forms.

    >>> parsed_time("4 March 2012", datetime(2016, 8, 3, tzinfo=UTC)).isoformat()
    '2012-03-04T00:00:00+00:00'
    >>> parsed_time("next week", datetime(2016, 8, 3, tzinfo=UTC)) is None
    True
    """
    if year := whole_number(text) if len(text) == 4 else None:
        return datetime(year, now.month, min(now.day, 28), tzinfo=UTC)
    if (match := date_in(text)) is None:
        return None
    hour, minute, second = (int(value or 0) for value in match.groups()[3:])
    month, year, day = month_number(match["m"]), int(match["y"] or now.year), int(match["d"] or 1)
    try:
        return datetime(year, month or 0, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
