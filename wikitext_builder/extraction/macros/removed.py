"""Templates that give no running text, by `data/removed.tsv`: boxes, navigation, hatnotes, marks."""

from __future__ import annotations

import re
from functools import lru_cache

from wikitext_builder.extraction.macros.tables import read_table
from wikitext_builder.extraction.names import LONGEST_KEY


def _rows(where: str) -> list[str]:
    return [text.replace("␣", " ") for one, text in read_table("removed") if one == where]


NAMES = frozenset(_rows("name"))
# Families of templates, by the beginning or the end of their names.
FAMILIES = re.compile(
    rf"(?:(?:{'|'.join(_rows('word'))})(?=$|[ \d/-])|{'|'.join(_rows('start'))}).*"
    rf"|.*(?:{'|'.join(_rows('end'))})"
)
# Removed templates that are marks in a sentence: notes, doubts, anchors. All others are boxes.
MARKS = re.compile(
    r"(?:Sf[nb]|Efn|Harv|Ref|Rp?$|RP$|Notetag|Note|Cref|Fn|Cite|Citation|Vcite|Anchor|Fact|Cn$|Mcn$|Vague|"
    r"Clarif|Dubious|Disputed|By whom|Who|When|Where|Which|Why|How|Failed|Verify|Better|Unreliable|Dead|"
    r"Update|Webarchive|Wayback|Shy).*|"
    r".*(?:-inline| inline| needed|\?|-fn)"
)


def is_removed(name: str) -> bool:
    """True if a template of this name is removed on purpose; look for a macro first.

    >>> is_removed("Infobox person"), is_removed("Reflist"), is_removed("Convert")
    (True, True, False)
    """
    return (_is_removed if len(name) <= LONGEST_KEY else _is_removed.__wrapped__)(name)


@lru_cache(maxsize=2**14)
def _is_removed(name: str) -> bool:
    return name in NAMES or FAMILIES.fullmatch(name) is not None


@lru_cache(maxsize=2**12)
def is_mark(name: str) -> bool:
    """True if a removed template is a mark in a sentence, and not a box between paragraphs.

    >>> is_mark("Citation needed"), is_mark("Quote box")
    (True, False)
    """
    return MARKS.fullmatch(name) is not None
