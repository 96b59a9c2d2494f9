"""The text of templates: one file per family, all in `MACROS`.

To add a template, add its name and its macro to the dict at the end of a file, and a case to
`tests/cases/extract/templates.json`.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.abbreviations import ABBREVIATIONS
from wikitext_builder.extraction.macros.ages import AGES
from wikitext_builder.extraction.macros.call import Macro
from wikitext_builder.extraction.macros.characters import CHARACTERS
from wikitext_builder.extraction.macros.citations import CITATIONS
from wikitext_builder.extraction.macros.convert.conversions import CONVERSIONS
from wikitext_builder.extraction.macros.coordinates import COORDINATES
from wikitext_builder.extraction.macros.dates import DATES
from wikitext_builder.extraction.macros.flags import FLAGS
from wikitext_builder.extraction.macros.languages import LANGUAGE_MACROS
from wikitext_builder.extraction.macros.law import LAW
from wikitext_builder.extraction.macros.lists import LISTS
from wikitext_builder.extraction.macros.markets import MARKETS
from wikitext_builder.extraction.macros.numbers import NUMBERS
from wikitext_builder.extraction.macros.parser_functions import PARSER_FUNCTIONS
from wikitext_builder.extraction.macros.phonetics import PHONETICS
from wikitext_builder.extraction.macros.places import PLACES
from wikitext_builder.extraction.macros.science import SCIENCE
from wikitext_builder.extraction.macros.ships import SHIPS
from wikitext_builder.extraction.macros.sites import SITES
from wikitext_builder.extraction.macros.sports import SPORTS
from wikitext_builder.extraction.macros.transport import TRANSPORT
from wikitext_builder.extraction.macros.wrappers import WRAPPERS

__all__ = ["COPIED", "MACROS", "PARSER_FUNCTIONS"]

MACROS: dict[str, Macro] = {
    **ABBREVIATIONS,
    **AGES,
    **CHARACTERS,
    **CITATIONS,
    **CONVERSIONS,
    **COORDINATES,
    **DATES,
    **FLAGS,
    **LANGUAGE_MACROS,
    **LAW,
    **LISTS,
    **MARKETS,
    **NUMBERS,
    **PHONETICS,
    **PLACES,
    **SCIENCE,
    **SHIPS,
    **SITES,
    **SPORTS,
    **TRANSPORT,
    **WRAPPERS,
}

# Templates that other Wikipedias copied under the English name, and whose text has no English words: those of
# five families without the first list, and the second list.
_ENGLISH = listed(
    """
's; Enum; Number to word; Numtext; Spellnum; Spell number; Ordinal to word; Ordinal; Ord; Nts; Nts2;
Format number; Number table sorting; Commas; Comma; Formatprice; Format price; INRConvert; Inflation;
Inflation-year; Formatnum; Formatnum:; Marriage; Married; LORD; Lord; Pi; E (mathematical constant);
Fossil range; Fossilrange; Geological range; Music; Musical note; Music symbol; °C; °F
"""
)
_OTHERS = listed(
    """
Abbr; Abbrv; Abbreviation; Define; ISBN; Isbn; ISBNT; ISSN; OCLC; Oclc; JSTOR; Bibcode; Hdl; BWV; DOI; Doi;
PMID; PMC; ArXiv; Arxiv; Tag; URL; Url; Sortname; Sort; Srt; Hidden sort key; Yes2; No2; Dunno; ?; CO2; Co2;
H2O; O2; Not a typo; As written; Key press; Keypress; Button; Flagicon; Flagdeco; Flag icon; Flagicon image;
Lang; Lang2; Langr; Transl; Transliteration; Tlit; Xlit; Translit; Nihongo; Nihongo core; Nihongo2; Nihongo3;
Nihongo4; Ruby; Ruby-ja; IAST; IAST3; ISO 15919; ArabDIN; Script/Arabic; Script/Hebrew; Script/Greek;
Script/Cyrillic; Runic; Linktext; IPA link; IPAlink; IPAblink; IPAslink; IPA text; IPAtext
"""
)
COPIED: dict[str, Macro] = {
    name: macro
    for name, macro in (CHARACTERS | LISTS | NUMBERS | SCIENCE | WRAPPERS).items()
    if name not in _ENGLISH
} | {name: MACROS[name] for name in _OTHERS}
