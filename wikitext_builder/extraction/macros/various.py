"""Templates of no larger family: places, ships, seasons and verses; marks, lists and notes around a text."""

from __future__ import annotations

import re
from math import floor

from wikitext_builder.extraction.macros.call import Call, Macro, macro, series
from wikitext_builder.extraction.macros.php import at_most, whole_number
from wikitext_builder.extraction.markers import GONE

NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,40})?")
MARKS = ("°", "′", "″")
ZERO = {"S": "N", "W": "E"}


@macro("Coord", "Coor dms", "Coor dm", "Coor d")
def coordinates(call: Call) -> str | None:
    """`57°53′N 11°32′E`; a mark if they are only beside the title.

    >>> arguments = {"1": "57", "2": "53", "3": "N", "4": "11", "5": "32", "6": "E"}
    >>> coordinates(Call(name="Coord", arguments=arguments, page=None))
    '57°53′N 11°32′E'
    """
    display = call.get("display").replace(" ", "")
    if display and not any(one in {"i", "it", "ti"} or "inline" in one for one in display.split(",")):
        return GONE
    values = call.given()
    ends = [index for index, value in enumerate(values) if value.upper() in {"N", "S", "E", "W"}][:2]
    if len(ends) == 2:
        sides = [values[: ends[0] + 1], values[ends[0] + 1 : ends[1] + 1]]
    else:
        pairs = zip(values, ("NS", "EW"), strict=False)
        sides = [[value.removeprefix("-"), letters[value[0] == "-"]] for value, letters in pairs]
    if len(sides) < 2 or not all(side[1:] and all(map(NUMBER.fullmatch, side[:-1])) for side in sides):
        return None
    whole = all(len(side) == 2 for side in sides) and (len(ends) < 2 or any("." in side[0] for side in sides))
    if call.get("format") == "dms" and whole:
        parts = 1 + max(_parts(side[0]) for side in sides)
        return " ".join(_in_parts(side, parts) for side in sides)
    return None if call.get("format") == "dec" else " ".join(map(_marked, sides))


def _marked(values: list[str]) -> str:
    """Degrees, minutes and seconds, with the digits of the page, as Module:Coordinates shows them."""
    pairs = zip(values[:-1], MARKS, strict=False)
    return "".join(value + mark for value, mark in pairs) + values[-1].upper()


def _parts(value: str) -> int:
    """How many parts of a degree a decimal degree is exact to: 0, minutes or seconds too."""
    decimals = len(value.partition(".")[2])
    return 2 if decimals > 2 else 1 if decimals else 0


def _in_parts(values: list[str], parts: int) -> str:
    """Whole degrees, or with minutes and seconds, of a decimal degree."""
    rest = floor(abs(float(values[0])) * 60 ** (parts - 1) + 0.5)
    shown = ""
    for mark in MARKS[parts - 1 : 0 : -1]:
        rest, part = divmod(rest, 60)
        shown = f"{part:02d}{mark}{shown}"
    letter = values[1].upper()
    return f"{rest}°{shown}{letter if float(values[0]) else ZERO.get(letter, letter)}"


@macro("Höhe")
def height_above_sea(call: Call) -> str | None:
    """`1,493 m above sea level (NHN)`; without a reference level `1,415 m`."""
    value, reference = call.get("1"), call.get("2")
    before, point, decimals = value.replace(",", ".").partition(".")
    metres = whole_number(before)
    if metres is None or (point and not decimals.isdecimal()):
        return None
    level = reference.rpartition("-")[2]
    return f"{metres:,}{point}{decimals} m" + (f" above sea level ({level})" if level else "")


@macro("Ship", "USS", "GS")
def ship(call: Call) -> str | None:
    """`USS Enterprise (CVN-65)`: the last argument chooses the parts; `{{ship}}` has a prefix first."""
    prefix = {"Ship": [], "GS": ["German submarine"]}.get(call.name, [call.name])
    return shown_parts(*prefix, *call.numbered(4 - len(prefix)))


def shown_parts(prefix: str, name: str, number: str, shown: str) -> str:
    """The parts chosen by a sum of 4 (prefix), 2 (name) and 1 (number); all by default.

    From copies of the documentation of {{USAT}} and {{SS}}, read on 2026-11-21.

    >>> [shown_parts("USS", "Hornet", "CV-12", shown) for shown in ("", "6", "3", "1")]
    ['USS Hornet (CV-12)', 'USS Hornet', 'Hornet (CV-12)', 'CV-12']
    """
    bits = int(shown) if shown in {"1", "2", "3", "5", "6"} else 7
    named = name if bits & 2 else ""
    numbered = number if bits & 1 else ""
    if named and numbered:
        numbered = f"({numbered})"
    return " ".join(part for part in (prefix if bits & 4 else "", named, numbered) if part)


