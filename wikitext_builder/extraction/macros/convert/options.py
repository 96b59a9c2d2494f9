"""The named arguments of `{{convert}}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from wikitext_builder.extraction.macros.call import Call

ABBREVIATED = frozenset(["Cvt", "Convert abbreviated"])
# The effects of an argument's values, separated by spaces: whose unit is a symbol, how the outputs are
# joined, or a flag with a `+`. Values without effect are absent.
VALUES = {
    "abbr": {
        "comma": "+nocomma", "h": "on", "hh": "+hh", "in": "in", "mos": "mos", "none": "off",
        "off": "off", "on": "on", "out": "out", "unit": "on +words", "values": "+values", "~": "+symbol",
    },
    "adj": {
        "1": "+singular", "flip": "+flip", "mid": "+adjective +mid", "nocomma": "+nocomma",
        "on": "+adjective", "pre": "+before", "ri0": "+ri0", "ri1": "+ri1", "ri2": "+ri2", "ri3": "+ri3",
    },
    "comma": {"5": "+comma5", "gaps": "+gaps", "gaps5": "+gaps +comma5", "off": "+nocomma"},
    "disp": {
        "/": "slash", "2": "+output", "5": "+round5", "(or)": "(or)", "br": "br", "comma": "comma",
        "flip": "+flip", "flip5": "+flip +round5", "nocomma": "+nocomma", "number": "+number",
        "num": "+number", "or": "or", "out": "+output", "output": "+output", "output number only": "+number",
        "output only": "+output",
        "preunit": "+befores", "s": "slash", "slash": "slash", "sqbr": "sqbr",
        "table": "+table", "tablecen": "+tablecen", "u2": "+unit2", "unit": "+unit",
        "unit or text": "+unit", "unit2": "+unit2", "x": "x",
    },
    "lk": {"in": "in", "on": "on", "out": "out"},
    "near": {"5": "+round5"},
    "order": {"flip": "+flip"},
    "round": {"5": "+round5", "25": "+round25", "each": "+each"},
    "sp": {"us": "+american"},
    "spell": {
        "in": "+spellin", "In": "+spellin +upper", "on": "+spellin +spellout",
        "On": "+spellin +spellout +upper",
    },
}  # fmt: skip
# The text before, after and between outputs.
JOINS = {
    "": (" (", ")", "; "), "or": (" or ", "", " or "), "sqbr": (" &#91;", "&#93;", "; "),
    "comma": (", ", "", "; "), "slash": (" / ", "", "; "), "slash-nosp": ("/", "", "; "),
    "(or)": (" (", ")", " or "), "br": ("<br/>", "", "; "),
}  # fmt: skip
WHOLE = re.compile(r"[-+]?[0-9]{1,7}(?:\.0*)?(?:[eE]\+?[0-9])?")
SWAPPED = {"in": "out", "out": "in"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to show a conversion."""

    flags: frozenset[str] = frozenset()
    asked: str = ""  # whose unit the call wants as a symbol: in, out, on, off, mos; empty without a wish
    abbreviated: str = "out"  # whose unit is a symbol, after a change of order
    linked: str = ""  # whose unit is a link: in, out or on
    display: str = ""
    joins: tuple[str, str, str] = JOINS[""]
    digits: int = 0  # significant ones; 0 without a wish
    denominator: int = 0  # of the fractions that outputs are rounded to; 0 for decimals
    stacked: bool = False  # fractions with a horizontal bar


PLAIN = {name: Options(asked="on", abbreviated="on") for name in ABBREVIATED}
NO_OPTIONS = Options()


def parse_options(call: Call) -> Options:
    """The options of one call; unknown ones are ignored, as the module does."""
    named = tuple(item for item in call.arguments.items() if not item[0].isdecimal())
    if not named:  # the most frequent case
        return PLAIN.get(call.name, NO_OPTIONS)
    return _parsed(call.name in ABBREVIATED, named)


@lru_cache(maxsize=512)
def _parsed(abbreviated: bool, arguments: tuple[tuple[str, str], ...]) -> Options:
    named = {name: value.strip() for name, value in arguments}
    adjective = named.get("adj", named.get("sing", ""))
    if "adj" not in named and adjective == "yes":
        adjective = "on"
    asked = {**named, "adj": adjective}
    effects = " ".join(VALUES[name].get(asked[name], "") for name in VALUES if name in asked).split()
    flags = {effect[1:] for effect in effects if effect.startswith("+")}
    abbreviation = _word("abbr", asked) or ("on" if "hh" in flags or abbreviated else "")
    if {"spellin", "flip"} <= flags and "spellout" not in flags:
        flags = flags - {"spellin"} | {"spellout"}
    display = _word("disp", asked)
    joins = JOINS.get(display, JOINS[""])
    if display == "slash" and abbreviation in {"on", "off", "mos"}:
        joins = JOINS["slash-nosp"]
    denominator = _number(named.get("frac", ""))
    return Options(
        flags=frozenset(flags),
        asked=abbreviation,
        abbreviated=SWAPPED.get(abbreviation or "out", abbreviation)
        if "flip" in flags
        else abbreviation or "out",
        linked=_word("lk", asked)
        if "flip" not in flags
        else SWAPPED.get(_word("lk", asked), _word("lk", asked)),
        display=display,
        joins=joins,
        digits=max(_number(named.get("sigfig", "")), 0),
        denominator=abs(denominator) if abs(denominator) > 1 else 0,
        stacked=denominator < -1,
    )


def _word(name: str, asked: dict[str, str]) -> str:
    value = VALUES[name].get(asked.get(name, ""), "")
    return "" if value.startswith("+") else value.partition(" ")[0]


def _number(text: str) -> int:
    text = text.replace(",", "")
    return int(float(text)) if WHOLE.fullmatch(text) else 0
