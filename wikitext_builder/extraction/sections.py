"""Which sections stay: sections that primarily feature lists are removed by their exact names."""

from __future__ import annotations

from collections.abc import Sequence

from wikitext_builder.extraction.blocks import Block
from wikitext_builder.extraction.markers import GONE, UNKNOWN

SECTION_MODES = ("official", "clean")


def select_sections(found: Sequence[Block], *, removed: Sequence[str], mode: str) -> list[Block]:
    """The blocks that stay in the article.

    `official` removes the heading and the own text of a section; its sub-sections stay, and a heading stays
    if all of its text was tables. `clean` removes the sub-sections and empty headings too.

    >>> found = [Block(text="Notes", level=2), Block(text="a")]
    >>> found += [Block(text="Sources A", level=3), Block(text="b")]
    >>> [block.text for block in select_sections(found, removed=["Notes"], mode="official")]
    ['Sources A', 'b']
    >>> select_sections(found, removed=["Notes"], mode="clean")
    []
    """
    if mode == "official":
        return _without_own_text(found, frozenset(removed))
    return _without_empty(_without_trees(found, frozenset(removed)))


def _name(block: Block) -> str:
    return UNKNOWN.sub("", block.text).replace(GONE, "").strip()


def _without_own_text(found: Sequence[Block], removed: frozenset[str]) -> list[Block]:
    kept, inside = [], False
    for block in found:
        if block.level:
            inside = _name(block) in removed
        if not inside:
            kept.append(block)
    return kept


def _without_trees(found: Sequence[Block], removed: frozenset[str]) -> list[Block]:
    kept, inside = [], 0  # the level of the removed section that the block is in
    for block in found:
        if block.level and (not inside or block.level <= inside):
            inside = block.level if _name(block) in removed else 0
        if not inside:
            kept.append(block)
    return kept


def _without_empty(found: Sequence[Block]) -> list[Block]:
    kept: list[Block] = []
    shallowest_below = 0  # the level of the next kept heading; 7 if text comes next
    for block in reversed(found):
        if not block.level:
            shallowest_below = 7
        elif block.level >= shallowest_below:
            continue
        else:
            shallowest_below = block.level
        kept.append(block)
    return kept[::-1]
