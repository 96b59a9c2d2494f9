"""The results of a conversion, with the number of digits that Module:Convert gives them."""

from __future__ import annotations

import re
from math import floor, gcd, log10, modf
from typing import NamedTuple

from wikitext_builder.extraction.macros.convert_arguments import (
    MINUS,
    Between,
    Options,
    Value,
    fraction,
    with_separators,
)
from wikitext_builder.extraction.macros.convert_units import Several, Unit

MAX_DIGITS = 14  # significant ones of a result
MAX_PRECISION = 99
LARGEST = 1e150  # of a result; a larger one, or one below the reciprocal, is not a measure
TO_STEPS = {f"round{step}": float(step) for step in ("0.5", "5", "10", "25", "50")}
FUDGE = 1e-14  # Module:Convert adds it to logarithms
ROUNDING_FUDGE = 2e-14  # and this to results before it rounds them
DIGITS = re.compile(r"([0-9]*)(\.?)([0-9]*)(?:[eE]([-+]?[0-9]+))?")


class Source(NamedTuple):
    """What is converted: a unit, or the units of a measure of several."""

    unit: Unit
    parts: tuple[tuple[Unit, Value], ...] = ()  # of a measure in several units; `unit` is then the smallest


class Result(NamedTuple):
    """A rounded result, or a value of the input."""

    shown: str
    size: float = 0.0  # the absolute value before rounding
    sign: str = ""
    rounded: float = 0.0  # the absolute value after rounding; that of an input with its sign
    singular: bool = False
    scientific: bool = False
    fraction: tuple[str, str, str] | None = None  # whole number, numerator, denominator


def converted(value: Value, unit: Unit, target: Unit) -> float | None:
    """Return a value in the output unit; None if it is too large or too small to compute with."""
    try:
        ratio, result = unit.size / target.size, 0.0
        if (unit.inverse or 1) * (target.inverse or 1) < 0:
            result = 1 / (value.number * unit.size * target.size)
        elif unit.zero is not None and not value.change:
            result = (value.number - unit.zero) * ratio + (target.zero or 0.0)
        else:
            result = value.number * ratio
    except (OverflowError, ZeroDivisionError):
        return None
    return result if not result or 1 / LARGEST < abs(result) < LARGEST else None


def default_decimals(size: float, value: Value, source: Source, target: Unit) -> int:
    """Return the decimals of a result: as exact as the input, at least two digits; negative for zeros."""
    size, given, unit = abs(size), value.number, source.unit
    exact = _exactness(value.clean, value.denominator, composed=bool(source.parts))
    if unit.thermometer and target.thermometer and unit.zero is not None:
        kelvins = abs((given - unit.zero) * unit.size)
        adjust, least = 0.0, 2 if kelvins < 1e-8 else 2 - floor(log10(kelvins) + FUDGE)
    elif not given or not size:
        return 0
    else:
        if target.exact == "wholes" and floor(given) == given:
            adjust = -log10(unit.size) if unit.size else 0.0
        elif source.parts and unit.exact == "below":
            adjust = log10(target.size) + 2
        else:
            adjust = log10(abs(given / size))
        adjust += log10(2)
        least = 1 - floor(log10(size) + FUDGE)
    return max(floor(exact + adjust), least)


def _exactness(clean: str, denominator: int, *, composed: bool) -> float:
    if denominator:
        return max(log10(denominator), 1)
    match = DIGITS.match(clean)
    whole, point, decimals, exponent = match.groups("") if match else ("", "", "", "")
    exact = len(decimals) if point else 0 if composed else len(whole.rstrip("0")) - len(whole)
    return exact - int(exponent or 0)


class Task(NamedTuple):
    """What to convert, and how to show it."""

    values: list[Value]
    between: list[Between]
    source: Source
    options: Options
    precision: int | None
    middle: str  # words after the unit, if the output comes first


def results_of(task: Task, target: Unit, denominator: int = 0) -> list[Result] | None:
    """Return the rounded results of all values; None if one cannot be computed.

    Unless the call sets a precision, all results have the same number of decimals, the largest needed.
    """
    values, source, options, precision = task.values, task.source, task.options, task.precision
    sizes = [size for value in values if (size := converted(value, source.unit, target)) is not None]
    if len(sizes) < len(values):
        return None
    decimals = precision
    if precision is None and not (denominator or options.digits or options.flags & TO_STEPS.keys()):
        pairs = zip(sizes, values, strict=True)
        decimals = max(default_decimals(size, value, source, target) for size, value in pairs)
    if not denominator and decimals is not None and decimals > MAX_PRECISION:
        return None
    return [_result(size, options, decimals, denominator) for size in sizes]


def _result(size: float, options: Options, decimals: int | None, denominator: int) -> Result:
    negative, value = size < 0, abs(size)
    if denominator:
        return _in_fractions(value, options, denominator, negative=negative)
    exponent = None
    if decimals is not None:
        shown, exponent = _with_decimals(value, decimals)
    elif options.digits:
        shown, exponent = _with_digits(value, options.digits)
    else:
        step = TO_STEPS[min(options.flags & TO_STEPS.keys())]
        stepped = floor(value / step + 0.5) * step
        shown = f"{stepped:.1f}".removesuffix(".0")
    return _formatted(shown, exponent, value, options, negative=negative)


