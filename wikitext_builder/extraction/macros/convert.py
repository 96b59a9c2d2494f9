"""`{{convert}}`: a measure in one unit and in others, with the words of Module:Convert."""

from __future__ import annotations

import re
from dataclasses import replace

from wikitext_builder.extraction.macros import (
    Call,
    changed,
    convert_arguments,
    convert_rounding,
    convert_units,
    macro,
)
from wikitext_builder.extraction.macros.convert_arguments import Between, Options, Rest, Value, value_of
from wikitext_builder.extraction.macros.convert_rounding import Result, Source, Task
from wikitext_builder.extraction.macros.convert_units import Output, Several, Unit, find_unit

THEN, TODAY = {ord("‑"): "-"}, str.maketrans("·µ", "⋅μ")  # signs in symbols
SHOWN_BY_NAME = frozenset(["br", "br()", "or", "slash"])


def by_name(unit: Unit, options: Options, side: str) -> bool:
    """Return True if the unit is shown by its name, not by its symbol; side is in or out."""
    if unit.named:
        return True
    if not options.asked:
        if unit.symbolic:
            return False
        if options.display in SHOWN_BY_NAME:
            return True
    abbreviated = options.abbreviated
    return not (abbreviated in {"on", side} or (abbreviated == "mos" and side == "out"))


def identity(unit: Unit, options: Options, value: Result, *, named: bool) -> str:
    """Return the name of a unit after a value if it is `named`, else its symbol."""
    if not named:
        return unit.symbol
    return unit.name if options.adjective or (value.singular and not unit.power) else unit.plural


