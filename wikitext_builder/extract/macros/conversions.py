"""`{{convert}}`: a measure in one unit and, in parentheses, in others; rounded and worded as Module:Convert does."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import floor, log10

from wikitext_builder.extract.macros.call import Call, Macro
from wikitext_builder.extract.macros.units import Unit, unit

# Words between two values: (with names, with symbols). From Module:Convert/text of 2014.
RANGES = {
    "-": ("–", "–"), "–": ("–", "–"), "&ndash;": ("–", "–"), "to": (" to ", " to "), "and": (" and ", " and "), "&": (" and ", " and "),
    "or": (" or ", " or "), "to(-)": (" to ", "–"), "to-": (" to ", "–"), "and(-)": (" and ", "–"), "by": (" by ", " by "),
    "x": (" by ", " × "), "×": (" by ", " × "), "xx": (" × ", " × "), "*": ("×", "×"), "+": (" + ", " + "), ",": (", ", ", "),
    ", and": (", and ", ", and "), ", or": (", or ", ", or "), "+/-": (" ± ", " ± "), "±": (" ± ", " ± "), "to about": (" to about ", " to about "),
}  # fmt: skip
HYPHENATED_WITH_SYMBOLS = {"and", "&", "or", "to"}  # in adjectives: 3-to-5 km
JOINS = {
    "or": (" or ", "", " or "), "comma": (", ", "", "; "), "slash": (" / ", "", "; "), "sqbr": (" &#91;", "&#93;", "; "),
    "br": ("<br>", "", "; "), "s": (" / ", "", "; "), "/": (" / ", "", "; "), "(or)": (" (", ")", " or "),
}  # fmt: skip
# Units below others in one measure: (code, how many make the one above, default output).
SUBUNITS = {
    "ft": {"in": (12, "m")}, "foot": {"in": (12, "m")}, "yd": {"ft": (3, "m")}, "mi": {"ft": (5280, "km"), "yd": (1760, "km"), "chain": (80, "km")},
    "lb": {"oz": (16, "kg")}, "st": {"lb": (14, "kg lb")}, "LT": {"Lcwt": (20, "t")}, "ST": {"Scwt": (20, "t")},
    "chain": {"ft": (66, "m"), "yd": (22, "m")},
}  # fmt: skip
COMPOSED_OUTPUTS = {
    "ftin": ("ft", "in", 12),
    "ft in": ("ft", "in", 12),
    "stlb": ("st", "lb", 14),
    "lboz": ("lb", "oz", 16),
    "ydft": ("yd", "ft", 3),
}
# Output units whose size depends on the value: (times this below ten, code below, code from ten on).
BARRELS = {
    "koilbbl/d": (1.58987294928, "m3/d", "e3m3/d"), "Moilbbl/d": (1.58987294928, "e3m3/d", "e6m3/d"),
    "koilbbl": (1.58987294928, "m3", "e3m3"), "Moilbbl": (1.58987294928, "e3m3", "e6m3"), "Goilbbl": (1.58987294928, "e6m3", "e9m3"),
}  # fmt: skip
VALUE = re.compile(r"(?P<sign>[-−+]?)(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)(?P<exponent>[eE][-+]?\d{1,2})?")
FRACTION = re.compile(
    r"(?P<sign>[-−]?)(?:(?P<whole>\d+)(?:[ +-]|&nbsp;))?(?P<over>\d+)(?:/|⁄|//)(?P<under>\d+)"
)
FUDGE = 1e-14


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number as it is shown, as it counts, and how it was written."""

    shown: str
    number: float
    digits: str  # as written, without sign and commas: it says how exact the value is
    denominator: int = 0
    singular: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a conversion is to be shown."""

    abbreviation: str  # in, out, on or off: whose unit is a symbol
    explicit: str  # the abbreviation that was asked for, nothing if none was
    adjective: bool
    middle: str
    display: str
    flipped: bool
    american: bool
    precision: int | None
    significant: int | None
    multiple_of: int  # 5 or 25: round to a multiple

    def by_name(self, measure: Unit, side: str) -> bool:
        """Whether a unit is written by its name."""
        if measure.named:
            return True
        if not self.explicit and self.display in {"or", "br", "slash", "s", "/"} and not measure.symbolic:
            return True
        if not self.explicit and measure.symbolic:
            return False
        return self.abbreviation not in {"on", side}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is to be converted: values with words between them, a unit, and perhaps a smaller unit's value."""

    values: tuple[Value, ...]
    words: tuple[str, ...]
    code: str
    below: tuple[Value, str] | None
    rest: tuple[str, ...]


