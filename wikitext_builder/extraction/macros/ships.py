"""Ships, railways and vehicles: names with prefix and number, as the page shows them."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro

PREFIXES = listed(
    """
USS; HMS; HMAS; HMCS; HMNZS; HMT; HMIS; INS; USNS; USCGC; USAT; USAV; RMS; SS; MS; MV; RFA; SMS;
JDS; JS; ROKS; ARA; BAP; ORP; HNLMS; HNoMS; HDMS; HSwMS; KD; TCG; PNS; RN; PS; TSS; TS; SMU; GTS;
MY; SY; ST; RV; RRS; NOAAS; RSS; KRI; USRC; CSS; BRP; FGS; SAS; HTMS; HHMS; SLNS; HMHS; HMY;
HMSAS; USC&GS; NRP; KNM; ARC; BAE; BNS; CCGS; ENS; HMBS; HMPNGS; HSC; ICGV; LÉ; M/S; M/V; M/Y; NMS; NNS;
RPS; R/V; S/S; S/V; S/Y; SV
"""
)


def prefixed(call: Call) -> str | None:
    """`USS Enterprise (CVN-65)`: the third argument chooses the parts."""
    return shown_parts(call.name, call.get("1"), call.get("2"), call.get("3"))


def ship(call: Call) -> str | None:
    """`{{ship|prefix|name|number|shown}}`."""
    return shown_parts(*(call.get(str(index)) for index in range(1, 5)))


def shown_parts(prefix: str, name: str, number: str, shown: str) -> str:
    """The parts chosen by a sum of 4 (prefix), 2 (name) and 1 (number); all by default.

    From copies of the documentation of {{USAT}} and {{SS}}, read on 2026-11-21.

    >>> [shown_parts("USS", "Hornet", "CV-12", shown) for shown in ("", "6", "3", "1")]
    ['USS Hornet (CV-12)', 'USS Hornet', 'Hornet (CV-12)', 'CV-12']
    """
    bits = int(shown) if shown in {"1", "2", "3", "5", "6"} else 7
    named = name if bits & 2 else ""
    numbered = number if bits & 1 else ""
    if named and numbered:
        numbered = f"({numbered})"
    return " ".join(part for part in (prefix if bits & 4 else "", named, numbered) if part)


def ship_class(call: Call) -> str | None:
    """`Nimitz-class aircraft carrier`; the third argument chooses the parts.

    From copies of the documentation of {{sclass-}}, read on 2026-11-21: 0 leaves out the kind, 4 also the
    hyphen, 5 shows only the name; 1 to 3 only differ in links.
    """
    name, kind, form = call.get("1"), call.get("2"), call.get("3")
    return {"0": f"{name}-class", "4": f"{name} class", "5": name}.get(form, f"{name}-class {kind}".rstrip())


def rail_gauge(call: Call) -> str | None:
    """`1,435 mm (4 ft 8 1⁄2 in)`: the most frequent gauges."""
    gauges = {
        "1435mm": "1,435 mm (4 ft 8 1⁄2 in)", "sg": "1,435 mm (4 ft 8 1⁄2 in)",
        "ussg": "4 ft 8 1⁄2 in (1,435 mm)", "4ft8.5in": "4 ft 8 1⁄2 in (1,435 mm)",
        "1000mm": "1,000 mm (3 ft 3 3⁄8 in)", "metre": "1,000 mm (3 ft 3 3⁄8 in)",
        "1067mm": "1,067 mm (3 ft 6 in)", "3ft6in": "3 ft 6 in (1,067 mm)",
        "1520mm": "1,520 mm (4 ft 11 27⁄32 in)", "1524mm": "1,524 mm (5 ft)", "5ft": "5 ft (1,524 mm)",
        "1600mm": "1,600 mm (5 ft 3 in)", "5ft3in": "5 ft 3 in (1,600 mm)",
        "1668mm": "1,668 mm (5 ft 5 21⁄32 in)", "1676mm": "1,676 mm (5 ft 6 in)",
        "5ft6in": "5 ft 6 in (1,676 mm)", "3ft": "3 ft (914 mm)", "914mm": "914 mm (3 ft)",
        "2ft": "2 ft (610 mm)", "610mm": "610 mm (2 ft)", "750mm": "750 mm (2 ft 5 1⁄2 in)",
        "760mm": "760 mm (2 ft 5 15⁄16 in)", "2ft6in": "2 ft 6 in (762 mm)", "762mm": "762 mm (2 ft 6 in)",
        "600mm": "600 mm (1 ft 11 5⁄8 in)", "7ft": "7 ft (2,134 mm)", "7ft0.25in": "7 ft 1⁄4 in (2,140 mm)",
    }  # fmt: skip
    return gauges.get(call.get("1").replace(" ", "").lower())


SHIPS: dict[str, Macro] = {
    **dict.fromkeys(PREFIXES, prefixed),
    "Ship": ship,
    **dict.fromkeys(["Sclass", "Sclass-", "Sclass2", "Sclass2-", "Ship class"], ship_class),
    **dict.fromkeys(["RailGauge", "Railgauge", "Rail gauge", "Track gauge", "Track-gauge"], rail_gauge),
    "GS": lambda call: shown_parts("German submarine", call.get("1"), call.get("2"), call.get("3")),
    "GWR": lambda call: f"GWR {call.get('1')}",
    "Navsource": lambda _call: "",
}
