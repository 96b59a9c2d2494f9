"""The German Wikipedia.

Languages (`{{enS}}`) and heights: names from articles and tools on GitHub, the text `englisch X` from
articles of de.wikipedia.org, read on 2026-11-21. The others are from memory, not verified.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, argument, around, first, text
from wikitext_builder.extraction.macros.local.names import country_names, language_names
from wikitext_builder.extraction.macros.local.table import (
    BRACKETED,
    LocalTemplates,
    beside_the_title,
    by_code,
    columns,
    countries,
    data,
    grouped,
    languages,
    numbers,
    of_languages,
    paragraph,
    quoted,
    removed,
    sound,
)
from wikitext_builder.extraction.markers import GONE

NAMES = {code: name.lower() for code, name in language_names("de").items()} | {"la": "lateinisch"}


def height(call: Call) -> str | None:
    """`1493 m ü. NHN`."""
    value, level = grouped(call.get("1"), group=".", point=",", least=5), call.get("2").rpartition("-")[2]
    levels = {"NHN": "m ü. NHN", "NN": "m ü. NN", "AT": "m ü. A.", "CH": "m ü. M.", "": "m"}
    return f"{value} {levels.get(level, 'm')}" if value else None


def coordinate(call: Call) -> str | None:
    """`48° 12′ 30″ N, 11° 34′ 0″ O` in running text; a mark if they are beside the title."""
    if not call.get("text"):
        return GONE
    shown = [_angle(call.get(name)) for name in ("NS", "EW")]
    return ", ".join(angle for angle in shown if angle) or None


def _angle(value: str) -> str:
    *numbers, letter = value.split("/")
    pieces = [f"{number}{mark}" for number, mark in zip(numbers, "°′″", strict=False) if number]
    shown = " ".join([*pieces, letter.replace("E", "O")]) if numbers else f"{value}°"
    return shown.replace(".", ",")


def chinese(call: Call) -> str | None:
    """`chinesisch 李安, Pinyin Lǐ Ān`."""
    labels = {"c": "chinesisch", "t": "traditionell", "v": "vereinfacht", "s": "vereinfacht", "p": "Pinyin"}
    if "kurz" in call.arguments:
        labels = dict.fromkeys(labels, "")
    shown = [f"{label} {call.get(key)}".strip() for key, label in labels.items() if call.get(key)]
    return ", ".join([*shown, *([f"„{call.get('b')}“"] if call.get("b") else [])]) or None


def with_translation(opening: str, closing: str) -> Macro:
    """A quotation, and its translation on the next line."""
    quotation, translation = quoted(opening, closing, "1", "Text"), quoted("„", "“", "Übersetzung")

    def macro(call: Call) -> str | None:
        shown = [value for value in (quotation(call), translation(call)) if value]
        return "<br>".join(shown) or None

    return macro


def formatted(call: Call) -> str | None:
    """`1.234,5`."""
    return grouped(call.get("1"), group=".", point=",")


MACROS: dict[str, Macro] = {
    **languages(NAMES, "{name} {text}", template="{code}S", meaning=" {meaning}"),
    **languages(NAMES, "{name} {text}"),
    "Lang": argument("2"),
    "SpracheS": by_code(NAMES, "{name} {text}"),
    '"': quoted("„", "“", "1", "Text"),
    "Zitat": with_translation("„", "“"),
    "Zitat-en": with_translation("“", "”"),
    **dict.fromkeys(listed("Zitat-fr; Zitat-it"), with_translation("« ", " »")),
    **dict.fromkeys(listed("Zitat-la; Zitat-es"), with_translation("„", "“")),
    "SortKey": argument("2"),
    "SortKeyName": lambda call: f"{call.get('1')} {call.get('2')}".strip(),
    **dict.fromkeys(listed("Zitat Block; Blockzitat; Zitat2"), paragraph("1", "Text")),
    **dict.fromkeys(listed("Höhe; Höhe2"), height),
    "Coordinate": coordinate,
    "FormatZahl": formatted,
    "FormatNum": formatted,
    "Formatnum": formatted,
    "Bruch": lambda call: (
        f"{call.get('1')} {call.get('2')}⁄{call.get('3')}"
        if call.get("3")
        else f"{call.get('1')}⁄{call.get('2')}"
    ),
    "Formnum": formatted,
    "Audio": sound,
    **dict.fromkeys(listed("IPA; Lautschrift"), BRACKETED),
    **of_languages("IPA-{code}", NAMES, BRACKETED),
    "IPA-Text": first,
    "Zh": chinese,
    "Coord": beside_the_title,
    **dict.fromkeys(listed("Mehrspaltige Liste; Mehrspaltig"), columns("liste", "Liste", "1")),
    "DNB": around("DNB ", ""),
    "Google Buch": lambda call: call.get("Linktext") or "eingeschränkte Vorschau in der Google-Buchsuche",
    **{name: text(name) for name in country_names("de").values()},
    **{name: text(name) for name in listed("Sowjetunion; Jugoslawien; Tschechoslowakei; Taiwan; DDR")},
    **countries("de", text="1"),
    **dict.fromkeys(listed("Nowrap; Nobr; Nbsp; NurText; Unicode; Polytonisch; Kapitälchen"), first),
    **dict.fromkeys(listed("FremdsprachigesS; Arabische Schrift; Hebräische Schrift; Kyrillisch"), first),
    "Anker": text(""),
    "0": text(""),
    "Prozent": around("", " %"),
    "§": lambda call: f"§ {call.get('1')} {call.get('2')}".strip(),
    "Art.": lambda call: f"Art. {call.get('1')} {call.get('2')}".strip(),
    "DOI": around("doi:", ""),
    "Toter Link": text(""),
    "Internationalisierung": first,
    "Farblegende": argument("2"),
    "Ordnungszahl": around("", "."),
}
REMOVED = removed(
    """
