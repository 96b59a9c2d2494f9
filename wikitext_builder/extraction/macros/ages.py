"""Spans of time in years, months and days."""

from __future__ import annotations

from calendar import monthrange
from datetime import date

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro
from wikitext_builder.extraction.macros.dates import as_date, today


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


AGES: dict[str, Macro] = {
    "Age in days": age_in("days"),
    "Age in months": age_in("months"),
    **dict.fromkeys(listed("Age in years and days; Ayd"), age_in("years", "days")),
    "Age in years and months": age_in("years", "months"),
    "Age in years, months and days": age_in("years", "months", "days"),
}
