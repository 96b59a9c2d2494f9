"""The Dutch Wikipedia.

From memory, not verified: no source for the text of these templates was found.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, text
from wikitext_builder.extraction.macros.local.names import language_names
from wikitext_builder.extraction.macros.local.table import (
    LocalTemplates,
    beside_the_title,
    by_code,
    columns,
    countries,
    data,
    dated,
    languages,
    numbers,
    of_languages,
    paragraph,
    quantity,
    quoted,
    removed,
    sound,
    transcription,
)

NAMES = language_names("nl")
MONTHS = listed(
    "januari; februari; maart; april; mei; juni; juli; augustus; september; oktober; november; december"
)

MACROS: dict[str, Macro] = {
    **languages(NAMES, "{name}: {text}"),
    "Lang": argument("2"),
    "Taal": by_code(NAMES, "{name}: {text}"),
    "Datum": dated(MONTHS, "{day} {month} {year}"),
    **dict.fromkeys(listed("Formatnum; Getal; Unité"), quantity(group=".", point=",")),
    **dict.fromkeys(listed("Citaat; Quote; Blokcitaat; Cquote"), paragraph("1", "tekst")),
    "Aanhaling": quoted("‘", "’"),
    **dict.fromkeys(listed("Nowrap; Unicode; Kleinkapitaal; Klein; Abbr; Afkorting; Tooltip"), first),
    **dict.fromkeys(listed("IPA; IFA"), transcription("/", "/")),
    **of_languages("IPA-{code}", NAMES, transcription("/", "/")),
    "Audio": sound,
    "Coord": beside_the_title,
    "Kolommen lijst": columns("inhoud", "1"),
    "Kolommen": columns("inhoud", "Kol1", "Kol2", "Kol3", "Kol4"),
    **countries("nl", short=True),
    "Link": first,
    "Euro": text("€"),
    "EUR": around("€ ", ""),
    "V.Chr.": text("v.Chr."),
    "N.Chr.": text("n.Chr."),
    "Bijschrift": first,
    "Zwnj": lambda _call: "",
    "Schaal": around("1:", ""),
    "Eeuw": lambda call: _century(call),
}


def _century(call: Call) -> str | None:
    """`19e eeuw`."""
    return f"{call.get('1')}e eeuw" if call.get("1").isdecimal() else None


REMOVED = removed(
    """
Infobox*; Zie hoofdartikel; Zie ook*; Zie dp; Zijbalk*; Doorverwijspagina; Dp; Dpintro; Redirect;
Appendix; References; Referenties; Refs; Bron?; Feit; Wie?; Wanneer?; Waar?; Citeer*; Navigatie*;
Navbox*; Beginnetje*; Commons*; Wikiquote; WikiWoordenboek; Wikisource; Zusterproject*; Etalage;
Bronvermelding*; Bibliografische informatie; Authority control; Coor*; Coördinaten; Taxobox*; Tabel*;
Portaal*; Sfn; Refn; Noot; Voetnoot*; Meebezig; Wiu*; POV; Neutraliteit; Twijfel*; Actueel; Opmaak*;
Vlag; Vlagland; Pn; Afbeelding*; Meerdere afbeeldingen; Clearright; Zetelverdeling*; Weergave*; Klimaat*;
*-VLAG; Bronnen*
"""
)
DATA = data("Statistiek; Inwoners; Gemeentegegevens; Oppervlakte")
TEMPLATES = LocalTemplates(macros=MACROS, removed=REMOVED, data=DATA, functions=numbers(group=".", point=","))
