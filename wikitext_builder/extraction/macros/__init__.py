"""The text of templates: one file per family, all in `MACROS`.

To add a template, add its name and its macro to the dict at the end of a file, and a case to
`tests/cases/extract/templates.json`.
"""

from __future__ import annotations

from wikitext_builder.extraction.macros.abbreviations import ABBREVIATIONS
from wikitext_builder.extraction.macros.ages import AGES
from wikitext_builder.extraction.macros.call import Macro
from wikitext_builder.extraction.macros.characters import CHARACTERS
from wikitext_builder.extraction.macros.citations import CITATIONS
from wikitext_builder.extraction.macros.convert.conversions import CONVERSIONS
from wikitext_builder.extraction.macros.coordinates import COORDINATES
from wikitext_builder.extraction.macros.dates import DATES
from wikitext_builder.extraction.macros.flags import FLAGS
from wikitext_builder.extraction.macros.geology import GEOLOGY
from wikitext_builder.extraction.macros.greek import GREEK_MACROS
from wikitext_builder.extraction.macros.languages import LANGUAGE_MACROS
from wikitext_builder.extraction.macros.law import LAW
from wikitext_builder.extraction.macros.lists import LISTS
from wikitext_builder.extraction.macros.markets import MARKETS
from wikitext_builder.extraction.macros.numbers import NUMBERS
from wikitext_builder.extraction.macros.phonetics import PHONETICS
from wikitext_builder.extraction.macros.places import PLACES
from wikitext_builder.extraction.macros.prices import PRICES
from wikitext_builder.extraction.macros.science import SCIENCE
from wikitext_builder.extraction.macros.ships import SHIPS
from wikitext_builder.extraction.macros.sites import SITES
from wikitext_builder.extraction.macros.sports import SPORTS
from wikitext_builder.extraction.macros.transport import TRANSPORT
from wikitext_builder.extraction.macros.wrappers import WRAPPERS

MACROS: dict[str, Macro] = {
    **ABBREVIATIONS,
    **AGES,
    **CHARACTERS,
    **CITATIONS,
    **CONVERSIONS,
    **COORDINATES,
    **DATES,
    **FLAGS,
    **GEOLOGY,
    **GREEK_MACROS,
    **LANGUAGE_MACROS,
    **LAW,
    **LISTS,
    **MARKETS,
    **NUMBERS,
    **PHONETICS,
    **PLACES,
    **PRICES,
    **SCIENCE,
    **SHIPS,
    **SITES,
    **SPORTS,
    **TRANSPORT,
    **WRAPPERS,
}
