"""What the other Wikipedias have in common with the English one.

Templates that they copied under the English names, and whose text has no English words.

The templates are those of five families without the first list here, and the second list. Other English
templates would put English words into the text: `United Kingdom`, `pronounced`, `3 miles`.
"""

from __future__ import annotations

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros import MACROS
from wikitext_builder.extraction.macros.call import Macro
from wikitext_builder.extraction.macros.characters import CHARACTERS
from wikitext_builder.extraction.macros.lists import LISTS
from wikitext_builder.extraction.macros.numbers import NUMBERS
from wikitext_builder.extraction.macros.science import SCIENCE
from wikitext_builder.extraction.macros.wrappers import WRAPPERS

WITH_WORDS = listed(
    """
's; Enum; Number to word; Numtext; Spellnum; Spell number; Ordinal to word; Ordinal; Ord; Nts; Nts2;
Format number; Number table sorting; Commas; Comma; INRConvert; Formatnum; Formatnum:; Marriage; Married;
LORD; Lord; Pi; E (mathematical constant); Fossil range; Fossilrange; Geological range; Math theorem;
Math proof; Music; Musical note; Music symbol; °C; °F; Cl; Category link; Cat link
"""
)
OTHERS = listed(
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
    if name not in WITH_WORDS
} | {name: MACROS[name] for name in OTHERS}
