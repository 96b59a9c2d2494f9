"""The outputs of a conversion: values in one or several units."""

from __future__ import annotations

import re
from dataclasses import replace
from math import floor
from typing import NamedTuple

from wikitext_builder.extraction.macros.convert_arguments import (
    MINUS,
    Between,
    Options,
    Value,
    fraction,
    with_separators,
)
from wikitext_builder.extraction.macros.convert_rounding import Result, Source, results_of
from wikitext_builder.extraction.macros.convert_units import POWERS, Output, Several, Unit
from wikitext_builder.extraction.macros.numbers import in_words

SHOWN_BY_NAME = frozenset(["br", "or", "slash"])


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
    unit: Unit, options: Options, side: str, value: Result, *, named: bool, times: bool = False
) -> str:
    """The name of a unit after a value if it is `named`, else its symbol."""
    if "values" in options.flags or (options.flags & {"table", "tablecen"} and not options.asked):
        return ""
    if not named:
        return "hh" if unit.built_in == "hand" and "hh" in options.flags else unit.symbol
    singular = _singular(unit, options, side, value)
    if unit.power or times:
        singular = False
    return unit.name if options.adjective or singular else unit.plural


def _singular(unit: Unit, options: Options, side: str, value: Result) -> bool:
    flipped = "flip" in options.flags
    if "singular" in options.flags:
        return 0 < abs(value.rounded) < 1.0001
    if not unit.named or options.linked in {"on", side}:
        return value.singular
    if side == "in":
        if not options.adjective and (options.asked == "out" or flipped):
            return 0 < value.rounded < 1.0001
    elif options.asked == "on" or options.asked in (("in",) if flipped else ("", "out")):
        return value.rounded < 1.0001 and not value.scientific
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
    if named and options.adjective:
        return before + "-" + hyphenated(name) + middle
    space = " " if (named or unit.spaced) and not before and name[0] != "/" else ""
    return before + space + name + middle


def decorated(text: str, unit: Unit, options: Options, side: str) -> str:
    """A value with the thousands or millions of its unit, and with its currency."""
    if unit.power:
        if options.abbreviated in {"on", side} and "words" not in options.flags:
            text += f"×10{unit.power}"
        else:
            text += ("-" if options.adjective else " ") + POWERS[unit.power]
    return unit.currency + text


def with_spaces(text: str, *, ends: tuple[int, ...]) -> str:
    """A text with a space at its ends, unless there is one or a hyphen."""
    for end in ends:
        if text[end] not in " -" and not re.search("^&nbsp;" if end == 0 else "&nbsp;$", text):
            text = f" {text}" if end == 0 else f"{text} "
    return text


# --- values with their units

# A number that is negative, but not a fraction.
NEGATIVE = re.compile(MINUS + r"(?!(?:[\d,.]+ )?\d+[/⁄])")


class Task(NamedTuple):
    """What to convert, and how to show it."""

    values: list[Value]
    between: list[Between]
    source: Source
    options: Options
    precision: int | None
    middle: str  # words after the unit, if the output comes first
    before: str  # words before the unit

    @property
    def times(self) -> bool:
        """True if the values are sides: 2 by 4 metres; the last word with two forms decides."""
        if not self.between:
            return False
        return next((word.times for word in reversed(self.between) if not word.one_form), False)


def all_outputs(task: Task, outputs: tuple[Output, ...]) -> list[str] | None:
    """The text of each output; None if one cannot be computed."""
    if len(outputs) == 1:
        one, denominator = outputs[0], task.options.denominator
        text = (
            _several(task, one, denominator) if isinstance(one, Several) else _single(task, one, denominator)
        )
        return None if text is None else [text]
    denominators = [_denominator(task, output) for output in outputs]
    first = outputs[0]
    if isinstance(first, Unit) and first.built_in == "hand":
        second = outputs[1]
        if isinstance(second, Unit) and second.exact == "below":
            denominators[1] = _of_inches(task, denominators[0])
    texts = [
        _several(task, output, denominator)
        if isinstance(output, Several)
        else _single(task, output, denominator)
        for output, denominator in zip(outputs, denominators, strict=True)
    ]
    found = [text for text in texts if text is not None]
    return found if len(found) == len(texts) else None


def _denominator(task: Task, output: Output) -> int:
    if isinstance(output, Unit) and output.built_in == "hand":
        return task.options.denominator
    prefixed = isinstance(output, Unit) and output.prefixes
    return 0 if prefixed or task.precision is not None else task.options.denominator


def _of_inches(task: Task, denominator: int) -> int:
    """The denominator of the fractions of inches in hands."""
    if denominator or task.precision is None or task.precision <= 1:
        return denominator
    return 2 if task.precision == 2 else 4


