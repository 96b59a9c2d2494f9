"""Coordinates in running text, in degrees, minutes and seconds as the page shows them."""

from __future__ import annotations

import re
from math import floor

from wikitext_builder.extraction.macros.call import Call, Macro
from wikitext_builder.extraction.markers import GONE

NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,40})?")
MARKS = ("°", "′", "″")


def coordinates(call: Call) -> str | None:
    """`57°53′N 11°32′E`; a mark if they are only beside the title.

    >>> arguments = {"1": "57", "2": "53", "3": "N", "4": "11", "5": "32", "6": "E"}
    >>> coordinates(Call(name="Coord", arguments=arguments, page=None))
    '57°53′N 11°32′E'
    """
    display = call.get("display").replace(" ", "")
    if display and not any(
        word in {"i", "inline", "it", "ti"} or "inline" in word for word in display.split(",")
    ):
        return GONE
    values = [value for value in call.positional() if value]
    letters = [index for index, value in enumerate(values) if value.upper() in {"N", "S", "E", "W"}]
    if len(letters) >= 2:
        sides = [values[: letters[0] + 1], values[letters[0] + 1 : letters[1] + 1]]
        if not all(len(side) > 1 and all(NUMBER.fullmatch(one) for one in side[:-1]) for side in sides):
            return None
        only_degrees = all(len(side) == 2 for side in sides) and any("." in side[0] for side in sides)
        if call.get("format") != "dms" or not only_degrees:
            decimal = call.get("format") == "dec"
            return " ".join(_as_decimal(side) if decimal else _marked(side) for side in sides)
        values = [("-" if letter.upper() in "SW" else "") + value for value, letter in sides]
    if len(values) < 2 or not (NUMBER.fullmatch(values[0]) and NUMBER.fullmatch(values[1])):
        return None
    pairs = zip(values[:2], ("NS", "EW"), strict=True)
    if call.get("format") == "dms":
        parts = 1 + max(_parts(value) for value in values[:2])
        return " ".join(_in_parts(value, letters, parts) for value, letters in pairs)
    return " ".join(f"{value.removeprefix('-')}°{letters[value.startswith('-')]}" for value, letters in pairs)


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


def _in_parts(value: str, letters: str, parts: int) -> str:
    """Whole degrees, or with minutes and seconds."""
    letter = letters[float(value) < 0]
    rest = floor(abs(float(value)) * 60 ** (parts - 1) + 0.5)
    shown = ""
    for mark in MARKS[parts - 1 : 0 : -1]:
        rest, part = divmod(rest, 60)
        shown = f"{part:02d}{mark}{shown}"
    return f"{rest}°{shown}{letter}"


COORDINATES: dict[str, Macro] = {
    "Coord": coordinates,
    "Coords": coordinates,
    "Coordinates": coordinates,
    "Coor": coordinates,
    "Coor dms": coordinates,
    "Coor dm": coordinates,
    "Coor d": coordinates,
    "Location": lambda _call: GONE,
    "Coor title dms": lambda _call: GONE,
    "Coor at dms": lambda _call: GONE,
    "Coor title d": lambda _call: GONE,
}