def convert(call: Call) -> str | None:
    """The text of a conversion; None for what this module does not do.

    >>> def show(*values, **names):
    ...     numbered = {str(number): value for number, value in enumerate(values, 1)}
    ...     return convert(Call(name="Convert", arguments={**numbered, **names}, page=None))
    >>> show("122", "m", sp="us"), show("12", "–", "14", "C"), show("6", "ft", "2", "in", abbr="on")
    ('122 meters (400 ft)', '12–14 °C (54–57 °F)', '6 ft 2 in (1.88 m)')
    >>> show("204", "m", "ft", "-high", adj="mid"), show("500", "PS", "kW hp", abbr="on")
    ('204-metre-high (669 ft)', '500 PS (370 kW; 490 hp)')
    """
    measure = _measure([value.replace("&nbsp;", " ").strip() for value in call.positional()])
    if measure is None:
        return None
    style = _style(call, measure)
    if style is None:
        return None
    source = unit(measure.code, american=style.american)
    if source is None:
        return None
    outputs, style = _outputs(measure, style)
    return _composed(measure, source, outputs, style) if outputs is not None else None


def _measure(arguments: list[str]) -> Measure | None:
    """Values and words in turn, then the unit, then what is left."""
    values: list[Value] = []
    words: list[str] = []
    position = 0
    while position < len(arguments):
        value = _value(arguments[position])
        if value is None:
            value_pair = _range_in_one(arguments[position])
            if value_pair is None:
                return None
            values += value_pair
            words.append("-")
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
    """`94-104` or `94 to 104` in one argument."""
    match = re.fullmatch(r"([\d.,]+) ?(?:-|–|&ndash;) ?([\d.,]+)", argument)
    pair = [_value(match[1]), _value(match[2])] if match else []
    return [value for value in pair if value is not None] if len(pair) == 2 and None not in pair else None


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
    value = _value(rest[0])
    return (value, smaller) if value and smaller in SUBUNITS.get(above, {}) else None


def _value(text: str) -> Value | None:
    text = text.replace("&minus;", "-").strip()
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
        shown += "×10" + str(int(match["exponent"][1:])).replace("-", "−")
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


def _style(call: Call, measure: Measure) -> Style | None:
    abbreviation = {"unit": "on", "none": "off", "no": "off", "values": "off"}.get(
        call.get("abbr"), call.get("abbr")
    )
    display, adjective = call.get("disp"), call.get("adj")
    display = {
        "out": "output only",
        "output": "output only",
        "number": "output number only",
        "num": "output number only",
        "sqbr-sp": "sqbr",
    }.get(display, display)
    if call.get("frac") or display in {"unit", "x", "preunit"}:
        return None  # rare, and another matter
    abbreviation = abbreviation if abbreviation in {"on", "off", "in", "out"} else ""
    if call.name in {"Cvt", "Convert abbreviated"} and not abbreviation:
        abbreviation = "on"
    flipped = "flip" in (display, call.get("order"), adjective)
    precision = next(
        (int(value) for value in measure.rest[:2] if re.fullmatch(r"[-−]?\d", value.replace("−", "-"))), None
    )
    middle = (
        next((value for value in measure.rest[1:] if not re.fullmatch(r"[-−]?\d", value)), "")
        if adjective == "mid"
        else ""
    )
    significant = call.get("sigfig")
    round_to = call.get("round")
    return Style(
        abbreviation=abbreviation or ("in" if flipped else "out"),
        explicit=abbreviation,
        adjective=adjective in {"on", "mid", "flip"} or call.get("sing") in {"on", "yes"} and not adjective,
        middle=middle if middle.startswith("-") or not middle else f" {middle}",
        display=display,
        flipped=flipped,
        american=call.get("sp").lower() == "us",
        precision=precision,
        significant=int(significant) if significant.isdecimal() and 0 < int(significant) < 15 else None,
        multiple_of=int(round_to) if round_to in {"5", "25"} else 5 if display == "5" else 0,
    )


def _outputs(measure: Measure, style: Style) -> tuple[list[str] | None, Style]:
    """The codes to convert to: those asked for, or the unit's own."""
    asked = measure.rest[0] if measure.rest else ""
    if asked and not re.fullmatch(r"[-−]?\d+", asked) and not asked.startswith("-"):
        if asked in COMPOSED_OUTPUTS or unit(asked):
            return [asked], style
        codes = asked.split(" ")
        known = all(code in COMPOSED_OUTPUTS or unit(code) for code in codes)
        return (codes if known else None), style
    value = measure.values[0].number
    if measure.below:
        return SUBUNITS[_plain(measure.code)][measure.below[1]][1].split(), style
    if measure.code in BARRELS:
        factor, low, high = BARRELS[measure.code]
        return [low if value * factor < 10 else high], style
    if measure.code in {"m", "metre", "meter"} and 0 < value < 3:
        return ["ftin"], style
    source = unit(measure.code)
    return (source.default.split() if source else None), style


def _plain(code: str) -> str:
    return {"feet": "ft", "stone": "st", "pound": "lb", "miles": "mi", "lbs": "lb"}.get(code, code)