def _single(task: Task, unit: Unit, denominator: int) -> str | None:
    options = task.options
    if unit.built_in == "hand":
        results = _in_hands(task, unit, denominator)
        unit = unit if options.asked else replace(unit, named=True)
    else:
        results = results_of(
            task.values, task.source, unit, options, precision=task.precision, denominator=denominator
        )
        if task.source.unit.built_in == "hand" and unit.exact == "below" and not options.asked:
            unit = replace(unit, named=True)
    if results is None:
        return None
    return measured(task, unit, results, "out")


def measured(task: Task, unit: Unit, values: list[Result], side: str) -> str:
    """Values with their unit; side is in or out."""
    options = task.options
    times = task.times
    named = by_name(unit, options, side)
    first = identity(unit, options, side, values[0], named=named, times=times)
    named = named and bool(first)
    if options.flags & {"unit", "unit2"}:
        return task.before + (hyphenated(first) if named and options.adjective else first)
    if unit.built_in == "mach" and first:
        return task.before + _joined(task, [f"{first} {value.shown}" for value in values[:2]], named=named)
    last = identity(unit, options, side, values[1], named=named, times=times) if task.between else first
    ending = placed(unit, options, last, named=named, middle=task.middle, before=task.before)
    if not task.between:
        text = decorated(values[0].shown, unit, options, side)
        return text if side == "out" and "number" in options.flags else text + ending
    texts = [decorated(value.shown, unit, options, side) for value in values]
    space = " " if first and (named or unit.spaced) else ""
    if len(values) == 2:
        if options.abbreviated == "mos" and side == "in" and not (named and options.adjective):
            texts[0] += space + first
        else:
            if options.abbreviated not in {"on", side}:
                texts[0] = values[0].shown
            texts[0] += space + first if times and not named else ""
    return _joined(task, texts, named=named) + ("" if side == "out" and "number" in options.flags else ending)


def _joined(task: Task, texts: list[str], *, named: bool) -> str:
    joined = texts[0]
    for word, text in zip(task.between, texts[1:], strict=False):
        between = word.text(task.options, by_name=named)
        joined += (" – " if between == "–" and NEGATIVE.match(text) else between) + text
    return joined


def _several(task: Task, output: Several, denominator: int) -> str | None:
    """Feet and inches and the like: the smallest unit is rounded, then split."""
    options = task.options
    plain = replace(options, flags=options.flags - {"spellout"})
    results = results_of(
        task.values, task.source, output.units[0], plain, precision=task.precision, denominator=denominator
    )
    if results is None:
        return None
    named = (not options.asked and options.display in {"or", "slash"}) or options.abbreviated not in {
        "on", "out", "mos",
    }  # fmt: skip
    return (
        _joined(task, [_split(result, output, options, named=named) for result in results], named=named)
        + task.middle
    )


def _split(result: Result, output: Several, options: Options, *, named: bool) -> str:
    left, decimals = _smallest(result)
    inner, outer = ("-", "-") if options.adjective and named else (" ", " ")
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
        if "spellout" in options.flags:
            shown = in_words(shown, american=options.american)
        name = _name_of(unit, size, options, over=bool(over)) if named else unit.symbol
        pieces.append(shown + inner + name)
        if not left or place == len(output.factors):
            break
    return sign + outer.join(reversed(pieces))


def _smallest(result: Result) -> tuple[float, int]:
    """The value in the smallest unit, and the number of its decimals."""
    if result.fraction:
        return float(floor(result.size)), 0
    decimals = 0 if result.scientific else len(result.shown.partition(".")[2])
    return (result.rounded if decimals else float(floor(result.size + 0.5))), decimals


def _name_of(unit: Unit, size: float, options: Options, *, over: bool) -> str:
    if options.adjective or (over and not size):
        one = True
    elif over:
        one = False
    else:
        one = 0 < size < 1.0001 if "singular" in options.flags else size == 1
    return unit.name if one else unit.plural


def _in_hands(task: Task, unit: Unit, denominator: int) -> list[Result] | None:
    """Hands and inches with a point between them: 15.2 is 15 hands 2 inches."""
    options, precision = task.options, task.precision
    inch = replace(unit, size=unit.size / 4, built_in="", exact="")
    found = results_of(
        task.values,
        task.source,
        inch,
        options,
        precision=precision,
        denominator=_of_inches(task, denominator),
    )
    return [_hands_of(result, options, precision) for result in found] if found is not None else None


def _hands_of(result: Result, options: Options, precision: int | None) -> Result:
    inches = floor(result.size if result.fraction else result.size + 0.5)
    hands, rest = divmod(inches, 4)
    text = f".{rest}"
    if precision is not None and precision <= 0:
        hands, text = floor(result.size / 4 + 0.5), ""
    elif result.fraction:
        text = "." + fraction(
            str(rest), result.fraction[1], result.fraction[2], options, stacked=options.stacked
        )
    shown = result.sign + with_separators(str(hands), options) + text
    return result._replace(shown=shown, rounded=hands + rest / 4)
