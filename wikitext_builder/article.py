"""Page and Article: what editors wrote, and what readers see."""

from __future__ import annotations

import re
from dataclasses import dataclass

SPLITS = ("train", "valid", "test")
SECTIONS = ("official", "clean")  # which sections to keep: see extraction/blocks.py
INCOMPLETE = ("cut", "keep")  # what to do with sentences that lack the text of a call
HEADING = re.compile(
    r"(?P<marks>=(?: =){0,5}|={1,6}) (?P<text>.*\S) (?P=marks)"
)  # bounded repeats: linear time


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A Wikipedia page at one revision, as its editors wrote it."""

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # of the revision, ISO 8601 in UTC: 2016-04-16T17:15:34Z
    wikitext: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """The text of a page: headings and paragraphs, one per line.

    `lines` are the lines of the dataset's files without their outer spaces, including blank lines:
    `("", "= Title =", "", "A paragraph.", "", "== Heading ==", "", "Another.")`. Before tokenization they are
    plain text; afterwards single spaces separate the tokens of a line, and a heading is `= = Heading = =`.

    `plain_lines` are never tokenized. They differ from the untokenized `lines` only where a paragraph has
    formulas: in `plain_lines` it is one line, and each formula is LaTeX between dollar signs.
    """

    title: str
    page_id: int
    revision_id: int
    timestamp: str
    lines: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # wikitext of each template call whose text is unknown
    cuts: tuple[str, ...] = ()  # what was removed with each of these calls: `extraction.markers.CUT_KINDS`
    lost: tuple[int, ...] = ()  # words removed with each of these calls: `extraction.markers.lost_words`
    reasons: tuple[str, ...] = ()  # why each call could not be expanded; empty if there were no templates
    expanded: int = 0  # number of calls whose text came from templates
    plain_lines: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()  # LaTeX of each formula in `plain_lines`; empty if unknown
    categories: tuple[str, ...] = ()  # only for an export of articles
    quality: str = ""  # `featured`, `good`, or empty if neither; only for an export of articles
    wikidata_id: str = ""  # such as Q1490; empty if unknown


def heading_level(line: str) -> int:
    """Return the level of a heading line, tokenized or not; 0 for any other line.

    >>> heading_level("= Title ="), heading_level("== Early life =="), heading_level("= = Early life = =")
    (1, 2, 2)
    >>> heading_level("A paragraph."), heading_level("")
    (0, 0)
    """
    match = HEADING.fullmatch(line)
    return match["marks"].count("=") if match else 0
