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

from wikitext_builder.extraction.macros import read_table

Words = tuple[str, str]  # British and American

MAX_CHARACTERS = 80  # of a code
MAX_DEPTH = 9  # of codes that stand for other codes
PREFIXES = {prefix: (name, int(power)) for prefix, name, power in read_table("convert/prefixes")}
POWERS = {3: "thousand", 6: "million", 9: "billion", 12: "trillion", 15: "quadrillion"}
MULTIPLE = re.compile(r"e(3|6|9|12|15)(?=\D)(.*)")
CURRENCIES = frozenset("$£")
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
    symbols: Words
    names: Words
    plurals: Words
    default: str  # codes of the units to convert to, separated by spaces; may depend on the value
    key: str = ""  # under which `defaults.tsv` has another default; empty if it is the symbol
    american: bool = False  # shown with American words
    other_kind: str = ""  # that it can also be converted to: torque and energy
    named: bool = False  # always shown by its name
    symbolic: bool = False  # shown by its symbol unless the call asks for names
    prefixes: int = 0  # SI prefixes can stand before it; the power that they are taken to
    power: int = 0  # of ten, for e3 to e15 before a code
    zero: float | None = None  # of a temperature, in this unit
    thermometer: bool = False  # one of the common temperatures
    inverse: int = 0  # litres per 100 km: less is more; units with 1 and -1 are inverse to each other
    exact: str = (
        ""  # wholes: whole numbers become more exact; below: does so as the smaller unit of a measure
    )
    built_in: str = ""  # hand or mach
    currency: str = ""
    spaced: bool = True  # False: no space before the symbol, as in 5/km2
    below: tuple[tuple[str, Below], ...] = ()

    @property
    def symbol(self) -> str:
        """The symbol with its spelling."""
        return self.symbols[self.american]

    @property
    def name(self) -> str:
        """The name of one."""
        return self.names[self.american]

    @property
    def plural(self) -> str:
        """The name of several."""
        return self.plurals[self.american]


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """A measure of several units, as feet and inches: the smallest first, and how many make the next."""

    kind: str
    units: tuple[Unit, ...]
    factors: tuple[int, ...]


Output = Unit | Several


def find_unit(code: str, *, american: bool = False) -> Unit | None:
    """The unit of a code; None if it is unknown.

    >>> find_unit("km").name, find_unit("e6acre").power, find_unit("parsecs per hour")
    ('kilometre', 6, None)
    >>> find_unit("m", american=True).plural
    'meters'
    """
    return _cached(code, american=american) if len(code) <= MAX_CHARACTERS else None


def find_outputs(code: str, *, american: bool = False) -> tuple[Output, ...]:
    """The units that a code of outputs names; empty if one is unknown, or if they are of different kinds.

    >>> [unit.kind for unit in find_outputs("acre ha")], find_outputs("ft kg"), len(find_outputs("m ftin"))
    (['area', 'area'], (), 2)
    """
    return _outputs(code, american=american) if len(code) <= MAX_CHARACTERS else ()


@lru_cache(maxsize=1024)
def _cached(code: str, *, american: bool) -> Unit | None:
    return _find(clean_code(code), american=american, depth=0)


@lru_cache(maxsize=1024)
def _outputs(code: str, *, american: bool) -> tuple[Output, ...]:
    code = clean_code(code)
    if one := _find_one(code, american=american):
        return (one,)
    row = _table("outputs").get(code)
    code = row[1] if row else code
    codes = [part.strip() for part in code.split("+")] if "+" in code else code.split()
    found = [_find_one(part, american=american) for part in codes if part]
    units = [one for one in found if one is not None]
    same = all(convertible(units[0], one) for one in units)
    return tuple(units) if 1 < len(units) == len(found) and same else ()


def convertible(one: Output, other: Output) -> bool:
    """True if a unit can be converted to the other."""
    if one.kind == other.kind:
        return True
    if isinstance(one, Several) or isinstance(other, Several):
        return False
    return one.other_kind == other.kind and other.other_kind == one.kind


