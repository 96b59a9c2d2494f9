"""`{{convert}}`: a measure in one unit and in others, with the rounding and the words of Module:Convert."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import floor
from typing import NamedTuple

from wikitext_builder.extraction.macros.call import Call, macro
from wikitext_builder.extraction.macros.convert_arguments import (
    NO_OPTIONS,
    WHOLE,
    Between,
    Options,
    Value,
    parse_options,
    parse_values,
    value_of,
)
from wikitext_builder.extraction.macros.convert_outputs import (
    Task,
    all_outputs,
    by_name,
    hyphenated,
    identity,
    measured,
    with_spaces,
)
from wikitext_builder.extraction.macros.convert_rounding import Result, Source
from wikitext_builder.extraction.macros.convert_units import (
    Unit,
    convertible,
    default_code,
    find_outputs,
    find_unit,
)
from wikitext_builder.extraction.macros.php import whole_number

HANDS = re.compile(r"[0-9]{1,3}(?:\.[0-3](?:[0-9]{1,3})?)?")
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")


NOTHING = ("", "")


class Rest(NamedTuple):
    """What follows the unit in a call."""

    outputs: str = ""  # code
    precision: int | None = None
    middle: str = ""
    before: tuple[str, str] = NOTHING  # the units of the input and of the outputs
    joins: tuple[str, str] | None = None  # own words around the outputs


WITH_WORDS = frozenset(["mid", "before", "befores"])  # flags: words follow the outputs


@macro("Convert", "Cvt")
def convert(call: Call) -> str | None:
    """The text of a conversion; None where the module shows an error.

    >>> def show(*values, **names):
    ...     numbered = {str(number): value for number, value in enumerate(values, 1)}
    ...     return convert(Call(name="Convert", arguments={**numbered, **names}, page=None))
    >>> show("122", "m", sp="us"), show("12", "–", "14", "C"), show("6", "ft", "2", "in", abbr="on")
    ('122 meters (400 ft)', '12–14 °C (54–57 °F)', '6 ft 2 in (1.88 m)')
    >>> show("204", "m", "ft", "-high", adj="mid"), show("500", "PS", "kW hp", abbr="on")
    ('204-metre-high (669 ft)', '500 PS (370 kW; 490 hp)')
    """
    options = parse_options(call)
    numbered: list[str] = []
    while (value := call.arguments.get(str(len(numbered) + 1))) is not None:
        numbered.append(value.replace("&nbsp;", " ") if "&" in value else value)
    if len(numbered) > 1 and numbered[1].strip().endswith("nocomma"):
        numbered[1] = numbered[1].strip().removesuffix("nocomma")
        options = replace(options, flags=options.flags | {"nocomma"})
    given = parse_values(numbered, options)
    if given is None or not given[2]:
        return None
    values, between, rest = given
    unit = find_unit(rest[0].strip(), american=options.american)
    return _converted(values, between, unit, rest[1:], options) if unit else None


def _converted(
    values: list[Value], between: list[Between], unit: Unit, arguments: list[str], options: Options
) -> str | None:
    source, arguments = _source(values, between, unit, arguments, options)
    rest = _rest(arguments, options)
    if source.parts:
        values = [_total(source)]
    outputs = find_outputs(
        rest.outputs or default_code(source.unit, values[0].number), american=options.american
    )
    if not outputs or not all(convertible(source.unit, output) for output in outputs):
        return None
    flipped = "flip" in options.flags
    task = Task(
        values=values, between=between, source=source, options=options, precision=rest.precision,
        middle=rest.middle if flipped else "", before=rest.before[1],
    )  # fmt: skip
    texts = [""] if "unit" in options.flags else all_outputs(task, outputs)
    if texts is None:
        return None
    if rest.middle or rest.before != NOTHING:
        task = task._replace(middle="" if flipped else rest.middle, before=rest.before[0])
    shown = _input(task)
    symbol = unit.british if "/" in unit.symbol else unit.symbol
    return _joined(shown, texts, options, rest, "" if source.parts else f"{symbol}, ")


def _joined(shown: str, outputs: list[str], options: Options, rest: Rest, symbol: str) -> str:
    """The input and the outputs, in order, with the text between them."""
    before, after, between = options.joins
    if rest.joins:
        before, after = rest.joins
    if options.flags & {"table", "tablecen"}:
        align = f'align="{"right" if "table" in options.flags else "center"}"|'
        return f"{align}{shown}\n|{align}" + f"\n|{align}".join(outputs)
    if options.flags & {"output", "number", "unit2", "unit"}:
        before = after = ""
    elif "symbol" in options.flags and before in {" (", " [", " &#91;"}:
        before += symbol
    converted = between.join(outputs)
    left, right = (converted, shown) if "flip" in options.flags else (shown, converted)
    left = left[:1].upper() + left[1:] if "upper" in options.flags else left
    return left + before + right + after


def _source(
    values: list[Value], between: list[Between], unit: Unit, arguments: list[str], options: Options
) -> tuple[Source, list[str]]:
    """The measure with the smaller units or the altitude that follow, and the other arguments."""
    if unit.built_in == "mach" and arguments and (altitude := value_of(arguments[0], options)):
        return Source(unit=unit, altitude=altitude.number), arguments[1:]
    parts = [(unit, values[0])]
    default, last = "", unit
    while last.below and not between and len(arguments) > 1:
        code = arguments[1].strip()
        smaller = find_unit(code, american=options.american)
        below = dict(last.below).get(code) or dict(last.below).get(smaller.code if smaller else "")
        value = value_of(arguments[0], options)
        if below is None or smaller is None or value is None:
            break
        default = default or below.default
        shown = smaller if below.code == smaller.code else find_unit(below.code, american=options.american)
        parts.append((shown or smaller, value))
        last, arguments = smaller, arguments[2:]
    if len(parts) == 1:
        return Source(unit=unit), arguments
    measure = replace(last, default=default or unit.default, zero=None, built_in="", inverse=0)
    return Source(unit=measure, parts=tuple(parts)), arguments


def _total(source: Source) -> Value:
    """The value in the smallest unit of a measure of several."""
    total = 0.0
    larger: Unit | None = None
    for unit, value in source.parts:
        factor = round(larger.size / unit.size) if larger else 1
        total = total * factor + value.number
        larger = unit
    return source.parts[-1][1]._replace(number=total)


def _rest(arguments: list[str], options: Options) -> Rest:
    """Outputs, precision and words that follow the unit, in this order."""
    if len(arguments) < 2 and not (options.flags & WITH_WORDS or options.display == "x"):
        last = arguments[0].strip() if arguments else ""
        if not NUMBER.fullmatch(last.replace(",", "")):
            return Rest(outputs=last)
    left = list(arguments)

    def take() -> str:
        return left.pop(0) if left else ""

    def take_number() -> str:
        number = left[0].strip().replace(",", "") if left else ""
        return number if NUMBER.fullmatch(number) and left.pop(0) else ""

    number = take_number()
    outputs = "" if number else take().strip()
    number = number or take_number()
    middle = take() if "mid" in options.flags else ""
    before = _before(take, options)
    joins = (take(), take()) if options.display == "x" else None
    if joins and not joins[0].strip():
        joins = (f" &#91; {joins[0]}", f" &#93;{joins[1]}")
    number = number or take_number()
    precision = int(float(number)) if WHOLE.fullmatch(number) else None
    middle = middle if middle.startswith("-") or not middle.strip() else f" {middle}"
    return Rest(outputs=outputs, precision=precision, middle=middle, before=before, joins=joins)


def _before(take: Callable[[], str], options: Options) -> tuple[str, str]:
    """Words of the call before the units: `adj=pre|imperial`, `disp=preunit`."""
    first = take() if "before" in options.flags else ""
    first = with_spaces(first, ends=(0, -1)) if first.strip() else ""
    if "befores" not in options.flags:
        return ("", first) if "flip" in options.flags else (first, "")
    one, two = take(), take()
    if not one.strip() and not two.strip():
        return first, ""
    one = with_spaces(one, ends=(0,)) if one.strip() not in {"+", ""} else one or " "
    if two.strip() == "&#32;":
        two = ""
    elif not two.strip():
        two = one
    elif two.strip() != "+":
        two = with_spaces(two, ends=(0,))
    return first + one, two


def _input(task: Task) -> str:
    options, unit = task.options, task.source.unit
    if options.flags & {"output", "number", "unit2"}:
        return ""
    if not task.source.parts:
        shown = [Result(shown=one.shown, singular=one.singular, rounded=one.number) for one in task.values]
        return measured(task, unit, shown, "in")
    named = by_name(task.source.parts[0][0], options, "in")
    inner = "-" if named and options.adjective else " "
    texts = []
    for one, value in task.source.parts:
        size = Result(shown="", singular=value.singular, rounded=value.number)
        name = identity(one, options, "in", size, named=by_name(one, options, "in"))
        texts.append(name if "unit" in options.flags else f"{value.shown}{inner}{name}")
    if "unit" in options.flags:
        text = " ".join(texts)
        return task.before + (hyphenated(text) if named and options.adjective else text)
    return inner.join(texts) + task.middle


@macro("Height")
def height(call: Call) -> str | None:
    """`1.85 m (6 ft 1 in)` of `{{height|m=1.85}}`."""
    for unit in ("m", "cm"):
        if value := call.get(unit):
            return _short(call, value, unit, "ftin")
    feet = call.get("ft")
    return _short(call, feet, "ft", call.get("in") or "0", "in", "m") if feet else None


def _short(call: Call, *values: str) -> str | None:
    arguments = {str(number): value for number, value in enumerate(values, 1)}
    return convert(replace(call, name="Cvt", arguments=arguments))


@macro("Pop density")
def population_density(call: Call) -> str | None:
    """`5.7/km2 (14.8/sq mi)` of a population and an area."""
    values = call.positional()
    numbers = [value_of(value, NO_OPTIONS) for value in values[:2]] if len(values) >= 3 else []
    population, area = numbers if len(numbers) == 2 else (None, None)
    if population is None or area is None or not area.number:
        return None
    density = f"{population.number / area.number:.{whole_number(call.get('prec'), digits=2) or 0}f}"
    return _short(call, density, f"PD/{values[2]}", f"PD/{values[3]}" if len(values) > 3 else "")


@macro("Hands")
def hands(call: Call) -> str | None:
    """`15.2 hands (62 inches, 157 cm)`: the height of horses; the decimal counts inches, four per hand."""
    values = [value for value in call.positional()[:2] if value]
    if not values or not all(HANDS.fullmatch(value) for value in values):
        return None
    inches = [4 * int(value.partition(".")[0]) + float(value.partition(".")[2] or 0) for value in values]
    centimetres = " to ".join(f"{floor(one * 2.54 + 0.5)}" for one in inches)
    return (
        f"{' to '.join(values)} hands ({' to '.join(f'{one:g}' for one in inches)} inches, {centimetres} cm)"
    )
