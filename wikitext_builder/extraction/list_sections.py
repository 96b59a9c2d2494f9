"""Sections that primarily feature lists, by their content: for languages whose names of them no table has.

The last sections of an article, as far as each is empty or a list of sources or of names. How often that is
right in English, whose names are known: `docs/dataset-card.md`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from wikitext_builder.extraction.markers import GONE, UNKNOWN

if TYPE_CHECKING:
    from wikitext_builder.extraction.blocks import Block

ITEMS: Final = 0.5  # of the words at least are in items of lists
ALIKE: Final = 0.5  # of the items at least are sources or names
NAME_WORDS, SOURCE_WORDS = 12, 10  # a name has at most, a source with a year at least so many
LARGEST: Final = 0.5  # of the words of an article: a page that has more in such sections is a list itself
SOURCE = re.compile(r"ISBN|ISSN|OCLC|\bdoi\b|https?:|\bpp?\. ?\d")
EVENT = re.compile(r"\d{1,4}\b.{0,10}?(?:[-–—]|&[nm]dash;)")  # of a chronology, also of births and deaths
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")


def before_list_sections(found: Sequence[Block]) -> int:
    """Return how many headings and paragraphs come before the list sections at the end of an article."""
    starts = [index for index, one in enumerate(found) if one.level == 2]
    ends = [*starts[1:], len(found)]
    sections = [(start, found[start:end]) for start, end in zip(starts, ends, strict=False)]
    lists = [start for start, section in takewhile(lambda one: _is_list(one[1]), reversed(sections))]
    first = min(lists, default=len(found))
    return first if _words(found[first:]) <= LARGEST * _words(found) else len(found)


def _is_list(section: Sequence[Block]) -> bool:
    own = [one for one in section if not one.level and _shown(one)]
    items = [one for one in own if one.listed]
    if not own:
        return True
    return _words(items) >= ITEMS * _words(own) and sum(map(_is_source_or_name, items)) >= ALIKE * len(items)


def _is_source_or_name(item: Block) -> bool:
    words = len(_shown(item).split())
    if EVENT.match(item.text):
        return False
    if SOURCE.search(item.text) or UNKNOWN.search(item.text) or GONE in item.text:  # a template, an address
        return True
    if YEAR.search(item.text):
        return words >= SOURCE_WORDS
    return words <= NAME_WORDS and not any(map(str.isdigit, item.text))


def _shown(one: Block) -> str:
    return UNKNOWN.sub("", one.text).replace(GONE, "").strip()


def _words(found: Sequence[Block]) -> int:
    return sum(len(_shown(one).split()) for one in found)
