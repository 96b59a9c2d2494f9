"""Removes sections that primarily feature lists, by their exact names.

A name that joins several such names is one too: "Notes and references", "References, notes & sources". No
heading of the 720 articles of WikiText-2 is such a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from wikitext_builder.extraction.blocks import Block
from wikitext_builder.extraction.markers import GONE, UNKNOWN

# Between two names of sections; the words of the Wikipedias that `wiki.languages` knows.
JOINT = re.compile(r"\s*(?:[,;/&、]|\b(?:and|und|et|y|e|en|i|och|и)\b|及|と)\s*")
HEADINGS = re.compile(r"^=.*=[ \t]*$", re.MULTILINE)
PAIRS = (("{{", "}}"), ("[[", "]]"), ("{|", "|}"), ("efbegin", "efend"))
ALONE = re.compile(r"<(?:br|hr|wbr)\b")
SECTION_MODES = ("official", "clean")


def select_sections(found: Sequence[Block], *, removed: Sequence[str], mode: str) -> list[Block]:
    """Return the blocks that stay in the article.

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
        return _without_own_text(found, is_removed_by(removed))
    return _without_empty(_without_trees(found, is_removed_by(removed)))


def cut_lists(text: str, removed: Sequence[str]) -> str:
    r"""Return the trimmed wikitext without the own text of sections that `select_sections` removes.

    A third of a page is such text, and need not be read. A text that opens what it does not close, or
    closes what it does not open, stays: the rest of the page may depend on it.

    >>> cut_lists("a\n== Notes ==\n* b\n== C ==\nd", ["Notes"])
    'a\n== Notes ==\n== C ==\nd'
    """
    is_removed = is_removed_by(removed)
    kept, position = [], 0
    headings = [*HEADINGS.finditer(text)]
    for heading, following in zip(headings, [*headings[1:], None], strict=False):
        start, end = heading.end() + 1, following.start() if following else len(text)
        if start < end and is_removed(heading[0].strip("= \t")) and _is_closed(text[start:end]):
            kept.append(text[position:start])
            position = end
    return "".join([*kept, text[position:]])


def _is_closed(text: str) -> bool:
    tags = text.count("<") == 2 * text.count("</") + len(ALONE.findall(text))
    return tags and all(text.count(opening) == text.count(closing) for opening, closing in PAIRS)


def _name(block: Block) -> str:
    return UNKNOWN.sub("", block.text).replace(GONE, "").strip()


def is_removed_by(names: Sequence[str]) -> Callable[[str], bool]:
    """Return whether a heading is one of these names, or joins several; the first has its capital.

    >>> is_removed = is_removed_by(["Notes", "References"])
    >>> is_removed("Notes and references"), is_removed("Notes on style")
    (True, False)
    """
    exact, lower = frozenset(names), frozenset(name.lower() for name in names)

    def is_one(name: str) -> bool:
        if name in exact:
            return True
        first, *others = JOINT.split(name)
        return bool(others) and first in exact and all(one.lower() in lower for one in others if one)

    return is_one


def _without_own_text(found: Sequence[Block], is_removed: Callable[[str], bool]) -> list[Block]:
    kept, inside = [], False
    for block in found:
        if block.level:
            inside = is_removed(_name(block))
        if not inside:
            kept.append(block)
    return kept


def _without_trees(found: Sequence[Block], is_removed: Callable[[str], bool]) -> list[Block]:
    kept, inside = [], 0  # the level of the removed section that the block is in
    for block in found:
        if block.level and (not inside or block.level <= inside):
            inside = block.level if is_removed(_name(block)) else 0
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