def _composed(measure: Measure, source: Unit, outputs: list[str], style: Style) -> str | None:
    """The input and the outputs, in their order, with what stands between."""
    pieces = []
    for code in outputs:
        piece = _output(measure, source, code, style)
        if piece is None:
            return None
        pieces.append(piece)
    before, after, between = JOINS.get(style.display, (" (", ")", "; "))
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
        smaller = unit(code, american=style.american) or source
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
    target = unit(code, american=style.american)
    if target is None or target.kind != source.kind:
        return None
    shown, numbers = [], []
    for value in measure.values:
        result = _converted(value, measure, source, target)
        if result is None:
            return None
        text = _rounded(result, measure, source, target, style)
        shown.append(text)
        numbers.append(text)
    if style.display == "output number only":
        return _joined(shown, measure, style, by_name=True)
    singular = re.fullmatch(r"1(?:\.0*)?", numbers[-1]) is not None
    if target.named and style.explicit != "off":
        singular = (
            abs(_converted(measure.values[-1], measure, source, target) or 0) < 1.0001
            and _as_number(numbers[-1]) < 1.0001
        )
    return _with_unit(
        shown, measure, target, style, by_name=style.by_name(target, "out"), singular=singular, side="out"
    )


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


def _total(value: Value, measure: Measure) -> float:
    """The number in the larger unit, the smaller unit's part included."""
    if measure.below is None:
        return value.number
    return value.number + measure.below[0].number / _parts(measure)


def _parts(measure: Measure) -> int:
    """How many of the smaller unit make the larger one; 1 where there is no smaller one."""
    return SUBUNITS[_plain(measure.code)][measure.below[1]][0] if measure.below else 1


def _converted(value: Value, measure: Measure, source: Unit, target: Unit) -> float | None:
    number = _total(value, measure)
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


def _rounded(result: float, measure: Measure, source: Unit, target: Unit, style: Style) -> str:
    """The result as text, with as many digits as the call asks for or the input's exactness allows."""
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
    """The decimals of all values of a range: as many as the one that needs most."""
    decimals = []
    for value in measure.values:
        result = _converted(value, measure, source, target)
        if result is not None:
            decimals.append(default_decimals(value, measure, source, target, abs(result)))
    return max(decimals)


def default_decimals(value: Value, measure: Measure, source: Unit, target: Unit, size: float) -> int:
    """How many decimals a result gets: as exact as the input, at least two digits; negative for zeros."""
    exactness = _exactness(value, measure)
    number = _total(value, measure) * _parts(measure)
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
        adjust = -log10(source.scale)  # whole numbers of metres would give too coarse a number of feet
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
    if decimals >= 0:
        return f"{size + (2e-14 if decimals <= 8 else 0):,.{min(decimals, 20)}f}"
    zeros = 10 ** min(-decimals, 300)
    text = f"{size / zeros:.0f}"
    if text != "0" and len(text) - decimals > 10:
        return _scientific(text, len(text) - decimals - 1)
    return f"{int(text) * zeros:,}"


def _with_digits(size: float, digits: int) -> str:
    if size == 0:
        return "0"
    decimals = digits - 1 - floor(log10(size) + FUDGE)
    text = _with_decimals(size, decimals)
    # Rounding up may have made a digit more: 9.97 is 10, not 10.0, with two digits.
    if decimals > 0 and len(text.replace(".", "").replace(",", "").lstrip("0")) > digits:
        text = _with_decimals(size, decimals - 1)
    return text


def _scientific(digits: str, power: int) -> str:
    tail = digits[1:].rstrip("0") if len(digits) > 1 else ""
    return f"{digits[0]}{'.' + digits[1:] if tail or len(digits) > 1 else ''}×10{power}"


def _composed_output(measure: Measure, source: Unit, code: str, style: Style) -> str | None:
    """Feet and inches and the like: the smaller unit is rounded, then parted."""
    upper_code, lower_code, factor = COMPOSED_OUTPUTS[code]
    upper, lower = unit(upper_code, american=style.american), unit(lower_code, american=style.american)
    if upper is None or lower is None or lower.kind != source.kind or measure.below:
        return None
    by_name = style.abbreviation not in {"on", "out"} or (not style.explicit and style.display == "or")
    shown = []
    for value in measure.values:
        result = _converted(value, measure, source, lower)
        if result is None or result < 0:
            return None
        text = _rounded(result, measure, source, lower, style).replace(",", "")
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
    population, area = (_value(value) for value in values[:2]) if len(values) >= 3 else (None, None)
    if population is None or area is None or not area.number:
        return None
    density = (
        f"{population.number / area.number:.{int(call.get('prec')) if call.get('prec').isdecimal() else 0}f}"
    )
    codes = {"1": density, "2": f"PD/{values[2]}", "3": f"PD/{values[3]}" if len(values) > 3 else ""}
    return convert(replace(call, name="Cvt", arguments=codes))


CONVERSIONS: dict[str, Macro] = {
    **dict.fromkeys(["Convert", "Cvt", "Conv", "Converted", "Convert abbreviated"], convert),
    "Height": height,
    "Pop density": population_density,
    "Population density": population_density,
}
