"""The result of a conversion, with the number of digits that Module:Convert gives it."""

from __future__ import annotations

from math import floor, log10

from wikitext_builder.extraction.macros.convert.measures import Measure, Value, total, units_below
from wikitext_builder.extraction.macros.convert.styles import Style
from wikitext_builder.extraction.macros.convert.units import Unit

LARGEST = 1e150  # of a result; what is larger, or smaller than one part in it, is not a measure
SMALLEST_PLAIN = 1e-4  # a smaller result is shown with a power of ten
FUDGE = 1e-14  # Module:Convert adds it to logarithms


def converted(value: Value, measure: Measure, source: Unit, target: Unit) -> float | None:
    """A value in the output unit; None if it is too large or too small to compute with."""
    result = _converted(value, measure, source, target)
    return result if result is not None and (not result or 1 / LARGEST < abs(result) < LARGEST) else None


def _converted(value: Value, measure: Measure, source: Unit, target: Unit) -> float | None:
    number = total(value, measure)
    if source.kind == "temperature":
        return (number - source.offset) * source.scale / target.scale + target.offset
    if source.kind == "fuel" and source.inverse != target.inverse:
        return (
            source.scale / number / target.scale
            if source.inverse and number
            else _inverse(number * source.scale, target)
        )
    return number * source.scale / target.scale


def _inverse(base: float, target: Unit) -> float | None:
    return target.scale / base if base else None


def rounded(result: float, measure: Measure, source: Unit, target: Unit, style: Style) -> str:
    """The result as text, with the digits that the call asks for, or as exact as the input."""
    size, sign = abs(result), "−" if result < 0 else ""
    if style.precision is not None:
        text = _with_decimals(size, style.precision)
    elif style.significant:
        text = _with_digits(size, style.significant)
    elif style.multiple_of:
        text = f"{floor(size / style.multiple_of + 0.5) * style.multiple_of:,}"
    else:
        text = _with_decimals(size, _common_decimals(measure, source, target))
    return (sign if text.strip("0.,") else "") + text


def _common_decimals(measure: Measure, source: Unit, target: Unit) -> int:
    """The number of decimals of all values of a range: the largest that a value needs."""
    decimals = []
    for value in measure.values:
        result = converted(value, measure, source, target)
        if result is not None:
            decimals.append(default_decimals(value, measure, source, target, abs(result)))
    return max(decimals)


def default_decimals(value: Value, measure: Measure, source: Unit, target: Unit, size: float) -> int:
    """The number of decimals of a result: as exact as the input, at least two digits; negative for zeros."""
    exactness = _exactness(value, measure)
    number = total(value, measure) * units_below(measure)
    if source.kind == "temperature":
        kelvin = abs((number - source.offset) * source.scale)
        least = 2 if kelvin < 1e-8 else 2 - floor(log10(kelvin) + FUDGE)
        return max(floor(exactness), least)
    if number == 0 or size <= 0:
        return 0
    if (
        target.symbol in {"ft", "lb"}
        and target.power == 0
        and floor(number) == number
        and "/" not in target.symbol
    ):
        adjust = -log10(
            source.scale / units_below(measure)
        )  # or a whole number of metres gives too few digits of feet
    elif measure.below and measure.below[1] == "in":
        adjust = log10(target.scale) + 2
    else:
        adjust = log10(abs(number) / size)
    least = 1 - floor(log10(size) + FUDGE)
    return max(floor(exactness + adjust + log10(2)), least)


def _exactness(value: Value, measure: Measure) -> float:
    if measure.below:
        value = measure.below[0]
    if value.denominator:
        return max(log10(value.denominator), 1.0)
    digits, _, exponent = value.digits.lower().partition("e")
    whole, point, decimals = digits.partition(".")
    exact = len(decimals) if point else 0 if measure.below else len(whole.rstrip("0")) - len(whole)
    return exact - (int(exponent) if exponent else 0)


def _with_decimals(size: float, decimals: int) -> str:
    if 0 < size < SMALLEST_PLAIN and 0 < decimals <= 100:
        digits = f"{size * 10.0**decimals:.0f}"
        if digits != "0":
            return _scientific(digits, len(digits) - 1 - decimals)
    if decimals >= 0:
        return f"{size + (2e-14 if decimals <= 8 else 0):,.{min(decimals, 20)}f}"
    zeros = 10 ** min(-decimals, 300)
    text = f"{size / zeros:.0f}"
    if text != "0" and len(text) - decimals > 9:
        return _scientific(text, len(text) - decimals - 1)
    return f"{int(text) * zeros:,}"


def _with_digits(size: float, digits: int) -> str:
    if size == 0:
        return "0"
    decimals = digits - 1 - floor(log10(size) + FUDGE)
    text = _with_decimals(size, decimals)
    # Rounding up may add a digit: 9.97 with two digits is 10, not 10.0.
    if decimals > 0 and "×" not in text and len(text.replace(".", "").replace(",", "").lstrip("0")) > digits:
        text = _with_decimals(size, decimals - 1)
    return text


def _scientific(digits: str, power: int) -> str:
    tail = digits[1:].rstrip("0") if len(digits) > 1 else ""
    return f"{digits[0]}{'.' + digits[1:] if tail or len(digits) > 1 else ''}×10{power}".replace("-", "−")
