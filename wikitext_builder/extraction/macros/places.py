"""Roads, districts, heights, airports, orbiters and other things that have a number or a code."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, around, first
from wikitext_builder.extraction.macros.safe_int import whole_number

ORBITERS = {
    "99": "Challenger", "101": "Enterprise", "102": "Columbia", "103": "Discovery", "104": "Atlantis",
    "105": "Endeavour",
}  # fmt: skip
# What {{jct}} writes before the number of a road, for systems that are the same in every state. From
# Module:Road data/strings/USA of 2016.
ROADS = {"I": "I-", "US": "US ", "SR": "SR ", "CR": "CR ", "FM": "FM ", "Hwy": "Hwy ", "BL": "BL I-"}


def road(call: Call) -> str | None:
    """`I-5 / US 101 in Los Angeles`: kinds and numbers of roads alternate, then towns and directions."""
    values = call.positional()
    pieces = []
    for index, (kind, number) in enumerate(zip(values[::2], values[1::2], strict=False), 1):
        if not number:
            continue
        before = "To " if index == 1 and call.get("to1") else ""
        direction = f" {call.get(f'dir{index}')}" if call.get(f"dir{index}") else ""
        pieces.append(f"{before}{ROADS.get(kind, kind + ' ')}{number}{direction}")
    if not pieces:
        return None
    towns = [call.get(f"city{index}", f"location{index}") for index in range(1, 4)]
    shown = " / ".join(pieces)
    return f"{shown} – {', '.join(town for town in towns if town)}" if any(towns) else shown


def airport(call: Call) -> str | None:
    """`(IATA: MST, ICAO: EHBK)`."""
    codes = zip(("IATA", "ICAO", "FAA LID"), call.positional(), strict=False)
    shown = ", ".join(f"{label}: {code}" for label, code in codes if code)
    return f"({shown})" if shown else None


def height_above_sea(call: Call) -> str | None:
    """`1,493 m above sea level (NHN)`; without a reference level `1,415 m`."""
    value, reference = call.get("1"), call.get("2")
    before, point, decimals = value.replace(",", ".").partition(".")
    metres = whole_number(before)
    if metres is None or (point and not decimals.isdecimal()):
        return None
    level = reference.rpartition("-")[2]
    return f"{metres:,}{point}{decimals} m" + (f" above sea level ({level})" if level else "")


def district(call: Call) -> str | None:
    """The label of a district of the House, or its state and number."""
    return call.get("3") or f"{call.get('1')} {call.get('2')}".strip() or None


def orbiter(call: Call) -> str | None:
    """`Space Shuttle Discovery` from its number."""
    name = ORBITERS.get(call.get("1").lstrip("0"))
    return f"Space Shuttle {name}" if name else None


PLACES: dict[str, Macro] = {
    "Jct": road,
    "Airport codes": airport,
    "Airport codes2": airport,
    "Höhe": height_above_sea,
    "Ushr": district,
    "OV": orbiter,
    "Airreg": lambda call: "".join(call.positional()[:2]) + call.get("3"),
    "24hLM": first,
    "BVG lines": first,
    "ISE": lambda call: f"ISE: {call.get('2')}" if call.get("2") else None,
    "EC number": around("EC ", ""),
    **dict.fromkeys(listed("Lcons; Dp; Hittite"), first),
}
