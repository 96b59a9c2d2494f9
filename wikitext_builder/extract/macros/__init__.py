"""The text that templates stand for: one file a family, one dict of all."""

from __future__ import annotations

from wikitext_builder.extract.macros.abbreviations import ABBREVIATIONS
from wikitext_builder.extract.macros.ages import AGES
from wikitext_builder.extract.macros.call import Macro
from wikitext_builder.extract.macros.characters import CHARACTERS
from wikitext_builder.extract.macros.conversions import CONVERSIONS
from wikitext_builder.extract.macros.coordinates import COORDINATES
from wikitext_builder.extract.macros.dates import DATES
from wikitext_builder.extract.macros.flags import FLAGS
from wikitext_builder.extract.macros.languages import LANGUAGE_MACROS
from wikitext_builder.extract.macros.law import LAW
from wikitext_builder.extract.macros.lists import LISTS
from wikitext_builder.extract.macros.markets import MARKETS
from wikitext_builder.extract.macros.numbers import NUMBERS
from wikitext_builder.extract.macros.parser_functions import PARSER_FUNCTIONS
from wikitext_builder.extract.macros.phonetics import PHONETICS
from wikitext_builder.extract.macros.places import PLACES
from wikitext_builder.extract.macros.science import SCIENCE
from wikitext_builder.extract.macros.ships import SHIPS
from wikitext_builder.extract.macros.sports import SPORTS
from wikitext_builder.extract.macros.transport import TRANSPORT
from wikitext_builder.extract.macros.wrappers import WRAPPERS

__all__ = ["MACROS", "PARSER_FUNCTIONS"]

MACROS: dict[str, Macro] = {
    **ABBREVIATIONS,
    **AGES,
    **CHARACTERS,
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
    **SPORTS,
    **TRANSPORT,
    **WRAPPERS,
}
