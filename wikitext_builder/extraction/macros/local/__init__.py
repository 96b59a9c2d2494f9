"""Templates of the other Wikipedias: what each has beside the English names, a file a language.

Names and texts are those of the Wikipedias as known in 2016, written down on 2026-11-20 from knowledge of
their articles; no copy of the templates was at hand, so none is verified. What is in no table goes the
English way, since many names are the same, and is counted if it is not known there either.
"""

from __future__ import annotations

from wikitext_builder.extraction.macros.local.de import GERMAN
from wikitext_builder.extraction.macros.local.es import SPANISH
from wikitext_builder.extraction.macros.local.fr import FRENCH
from wikitext_builder.extraction.macros.local.it import ITALIAN
from wikitext_builder.extraction.macros.local.ja import JAPANESE
from wikitext_builder.extraction.macros.local.nl import DUTCH
from wikitext_builder.extraction.macros.local.pl import POLISH
from wikitext_builder.extraction.macros.local.pt import PORTUGUESE
from wikitext_builder.extraction.macros.local.ru import RUSSIAN
from wikitext_builder.extraction.macros.local.table import NO_TABLE, Table
from wikitext_builder.extraction.macros.local.zh import CHINESE

__all__ = ["LOCAL", "NO_TABLE", "Table"]

LOCAL: dict[str, Table] = {
    "de": GERMAN,
    "es": SPANISH,
    "fr": FRENCH,
    "it": ITALIAN,
    "ja": JAPANESE,
    "nl": DUTCH,
    "pl": POLISH,
    "pt": PORTUGUESE,
    "ru": RUSSIAN,
    "zh": CHINESE,
}
