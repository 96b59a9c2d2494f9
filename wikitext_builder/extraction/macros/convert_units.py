"""The units of `{{convert}}`: symbols and names, kinds, sizes, default outputs.

The tables in `data/convert/` hold the units of the English Wikipedia's Module:Convert/data of 2014-10:
`units.tsv`, `ratios.tsv` (one unit per another), `aliases.tsv` (other codes; at its end those of later
years), `outputs.tsv` (several units under one code) and `defaults.tsv` (other default outputs, by symbol or
code). A `*` in a name is the place of an SI prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from wikitext_builder.extraction.macros import lookup, read_table

MAX_CHARACTERS = 80  # of a code
PREFIXES = {prefix: (name, int(power)) for prefix, name, power in read_table("convert/prefixes")}
POWERS = {3: "thousand", 6: "million", 9: "billion", 12: "trillion", 15: "quadrillion"}
MULTIPLE = re.compile(r"e(3|6|9|12|15)(?=\D)(.*)")
# `v * 4.5 < 10 ! t ! kilotonne`, perhaps with a common end of both codes.
CONDITION = re.compile(r"\s*v\s*(?:\*\s*([\d.]+))?\s*([<>]=?)\s*([\d.]+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """A smaller unit that can follow in a measure: `in` after `ft`."""

    count: int  # of the smaller unit in the larger one
    default: str  # the codes to convert to
    code: str  # of the unit that shows it


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit; `size` is in base units of its kind."""

    code: str
    kind: str
    size: float
    symbol: str
    british: str  # the symbol in British spelling
    name: str  # of one
    plural: str
    default: str  # codes of the units to convert to, separated by spaces; may depend on the value
    key: str = ""  # under which `defaults.tsv` has another default; empty if it is the British symbol
    american: bool = False  # shown with American words
    other_kind: str = ""  # that it can also be converted to: torque and energy
    named: bool = False  # always shown by its name
    symbolic: bool = False  # shown by its symbol unless the call asks for names
    prefixes: int = 0  # SI prefixes can stand before it; the power that they are taken to
    power: int = 0  # of ten, for e3 to e15 before a code
    zero: float | None = None  # of a temperature, in this unit
    thermometer: bool = False  # one of the common temperatures
    inverse: int = 0  # litres per 100 km: less is more; units with 1 and -1 are inverse to each other
    exact: str = ""  # wholes: whole numbers become more exact; below: only as the smaller unit
    below: tuple[tuple[str, Below], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """A measure of several units, as feet and inches: the smallest first, and how many make the next."""

    kind: str
    units: tuple[Unit, ...]
    factors: tuple[int, ...]


Output = Unit | Several


def find_unit(code: str, *, american: bool = False) -> Unit | None:
    """Return the unit of a code; None if it is unknown.

    >>> find_unit("km").name, find_unit("e6acre").power, find_unit("parsecs per hour")
    ('kilometre', 6, None)
    >>> find_unit("m", american=True).plural
    'meters'
    """
    return _cached(code, american=american) if len(code) <= MAX_CHARACTERS else None


def find_outputs(code: str, *, american: bool = False) -> tuple[Output, ...]:
    """Return the units that a code of outputs names; empty if one is unknown, or their kinds differ.

    >>> [unit.kind for unit in find_outputs("acre ha")], find_outputs("ft kg"), len(find_outputs("m ftin"))
    (['area', 'area'], (), 2)
    """
    return _outputs(code, american=american) if len(code) <= MAX_CHARACTERS else ()


@lru_cache(maxsize=1024)
def _cached(code: str, *, american: bool) -> Unit | None:
    return _find(clean_code(code), american)


@lru_cache(maxsize=1024)
def _outputs(code: str, *, american: bool) -> tuple[Output, ...]:
    code = clean_code(code)
    if output := _find_output(code, american):
        return (output,)
    row = _table("outputs").get(code)
    code = row[1] if row else code
    codes = [part.strip() for part in code.split("+")] if "+" in code else code.split()
    outputs = [_find_output(part, american) for part in codes if part]
    units = [output for output in outputs if output is not None]
    is_one_kind = all(convertible(units[0], unit) for unit in units)
    return tuple(units) if 1 < len(units) == len(outputs) and is_one_kind else ()


def convertible(one: Output, other: Output) -> bool:
    """Return True if a unit can be converted to the other."""
    if one.kind == other.kind:
        return True
    if isinstance(one, Several) or isinstance(other, Several):
        return False
    return one.other_kind == other.kind and other.other_kind == one.kind


def clean_code(code: str) -> str:
    """Return a code with single spaces."""
    return re.sub("  +", " ", code.replace("_", " ").replace("&nbsp;", " "))


def _find_output(code: str, american: bool) -> Output | None:
    row = _table("outputs").get(code)
    if row is None or not row[2]:
        return _find(code, american)
    units = tuple(unit for part in row[1].split() if (unit := _find(part, american)))
    return Several(kind=row[0], units=units, factors=tuple(map(int, row[2].split())))


def _find(code: str, american: bool) -> Unit | None:
    if code in _table("units"):
        unit = _row(code, american)
        return _with_prefix(unit, "", "") if unit.prefixes else unit
    if code in _table("aliases"):
        return _alias(code, american)
    if code in _table("ratios"):
        return _ratio(code, american)
    return _prefixed(code, american) or _multiplied(code, american) or _per(code, american)


@cache
def _table(name: str) -> dict[str, list[str]]:
    return {code: rest for code, *rest in read_table(f"convert/{name}")}


def _below(smaller: str, count: str, default: str, shown: str = "") -> tuple[str, Below]:
    return smaller, Below(count=int(count), default=default.replace("+", " "), code=shown or smaller)


@lru_cache(maxsize=1024)
def _row(code: str, american: bool) -> Unit:
    """Return a unit as its row says; names keep the mark of the place of a prefix."""
    kind, size, british, name, plural, us_symbol, us_name, us_plural, default, written = _table("units")[code]
    marks = written.split(",")
    values = dict(mark.split("=", 1) for mark in marks if "=" in mark and not mark.startswith("below="))
    british = british or code
    symbol, name, plural = british, name or british, plural or f"{name or british}s"
    if american:
        plural = us_plural or (f"{us_name}s" if us_name else plural)
        symbol, name = us_symbol or symbol, us_name or name
    below = (mark.removeprefix("below=").split(":") for mark in marks if mark.startswith("below="))
    return Unit(
        code=code, kind=kind, size=float(size), default=default, symbol=symbol, british=british, name=name,
        plural=plural, american=american, named="named" in marks, symbolic="symbolic" in marks,
        thermometer="kelvins" in marks, other_kind=values.get("also", ""), key=values.get("key", ""),
        prefixes=int(values.get("prefixes", 0)), inverse=int(values.get("inverse", 0)),
        zero=float(values["zero"]) if "zero" in values else None,
        exact=next((mark.removeprefix("exact-") for mark in marks if mark.startswith("exact-")), ""),
        below=tuple(_below(*mark) for mark in below),
    )  # fmt: skip


def _with_prefix(unit: Unit, prefix: str, name: str) -> Unit:
    return replace(
        unit, symbol=prefix + unit.symbol, british=prefix + unit.british,
        name=unit.name.replace("*", name), plural=unit.plural.replace("*", name),
    )  # fmt: skip


def _prefixed(code: str, american: bool) -> Unit | None:
    for length in (2, 1):
        prefix, base = code[:length], code[length:]
        if prefix in PREFIXES and base in _table("units") and (unit := _row(base, american)).prefixes:
            name, exponent = PREFIXES[prefix]
            name = "deka" if american and prefix == "da" else name
            unit = _with_prefix(unit, "µ" if prefix in "μu" else prefix, name)
            return replace(unit, size=unit.size * 10.0 ** (exponent * unit.prefixes))
    return None


def _alias(code: str, american: bool) -> Unit | None:
    target, symbol, default, number, mark = _table("aliases")[code]
    unit = _find(target, american or mark == "american")
    if unit is None:
        return None
    if symbol and code not in _table("ratios") and target not in _table("ratios"):
        unit = replace(unit, symbol=symbol, british=symbol)
    if number:
        name, size = f"{number} {unit.plural}", unit.size * float(number)
        symbol, british = f"{number} {unit.symbol}", f"{number} {unit.british}"
        key = unit.key or unit.british
        unit = replace(unit, size=size, symbol=symbol, british=british, name=name, plural=name, key=key)
    return replace(unit, default=default) if default else unit


def _ratio(code: str, american: bool) -> Unit | None:
    kind, above, below, times, symbol, default, marks = _table("ratios")[code]
    american = american or "american" in marks
    top, bottom = _find(above, american), _find(below, american)
    if bottom is None or top is None:
        return None
    if not american and (bottom.american or top.american):
        return _ratio(code, american=True)
    inverse = re.search(r"inverse=(-?1)", marks)
    unit = _quotient(code, kind, top, bottom, float(times or 1))
    unit = replace(unit, default=default, inverse=int(inverse[1]) if inverse else 0)
    return replace(unit, symbol=symbol, british=symbol) if symbol else unit


def _quotient(code: str, kind: str, top: Unit, bottom: Unit, times: float = 1.0) -> Unit:
    """One unit per another."""
    first, last = "()" if "·" in bottom.symbol else ("", "")
    return Unit(
        code=code, kind=kind, size=top.size * times / bottom.size, default="",
        symbol=f"{top.symbol}/{first}{bottom.symbol}{last}",
        british=f"{top.british}/{first}{bottom.british}{last}",
        name=f"{top.name} per {bottom.name}", plural=f"{top.plural} per {bottom.name}",
        american=bottom.american,
    )  # fmt: skip


def _multiplied(code: str, american: bool) -> Unit | None:
    """Thousands and millions of a unit: `e6acre`."""
    match = MULTIPLE.fullmatch(code)
    unit = _find(match[2], american) if match else None
    if match is None or unit is None or unit.power or unit.zero is not None:
        return None
    power = int(match[1])
    return replace(unit, size=unit.size * 10.0**power, power=power, key=code)


def _per(code: str, american: bool) -> Unit | None:
    """One unit per another that no table has, as later versions of the module allow: `kg/yd`."""
    above, _, below = code.rpartition("/")
    if not above or not below or re.search(r"e\d", code) or code.count("/") > 2:
        return None
    top, bottom = _find(above, american), _find(below, american)
    if top is None or bottom is None or not bottom.size:
        return None
    if top.american != bottom.american:
        return _per(code, american=True)
    kind = f"{top.kind}/{bottom.kind}"
    default = "/".join(_first(default_code(unit, 1)) for unit in (top, bottom))
    return replace(_quotient(code, lookup("ratio kind").get(kind, kind), top, bottom), default=default)


def _first(code: str) -> str:
    """Return the first unit of a code of outputs; of feet and inches, feet."""
    row = _table("outputs").get(code, ["", code, ""])
    units = row[1].split("+") if "+" in row[1] else row[1].split() or [""]
    return units[-1 if row[2] else 0].strip()


def default_code(unit: Unit, value: float) -> str:
    """Return the code of the outputs for a value, which may depend on its size; empty if there is none.

    >>> default_code(find_unit("e6lb"), 3), default_code(find_unit("e6lb"), 1)
    ('kilotonne', 't')
    """
    row = _table("defaults").get(unit.key or unit.british)
    default = row[0] if row else unit.default
    if "!" not in default:
        return default
    condition, low, high, *base = (field.strip() for field in default.split("!"))
    holds = all(_holds(part, value) for part in condition.split("and"))
    return (low if holds else high) + "".join(base)


def _holds(condition: str, value: float) -> bool:
    match = CONDITION.fullmatch(condition)
    if match is None:
        return False
    size, limit = value * float(match[1] or 1), float(match[3])
    equal = match[2].endswith("=") and size == limit
    return equal or (size < limit if match[2][0] == "<" else size > limit)
