"""The units of `{{convert}}`: symbols and names, kinds, sizes, default outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

from wikitext_builder.extraction.listing import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit; `scale` is its size in base units of its kind."""

    symbol: str
    name: str
    plural: str
    kind: str
    scale: float
    default: str  # codes of the units to convert to, separated by spaces
    offset: float = 0.0  # the zero of a temperature scale, in this unit
    inverse: bool = False  # litres per 100 km: less is more
    power: int = 0  # of ten, for e3 to e12 before a code
    named: bool = False  # always shown by its name
    symbolic: bool = False  # shown by its symbol unless the call asks for names
    american_symbol: str = ""

    def american(self) -> Unit:
        """The unit with American names."""
        return replace(
            self,
            name=_american(self.name),
            plural=_american(self.plural),
            symbol=self.american_symbol or self.symbol,
        )


def _american(name: str) -> str:
    for british, american in (
        ("tonne", "metric ton"),
        ("metre", "meter"),
        ("litre", "liter"),
        ("US ", "U.S. "),
    ):
        name = name.replace(british, american)
    return name


def _lines(name: str) -> list[str]:
    """The lines of a file here: rarer units, codes and defaults of Module:Convert/data of 2014-15."""
    path = files("wikitext_builder.extraction.macros.convert") / f"{name}.txt"
    return path.read_text(encoding="utf-8").splitlines()


