"""The measure in a call of `{{convert}}`: values, words between them, a unit, perhaps a smaller unit too."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Words between two values: (with names, with symbols). From Module:Convert/text of 2014.
RANGES = {
    "-": ("–", "–"), "–": ("–", "–"), "&ndash;": ("–", "–"), "to": (" to ", " to "),
    "and": (" and ", " and "), "&": (" and ", " and "), "or": (" or ", " or "), "to(-)": (" to ", "–"),
    "to-": (" to ", "–"), "and(-)": (" and ", "–"), "by": (" by ", " by "), "x": (" by ", " × "),
    "×": (" by ", " × "), "xx": (" × ", " × "), "*": ("×", "×"), "+": (" + ", " + "), ",": (", ", ", "),
    ", and": (", and ", ", and "), ", or": (", or ", ", or "), "+/-": (" ± ", " ± "), "±": (" ± ", " ± "),
    "to about": (" to about ", " to about "),
}  # fmt: skip
# Smaller units in a measure of two units: (number per larger unit, default output) by code.
SUBUNITS = {
    "ft": {"in": (12, "m")}, "foot": {"in": (12, "m")}, "yd": {"ft": (3, "m")},
    "mi": {"ft": (5280, "km"), "yd": (1760, "km"), "chain": (80, "km")}, "lb": {"oz": (16, "kg")},
    "st": {"lb": (14, "kg lb")}, "LT": {"Lcwt": (20, "t")}, "ST": {"Scwt": (20, "t")},
    "chain": {"ft": (66, "m"), "yd": (22, "m")},
}  # fmt: skip
MAX_CHARACTERS = 40  # of a number; a longer one is not a measure, and may be too large for a float
VALUE = re.compile(r"(?P<sign>[-−+]?)(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)(?P<exponent>[eE][-+]?\d{1,2})?")
PAIR = re.compile(r"([\d.,]+) ?(-|–|&ndash;|(?<= )(?:to|by|or|and)(?= )|x|×|\+/-) ?([\d.,]+)")
FRACTION = re.compile(
    r"(?P<sign>[-−]?)(?:(?P<whole>\d+)(?:[ +-]|&nbsp;))?(?P<over>\d+)(?:/|⁄|//)(?P<under>\d+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number: its text, its value, and how it was written."""

    shown: str
    number: float
    digits: str  # as written, without sign and commas: they show how exact the value is
    denominator: int = 0
    singular: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What to convert: values with words between them, a unit, and perhaps the value of a smaller unit."""

    values: tuple[Value, ...]
    words: tuple[str, ...]
    code: str
    below: tuple[Value, str] | None
    rest: tuple[str, ...]


def parse_measure(arguments: list[str]) -> Measure | None:
    """Values and words alternate; then the unit, then the other arguments."""
    values: list[Value] = []
    words: list[str] = []
    position = 0
    while position < len(arguments):
        value = value_of(arguments[position])
        if value is None:
            value_pair = _range_in_one(arguments[position])
            if value_pair is None:
                return None
            values += value_pair
            words.append(_word_in_one(arguments[position]))
        else:
            values.append(value)
        position += 1
        if (
            position < len(arguments)
            and arguments[position] in RANGES
            and position + 1 < len(arguments)
            and len(words) < 6
        ):
            words.append(arguments[position])
            position += 1
        else:
            break
    if position >= len(arguments) or len(values) != len(words) + 1:
        return None
    code, rest = arguments[position], arguments[position + 1 :]
    below = _below(code, rest)
    if below:
        rest = rest[2:]
    return Measure(values=tuple(values), words=tuple(words), code=code, below=below, rest=tuple(rest))


def _range_in_one(argument: str) -> list[Value] | None:
    """`94-104`, `94 to 104`, `2 by 4` or `10 +/- 2` in one argument."""
    match = PAIR.fullmatch(argument)
    pair = [value_of(match[1]), value_of(match[3])] if match else []
    return [value for value in pair if value is not None] if len(pair) == 2 and None not in pair else None


def _word_in_one(argument: str) -> str:
    match = PAIR.fullmatch(argument)
    return match[2] if match and match[2] in RANGES else "-"


def _below(code: str, rest: list[str]) -> tuple[Value, str] | None:
    """The `|2|in` of `|6|ft|2|in`."""
    known = {
        "feet": "ft",
        "stone": "st",
        "pound": "lb",
        "inch": "in",
        "inches": "in",
        "miles": "mi",
        "lbs": "lb",
    }
    above = known.get(code, code)
    if len(rest) < 2:
        return None
    smaller = known.get(rest[1], rest[1])
    value = value_of(rest[0])
    return (value, smaller) if value and smaller in SUBUNITS.get(above, {}) else None


def value_of(text: str) -> Value | None:
    """A number as written: with commas, a sign, an exponent or a fraction."""
    text = text.replace("&minus;", "-").strip()
    if len(text) > MAX_CHARACTERS:
        return None
    if match := FRACTION.fullmatch(text):
        return _fraction_value(match)
    match = VALUE.fullmatch(text)
    if match is None:
        return None
    digits = match["number"].replace(",", "")
    number = float(digits + (match["exponent"] or ""))
    whole, point, decimals = digits.partition(".")
    shown = f"{int(whole):,}{point}{decimals}" if 0 < len(whole) < 300 else digits
    if match["exponent"]:
        shown += match["exponent"]  # as it was written
    negative = match["sign"] in {"-", "−"}
    return Value(
        shown=match["sign"].replace("-", "−") + shown, number=-number if negative else number,
        digits=digits + (match["exponent"] or ""), singular=number == 1 and not negative,
    )  # fmt: skip


def _fraction_value(match: re.Match[str]) -> Value | None:
    whole, over, under = match["whole"] or "", int(match["over"]), int(match["under"])
    if not under or len(match[0]) > 40:
        return None
    number = float(whole or 0) + over / under
    sign = "−" if match["sign"] else ""
    shown = f"{sign}{f'{int(whole):,} ' if whole else ''}{over}⁄{under}"
    return Value(
        shown=shown,
        number=-number if sign else number,
        digits=whole or "0",
        denominator=under,
        singular=0 < number <= 1,
    )


def plain_code(code: str) -> str:
    """The code of a unit that has a different name in a measure of two units."""
    return {"feet": "ft", "stone": "st", "pound": "lb", "miles": "mi", "lbs": "lb"}.get(code, code)


def total(value: Value, measure: Measure) -> float:
    """The number in the larger unit, with the value of the smaller unit."""
    if measure.below is None:
        return value.number
    return value.number + measure.below[0].number / units_below(measure)


def units_below(measure: Measure) -> int:
    """The number of smaller units per larger one; 1 without a smaller unit."""
    return SUBUNITS[plain_code(measure.code)][measure.below[1]][0] if measure.below else 1