Infobox*; Navi*; Normdaten*; Commons*; Wikisource*; Wiktionary*; Wikiquote*; Wikivoyage*; Wikinews*;
Wikibooks*; Schwesterprojekte*; Literatur; Internetquelle; Cite*; Webarchiv*; Exzellent; Lesenswert;
Informativ; Hauptartikel; Siehe auch; Begriffsklärung*; Dieser Artikel*; Weiterleitungshinweis; Belege*;
Lückenhaft; Überarbeiten; Neutralität; Veraltet; Quelle; Taxobox*; Personendaten; FN; FNBox; FNZ; Refn;
Sfn; Einzelnachweis*; Positionskarte*; Bild*; Panorama; Mehrere Bilder; Wikimedia*; IMDb*; DNB-Portal;
PND; LCCN; VIAF; GBV; Zeitleiste*; Folgenleiste*; EinwohnerRef; EWZ-Ref*; Gesprochene Version; Artikel*;
Sortkey; SortKey; SortKeyName; Rechtshinweis; Gesundheitshinweis; Staatslegende; Klimatabelle;
Wahldiagramm; Stub; Hinweisbaustein; Nur Liste; Redundanz*; Nachsichtung; Absatz; Galerie; Imagemap*;
Stammbaum*; Dienstgrad; Zitatbox; Wikidata-Registrierung; Medaillen*; Charttabelle*; Charts;
Musikcharts*; Ortsteil*; Diskografie*; Tracklist*; Vorlage*; Sportler*
"""
)
DATA = data(
    """
Metadaten; FLdez; FormatZahlMetadaten; EWZ; EWD; EWR; EWT; Bevölkerungsstand; Einwohner; Aktuelle
Arbeitslosenquoten; BFS-Zahlen; Population; Wirtschaftsdaten
"""
)
TEMPLATES = LocalTemplates(macros=MACROS, removed=REMOVED, data=DATA, functions=numbers(group=".", point=","))
