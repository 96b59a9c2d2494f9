"""Which name or symbol a unit has beside a value, with its place."""

from __future__ import annotations

import re
from typing import NamedTuple

from wikitext_builder.extraction.macros.convert.options import Options
from wikitext_builder.extraction.macros.convert.units import POWERS, Unit

SHOWN_BY_NAME = frozenset(["br", "or", "slash"])


class Shown(NamedTuple):
    """A value as it is shown, of an input or an output."""

    text: str
    singular: bool
    size: float  # of an input with its sign; of an output rounded, without it
    scientific: bool = False


def by_name(unit: Unit, options: Options, side: str) -> bool:
    """True if the unit is shown by its name, not by its symbol; side is in or out."""
    if unit.named:
        return True
    if not options.asked:
        if unit.symbolic:
            return False
        if options.display in SHOWN_BY_NAME:
            return True
    abbreviated = options.abbreviated
    return not (abbreviated in {"on", side} or (abbreviated == "mos" and side == "out"))


def identity(
    unit: Unit, options: Options, side: str, value: Shown, *, named: bool, times: bool = False
) -> str:
    """The name of a unit after a value if it is `named`, else its symbol."""
    if "values" in options.flags or (options.flags & {"table", "tablecen"} and not options.asked):
        return ""
    if not named:
        return "hh" if unit.built_in == "hand" and "hh" in options.flags else unit.symbol
    singular = _singular(unit, options, side, value)
    if unit.power or times:
        singular = False
    return unit.name if "adjective" in options.flags or singular else unit.plural


def _singular(unit: Unit, options: Options, side: str, value: Shown) -> bool:
    flipped = "flip" in options.flags
    if "singular" in options.flags:
        return 0 < abs(value.size) < 1.0001
    if not unit.named or options.linked in {"on", side}:
        return value.singular
    if side == "in":
        if "adjective" not in options.flags and (options.asked == "out" or flipped):
            return 0 < value.size < 1.0001
    elif options.asked == "on" or options.asked in (("in",) if flipped else ("", "out")):
        return value.size < 1.0001 and not value.scientific
    return value.singular


def hyphenated(name: str) -> str:
    """A name as an adjective; what is in parentheses stays.

    >>> hyphenated("square foot"), hyphenated("Calorie (International Steam Table)")
    ('square-foot', 'Calorie (International Steam Table)')
    """
    if name.startswith("(") and ")" in name:
        end = name.index(")") + 2
        return name[:end] + name[end:].replace(" ", "-")
    if name.endswith(")") and "(" in name:
        start = name.index("(") - 1
        return name[:start].replace(" ", "-") + name[start:]
    return name.replace(" ", "-")


def placed(unit: Unit, options: Options, name: str, *, named: bool, middle: str, before: str) -> str:
    """What follows a value: a space or a hyphen, words before the unit, the unit, words after it."""
    if not name:
        return before
    if named and "adjective" in options.flags:
        return before + "-" + hyphenated(name) + middle
    space = " " if (named or unit.spaced) and not before and name[0] != "/" else ""
    return before + space + name + middle


def decorated(text: str, unit: Unit, options: Options, side: str) -> str:
    """A value with the thousands or millions of its unit, and with its currency."""
    if unit.power:
        if options.abbreviated in {"on", side} and "words" not in options.flags:
            text += f"×10{unit.power}"
        else:
            text += ("-" if "adjective" in options.flags else " ") + POWERS[unit.power]
    return unit.currency + text


def with_spaces(text: str, *, ends: tuple[int, ...]) -> str:
    """A text with a space at its ends, unless there is one or a hyphen."""
    for end in ends:
        if text[end] not in " -" and not re.search("^&nbsp;" if end == 0 else "&nbsp;$", text):
            text = f" {text}" if end == 0 else f"{text} "
    return text