@macro("Winning percentage")
def winning_percentage(call: Call) -> str | None:
    """`.625` of wins and losses."""
    games = [call.get(name) or "0" for name in ("1", "2", "3")]
    if not all(re.fullmatch(r"[0-9]{1,6}", count) for count in games):
        return None
    wins, losses, ties = map(int, games)
    if not wins + losses + ties:
        return None
    return f"{(wins + ties / 2) / (wins + losses + ties):.3f}".removeprefix("0")


@macro("NBA Year", "NHL Year")
def winter_season(call: Call) -> str | None:
    """`1987–88`, its first or its last year, and the words after it."""
    year, part = call.get("1"), call.get("2", "type")
    if not re.fullmatch(r"[0-9]{4}", year):
        return year or None
    last = str(int(year) + 1)
    season = f"{year}–{last if last.endswith('00') else last[2:]}"
    shown = {"start": year, "end": last}.get(part, season)
    return f"{shown} {call.get('app')}".strip()


@macro("Bibleverse", "Bibleref", "Bibleref2", "Bibleref2c")
def bible(call: Call) -> str | None:
    """`1 Corinthians 13:1`: number, book and verses (which begin with a digit), or their label.

    Older calls have the number as an argument of its own. The translation and the label follow the verses.
    """
    values = call.positional()
    verses = next((place for place, value in enumerate(values) if place and value[:1].isdecimal()), 2)
    label = values[verses + 2 : verses + 3]
    return "".join(label) or " ".join(value for value in values[: verses + 1] if value)


@macro("Bibleverse-nb", "Bibleref2-nb", "Bibleref2c-nb")
def bible_verses(call: Call) -> str | None:
    """`13:1`: the verses alone."""
    return next((value for value in call.positional()[1:3] if value[:1].isdecimal()), call.get("2"))


# --- around a text


@macro("Nbsp", shared=True)
def _spaces(call: Call) -> str:
    count = at_most(20, call.get("1"))
    return "&nbsp;" * (1 if count is None else count)


@macro("Interlanguage link", shared=True)
def interlanguage(call: Call) -> str | None:
    """The label of a link to an article of another Wikipedia."""
    if label := call.get("lt", "display"):
        return label
    values = call.positional()
    # In an older order the language code comes first.
    is_code = len(values) > 1 and len(values[0]) == 2 and values[0].islower() and not values[1].islower()
    return values[is_code] if values else None


@macro("Tag", shared=True)
def tag(call: Call) -> str | None:
    """`<ref>...</ref>`, or the part of it that the first letter of the kind asks for."""
    name, kind = call.get("1"), call.get("2")[:1] or "p"
    start = " ".join(filter(None, (f"&lt;{name}", call.get("params", "attribs"))))
    inner = call.arguments.get("content", "..." if kind == "p" else "")
    ending = f"{inner}&lt;/{name}&gt;"
    shown = {"p": f"{start}&gt;{ending}", "o": f"{start}&gt;{inner}", "c": ending}
    return (shown | dict.fromkeys("esv", f"{start} /&gt;")).get(kind) if name else None


@macro("Sic", shared=True)
def sic(call: Call) -> str | None:
    """The error as written, and `[sic]` unless the call hides it; a question mark comes before the error."""
    doubted = call.arguments.get("1", "?") == "?"
    words = "".join(call.arguments.get(number, "") for number in (("2", "3") if doubted else ("1", "2")))
    mark = "?" if doubted and "1" in call.arguments else ""
    return words if call.get("hide") else f"{words} &#91;sic{mark}&#93;".strip()


def harvard_reference(form: str, *, colon: bool = False) -> Macro:
    """Authors, a year and pages in a form: `{names} ({year})` gives `Smith & Jones (1990, p. 5)`."""

    def macro(call: Call) -> str | None:
        values = call.given()
        if not values:
            return None
        *authors, year = values if len(values) > 1 else [values[0], ""]
        names = f"{authors[0]} et al." if len(authors) > 3 else series(authors, " & ")
        page, pages = call.get("p", "page"), call.get("pp", "pages").replace("-", "–")
        label = "" if colon else "p. " if page else "pp. "
        places = filter(None, (f"{label}{page or pages}" if page or pages else "", call.get("loc", "at")))
        for place in places:
            year += f"{':' if colon and year and ':' not in year else ', '}{place}"
        shown = form.format(names=names, year=year).replace("()", "").strip()
        return shown + call.get("ps")

    return macro


@macro("Unbulleted list", shared=True)
def one_per_line(call: Call) -> str | None:
    """Each item on a line of its own."""
    items = call.given()
    if len(items) == 1 and items[0].startswith(("*", "#", ":")):
        return "\n" + items[0] + "\n"
    return "".join(f"\n* {item}" for item in items) + "\n" if items else ""


for _name, _form in (("txt", "{names} ({year})"), ("nb", "{names} {year}"), ("", "({names} {year})")):
    macro(f"Harv{_name}", shared=True)(harvard_reference(_form))
    macro(f"Harvcol{_name}", shared=True)(harvard_reference(_form, colon=True))
