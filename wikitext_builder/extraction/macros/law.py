"""Law: cases, codes, bills and orders, as sentences name them."""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, around
from wikitext_builder.extraction.macros.safe_int import whole_number

# Names of the kinds of bills in {{USBill}}.
BILLS = {
    "HR": "H.R.", "S": "S.", "HRES": "H.Res.", "SRES": "S.Res.", "HJRES": "H.J.Res.",
    "SJRES": "S.J.Res.", "HCONRES": "H.Con.Res.", "SCONRES": "S.Con.Res.",
}  # fmt: skip


def supreme_court(call: Call) -> str | None:
    """`372 U.S. 335 (1963)`: volume, page and year, in order or by name."""
    name = call.get("name", "case")
    volume, page, year = call.get("volume", "vol", "1"), call.get("page", "2"), call.get("year", "3")
    if not volume or not page:
        return None
    citation = f"{volume} U.S. {page}" + (f" ({year})" if year else "")
    return f"{name}, {citation}" if name else citation


def code_section(call: Call) -> str | None:
    """`18 U.S.C. § 3553(a)`."""
    title, section, *parts = [*call.positional(), "", ""]
    if not title or not section:
        return None
    return f"{title} U.S.C. § {section}" + "".join(f"({part})" for part in parts if part)


def bill(call: Call) -> str | None:
    """`H.R. 2203`; the number of the congress is only in the link."""
    kind = call.get("2").replace(".", "").replace(" ", "").upper()
    return f"{BILLS[kind]} {call.get('3')}" if kind in BILLS else None


def patent(call: Call) -> str | None:
    """`U.S. Patent 1,781,541`."""
    number = call.get("2", "1")
    plain = whole_number(number, digits=11)
    shown = number if plain is None else f"{plain:,}"
    return f"U.S. Patent {shown}" if number else None


LAW: dict[str, Macro] = {
    **dict.fromkeys(listed("Ussc; Scotus; SCOTUS"), supreme_court),
    "Uscsub": code_section,
    "USBill": bill,
    "USPL": lambda call: f"Pub.L. {call.get('1')}–{call.get('2')}" if call.get("2") else None,
    "Usstat": lambda call: f"{call.get('1')} Stat. {call.get('2')}" if call.get("2") else None,
    "USStat": lambda call: f"{call.get('1')} Stat. {call.get('2')}" if call.get("2") else None,
    "CodeFedReg": lambda call: f"{call.get('1')} C.F.R. {call.get('2')}" if call.get("2") else None,
    "CFR": lambda call: f"{call.get('1')} C.F.R. {call.get('2')}" if call.get("2") else None,
    "Executive Order": around("Executive Order ", ""),
    "Executive order": around("Executive Order ", ""),
    **dict.fromkeys(listed("US patent; Us patent; US Patent; Patent US"), patent),
}