def clean_code(code: str) -> str:
    """A code with single spaces."""
    return re.sub("  +", " ", code.replace("_", " ").replace("&nbsp;", " "))


def _find_one(code: str, *, american: bool) -> Output | None:
    row = _table("outputs").get(code)
    if row is None or not row[2]:
        return _find(code, american=american, depth=0)
    units = [_find(part, american=american, depth=0) for part in row[1].split()]
    found = tuple(unit for unit in units if unit)
    return Several(kind=row[0], units=found, factors=tuple(int(one) for one in row[2].split()))


def _find(code: str, *, american: bool, depth: int) -> Unit | None:
    if depth > MAX_DEPTH or not code:
        return None
    if code in _table("units"):
        return _defined(code, american=american)
    if code in _table("aliases"):
        return _alias(code, american=american, depth=depth + 1)
    if code in _table("ratios"):
        return _ratio(code, american=american, depth=depth + 1)
    return (
        _prefixed(code, american=american)
        or _multiplied(code, american=american, depth=depth + 1)
        or _per(code, american=american, depth=depth + 1)
    )


@cache
def _table(name: str) -> dict[str, list[str]]:
    return {code: rest for code, *rest in read_table(f"convert/{name}")}


def _defined(code: str, *, american: bool) -> Unit:
    unit = _row(code)
    shown = _with_prefix(unit, "", ("", "")) if unit.prefixes else unit
    return replace(shown, american=american or unit.american)


def _marks(table: str, code: str) -> list[str]:
    return _table(table)[code][-1].split(",")


def _below(smaller: str, count: str, default: str, shown: str = "") -> tuple[str, Below]:
    return smaller, Below(count=int(count), default=default.replace("+", " "), code=shown or smaller)


@lru_cache(maxsize=1024)
def _row(code: str) -> Unit:
    """A unit as its row says; names keep the mark of the place of a prefix."""
    kind, size, symbol, name, plural, us_symbol, us_name, us_plural, default, _ = _table("units")[code]
    marks = _marks("units", code)
    values = dict(mark.split("=", 1) for mark in marks if "=" in mark and not mark.startswith("below="))
    symbol = symbol or code
    name = name or symbol
    plural = plural or f"{name}s"
    below = (mark.removeprefix("below=").split(":") for mark in marks if mark.startswith("below="))
    return Unit(
        code=code, kind=kind, size=float(size), default=default,
        symbols=(symbol, us_symbol or symbol), names=(name, us_name or name),
        plurals=(plural, us_plural or (f"{us_name}s" if us_name else plural)),
        american="american" in marks, named="named" in marks, symbolic="symbolic" in marks,
        thermometer="kelvins" in marks, other_kind=values.get("also", ""), key=values.get("key", ""),
        prefixes=int(values.get("prefixes", 0)), inverse=int(values.get("inverse", 0)),
        zero=float(values["zero"]) if "zero" in values else None,
        exact=next((mark.removeprefix("exact-") for mark in marks if mark.startswith("exact-")), ""),
        built_in=next((mark for mark in marks if mark in {"hand", "mach"}), ""),
        below=tuple(_below(*mark) for mark in below),
    )  # fmt: skip


def _with_prefix(unit: Unit, prefix: str, names: Words) -> Unit:
    british, american = names
    return replace(
        unit,
        symbols=(prefix + unit.symbols[0], prefix + unit.symbols[1]),
        names=(unit.names[0].replace("*", british), unit.names[1].replace("*", american)),
        plurals=(unit.plurals[0].replace("*", british), unit.plurals[1].replace("*", american)),
    )


