"""`{{convert}}`: a measure in one unit and in others, with the rounding and the words of Module:Convert."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from math import floor

from wikitext_builder.extraction.macros.bounded import whole_number
from wikitext_builder.extraction.macros.call import Call, Macro
from wikitext_builder.extraction.macros.convert.measures import (
    RANGES,
    SUBUNITS,
    Measure,
    parse_measure,
    plain_code,
    value_of,
)
from wikitext_builder.extraction.macros.convert.rounding import converted, rounded
from wikitext_builder.extraction.macros.convert.styles import Style, parse_style
from wikitext_builder.extraction.macros.convert.units import Unit, default_codes, find_unit
from wikitext_builder.extraction.macros.spelling import in_words

HYPHENATED_WITH_SYMBOLS = {"and", "&", "or", "to"}  # in adjectives: 3-to-5 km
JOINS = {
    "or": (" or ", "", " or "), "comma": (", ", "", "; "), "slash": (" / ", "", "; "),
    "sqbr": (" &#91;", "&#93;", "; "), "br": ("<br>", "", "; "), "s": (" / ", "", "; "),
    "/": (" / ", "", "; "), "(or)": (" (", ")", " or "),
}  # fmt: skip
HANDS = re.compile(r"[0-9]{1,3}(?:\.[0-3](?:[0-9]{1,3})?)?")
COMPOSED_OUTPUTS = {
    "ftin": ("ft", "in", 12),
    "ft in": ("ft", "in", 12),
    "stlb": ("st", "lb", 14),
    "lboz": ("lb", "oz", 16),
    "ydft": ("yd", "ft", 3),
}
# Output units that depend on the value times a factor: (factor, code below 10, code from 10).
BARRELS = {
    "koilbbl/d": (1.58987294928, "m3/d", "e3m3/d"), "Moilbbl/d": (1.58987294928, "e3m3/d", "e6m3/d"),
    "koilbbl": (1.58987294928, "m3", "e3m3"), "Moilbbl": (1.58987294928, "e3m3", "e6m3"),
    "Goilbbl": (1.58987294928, "e6m3", "e9m3"),
}  # fmt: skip


def convert(call: Call) -> str | None:
    """The text of a conversion; None if this package does not support it.

    >>> def show(*values, **names):
    ...     numbered = {str(number): value for number, value in enumerate(values, 1)}
    ...     return convert(Call(name="Convert", arguments={**numbered, **names}, page=None))
    >>> show("122", "m", sp="us"), show("12", "–", "14", "C"), show("6", "ft", "2", "in", abbr="on")
    ('122 meters (400 ft)', '12–14 °C (54–57 °F)', '6 ft 2 in (1.88 m)')
    >>> show("204", "m", "ft", "-high", adj="mid"), show("500", "PS", "kW hp", abbr="on")
    ('204-metre-high (669 ft)', '500 PS (370 kW; 490 hp)')
    """
    given = parse_measure([value.replace("&nbsp;", " ").strip() for value in call.positional()])
    if given is None:
        return None
    shown = parse_style(call, given)
    if shown is None:
        return None
    source = find_unit(given.code, american=shown.american)
    if source is None:
        return None
    outputs, shown = _outputs(given, shown)
    if shown.spelled:
        given = spell_out(given, shown)
    return _composed(given, source, outputs, shown) if outputs is not None else None


def spell_out(measure: Measure, style: Style) -> Measure:
    """The measure with its values in words, with a capital first letter if the call asks for it."""
    values = [
        replace(value, shown=in_words(value.shown, american=style.american)) for value in measure.values
    ]
    if style.spelled.istitle():
        values[0] = replace(values[0], shown=values[0].shown[:1].upper() + values[0].shown[1:])
    below = measure.below
    if below is not None:
        below = (replace(below[0], shown=in_words(below[0].shown, american=style.american)), below[1])
    return replace(measure, values=tuple(values), below=below)


def _outputs(measure: Measure, style: Style) -> tuple[list[str] | None, Style]:
    """The codes to convert to: those in the call, or the defaults of the unit."""
    asked = measure.rest[0] if measure.rest else ""
    if asked and not re.fullmatch(r"[-−]?\d+", asked) and not asked.startswith("-"):
        if asked in COMPOSED_OUTPUTS or find_unit(asked):
            return [asked], style
        codes = asked.split(" ")
        known = all(code in COMPOSED_OUTPUTS or find_unit(code) for code in codes)
        return (codes if known else None), style
    value = measure.values[0].number
    if measure.below:
        return SUBUNITS[plain_code(measure.code)][measure.below[1]][1].split(), style
    if measure.code in BARRELS:
        factor, low, high = BARRELS[measure.code]
        return [low if value * factor < 10 else high], style
    if measure.code in {"m", "metre", "meter"} and 0 < value < 3:
        return ["ftin"], style
    source = find_unit(measure.code)
    return (default_codes(source, value) if source else None), style


def _composed(measure: Measure, source: Unit, outputs: list[str], style: Style) -> str | None:
    """The input and the outputs, in order, with the text between them."""
    pieces = []
    for code in outputs:
        piece = _output(measure, source, code, style)
        if piece is None:
            return None
        pieces.append(piece)
    before, after, between = JOINS.get(style.display, (" (", ")", "; "))
    if style.display == "x":
        before, after = style.custom
    converted = between.join(pieces)
    if style.display in {"output only", "output number only"}:
        return converted
    shown = _input(measure, source, style)
    if not converted:
        return shown
    left, right = (converted, shown) if style.flipped else (shown, converted)
    return f"{left}{before}{right}{after}"


def _input(measure: Measure, source: Unit, style: Style) -> str:
    by_name = style.by_name(source, "in")
    if measure.below:
        value, code = measure.below
        smaller = find_unit(code, american=style.american) or source
        first, second = measure.values[0], value
        hyphen = style.adjective and by_name
        parts = [
            _with_unit(
                [first.shown],
                measure,
                source,
                replace(style, middle=""),
                by_name=by_name,
                singular=first.singular,
                side="in",
            ),
            _with_unit(
                [second.shown],
                measure,
                smaller,
                replace(style, middle=""),
                by_name=by_name,
                singular=second.singular,
                side="in",
            ),
        ]
        return ("-" if hyphen else " ").join(parts) + style.middle
    shown = [value.shown for value in measure.values]
    singular = measure.values[-1].singular
    return _with_unit(shown, measure, source, style, by_name=by_name, singular=singular, side="in")


def _output(measure: Measure, source: Unit, code: str, style: Style) -> str | None:
    if code in COMPOSED_OUTPUTS:
        return _composed_output(measure, source, code, style)
    target = find_unit(code, american=style.american)
    if target is None or target.kind != source.kind:
        return None
    shown, numbers = [], []
    for value in measure.values:
        result = converted(value, measure, source, target)
        if result is None:
            return None
        text = rounded(result, measure, source, target, style)
        if style.denominator:
            text = as_fraction(result, style.denominator)
        shown.append(text)
        numbers.append(text)
    if style.spelled.lower() == "on":
        shown = [in_words(text, american=style.american) for text in shown]
    if style.display == "output number only":
        return _joined(shown, measure, style, by_name=True)
    singular = re.fullmatch(r"1(?:\.0*)?", numbers[-1]) is not None
    if target.named and style.explicit != "off":
        singular = (
            abs(converted(measure.values[-1], measure, source, target) or 0) < 1.0001
            and _as_number(numbers[-1]) < 1.0001
        )
    return _with_unit(
        shown, measure, target, style, by_name=style.by_name(target, "out"), singular=singular, side="out"
    )


def as_fraction(size: float, denominator: int) -> str:
    """The nearest fraction in lowest terms.

    >>> as_fraction(1.243, 4), as_fraction(0.5, 8), as_fraction(2.01, 4)
    ('1 1⁄4', '1⁄2', '2')
    """
    nearest = Fraction(floor(abs(size) * denominator + 0.5), denominator)
    whole, rest = divmod(nearest, 1)
    pieces = [
        f"{whole:,}" if whole or not rest else "",
        f"{rest.numerator}⁄{rest.denominator}" if rest else "",
    ]
    return ("−" if size < 0 and nearest else "") + " ".join(piece for piece in pieces if piece)


def _as_number(text: str) -> float:
    try:
        return float(text.replace(",", "").replace("−", "-"))
    except ValueError:
        return 2.0


def _with_unit(
    shown: list[str], measure: Measure, one: Unit, style: Style, *, by_name: bool, singular: bool, side: str
) -> str:
    """Values, a space or a hyphen, and the unit."""
    middle = style.middle if side == ("out" if style.flipped else "in") else ""
    if by_name:
        name = one.name if style.adjective or singular else one.plural
        if one.power and one.named and singular:
            name = one.plural
        ending = ("-" + name.replace(" ", "-")) if style.adjective else " " + name
    else:
        power = f"×10{one.power}" if one.power else ""
        ending = power + ("" if one.symbol.startswith("/") else " ") + one.symbol
        if measure.words and measure.words[0] in {"x", "×"}:
            shown = [*(value + ending for value in shown[:-1]), shown[-1]]
    if (
        one.power
        and by_name
        and not style.adjective
        and one.named
        and side == "out"
        and style.abbreviation in {"on", "out"}
    ):
        ending = f"×10{one.power} {one.plural.split(' ', 1)[1]}"
    return _joined(shown, measure, style, by_name=by_name) + ending + middle


def _joined(shown: list[str], measure: Measure, style: Style, *, by_name: bool) -> str:
    text = shown[0]
    for word, value in zip(measure.words, shown[1:], strict=False):
        between = RANGES[word][0 if by_name else 1]
        if style.adjective and (by_name or (word in HYPHENATED_WITH_SYMBOLS and style.explicit == "on")):
            between = between.replace(" ", "-")
        if between == "–" and value.startswith("−"):
            between = " – "
        text += between + value
    return text


def _composed_output(measure: Measure, source: Unit, code: str, style: Style) -> str | None:
    """Feet and inches and the like: the smaller unit is rounded, then split."""
    upper_code, lower_code, factor = COMPOSED_OUTPUTS[code]
    upper = find_unit(upper_code, american=style.american)
    lower = find_unit(lower_code, american=style.american)
    if upper is None or lower is None or lower.kind != source.kind or measure.below:
        return None
    by_name = style.abbreviation not in {"on", "out"} or (not style.explicit and style.display == "or")
    shown = []
    for value in measure.values:
        result = converted(value, measure, source, lower)
        if result is None or result < 0:
            return None
        text = rounded(result, measure, source, lower, style).replace(",", "")
        if not re.fullmatch(r"\d+(?:\.\d+)?", text):
            return None
        number = float(text) if "." in text else float(floor(result + 0.5))
        whole, rest = int(number // factor), number % factor
        decimals = len(text.partition(".")[2])
        upper_text = f"{whole:,} {(upper.name if whole == 1 else upper.plural) if by_name else upper.symbol}"
        lower_text = (
            f"{rest:.{decimals}f} {(lower.name if rest == 1 else lower.plural) if by_name else lower.symbol}"
        )
        if rest == 0:
            lower_text = f"0 {lower.plural if by_name else lower.symbol}"
        shown.append(" ".join([upper_text, lower_text] if whole else [lower_text]))
    middle = style.middle if style.flipped else ""
    return _joined(shown, measure, style, by_name=by_name) + middle


def height(call: Call) -> str | None:
    """`1.85 m (6 ft 1 in)` of `{{height|m=1.85}}`."""
    if metres := call.get("m"):
        return convert(replace(call, name="Cvt", arguments={"1": metres, "2": "m", "3": "ftin"}))
    if centimetres := call.get("cm"):
        return convert(replace(call, name="Cvt", arguments={"1": centimetres, "2": "cm", "3": "ftin"}))
    feet, inches = call.get("ft"), call.get("in") or "0"
    return (
        convert(replace(call, name="Cvt", arguments={"1": feet, "2": "ft", "3": inches, "4": "in", "5": "m"}))
        if feet
        else None
    )


def population_density(call: Call) -> str | None:
    """`5.7/km2 (14.8/sq mi)` of a population and an area."""
    values = call.positional()
    population, area = (value_of(value) for value in values[:2]) if len(values) >= 3 else (None, None)
    if population is None or area is None or not area.number:
        return None
    density = f"{population.number / area.number:.{whole_number(call.get('prec'), digits=2) or 0}f}"
    codes = {"1": density, "2": f"PD/{values[2]}", "3": f"PD/{values[3]}" if len(values) > 3 else ""}
    return convert(replace(call, name="Cvt", arguments=codes))


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


CONVERSIONS: dict[str, Macro] = {
    "Hands": hands,
    "Hand": hands,
    **dict.fromkeys(["Convert", "Cvt", "Conv", "Converted", "Convert abbreviated"], convert),
    "Height": height,
    "Pop density": population_density,
    "Population density": population_density,
}
