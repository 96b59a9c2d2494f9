"""Numbers, money, prices of another year; symbols of sciences; coordinates, heights, seasons of sports."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from math import floor

from wikitext_builder.extraction.macros import Call, changed, lookup, macro, words
from wikitext_builder.extraction.macros.php import whole_number
from wikitext_builder.extraction.markers import GONE

MAX_CHARACTERS = 1_000  # of a number: far more digits than articles have
EXPONENT = re.compile(r"[eE]([-+−]?[0-9]{1,4})$")
DIGITS = re.compile(r"-?[0-9]{1,2}")  # decimals to round to
PLAIN = re.compile(r"[-−+]?\d+(?:\.\d+)?")
INDEX = {year: Decimal(price) for year, price in lookup("us prices").items()}
LAST_YEAR = "2016"  # of {{Inflation}} in 2016
INDEX_NAMES = {"US", "USD"}
VAL_UNITS = lookup("val unit")
SIZES = ("", *(f" {size}" for size in words("powers of a thousand")))


def grouped(value: str) -> str:
    """Return a plain number with commas between thousands; any other text unchanged.

    >>> grouped("1334815"), grouped("-1234.50"), grouped("about 5")
    ('1,334,815', '−1,234.50', 'about 5')
    """
    if not PLAIN.fullmatch(value):
        return value
    sign = {"-": "−", "−": "−", "+": "+"}.get(value[0], "")
    whole, point, decimals = value.lstrip("-−+").partition(".")
    return f"{sign}{int(whole):,}{point}{decimals}" if len(whole) < 400 else value


def number(value: str) -> Decimal | None:
    """Return the number in a text, which may have commas; None if it has too many characters."""
    if len(value) > MAX_CHARACTERS:
        return None
    try:
        result = Decimal(value.replace(",", "").replace("−", "-").replace("&minus;", "-").strip())
    except InvalidOperation:
        return None
    return result if result.is_finite() and abs(result.adjusted()) < 30 else None


def round_half_up(value: Decimal, digits: str) -> Decimal | None:
    """Return a number with this many decimals, halves away from zero; None if a Decimal has too few digits.

    >>> round_half_up(Decimal("2.5"), "0"), round_half_up(Decimal(21069), "-2"), round_half_up(Decimal(1), "")
    (Decimal('3'), Decimal('2.11E+4'), None)
    """
    if not DIGITS.fullmatch(digits) or value.adjusted() + int(digits) > 26:
        return None
    return value.quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP)


@macro("Val", reads="1|2|3|e|end|fmt|p|s|u|ul|up|upl", shared=True)
def value_with_uncertainty(call: Call) -> str | None:
    """`(1.2±0.1)×103 kg` of `{{val}}`; gaps between thousands come from the style."""
    values = call.positional()
    main, inner_exponent = EXPONENT.sub("", call.get("1")), EXPONENT.search(call.get("1"))
    given = filter(None, (main, *values[1:3]))
    if any(number(value.strip("()").lstrip("±")) is None for value in given):  # also a range, `1|to|2`
        return None
    power = inner_exponent[1] if inner_exponent else call.get("e")
    unit, per = (
        VAL_UNITS.get(code, code.replace(".", "⋅").replace("µ", "μ"))
        for code in (call.get("u", "ul"), call.get("up", "upl"))
    )
    if per:
        unit = "/".join(f"({part})" if re.search("[*⋅/]", part) else part for part in (unit, per))
    unit = f"{'' if unit.startswith(('%', '°', '/')) else ' '}{unit}".rstrip()
    plus, minus = (signed(value.strip("+-−±"), call) for value in call.numbered(3, 2))
    shown = signed(main.strip("()"), call) + call.get("end")
    shown += unit if unit == "°" and plus else ""
    apart = bool(plus) and not minus and not plus.startswith("(")
    if plus:
        shown += f"+{plus}−{minus}" if minus else f"±{plus}" if apart else plus
    shown = call.get("p") + (f"({shown})" if apart and power else shown)
    if power:
        exponent = f"10{power.replace('-', '−')}"
        shown = f"{shown}×{exponent}" if main else call.get("p") + exponent
    return (shown + unit).strip() + call.get("s")


def signed(value: str, call: Call) -> str:
    """Return a number of `{{val}}` as it shows it."""
    plain = value.replace(",", "")
    if changed(call, "val"):
        plain = re.sub(r"^([-−]?)\.", r"\g<1>0.", plain)
    return grouped(plain) if call.get("fmt") == "commas" else plain.replace("-", "−")


@macro("Percentage", reads="1|2|3|%|pad", shared=True)
def percentage(call: Call) -> str | None:
    """`33%` of a part and a whole, which is 100 if it is not given; zeros at the end only if asked for."""
    part, whole = number(call.get("1")), number(call.get("2") or "100")
    if part is None or not whole:
        return None
    result = round_half_up(part / whole * 100, call.get("3") or "0")
    if result is None:
        return None
    shown = f"{result:f}" if call.get("pad") else f"{result.normalize():f}"
    return shown.replace("-", "−") + (call.get("%") or "%")


def ordinal(value: str) -> str:
    """Return a number and the ending of its ordinal.

    >>> ordinal("1"), ordinal("12"), ordinal("112"), ordinal("23")
    ('1st', '12th', '112th', '23rd')
    """
    last = 0 if value[-2:] in {"11", "12", "13"} else int(value[-1])
    return value + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")


@macro("Inflation-year", reads="1|index")
def year_of_prices(call: Call) -> str | None:
    """The year whose dollars `{{Inflation}}` converts to. The table changes each year; only 2016 is known."""
    known = call.get("1", "index").upper() in INDEX_NAMES and call.page.timestamp.startswith(LAST_YEAR)
    return LAST_YEAR if known else None


@macro("Inflation", reads="1|2|3|4|cursign|end_year|fmt|index|r|start_year|value")
def inflated(call: Call) -> str | None:
    """`25396` of `{{Inflation|US|1000|1911}}`: the sum of a year in dollars of the year 4, else of 2016.

    It is rounded to `r` decimals. `fmt=c` writes commas, `fmt=eq` words: `equivalent to $25,396 in 2016`.
    """
    last = call.get("4", "end_year") or year_of_prices(call) or ""
    start, end = INDEX.get(call.get("3", "start_year")), INDEX.get(last)
    value = number(call.get("2", "value"))
    if year_of_prices(call) is None or value is None or start is None or end is None:
        return None
    result = round_half_up(value * end / start, call.get("r") or "0")
    if result is None:
        return None
    amount = f"{result.normalize():f}"
    if call.get("fmt") == "eq":
        return f"equivalent to {call.get('cursign') or '$'}{grouped(amount)} in {last}"
    return grouped(amount) if call.get("fmt") == "c" else amount


@macro("Format price", reads="1")
def price(call: Call) -> str | None:
    """`1.23 million` of 1234567: three digits in all."""
    amount = number(call.get("1"))
    if amount is None or amount < 1000:
        return None
    amount = round_half_up(amount, str(2 - amount.adjusted())) or amount
    size = amount.adjusted() // 3
    return f"{amount.scaleb(-3 * size).normalize():f}{SIZES[size]}" if size < len(SIZES) else None


ELEMENTS = lookup("element")
STARTS = lookup("geology")
CHARGE = re.compile(r"\(?([0-9]*)-\)?")
SAME = {"early": "lower", "mid": "middle", "late": "upper"}
NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,6})?")


@macro("Chem", reads="*", shared=True)
def chemical(call: Call) -> str | None:
    """`SO42−` of `{{chem|SO|4|2-}}`: without spaces, as in the official files; a charge has a minus sign."""
    values = [CHARGE.sub(r"\1−", value) if CHARGE.fullmatch(value) else value for value in call.positional()]
    return "".join(values) or None


@macro("Nuclide", "SimpleNuclide", "ComplexNuclide", reads="1|2", shared=True)
def nuclide(call: Call) -> str | None:
    """`14C` of an element and a mass number."""
    values = call.positional()
    if len(values) < 2:
        return values[0] if values else None
    name, mass = (values[0], values[1]) if not values[0].isdecimal() else (values[1], values[0])
    return f"{mass}{ELEMENTS.get(name.lower(), name)}"


@macro("Mp", "Mpl-", "Minor planet", reads="*", shared=True)
def minor_planet(call: Call) -> str | None:
    """`2004 MN4`, and `(15760) 1992 QB1` with a number; from the documentation of {{mp}}."""
    values = call.given()
    number = f"({values.pop(0)}) " if len(values) > 1 and values[0].isdecimal() else ""
    return number + "".join(values) or None


def age_of(name: str, places: str) -> str | None:
    """Millions of years of a number or a period, rounded to decimal places if these are given."""
    first, space, rest = name.lower().partition(" ")
    value = name if NUMBER.fullmatch(name) else STARTS.get(SAME.get(first, first) + space + rest)
    if value is None or not places:
        return value
    rounded = round_half_up(Decimal(value), places)
    return None if rounded is None else f"{rounded.normalize():f}"


@macro("Ma", reads="1|2|error|round")
def millions_of_years(call: Call) -> str | None:
    """`66 million years ago`, `100 to 66 million years ago`, `508 million years`; None if it is unknown."""
    start = age_of(call.get("1"), call.get("round"))
    error = call.get("error")
    if start is None or (error and not NUMBER.fullmatch(error)):
        return None
    start += f" ± {error}" if error else ""
    second = call.get("2")
    if end := age_of(second, call.get("round")):
        return f"{start} to {end} million years ago"
    return f"{start} {second or 'million years ago'}"


# --- places and sports

DEGREES = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,40})?")
MARKS = ("°", "′", "″")
ZERO = {"S": "N", "W": "E"}


@macro("Coord", "Coor dms", "Coor dm", "Coor d", reads="*|display|format")
def coordinates(call: Call) -> str | None:
    """`57°53′N 11°32′E`; a mark if they are only beside the title.

    >>> arguments = {"1": "57", "2": "53", "3": "N", "4": "11", "5": "32", "6": "E"}
    >>> coordinates(Call(name="Coord", arguments=arguments, page=None))
    '57°53′N 11°32′E'
    """
    display = call.get("display").replace(" ", "")
    if display and not any(place in {"i", "it", "ti"} or "inline" in place for place in display.split(",")):
        return GONE
    values = call.given()
    ends = [index for index, value in enumerate(values) if value.upper() in {"N", "S", "E", "W"}][:2]
    if len(ends) == 2:
        sides = [values[: ends[0] + 1], values[ends[0] + 1 : ends[1] + 1]]
    else:
        pairs = zip(values, ("NS", "EW"), strict=False)
        sides = [[value.removeprefix("-"), letters[value[0] == "-"]] for value, letters in pairs]
    if len(sides) < 2 or not all(side[1:] and all(map(DEGREES.fullmatch, side[:-1])) for side in sides):
        return None
    whole = all(len(side) == 2 for side in sides) and (len(ends) < 2 or any("." in side[0] for side in sides))
    if call.get("format") == "dms" and whole:
        parts = 1 + max(_parts(side[0]) for side in sides)
        return " ".join(_in_parts(side, parts) for side in sides)
    return None if call.get("format") == "dec" else " ".join(map(_marked, sides))


def _marked(values: list[str]) -> str:
    """Return degrees, minutes and seconds, with the digits of the page, as Module:Coordinates shows them."""
    pairs = zip(values[:-1], MARKS, strict=False)
    return "".join(value + mark for value, mark in pairs) + values[-1].upper()


def _parts(value: str) -> int:
    """How many parts of a degree a decimal degree is exact to: 0, minutes or seconds too."""
    decimals = len(value.partition(".")[2])
    return 2 if decimals > 2 else 1 if decimals else 0


def _in_parts(values: list[str], parts: int) -> str:
    """Return whole degrees, or with minutes and seconds, of a decimal degree."""
    rest = floor(abs(float(values[0])) * 60 ** (parts - 1) + 0.5)
    shown = ""
    for mark in MARKS[parts - 1 : 0 : -1]:
        rest, part = divmod(rest, 60)
        shown = f"{part:02d}{mark}{shown}"
    letter = values[1].upper()
    return f"{rest}°{shown}{letter if float(values[0]) else ZERO.get(letter, letter)}"


@macro("Höhe", reads="1|2")
def height_above_sea(call: Call) -> str | None:
    """`1,493 m above sea level (NHN)`; without a reference level `1,415 m`."""
    value, reference = call.get("1"), call.get("2")
    before, point, decimals = value.replace(",", ".").partition(".")
    metres = whole_number(before)
    if metres is None or (point and not decimals.isdecimal()):
        return None
    level = reference.rpartition("-")[2]
    return f"{metres:,}{point}{decimals} m" + (f" above sea level ({level})" if level else "")


@macro("Winning percentage", reads="1|2|3")
def winning_percentage(call: Call) -> str | None:
    """`.625` of wins and losses."""
    games = [call.get(name) or "0" for name in ("1", "2", "3")]
    if not all(re.fullmatch(r"[0-9]{1,6}", count) for count in games):
        return None
    wins, losses, ties = map(int, games)
    if not wins + losses + ties:
        return None
    return f"{(wins + ties / 2) / (wins + losses + ties):.3f}".removeprefix("0")


@macro("NBA Year", "NHL Year", reads="1|2|app|type")
def winter_season(call: Call) -> str | None:
    """`1987–88`, its first or its last year, and the words after it."""
    year, part = call.get("1"), call.get("2", "type")
    if not re.fullmatch(r"[0-9]{4}", year):
        return year or None
    last = str(int(year) + 1)
    season = f"{year}–{last if last.endswith('00') else last[2:]}"
    shown = {"start": year, "end": last}.get(part, season)
    return f"{shown} {call.get('app')}".strip()
