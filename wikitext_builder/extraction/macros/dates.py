"""Dates, ages and spans of time."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime

from wikitext_builder.extraction.lookups import words
from wikitext_builder.extraction.macros.call import Call, Macro, macro
from wikitext_builder.extraction.macros.php import whole_number

MONTHS = words("months")
NUMBERED = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)}


def month_number(value: str) -> int | None:
    """The number of a month given as a number or a name.

    >>> month_number("02"), month_number("Sept"), month_number("13")
    (2, 9, None)
    """
    if value.isdecimal() and value.isascii():
        number = whole_number(value, digits=2)
        return number if number and number <= 12 else None
    return NUMBERED.get(value[:3].lower()) if value.isalpha() and len(value) >= 3 else None


def day_first(call: Call) -> bool:
    """True if the call asks for `1 May 2000`, not `May 1, 2000`."""
    return call.get("df", "dayfirst") not in {"", "no", "n", "0"} and call.get("mf") in {"", "no", "n"}


def written(year: str, month: str, day: str, *, day_comes_first: bool) -> str | None:
    """A date in words, without the parts that are empty; None if the month is invalid.

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
    """A date of the calendar; None if the values are not a date."""
    years, months, days = whole_number(year), month_number(month or "1"), whole_number(day or "1")
    if years is None or months is None or days is None:
        return None
    try:
        return date(years, months, days)
    except ValueError:
        return None


def years_between(earlier: date, later: date) -> int:
    """Full years from one date to another."""
    return later.year - earlier.year - ((later.month, later.day) < (earlier.month, earlier.day))


def today(call: Call) -> date:
    """The day of the revision, so that a page gives the same text forever; today for wikitext without one."""
    timestamp = call.page.timestamp
    return date.fromisoformat(timestamp[:10]) if timestamp else datetime.now(UTC).date()


@macro("Start date", "End date", "Film date", "Launch date")
@macro("Birth date", "Death date", "Birth year", "Death year")
def single_date(call: Call) -> str | None:
    """`{{start date|1976|12|23}}`: the date, and the time if there is one."""
    year, month, day = call.get("1"), call.get("2"), call.get("3")
    result = written(year, month, day, day_comes_first=day_first(call))
    if result is None:
        return year if not call.get("2") else None
    return (
        f"{call.get('4').zfill(2)}:{call.get('5')}, {result}" if call.get("4") and call.get("5") else result
    )


@macro("Start-date", "End-date", "Birth-date", "Death-date", "Date")
def free_date(call: Call) -> str | None:
    """`{{start-date|7 December 1941}}`: the date as written; an ISO date in words."""
    value = call.get("1")
    iso = re.fullmatch(r"(\d{4})-(\d\d)(?:-(\d\d))?", value)
    if iso is None or call.get("2").lower() == "iso":
        return value
    style = call.get("2").lower()
    return written(iso[1], iso[2], iso[3] or "", day_comes_first=style != "mdy") or value


@macro("Birth date and age", "Birth date and age2")
def birth_and_age(call: Call) -> str | None:
    """`May 1, 1950 (age 65)`, the age on the day of the revision."""
    year, month, day = call.get("1", "year"), call.get("2", "month"), call.get("3", "day")
    shown, born = written(year, month, day, day_comes_first=bool(call.get("df"))), as_date(year, month, day)
    if shown is None or born is None:
        return None
    return f"{shown} (age {years_between(born, today(call))})"


@macro("Death date and age")
def death_and_age(call: Call) -> str | None:
    """`May 1, 1950 (aged 65)`: death first, then birth."""
    values = [call.get(str(index)) for index in range(1, 7)]
    shown = written(*values[:3], day_comes_first=day_first(call))
    died, born = as_date(*values[:3]), as_date(*values[3:])
    if shown is None or died is None or born is None:
        return None
    return f"{shown} (aged {years_between(born, died)})"


@macro("Start date and age")
def start_and_age(call: Call) -> str | None:
    """`May 1, 1950; 65 years ago`."""
    shown = single_date(call)
    began = as_date(call.get("1"), call.get("2"), call.get("3"))
    if shown is None or began is None:
        return shown
    years = years_between(began, today(call))
    return f"{shown}; {years} year{'s' if years != 1 else ''} ago"


@macro("Age", "Age in years")
def age(call: Call) -> str | None:
    """The years between two dates, or up to the day of the revision, whose parts fill a second date."""
    now = today(call)
    start = as_date(call.get("1"), call.get("2"), call.get("3"))
    end = as_date(
        call.get("4") or str(now.year), call.get("5") or str(now.month), call.get("6") or str(now.day)
    )
    return str(years_between(start, end)) if start and end else None


@macro("As of")
def as_of(call: Call) -> str | None:
    """`As of May 2000`, with the words that its switches choose."""
    values = [call.get(str(index)) for index in range(1, 4)]
    day_comes_first = call.get("df").upper() != "US"
    shown = call.get("alt")
    if not shown:
        when = written(*values, day_comes_first=day_comes_first)
        if when is None:
            when = values[0]  # an invalid month is not shown
        words = "since" if call.get("since") else "as of"
        if call.get("bare"):
            return when + call.get("post")
        words = words if call.get("lc", "LC") else words.capitalize()
        shown = f"{words} {'' if not call.get('pre') else call.get('pre') + ' '}{when}"
    return shown + call.get("post")


@macro("Circa")
def circa(call: Call) -> str | None:
    """`c. 1200`, `c. 1200 – c. 1250`."""
    dates = [f"c. {value}" for value in call.positional()[:2] if value]
    return " – ".join(dates) or "c."