def _with_decimals(value: float, decimals: int) -> tuple[str, int | None]:
    """Return digits and the place of the point before them; without a place they have their point."""
    if decimals >= 0:
        return f"{value + (ROUNDING_FUDGE if decimals <= 8 else 0):.{decimals}f}", None
    digits = f"{value / 10.0 ** min(-decimals, 300):.0f}"
    return digits, (len(digits) - decimals if digits != "0" else None)


def _with_digits(value: float, digits: int) -> tuple[str, int]:
    digits = min(digits, MAX_DIGITS)
    if not value:
        return "0" * digits, 1
    part, whole = modf(log10(value))
    part, whole = (part - 1, whole + 1) if part >= 0 else (part, whole)
    shown = f"{10.0 ** (part + digits):.0f}"
    if len(shown) > digits:
        return shown[:digits], int(whole) + 1
    return shown, int(whole)


def _placed(shown: str, large: int, small: int) -> tuple[str, int | None]:
    """Return digits without a point, and its place, of very large or small numbers; only cut others."""
    whole, point, decimals = shown.partition(".")
    if len(whole) >= large and whole.strip("0"):
        return whole + decimals, len(whole)
    if whole.strip("0"):
        return shown[: MAX_DIGITS + len(point)], None
    figures = decimals.lstrip("0")
    zeros = len(decimals) - len(figures)
    if not figures and decimals:
        return f"{whole}.{decimals[:MAX_DIGITS]}", None
    if figures and zeros >= small:
        return figures, -zeros
    return (f"0.{'0' * zeros}{figures[:MAX_DIGITS]}" if len(figures) > MAX_DIGITS else shown), None


def _formatted(shown: str, exponent: int | None, value: float, options: Options, *, negative: bool) -> Result:
    sign = MINUS if negative else ""
    large, small = (4, 2) if "scientific" in options.flags else (10, 4)
    pattern = r"1(?:\.0*)?" if exponent is None else "10*"
    is_one = exponent in {None, 1} and re.fullmatch(pattern, shown) is not None
    if exponent is None:
        shown, exponent = _placed(shown, large, small)
    if exponent is not None:
        shown = shown[:MAX_DIGITS]
        if exponent > large or exponent <= -small or (exponent == large and shown != f"{10 ** (large - 1)}"):
            power = str(exponent - 1).replace("-", MINUS)
            text = f"{shown[0]}.{shown[1:]}" if len(shown) > 1 else shown
            rounded = float(f".{shown}e{exponent}")
            return Result(f"{sign}{text}×10{power}", value, sign, rounded, is_one, scientific=True)
        if exponent >= len(shown):
            shown += "0" * (exponent - len(shown))
        elif exponent <= 0:
            shown = f"0.{'0' * -exponent}{shown}"
        else:
            shown = f"{shown[:exponent]}.{shown[exponent:]}"
    if not shown.strip("0."):
        sign = ""
    text = sign + with_separators(shown, options)
    return Result(text, value, sign, float(shown), is_one)


def _in_fractions(value: float, options: Options, denominator: int, *, negative: bool) -> Result:
    """Return the nearest fraction in lowest terms."""
    if value > 1e8:
        return _formatted(f"{value:.2f}", None, value, options, negative=negative)
    part, whole = modf(value)
    over = floor(part * denominator + 0.5 + ROUNDING_FUDGE)
    if over >= denominator:
        over, whole = 0, whole + 1
    if not over:
        return _formatted(f"{whole:.0f}", None, value, options, negative=negative)
    divisor = gcd(over, denominator)
    pieces = (f"{whole:.0f}" if whole else "", str(over // divisor), str(denominator // divisor))
    shown = fraction(*pieces, options)
    sign = MINUS if negative else ""
    return Result(sign + shown, value, sign, value, singular=value <= 1, fraction=pieces)


def split_result(result: Result, output: Several, options: Options, *, named: bool) -> str:
    """Return a result in several units, the largest first: `6 ft 2 in`."""
    left, decimals = _smallest(result)
    joint = "-" if options.adjective and named else " "
    pieces: list[str] = []
    sign = result.sign
    for place, unit in enumerate(output.units):
        size = left
        if place < len(output.factors):
            left, size = float(left // output.factors[place]), left % output.factors[place]
        over = result.fraction if place == 0 else None
        if place == 0 and result.scientific and not (left if output.factors else 0):
            shown, sign = result.shown, ""
        elif over:
            shown = fraction(f"{size:.0f}" if size else "", over[1], over[2], options)
        else:
            shown = with_separators(f"{size:.{decimals if place == 0 else 0}f}", options) if size else "0"
        name = _name_of(unit, size, options, over=bool(over)) if named else unit.symbol
        pieces.append(shown + joint + name)
        if not left or place == len(output.factors):
            break
    return sign + joint.join(reversed(pieces))


def _smallest(result: Result) -> tuple[float, int]:
    """Return the value in the smallest unit, and the number of its decimals."""
    if result.fraction:
        return float(floor(result.size)), 0
    decimals = 0 if result.scientific else len(result.shown.partition(".")[2])
    return (result.rounded if decimals else float(floor(result.size + 0.5))), decimals


def _name_of(unit: Unit, size: float, options: Options, *, over: bool) -> str:
    singular = options.adjective or (not size if over else size == 1)
    return unit.name if singular else unit.plural