def hyphenated(name: str) -> str:
    """Return a name as an adjective; what is in parentheses stays.

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


def placed(options: Options, name: str, *, named: bool, middle: str) -> str:
    """What follows a value: a space or a hyphen, the unit, words after it."""
    if named and options.adjective:
        return f"-{hyphenated(name)}{middle}"
    return (" " if name[0] != "/" else "") + name + middle


def decorated(text: str, unit: Unit, options: Options, side: str, *, last: bool = True) -> str:
    """Return a value with the thousands or millions of its unit, as words only after the last."""
    if unit.power:
        if options.abbreviated in {"on", side} and "words" not in options.flags:
            text += f"×10{unit.power}"
        elif last:
            text += ("-" if options.adjective else " ") + convert_units.POWERS[unit.power]
    return text


# --- values with their units

# A number that is negative, but not a fraction.
NEGATIVE = re.compile(convert_arguments.MINUS + r"(?!(?:[\d,.]+ )?\d+[/⁄])")


def all_outputs(task: Task, outputs: tuple[Output, ...]) -> list[str] | None:
    """Return the text of each output; None if one cannot be computed."""
    texts: list[str] = []
    for output in outputs:
        has_prefixes = isinstance(output, Unit) and output.prefixes > 0
        in_decimals = len(outputs) > 1 and (has_prefixes or task.precision is not None)
        text = _output(task, output, 0 if in_decimals else task.options.denominator)
        if text is None:
            return None
        texts.append(text)
    return texts


def _output(task: Task, unit: Output, denominator: int) -> str | None:
    if isinstance(unit, Several):
        return _several(task, unit, denominator)
    results = convert_rounding.results_of(task, unit, denominator)
    return measured(task, unit, results, "out") if results is not None else None


def measured(task: Task, unit: Unit, values: list[Result], side: str) -> str:
    """Return values with their unit; side is in or out."""
    options = task.options
    named = by_name(unit, options, side)
    names = [identity(unit, options, value, named=named) for value in values]
    ending = placed(options, names[-1], named=named, middle=task.middle)
    last = len(values) - 1
    texts = [
        decorated(value.shown, unit, options, side, last=place == last) for place, value in enumerate(values)
    ]
    if any(between.each(options, side, named=named) for between in task.between) and (
        not (named and options.adjective)
    ):
        texts[:-1] = [f"{text} {name}" for text, name in zip(texts, names[:-1], strict=False)]
    return _joined(task, texts, side, named=named) + ending


def _joined(task: Task, texts: list[str], side: str, *, named: bool) -> str:
    joined = texts[0]
    for word, text in zip(task.between, texts[1:], strict=False):
        between = word.text(task.options, side, by_name=named)
        joined += (" – " if between == "–" and NEGATIVE.match(text) else between) + text
    return joined


def _several(task: Task, output: Several, denominator: int) -> str | None:
    """Feet and inches and the like: the smallest unit is rounded, then split."""
    options = task.options
    results = convert_rounding.results_of(task, output.units[0], denominator)
    if results is None:
        return None
    named = (not options.asked and options.display in {"or", "slash"}) or options.abbreviated not in {
        "on", "out", "mos",
    }  # fmt: skip
    texts = [convert_rounding.split_result(result, output, options, named=named) for result in results]
    return _joined(task, texts, "out", named=named) + task.middle


@macro("Convert", "Cvt", reads="**")
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
    options = convert_arguments.parse_options(call)
    if options is None or "$" in call.arguments:
        return None
    if today := call.page is not None and changed(call, "convert"):
        options = replace(options, flags=options.flags | {"today"})
    numbered: list[str] = []
    while (value := call.arguments.get(str(len(numbered) + 1))) is not None:
        numbered.append(value.replace("&nbsp;", " ") if "&" in value else value)
    if len(numbered) > 1 and numbered[1].strip().endswith("nocomma"):
        numbered[1] = numbered[1].strip().removesuffix("nocomma")
        options = replace(options, flags=options.flags | {"nocomma"})
    given = convert_arguments.parse_values(numbered, options)
    if given is None or not given[2]:
        return None
    values, between, rest = given
    if any("×10" in value.shown for value in values):
        options = replace(options, flags=options.flags | {"scientific"})
    unit = find_unit(rest[0].strip(), american=options.american)
    shown = _converted(values, between, unit, rest[1:], options) if unit else None
    return shown and shown.translate(TODAY if today else THEN)


def _converted(
    values: list[Value], between: list[Between], unit: Unit, arguments: list[str], options: Options
) -> str | None:
    if unit.american:
        options = replace(options, flags=options.flags | {"american"})
    source, arguments = _source(values, between, unit, arguments, options)
    rest = convert_arguments.parse_rest(arguments, options)
    if source.parts:
        values = [_total(source)]
    outputs = convert_units.find_outputs(
        rest.outputs or convert_units.default_code(source.unit, values[0].number), american=options.american
    )
    if not outputs or not all(convert_units.convertible(source.unit, output) for output in outputs):
        return None
    flipped = "flip" in options.flags
    task = Task(
        values=values, between=between, source=source, options=options, precision=rest.precision,
        middle=rest.middle if flipped else "",
    )  # fmt: skip
    texts = all_outputs(task, outputs)
    if texts is None:
        return None
    shown = _input(task._replace(middle="" if flipped else rest.middle))
    return _laid_out(shown, texts, options, rest)


def _laid_out(shown: str, outputs: list[str], options: Options, rest: Rest) -> str:
    """Return the input and the outputs, in order, with the text between them."""
    before, after, between = options.joins
    if rest.joins:
        before, after = rest.joins
    if "output" in options.flags:
        before = after = ""
    converted = between.join(outputs)
    left, right = (converted, shown) if "flip" in options.flags else (shown, converted)
    return left + before + right + after


@macro("Height", reads="m|cm|ft|in|abbr")
def height(call: Call) -> str | None:
    """`1.85 m (6 ft 1 in)` of `{{height|m=1.85}}`; `abbr=no` writes the names of the units."""
    abbreviated = "off" if call.get("abbr") in {"no", "off"} else "on"
    metric = next((unit for unit in ("m", "cm") if call.get(unit)), "")
    values = [call.get("ft"), "ft", call.get("in") or "0", "in", "m"]
    values = [call.get(metric), metric, "ftin"] if metric else values
    arguments = {str(number): value for number, value in enumerate(values, 1)}
    return convert(replace(call, arguments=arguments | {"abbr": abbreviated}))


def _source(
    values: list[Value], between: list[Between], unit: Unit, arguments: list[str], options: Options
) -> tuple[Source, list[str]]:
    """The measure with the smaller units that follow, and the other arguments."""
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
    measure = replace(last, default=default or unit.default, zero=None, inverse=0)
    return Source(unit=measure, parts=tuple(parts)), arguments


def _total(source: Source) -> Value:
    """Return the value in the smallest unit of a measure of several."""
    total = 0.0
    larger: Unit | None = None
    for unit, value in source.parts:
        factor = round(larger.size / unit.size) if larger else 1
        total = total * factor + value.number
        larger = unit
    return source.parts[-1][1]._replace(number=total)


def _input(task: Task) -> str:
    options, unit = task.options, task.source.unit
    if "output" in options.flags:
        return ""
    if not task.source.parts:
        shown = [Result(shown=one.shown, singular=one.singular, rounded=one.number) for one in task.values]
        return measured(task, unit, shown, "in")
    named = by_name(task.source.parts[0][0], options, "in")
    inner = "-" if named and options.adjective else " "
    texts = []
    for one, value in task.source.parts:
        size = Result(shown="", singular=value.singular, rounded=value.number)
        name = identity(one, options, size, named=by_name(one, options, "in"))
        texts.append(f"{value.shown}{inner}{name}")
    return inner.join(texts) + task.middle
