"""The arguments of `{{convert}}`: options by name, numbers, words between these, what follows the unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from wikitext_builder.extraction.macros import Call, read_table, words
from wikitext_builder.extraction.macros.php import thousands

ABBREVIATED = frozenset(["Cvt", "Convert abbreviated"])
# Effects of an argument's values: whose unit is a symbol, how outputs are joined, or a flag with a `+`.
VALUES: dict[str, dict[str, str]] = {}
for _argument, _value, _effects in read_table("convert/options"):
    VALUES.setdefault(_argument, {})[_value] = _effects
# The text before, after and between outputs.
JOINS = {
    "": (" (", ")", "; "), "or": (" or ", "", " or "), "sqbr": (" &#91;", "&#93;", "; "),
    "comma": (", ", "", ", "), "br()": ("<br/>(", ")", "; "),
    "slash": (" / ", "", "; "), "slash-nosp": ("/", "", "; "),
    "(or)": (" (", ")", " or "), "br": ("<br/>", "", "; "),
}  # fmt: skip
RARE = "?"  # the effect of values whose text is not known
WHOLE = re.compile(r"[-+]?[0-9]{1,7}(?:\.0*)?(?:[eE]\+?[0-9])?")
IN_WORDS = {str(number): word for number, word in enumerate(words("numbers under twenty"))}
SWAPPED = {"in": "out", "out": "in"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to show a conversion."""

    flags: frozenset[str] = frozenset()
    asked: str = ""  # whose unit the call wants as a symbol: in, out, on, off, mos; empty if it has no abbr=
    abbreviated: str = "out"  # whose unit is a symbol, after a change of order
    display: str = ""
    joins: tuple[str, str, str] = JOINS[""]
    digits: int = 0  # significant digits; 0 unless the call sets them
    denominator: int = 0  # of the fractions that outputs are rounded to; 0 for decimals

    @property
    def american(self) -> bool:
        """True for American names of units and of numbers in words."""
        return "american" in self.flags

    @property
    def adjective(self) -> bool:
        """True if hyphens join a value and the name of its unit."""
        return "adjective" in self.flags


def parse_options(call: Call) -> Options | None:
    """Return the options of a call without unknown ones, as in the module; None if one of them is rare."""
    named = tuple(item for item in call.arguments.items() if not item[0].isdecimal())
    return _parsed(call.name in ABBREVIATED, named)


@lru_cache(maxsize=512)
def _parsed(abbreviated: bool, arguments: tuple[tuple[str, str], ...]) -> Options | None:
    named = {name: value.strip() for name, value in arguments}
    adjective = named.get("adj", named.get("sing", ""))
    if "adj" not in named and adjective == "yes":
        adjective = "on"
    asked = {**named, "adj": adjective}
    effects = " ".join(VALUES[name].get(asked[name], "") for name in VALUES if name in asked).split()
    denominator = _number(named.get("frac", ""))
    flags = {effect[1:] for effect in effects if effect.startswith("+")}
    if RARE in effects or denominator < 0 or {"spellin", "flip"} <= flags:
        return None
    abbreviation = "on" if abbreviated else _word("abbr", asked)
    display = _word("disp", asked)
    joins = JOINS.get(display, JOINS[""])
    if display == "slash" and abbreviation in {"on", "off", "mos"}:
        joins = JOINS["slash-nosp"]
    swapped = SWAPPED if "flip" in flags else {}
    return Options(
        flags=frozenset(flags),
        asked=abbreviation,
        abbreviated=swapped.get(shown := abbreviation or "out", shown),
        display=display,
        joins=joins,
        digits=max(_number(named.get("sigfig", "")), 0),
        denominator=denominator if denominator > 1 else 0,
    )


def _word(name: str, asked: dict[str, str]) -> str:
    value = VALUES[name].get(asked.get(name, ""), "")
    return "" if value.startswith("+") else value.partition(" ")[0]


def _number(text: str) -> int:
    text = text.replace(",", "")
    return int(float(text)) if WHOLE.fullmatch(text) else 0


# --- numbers