@macro("Floruit", "Reign")
def active(call: Call) -> str | None:
    """`fl. 1200`, `r. 1200–1250`: the years of activity or of reign."""
    values = [value for value in call.positional()[:2] if value]
    return f"{'fl.' if call.name.startswith('F') else 'r.'} {'–'.join(values)}".strip()


@macro("Dash year")
def span(call: Call) -> str | None:
    """`1943–45` of `{{dash year|1943|1945}}`."""
    start, end = call.get("1"), call.get("2")
    return f"{start}–{end[2:] if start[:2] == end[:2] and len(end) == 4 else end}"


@macro("Dts")
def sortable_date(call: Call) -> str | None:
    """`{{dts|1976|12|23}}` or `{{dts|23 December 1976}}`."""
    values = call.positional()
    if len([value for value in values if value]) <= 1:
        iso = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", call.get("1"))
        if not iso:
            return call.get("1")
        return written(*iso.groups(), day_comes_first=True)
    shown = call.get("format").lower()
    year, month, day = (*(value for value in values[:3]), "", "")[:3]
    if not year:
        return written("", month, day, day_comes_first=True)
    return written(year, month, day, day_comes_first=shown in {"dmy", "dm"})


@macro("Duration")
def duration(call: Call) -> str | None:
    """`3:45` of hours, minutes and seconds."""
    hours, minutes, seconds = (
        call.get(name, number) for name, number in (("h", "1"), ("m", "2"), ("s", "3"))
    )
    parts = [hours, minutes or "0", seconds.zfill(2)] if hours else [minutes or "0", seconds.zfill(2)]
    if hours:
        parts[1] = parts[1].zfill(2)
    return ":".join(parts)


@macro("Time ago")
def time_ago(call: Call) -> str | None:
    """`205 years ago`, `5 months ago` on the day of the revision."""
    then = as_date(call.get("1"), call.get("2"), call.get("3"))
    if then is None or then > (now := today(call)):
        return None
    years = years_between(then, now)
    months = (now.year - then.year) * 12 + now.month - then.month
    count, unit = (years, "year") if years else (months, "month")
    return f"{count} {unit}{'' if count == 1 else 's'} ago"


@macro("Birth year and age", "Death year and age")
def year_and_age(call: Call) -> str | None:
    """`1950 (age 65–66)`, `1950 (aged 65–66)`: without a month two ages are possible."""
    died = call.name.startswith("Death")
    year = call.get("1")
    number, other = whole_number(year), whole_number(call.get("2")) if died else today(call).year
    if number is None or other is None:
        return None
    years = number - other if died else other - number
    return f"{year} ({'aged' if died else 'age'} {max(years - 1, 0)}–{years})"


@macro("Century")
def century(call: Call) -> str | None:
    """`5th century` of a number, `5th century BC` of a negative one."""
    number = call.get("1").replace("−", "-")
    if not re.fullmatch(r"-?\d{1,2}", number):
        return None
    shown = ordinal(int(number.lstrip("-")))
    return f"{shown} century" + (" BC" if number.startswith("-") else "")


def ordinal(number: int) -> str:
    """`1st`, `12th`, `23rd`."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


@macro("Decade")
def decade(call: Call) -> str | None:
    """`1990s` of a year."""
    return f"{call.get('1')[:-1]}0s" if call.get("1").isdecimal() else None


@macro("CURRENTYEAR")
def current_year(call: Call) -> str | None:
    """The year of the revision."""
    return str(today(call).year)


def age_in(*units: str) -> Macro:
    """`38 years, 3 days` in these units, between two dates or up to the day of the revision."""

    def macro(call: Call) -> str | None:
        values = [call.get(f"{part}{end}") for end in ("1", "2") for part in ("year", "month", "day")]
        values = values if values[0] else [call.get(str(index)) for index in range(1, 7)]
        start = as_date(*values[:3])
        end = as_date(*values[3:]) if values[3] else today(call)
        if start is None or end is None or end < start:
            return None
        counts = lengths(start, end, units)
        shown = [f"{count} {unit if count != 1 else unit[:-1]}" for unit, count in counts.items() if count]
        if len(units) == 1:
            return f"{counts[units[0]]:,}"
        joint = " and " if call.get("sc") in {"", "no"} and len(units) > 2 else ", "
        return (
            joint.join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown) or "0 days"
        )

    return macro


def lengths(start: date, end: date, units: tuple[str, ...]) -> dict[str, int]:
    """The number of full years, months and days between two dates.

    >>> lengths(date(2000, 2, 29), date(2001, 3, 1), ("years", "months", "days"))
    {'years': 1, 'months': 0, 'days': 1}
    >>> lengths(date(2000, 1, 31), date(2000, 3, 1), ("days",))
    {'days': 30}
    """
    months = (end.year - start.year) * 12 + end.month - start.month - (end.day < start.day)
    counts: dict[str, int] = {}
    if "years" in units:
        counts["years"], months = divmod(months, 12)
    if "months" in units:
        counts["months"], months = months, 0
    if "days" in units:
        passed = sum(counts.get(unit, 0) * size for unit, size in (("years", 12), ("months", 1)))
        counts["days"] = (end - _later(start, passed)).days
    return counts


def _later(day: date, months: int) -> date:
    """The same day of a later month, or the last day of that month."""
    years, month = divmod(day.month - 1 + months, 12)
    last = monthrange(day.year + years, month + 1)[1]
    return date(day.year + years, month + 1, min(day.day, last))


macro("Age in days")(age_in("days"))
macro("Age in months")(age_in("months"))
macro("Age in years and days")(age_in("years", "days"))
macro("Age in years and months")(age_in("years", "months"))
macro("Age in years, months and days")(age_in("years", "months", "days"))