# code | symbol | name | plural ("" adds an s) | kind | scale | default. Sizes and names are those of the
# definitions; defaults and marks (N: by name, S: by symbol) are those of the English Wikipedia's
# Module:Convert/data of 2014-15.
_TABLE = """
ft|ft|foot|feet|length|0.3048|m
foot|ft|foot|foot|length|0.3048|m
in|in|inch|inches|length|0.0254|mm
yd|yd|yard||length|0.9144|m
mi|mi|mile||length|1609.344|km
nmi|nmi|nautical mile||length|1852|km mi
smi|mi|statute mile||length|1609.344|km
NM|NM|nautical mile||length|1852|km mi
chain|chain|chain||length|20.1168|ft m|N
furlong|furlong|furlong||length|201.168|ft m|N
fathom|fathom|fathom||length|1.8288|ft m|N
rd|rd|rod||length|5.0292|ft m
league|league|league||length|4828.032|km
hand|h|hand||length|0.1016|in cm
AU|AU|astronomical unit||length|149597870700|km mi
ly|ly|light-year||length|9.4607304725808e15|AU
kly|kly|kilolight-year||length|9.4607304725808e18|pc
Mly|Mly|megalight-year||length|9.4607304725808e21|kpc
pc|pc|parsec||length|3.0856775814671916e16|ly
kpc|kpc|kiloparsec||length|3.0856775814671916e19|kly
Mpc|Mpc|megaparsec||length|3.0856775814671916e22|Mly
angstrom|Å|ångström||length|1e-10|in
acre|acre|acre||area|4046.8564224|ha|N
ha|ha|hectare||area|10000|acre
hectare|ha|hectare||area|10000|acre|N
sqmi|sq mi|square mile||area|2589988.110336|km2
sqft|sq ft|square foot|square feet|area|0.09290304|m2
sqyd|sq yd|square yard||area|0.83612736|m2
sqin|sq in|square inch|square inches|area|0.00064516|cm2
dunam|dunam|dunam||area|1000|km2 sqmi|N
cuft|cu ft|cubic foot|cubic feet|volume|0.028316846592|m3
cuin|cu in|cubic inch|cubic inches|volume|0.000016387064|cm3
cuyd|cu yd|cubic yard||volume|0.764554857984|m3
cumi|cu mi|cubic mile||volume|4168181825.440579584|km3
cc|cc|cubic centimetre||volume|0.000001|cuin
CID|cu in|cubic inch|cubic inches|volume|0.000016387064|cc
USgal|US gal|US gallon||volume|0.003785411784|l impgal
impgal|imp gal|imperial gallon||volume|0.00454609|l USgal
USoz|US fl oz|US fluid ounce||volume|0.0000295735295625|ml
impoz|imp fl oz|imperial fluid ounce||volume|0.0000284130625|ml USoz
USpt|US pt|US pint||volume|0.000473176473|l imppt
imppt|imp pt|imperial pint||volume|0.00056826125|l
USqt|US qt|US quart||volume|0.000946352946|ml
impqt|imp qt|imperial quart||volume|0.0011365225|ml USoz
oilbbl|bbl|barrel||volume|0.158987294928|m3
USbbl|US bbl|US barrel||volume|0.119240471196|l impgal
bushel|bsh|bushel||volume|0.03523907016688|impgal USdrygal
acre.ft|acre⋅ft|acre-foot|acre-feet|volume|1233.48183754752|m3
lb|lb|pound||mass|0.45359237|kg
oz|oz|ounce||mass|0.028349523125|g
ozt|ozt|troy ounce||mass|0.0311034768|oz g
st|st|stone|stone|mass|6.35029318|lb kg
gr|gr|grain||mass|0.00006479891|g
t|t|tonne||mass|1000|LT ST
tonne|t|tonne||mass|1000|shton
shton|ton|ton||mass|907.18474|t|N
MT|t|metric ton||mass|1000|LT ST
kt|kt|kilotonne||mass|1000000|LT ST
Mt|Mt|megatonne||mass|1000000000|LT ST
Gt|Gt|gigatonne||mass|1000000000000|LT ST
LT|long ton|long ton||mass|1016.0469088|t|N
ST|short ton|short ton||mass|907.18474|t|N
carat|carat|carat||mass|0.0002|g|N
Lcwt|long cwt|long hundredweight|long hundredweight|mass|50.80234544|lb|N
Scwt|short cwt|short hundredweight|short hundredweight|mass|45.359237|lb|N
m/s|m/s|metre per second|metres per second|speed|1|ft/s
m/min|m/min|metre per minute|metres per minute|speed|0.016666666666666666|ft/min
mm/s|mm/s|millimetre per second|millimetres per second|speed|0.001|in/s
ft/s|ft/s|foot per second|feet per second|speed|0.3048|m/s
ft/min|ft/min|foot per minute|feet per minute|speed|0.00508|m/min
km/h|km/h|kilometre per hour|kilometres per hour|speed|0.27777777777777779|mph
km/s|km/s|kilometre per second|kilometres per second|speed|1000|mi/s
mi/s|mi/s|mile per second|miles per second|speed|1609.344|km/s
mph|mph|mile per hour|miles per hour|speed|0.44704|km/h
kn|kn|knot||speed|0.51444444444444448|km/h mph
m/s2|m/s2|metre per second squared|metres per second squared|acceleration|1|ft/s2
ft/s2|ft/s2|foot per second squared|feet per second squared|acceleration|0.3048|m/s2
g0|g0|standard gravity|standard gravities|acceleration|9.80665|m/s2
lbf|lbf|pound-force|pounds-force|force|4.4482216152605|N
kgf|kgf|kilogram-force|kilograms-force|force|9.80665|N lbf
atm|atm|standard atmosphere||pressure|101325|kPa
bar|bar|bar||pressure|100000|kPa
mbar|mbar|millibar||pressure|100|kPa
psi|psi|pound per square inch|pounds per square inch|pressure|6894.7572931683608|kPa
inHg|inHg|inch of mercury|inches of mercury|pressure|3386.388640341|kPa
mmHg|mmHg|millimetre of mercury|millimetres of mercury|pressure|133.322387415|kPa
hp|hp|horsepower|horsepower|power|745.69987158227022|kW
bhp|bhp|brake horsepower|brake horsepower|power|745.69987158227022|kW
ihp|ihp|indicated horsepower|indicated horsepower|power|745.69987158227022|kW
shp|shp|shaft horsepower|shaft horsepower|power|745.69987158227022|kW
PS|PS|metric horsepower|metric horsepower|power|735.49875|kW
cal|cal|calorie||energy|4.184|J
kcal|kcal|kilocalorie||energy|4184|kJ
Cal|Cal|calorie||energy|4184|kJ
eV|eV|electronvolt||energy|1.602176487e-19|aJ
kJ/mol|kJ/mol|kilojoule per mole|kilojoules per mole|molar energy|1|kcal/mol
kcal/mol|kcal/mol|kilocalorie per mole|kilocalories per mole|molar energy|4.184|kJ/mol
kWh|kWh|kilowatt-hour||energy|3600000|MJ
MWh|MWh|megawatt-hour||energy|3600000000|GJ
BTU|BTU|British thermal unit||energy|1055.05585262|kJ
Nm|N·m|newton metre||torque|1|lbfft
lbfft|lbf·ft|pound force-foot|pound force-feet|torque|1.3558179483314004|Nm
lbft|lb·ft|pound-foot|pound-feet|torque|1.3558179483314004|Nm
ftlbf|ft·lbf|foot-pound force|foot-pounds force|torque|1.3558179483314004|J
ftlb|ft·lb|foot-pound||torque|1.3558179483314004|J
oilbbl/d|bbl/d|barrel per day|barrels per day|flow|1.8401307283333336e-6|m3/d
koilbbl/d|kbbl/d|thousand barrels per day|thousand barrels per day|flow|0.0018401307283333335|m3/d
Moilbbl/d|Mbbl/d|million barrels per day|million barrels per day|flow|1.8401307283333335|m3/d
koilbbl|kbbl|thousand barrels|thousand barrels|volume|158.987294928|m3
Moilbbl|Mbbl|million barrels|million barrels|volume|158987.294928|m3
Goilbbl|Gbbl|billion barrels|billion barrels|volume|158987294.928|m3
m3/s|m3/s|cubic metre per second|cubic metres per second|flow|1|cuft/s
m3/d|m3/d|cubic metre per day|cubic metres per day|flow|1.1574074074074073e-5|cuft/d
cuft/s|cu ft/s|cubic foot per second|cubic feet per second|flow|0.028316846592|m3/s
cuft/d|cu ft/d|cubic foot per day|cubic feet per day|flow|3.2774128e-7|m3/d
cumi/year|cu mi/a|cubic mile per year|cubic miles per year|flow|132.0834|km3/year
km3/year|km3/a|cubic kilometre per year|cubic kilometres per year|flow|31.68808781402895|cumi/year
C-change|°C|degree Celsius change|degrees Celsius change|temperature change|1|F-change|S
F-change|°F|degree Fahrenheit change|degrees Fahrenheit change|temperature change|0.555555555555556|C-change|S
"""
# Units that take SI prefixes: symbol | name | kind | scale | power | default.
_BASES = {
    "m": ("m", "metre", "length", 1.0, 1, "ft"), "m2": ("m2", "square metre", "area", 1.0, 2, "sqft"),
    "m3": ("m3", "cubic metre", "volume", 1.0, 3, "cuft"), "g": ("g", "gram", "mass", 0.001, 1, "oz"),
    "l": ("l", "litre", "volume", 0.001, 1, "impgal USgal"),
    "L": ("L", "litre", "volume", 0.001, 1, "impgal USgal"),
    "Pa": ("Pa", "pascal", "pressure", 1.0, 1, "psi"), "N": ("N", "newton", "force", 1.0, 1, "lbf"),
    "W": ("W", "watt", "power", 1.0, 1, "hp"), "J": ("J", "joule", "energy", 1.0, 1, "cal"),
    "Hz": ("Hz", "hertz", "frequency", 1.0, 1, ""), "V": ("V", "volt", "voltage", 1.0, 1, ""),
}  # fmt: skip
_PREFIXES = {
    "": ("", 0), "da": ("deca", 1), "h": ("hecto", 2), "k": ("kilo", 3), "M": ("mega", 6), "G": ("giga", 9),
    "T": ("tera", 12), "P": ("peta", 15), "E": ("exa", 18), "d": ("deci", -1), "c": ("centi", -2),
    "m": ("milli", -3), "μ": ("micro", -6), "n": ("nano", -9), "p": ("pico", -12), "f": ("femto", -15),
    "a": ("atto", -18),
}  # fmt: skip
# Defaults that differ from that of the unit without a prefix (Module:Convert/data, default_exceptions).
_DEFAULTS = dict(line.split("=", 1) for line in _lines("defaults")) | {
    "km": "mi", "cm": "in", "mm": "in", "μm": "in", "nm": "in", "dm": "in", "km2": "sqmi", "cm2": "sqin",
    "mm2": "sqin", "kg": "lb", "cm3": "cuin", "mm3": "cuin", "km3": "cumi", "Mg": "LT ST",
    "ml": "impoz USoz", "mL": "impoz USoz", "cl": "impoz USoz", "kN": "lbf", "MN": "lbf",
    "MJ": "kWh", "MPa": "psi", "kPa": "psi", "hPa": "inHg", "kW": "hp", "MW": "hp", "GW": "hp", "Mm": "mi",
    "Gm": "mi", "Tm": "mi", "dam": "ft", "hm": "ft",
}  # fmt: skip
_ALIASES = dict(line.split("=") for line in _lines("aliases")) | dict(
    pair.split("=")
    for pair in listed(
        """
km²=km2; sqkm=km2; m²=m2; sqm=m2; mi2=sqmi; mi²=sqmi; sq mi=sqmi; ft2=sqft; ft²=sqft; sq ft=sqft;
yd2=sqyd; in2=sqin; °C=C; °F=F; acres=acre; hectares=hectare; lbs=lb; pounds=lb; pound=lb;
inch=in; inches=in; feet=ft; yard=yd; yards=yd; mile=mi; miles=mi; metre=m; meter=m; metres=m;
meters=m; kilometre=km; kilometer=km; kilometres=km; kilometers=km; kph=km/h; kmh=km/h; kmph=km/h;
mi/h=mph; knot=kn; knots=kn; tonnes=t; long ton=LT; short ton=ST; long tons=LT; short tons=ST;
USfloz=USoz; impfloz=impoz; U.S.gal=USgal; usgal=USgal; gal=USgal; gallon=USgal; um=μm; µm=μm;
stone=st; N.m=Nm; N·m=Nm; lbf.ft=lbfft; lb.ft=lbft; ftlbf=ftlbf; ft.lbf=ftlbf; ft.lb=ftlb;
oilbbl/day=oilbbl/d; cid=CID; acre ft=acre.ft; acre foot=acre.ft; acre·ft=acre.ft;
acre-ft=acre.ft; PD/sqkm=PD/km2; PD/mi2=PD/sqmi; /sqkm=/km2; /mi2=/sqmi; cubic foot=cuft;
ft3=cuft; ft³=cuft; in3=cuin; mi3=cumi; yd3=cuyd; m³=m3; km³=km3; cm³=cm3; cufoot=cuft; m³/s=m3/s;
ft3/s=cuft/s; cuft/sec=cuft/s; degC=C; degF=F; celsius=C; grams=g; gram=g; kilogram=kg;
kilograms=kg; ounce=oz; ounces=oz; carats=carat; hours=h; fathoms=fathom; chains=chain;
furlongs=furlong; leagues=league; rod=rd; nautical mile=nmi;MUSgal=e6USgal; Tcuft=e12cuft;
Gcuft=e9cuft; Mcuft=e6cuft; ton=LT; Mach=Mach; °C-change=C-change; °F-change=F-change; litre=l;
liter=l; litres=l; liters=l; square mile=sqmi; square miles=sqmi; square kilometre=km2; square
metre=m2; hp-metric=PS; g-force=g0; mpgUS=mpgus; mpgU.S.=mpgus; mpg-us=mpgus; mpg-imp=mpgimp;
L/100 km=L/100km; l/100km=L/100km; l/100 km=L/100km; °R=R; pcm=cm; nm-length=nm; ozf=oz;
barrel=oilbbl; bbl=oilbbl; Å=angstrom; kcuft=e3cuft; ug=μg; µg=μg; kilotonne=kt
"""
    )
)
_AMERICAN_CODES = frozenset(
    {"meter", "meters", "kilometer", "kilometers", "liter", "liters", "U.S.gal", "mpgU.S."}
)
# The code below a limit, that from the limit on, and what follows either: `v * 4.5 < 10 ! t ! kilotonne`.
BY_SIZE = re.compile(r"v(?: \* ([\d.]+))? < ([\d.]+) ! ?(\S*) ! ?(\S*)(?: ! (\S+))?")
MAX_CHARACTERS = 40  # of a code
_SCALES = {3: "thousand", 6: "million", 9: "billion", 12: "trillion", 15: "quadrillion"}