def _prefixed(code: str, *, american: bool) -> Unit | None:
    for length in (2, 1):
        prefix, base = code[:length], code[length:]
        if prefix in PREFIXES and base in _table("units") and (unit := _row(base)).prefixes:
            name, exponent = PREFIXES[prefix]
            symbol = "µ" if prefix in "μu" else prefix
            unit = _with_prefix(unit, symbol, (name, "deka" if prefix == "da" else name))
            return replace(unit, size=unit.size * 10.0 ** (exponent * unit.prefixes), american=american)
    return None


def _alias(code: str, *, american: bool, depth: int) -> Unit | None:
    target, symbol, default, number, mark = _table("aliases")[code]
    unit = _find(target, american=american or mark == "american", depth=depth)
    if unit is None:
        return None
    if symbol and code not in _table("ratios") and target not in _table("ratios"):
        unit = replace(unit, symbols=(symbol, symbol))
    if number:
        symbols = (f"{number} {unit.symbols[0]}", f"{number} {unit.symbols[1]}")
        names = (f"{number} {unit.plurals[0]}", f"{number} {unit.plurals[1]}")
        size = unit.size * float(number)
        unit = replace(unit, size=size, symbols=symbols, names=names, plurals=names)
    return replace(unit, default=default) if default else unit


def _ratio(code: str, *, american: bool, depth: int) -> Unit | None:
    kind, above, below, times, symbol, default, marks = _table("ratios")[code]
    currency = above if above in CURRENCIES else ""
    american = american or "american" in marks
    top = None if currency else _find(above, american=american, depth=depth)
    bottom = _find(below, american=american, depth=depth)
    if bottom is None or (top is None and not currency):
        return None
    inverse = re.search(r"inverse=(-?1)", marks)
    unit = _quotient(code, kind, top, bottom, float(times or 1))
    return replace(
        unit, default=default, currency=currency, inverse=int(inverse[1]) if inverse else 0,
        american=american or bottom.american or (top is not None and top.american),
        symbols=(symbol, symbol) if symbol else unit.symbols,
    )  # fmt: skip


def _quotient(code: str, kind: str, top: Unit | None, bottom: Unit, times: float = 1.0) -> Unit:
    """One unit per another; without the first one, `per acre`."""

    def words(above: Words, word: str, below: Words) -> Words:
        return (above[0] + word + below[0], above[1] + word + below[1])

    none = ("", "")
    return Unit(
        code=code, kind=kind, size=(top.size if top else 1.0) * times / bottom.size, default="",
        symbols=words(top.symbols if top else none, "/", bottom.symbols),
        names=words(top.names if top else none, " per " if top else "per ", bottom.names),
        plurals=words(top.plurals if top else none, " per " if top else "per ", bottom.names),
        spaced=top is not None,
    )  # fmt: skip


def _multiplied(code: str, *, american: bool, depth: int) -> Unit | None:
    """Thousands and millions of a unit: `e6acre`."""
    match = MULTIPLE.fullmatch(code)
    unit = _find(match[2], american=american, depth=depth) if match else None
    if match is None or unit is None or unit.power or unit.built_in or unit.zero is not None:
        return None
    power = int(match[1])
    return replace(unit, size=unit.size * 10.0**power, power=power, key=code)


def _per(code: str, *, american: bool, depth: int) -> Unit | None:
    """One unit per another that no table has, as later versions of the module allow: `kg/yd`."""
    above, _, below = code.partition("/")
    if not above or not below or "/" in below or " " in code:
        return None
    top = _find(above, american=american, depth=depth)
    bottom = _find(below, american=american, depth=depth)
    if top is None or bottom is None or top.power or bottom.power or not bottom.size:
        return None
    unit = _quotient(code, f"{top.kind} by {bottom.kind}", top, bottom)
    return replace(unit, american=top.american or bottom.american)


def default_code(unit: Unit, value: float) -> str:
    """The code of the outputs for a value, which may depend on its size; empty if there is none.

    >>> default_code(find_unit("e6lb"), 3), default_code(find_unit("e6lb"), 1)
    ('kilotonne', 't')
    """
    row = _table("defaults").get(unit.key or unit.symbols[0])
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
