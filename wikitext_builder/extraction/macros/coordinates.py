"""Coordinates in running text, in degrees, minutes and seconds as the page shows them."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from wikitext_builder.extraction.macros.call import Call, Macro
from wikitext_builder.extraction.markers import GONE

NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,40})?")  # few enough digits for a Decimal
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
        latitude, longitude = values[: letters[0] + 1], values[letters[0] + 1 : letters[1] + 1]
        return _with_marks(latitude, longitude)
    if len(values) >= 2 and NUMBER.fullmatch(values[0]) and NUMBER.fullmatch(values[1]):
        return _decimal(values[0], "NS", call) + " " + _decimal(values[1], "EW", call)
    return None


def _with_marks(latitude: list[str], longitude: list[str]) -> str | None:
    if not all(NUMBER.fullmatch(value) for value in (*latitude[:-1], *longitude[:-1])):
        return None
    return f"{_marked(latitude)} {_marked(longitude)}"


def _marked(values: list[str]) -> str:
    """Degrees, minutes and seconds, with the digits of the page, as Module:Coordinates shows them."""
    pairs = zip(values[:-1], MARKS, strict=False)
    return "".join(value + mark for value, mark in pairs) + values[-1].upper()


def _decimal(value: str, letters: str, call: Call) -> str:
    """A decimal degree, or degrees, minutes and seconds with `format=dms`."""
    letter = letters[1] if value.startswith("-") else letters[0]
    value = value.lstrip("-")
    if call.get("format") != "dms":
        return f"{value}°{letter}"
    seconds = int((Decimal(value) * 3600).quantize(Decimal(1), ROUND_HALF_UP))
    return f"{seconds // 3600}°{seconds % 3600 // 60:02d}′{seconds % 60:02d}″{letter}"


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