def _rows() -> dict[str, Unit]:
    units = {}
    for row in [*_lines("units"), *_TABLE.strip().splitlines()]:
        code, symbol, name, plural, kind, scale, default, *marks = row.split("|")
        units[code] = Unit(
            symbol=symbol, name=name, plural=plural or name + "s", kind=kind, scale=float(scale),
            default=default, named="N" in marks, symbolic="S" in marks,
            american_symbol=symbol.replace("US ", "U.S. ") if symbol.startswith("US ") else "",
        )  # fmt: skip
    return units


_TEMPERATURES = {
    "C": ("°C", "degree Celsius", "degrees Celsius", 1.0, -273.15, "F"),
    "F": ("°F", "degree Fahrenheit", "degrees Fahrenheit", 0.55555555555555558, 32 - 273.15 * 9 / 5, "C"),
    "K": ("K", "kelvin", "kelvins", 1.0, 0.0, "C F"),
    "R": ("°R", "degree Rankine", "degrees Rankine", 0.55555555555555558, 0.0, "K F C"),
}
_FUEL = {
    "mpgus": (
        "mpg-US",
        "mile per US gallon",
        "miles per US gallon",
        1609.344 / 0.003785411784,
        "L/100km mpgimp",
    ),
    "mpgimp": (
        "mpg-imp",
        "mile per imperial gallon",
        "miles per imperial gallon",
        1609.344 / 0.00454609,
        "L/100km mpgus",
    ),
    "km/l": ("km/l", "kilometre per litre", "kilometres per litre", 1e6, "mpgimp mpgus"),
    "L/100km": ("L/100 km", "litre per 100 kilometres", "litres per 100 kilometres", 1e8, "mpgimp mpgus"),
}
UNITS: dict[str, Unit] = {
    **_rows(),
    **{
        code: Unit(
            symbol=symbol,
            name=name,
            plural=plural,
            kind="temperature",
            scale=scale,
            offset=offset,
            default=default,
            symbolic=True,
        )
        for code, (symbol, name, plural, scale, offset, default) in _TEMPERATURES.items()
    },
    **{
        code: Unit(
            symbol=symbol,
            name=name,
            plural=plural,
            kind="fuel",
            scale=scale,
            default=default,
            inverse=code == "L/100km",
        )
        for code, (symbol, name, plural, scale, default) in _FUEL.items()
    },
}


