"""Coordinates, heights, ships, seasons and verses."""

from __future__ import annotations

import re
from math import floor

from wikitext_builder.extraction.macros.call import Call, macro
from wikitext_builder.extraction.macros.php import whole_number
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
    decimal = call.get("format") == "dec"
    return " ".join(_as_decimal(side) if decimal else _marked(side) for side in sides)


def _marked(values: list[str]) -> str:
    """Degrees, minutes and seconds, with the digits of the page, as Module:Coordinates shows them."""
    pairs = zip(values[:-1], MARKS, strict=False)
    return "".join(value + mark for value, mark in pairs) + values[-1].upper()


def _as_decimal(values: list[str]) -> str:
    """A decimal degree, with as many decimals as seconds or minutes need."""
    numbers = [float(value) for value in values[:-1]]
    digits = len(values[-2].partition(".")[2]) + (0, 3, 5)[min(len(numbers), 3) - 1]
    degrees = sum(number / 60**power for power, number in enumerate(numbers[:3]))
    return f"{degrees:.{digits}f}°{values[-1].upper()}"


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