MINUS = "−"
MAX_CHARACTERS = 40  # of a number; a longer one is not a measure, and may be too large for a float
MAX_VALUES = 30  # in one range
MAX_SPLITS = 20  # arguments that can hold several numbers
NUMBER = re.compile(r"\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,9})?\s*")
FRACTION = re.compile(
    r"\s*(?P<plus>\+?)\s*(?:(?P<whole>[0-9]+(?:\.[0-9])?)\s*(?P<sign>[-+ ]|&nbsp;))??"
    r"\s*(?P<over>[0-9]+)\s*(?:/|⁄)\s*(?P<under>[0-9]+)\s*"
)


class Value(NamedTuple):
    """A number as given."""

    number: float
    clean: str  # as written, without sign and commas: its digits show how exact the value is
    shown: str
    singular: bool = False
    denominator: int = 0
    change: bool = False  # the value follows a ±


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The text between two values."""

    with_names: str
    with_symbols: str
    hyphens: bool = False  # also with symbols, if an adjective has abbr=on
    times: bool = False  # each value has its unit if it is a symbol
    change: bool = False
    sides: bool = False  # words in the input, since 2021 with symbols too

    def text(self, options: Options, side: str, *, by_name: bool) -> str:
        """Return the text, with hyphens in an adjective."""
        words = by_name
        if self.sides and "today" in options.flags:
            words = (side == "in") != ("flip" in options.flags)
        text = self.with_names if words else self.with_symbols
        if options.adjective and (by_name or (self.hyphens and options.asked == "on")) and not self.change:
            return text.replace(" ", "-")
        return text

    def each(self, options: Options, side: str, *, named: bool) -> bool:
        """Return True if each value has its unit: of sides as symbols, of the input with `abbr=mos`."""
        if self.times and self.sides:
            return (side == "out") != ("flip" in options.flags)
        return (self.times and not named) or (options.abbreviated == "mos" and side == "in")


BETWEEN: dict[str, Between] = {}
for _words, _with_names, _with_symbols, _marks in read_table("convert/between"):
    _names, _symbols = (text.replace("␣", " ") for text in (_with_names, _with_symbols or _with_names))
    _between = Between(with_names=_names, with_symbols=_symbols, **dict.fromkeys(_marks.split(), True))
    BETWEEN |= dict.fromkeys(_words.split("|"), _between)
# Searched in this order.
IN_ONE_ARGUMENT = ("+/-", "to(-)", "xx", "x", "*", "to", "or", "by", "&ndash;", "–", "-")
SPACED = re.compile(r"(\S+)\s+([^\s\d]+)\s+(\S.*)")


def parse_values(
    arguments: list[str], options: Options
) -> tuple[list[Value], list[Between], list[str]] | None:
    """Values, the texts between them, and the other arguments; None if there is not a number."""
    arguments = list(arguments)
    values: list[Value] = []
    texts: list[Between] = []
    position = 0
    while True:
        value = _value_at(arguments, position, options)
        if value is None:
            return None
        if texts and texts[-1].change:
            value = value._replace(change=True)
        values.append(value)
        word = BETWEEN.get(arguments[position + 1].strip()) if position + 1 < len(arguments) else None
        if word is None or len(texts) == MAX_VALUES:
            return values, texts, arguments[position + 1 :]
        texts.append(word)
        position += 2


def _value_at(arguments: list[str], position: int, options: Options) -> Value | None:
    """Return the number of an argument; one with several numbers is replaced with several arguments."""
    if position >= len(arguments):
        return None
    text = arguments[position].strip()
    value = value_of(text, options)
    if value is None and position < MAX_SPLITS:
        if (match := SPACED.fullmatch(text)) and not (match[2] == "-" and "/" in match[3]):
            arguments[position : position + 1] = match.groups()
            return _value_at(arguments, position, options)
        if "/" in text.partition("-")[2]:
            return None
        for word in IN_ONE_ARGUMENT:
            start = text.find(word, 1)
            if start > 0:
                arguments[position : position + 1] = [text[:start], word, text[start + len(word) :]]
                return _value_at(arguments, position, options)
    return value


def value_of(text: str, options: Options) -> Value | None:
    """Return a number as written: with commas, a sign, an exponent or a fraction.

    >>> value_of("1,234.5", Options()).shown, value_of("-1-1/2", Options()).number
    ('1,234.5', -1.5)
    """
    clean = text.strip().replace(",", "")
    if not clean or len(clean) > MAX_CHARACTERS:
        return None
    sign = next(filter(clean.startswith, ("-", MINUS, "&minus;", "+")), "")
    negative, size = sign not in {"", "+"}, clean.removeprefix(sign)
    if NUMBER.fullmatch(size):
        return _plain_value(size, MINUS if negative else sign, options, negative=negative)
    return _fraction_value(size if negative else clean, options, negative=negative)


def _plain_value(clean: str, sign: str, options: Options, *, negative: bool) -> Value | None:
    number = float(clean)
    if number == float("inf"):
        return None
    shown, power, exponent = clean.lower().partition("e")
    singular = number == 1 if power else float(shown) == 1
    shown = sign + with_separators(shown, options)
    if "spellin" in options.flags:
        if sign or clean not in IN_WORDS:
            return None
        shown = IN_WORDS[clean]
    elif power:
        shown += f"×10{exponent.replace('-', MINUS)}" if "today" in options.flags else power + exponent
    number = -number if negative and number else number
    return Value(number=number, clean=clean, shown=shown, singular=singular)


def _fraction_value(clean: str, options: Options, *, negative: bool) -> Value | None:
    match = FRACTION.fullmatch(clean)
    if match is None or "spellin" in options.flags or (negative and match["plus"]) or not int(match["under"]):
        return None
    if match["whole"] and match["sign"] == ("+" if negative else "-"):
        return None
    whole, over, under = match["whole"] or "", int(match["over"]), int(match["under"])
    number = float(whole or 0) + over / under
    shown = fraction(match["plus"] + whole, match["over"], match["under"], options)
    if negative:
        number, shown = -number, MINUS + shown
    return Value(number=number, clean=clean, shown=shown, singular=abs(number) <= 1, denominator=under)


def fraction(whole: str, over: str, under: str, options: Options) -> str:
    """Return a fraction after a whole number, which may be absent.

    >>> fraction("1234", "1", "2", Options())
    '1,234 1⁄2'
    """
    return f"{with_separators(whole, options)} {over}⁄{under}".strip()


def with_separators(text: str, options: Options) -> str:
    """Return a number without sign, its thousands separated.

    >>> with_separators("1234.5678", Options()), with_separators("12345.", Options())
    ('1,234.5678', '12,345')
    """
    text = text.removesuffix(".")
    whole, point, decimals = text.partition(".")
    return text if "nocomma" in options.flags else thousands(whole) + point + decimals


# --- what follows the unit

PRECISION = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")


class Rest(NamedTuple):
    """What follows the unit in a call."""

    outputs: str = ""  # code
    precision: int | None = None
    middle: str = ""
    joins: tuple[str, str] | None = None  # own words around the outputs


def parse_rest(arguments: list[str], options: Options) -> Rest:
    """Outputs, precision and words that follow the unit, in this order."""
    left = list(arguments)

    def take() -> str:
        return left.pop(0) if left else ""

    def take_number() -> str:
        number = left[0].strip().replace(",", "") if left else ""
        return number if PRECISION.fullmatch(number) and left.pop(0) else ""

    number = take_number()
    outputs = "" if number else take().strip()
    number = number or take_number()
    middle = take() if "mid" in options.flags else ""
    joins = (take(), take()) if options.display == "x" else None
    if joins and not joins[0].strip():
        joins = (f" &#91; {joins[0]}", f" &#93;{joins[1]}")
    number = number or take_number()
    precision = int(float(number)) if WHOLE.fullmatch(number) else None
    middle = middle if middle.startswith("-") or not middle.strip() else f" {middle}"
    return Rest(outputs=outputs, precision=precision, middle=middle, joins=joins)