def find_unit(code: str, *, american: bool = False) -> Unit | None:
    """The unit of a code; None if it is unknown.

    >>> find_unit("km").name, find_unit("e6acre").power, find_unit("parsecs per hour")
    ('kilometre', 6, None)
    >>> find_unit("kg", american=True).plural
    'kilograms'
    """
    return _found(code, american=american) if len(code) <= MAX_CHARACTERS else None


@lru_cache(maxsize=1024)
def _found(code: str, *, american: bool) -> Unit | None:
    found = _find(_ALIASES.get(code, code))
    return found.american() if found and (american or code in _AMERICAN_CODES) else found


def _find(code: str) -> Unit | None:
    if code in UNITS:
        return UNITS[code]
    return _prefixed(code) or _multiplied(code) or _per(code)


def _prefixed(code: str) -> Unit | None:
    for base, (symbol, name, kind, scale, power, default) in _BASES.items():
        prefix = code.removesuffix(base)
        if not code.endswith(base) or prefix not in _PREFIXES:
            continue
        word, exponent = _PREFIXES[prefix]
        before, _, last = name.rpartition(" ")
        full = f"{before} {word}{last}".strip()
        return Unit(
            symbol=prefix + symbol, name=full, plural=full if base == "Hz" else full + "s", kind=kind,
            scale=scale * 10.0 ** (exponent * power), default=_DEFAULTS.get(code, default),
        )  # fmt: skip
    return None


