"""The Swedish Wikipedia.

Names from four articles of 2013 to 2021 in the tests of other tools, read on 2026-11-22. The texts are from
memory, not verified.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Macro, argument, around, first, text
from wikitext_builder.extraction.macros.local.names import language_names
from wikitext_builder.extraction.macros.local.table import (
    BRACKETED,
    LocalTemplates,
    beside_the_title,
    by_code,
    columns,
    countries,
    data,
    dated,
    flagged,
    languages,
    numbers,
    of_languages,
    paragraph,
    quantity,
    quoted,
    removed,
    sound,
)

NAMES = language_names("sv")
MONTHS = listed(
    "januari; februari; mars; april; maj; juni; juli; augusti; september; oktober; november; december"
)

MACROS: dict[str, Macro] = {
    **languages(NAMES, "{name}: {text}"),
    "Lang": argument("2"),
    "Språk": by_code(NAMES, "{name}: {text}"),
    "Datum": dated(MONTHS, "{day} {month} {year}"),
    **dict.fromkeys(listed("Formatnum; Nowrap tal; Tal"), quantity(group=" ", point=",")),
    **dict.fromkeys(listed("Citat; Blockcitat; Quote; Citatruta text"), paragraph("1", "citat", "text")),
    "Citattecken": quoted("”", "”"),
    **dict.fromkeys(listed("Nowrap; Nobr; Ickebryt; Liten; Kapitäler; Förkortning; Abbr"), first),
    **dict.fromkeys(listed("IPA; IPA2; Uttal"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    **dict.fromkeys(listed("Ljud; Audio; Lyssna"), sound),
    "Coord": beside_the_title,
    **dict.fromkeys(listed("Flagga; Flaggbild2; Landsnamn; Flag"), flagged("sv")),
    **dict.fromkeys(listed("Ill; Illm"), argument("4", "2", "1")),
    **dict.fromkeys(listed("Kolumner; Kolumnlista"), columns("1", "innehåll")),
    "F.Kr.": text("f.Kr."),
    "E.Kr.": text("e.Kr."),
    "SEK": around("", " kronor"),
    **countries("sv"),
}
REMOVED = removed(
    """
Infobox*; Geobox*; Taxobox*; *fakta*; Faktamall*; *box; Huvudartikel; Se även; Olika betydelser;
Förväxlas; Förgrening*; Gren; Omdirigering*; Källa behövs; Källhänvisning*; Källor; Bokref; Webbref;
Tidningsref; Tidskriftsref; Rapportref; Avhandlingsref; Cite*; Sfn; Ref*; Not; Noter; Fotnot*; Note
label; Flaggbild; Flaggikon; Commons*; Wikiquote*; Wiktionary*; Wikisource*; Systerprojekt*;
Auktoritetsdata; STANDARDSORTERING*; Utmärkt; Bra; Bra artikel; Rekommenderad; Läsvärd; *portalen;
Portal*; Navbox*; Navigation*; Stub; *stub; Stub *; Vem; När; Var; Vad; Vilken; Tveksam*; Ifrågasatt*;
Städa*; Uppdatera*; Klimattabell; Befolkningsutveckling; Kartposition*; Multipelbild; Bildgalleri;
Citatruta; Tidsaxel; KML; Clear; * ikon
"""
)
DATA = data("Stat; Folkmängd; Befolkning; Wikidata")
TEMPLATES = LocalTemplates(macros=MACROS, removed=REMOVED, data=DATA, functions=numbers(group=" ", point=","))
