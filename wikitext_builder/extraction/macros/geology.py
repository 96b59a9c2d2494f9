"""Geological ages: `{{Ma|66}}`, `{{Ma|Upper Carboniferous|round=-1}}`."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro

# Millions of years at which periods and epochs begin: the International Chronostratigraphic Chart, v2016/04.
# Those that its editions of 2012 to 2018 date differently are absent. The Burgess Shale is not in the chart.
_STARTS = """
phanerozoic=541; paleozoic=541; cambrian=541; ordovician=485.4; lower ordovician=485.4; middle ordovician=470;
upper ordovician=458.4; silurian=443.8; llandovery=443.8; lower silurian=443.8; wenlock=433.4; ludlow=427.4;
pridoli=423; devonian=419.2; lower devonian=419.2; middle devonian=393.3; upper devonian=382.7;
carboniferous=358.9; mississippian=358.9; lower carboniferous=358.9; pennsylvanian=323.2;
upper carboniferous=323.2; permian=298.9; cisuralian=298.9; lower permian=298.9; middle triassic=247.2;
upper triassic=237; jurassic=201.3; lower jurassic=201.3; middle jurassic=174.1; upper jurassic=163.5;
cretaceous=145; lower cretaceous=145; upper cretaceous=100.5; cenozoic=66; paleogene=66; paleocene=66;
eocene=56; oligocene=33.9; neogene=23.03; miocene=23.03; pliocene=5.333; burgess shale=508
"""
STARTS = dict(entry.split("=") for entry in listed(_STARTS))
SAME = {"early": "lower", "mid": "middle", "late": "upper"}
NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,6})?")


def age_of(name: str, places: str) -> str | None:
    """Millions of years of a number or a period, rounded to decimal places if these are given."""
    first, space, rest = name.lower().partition(" ")
    value = name if NUMBER.fullmatch(name) else STARTS.get(SAME.get(first, first) + space + rest)
    if value is None or not places:
        return value
    if not re.fullmatch(r"-?\d", places):
        return None
    step = Decimal(1).scaleb(-int(places))
    rounded = (Decimal(value) / step).quantize(Decimal(1), rounding=ROUND_HALF_UP) * step
    return f"{rounded.normalize():f}"


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


GEOLOGY: dict[str, Macro] = dict.fromkeys(listed("Ma; Mya"), millions_of_years)