def _multiplied(code: str) -> Unit | None:
    """Thousands and millions of a unit: `e6acre`."""
    for power, word in _SCALES.items():
        prefix = f"e{power}"
        if code.startswith(prefix) and not code[len(prefix) :][:1].isdigit():
            base = find_unit(code[len(prefix) :])
            if base is None or base.power:
                return None
            return replace(
                base, scale=base.scale * 10.0**power, power=power,
                default=_DEFAULTS.get(code) or _default_of_multiple(base, prefix),
                name=f"{word} {base.plural}", plural=f"{word} {base.plural}",
            )  # fmt: skip
    return None


def default_codes(unit: Unit, value: float) -> list[str]:
    """The codes of the units to convert a value to, which may depend on its size.

    >>> default_codes(find_unit("e6lb"), 3), default_codes(find_unit("e6lb"), 1)
    (['kt'], ['t'])
    """
    if (match := BY_SIZE.fullmatch(unit.default)) is None:
        return unit.default.split()
    factor, limit, low, high, base = match.groups("")
    code = (low if value * float(factor or 1) < float(limit) else high) + base
    return [_ALIASES.get(code, code)]


def _default_of_multiple(base: Unit, prefix: str) -> str:
    return " ".join(prefix + code for code in base.default.split())


def _per(code: str) -> Unit | None:
    """One unit per another: `kg/ha`."""
    above, _, below = code.partition("/")
    if not above or not below or "/" in below:
        return None
    top, bottom = find_unit(above), find_unit(below)
    if top is None or bottom is None:
        return None
    return Unit(
        symbol=f"{top.symbol}/{bottom.symbol}", name=f"{top.name} per {bottom.name}",
        plural=f"{top.plural} per {bottom.name}", kind=f"{top.kind} by {bottom.kind}",
        scale=top.scale / bottom.scale, default=_DEFAULTS.get(code, ""),
    )  # fmt: skip
