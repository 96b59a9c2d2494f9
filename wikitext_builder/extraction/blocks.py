"""Splits wikitext without templates, links, tables and tags into headings and paragraphs; removes sections.

Sections that mainly hold lists are removed by their exact names, or combinations of these: "Notes and
references", "References, notes & sources". No heading of the 720 articles of WikiText-2 is such a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from wikitext_builder.extraction.markers import BLOCK, BOX, BREAK, GONE, SEAM, UNKNOWN, UNKNOWN_START
from wikitext_builder.extraction.markup import replace_external_links
from wikitext_builder.wiki.languages import LANGUAGES

HEADING = re.compile(r"(={1,6})(.+?)(={1,6})[ \t\x02]*")
LIST_MARKS = re.compile(r"[*#:;]+[ \t]*")
OWN_LINE = ("*", "#", ":", ";", " ", "----")
NO_TEXT = f" \t{GONE}{BLOCK}{BOX}"
FIRST_OF_OWN_LINE = frozenset("=*#:; -")
TERM = re.compile(r" ?: | :")
_SWITCHES = sorted({switch for one in LANGUAGES.values() for switch in one.switches}, key=len, reverse=True)
MAGIC_WORDS = re.compile(
    r"(?i:__(?:NO|FORCE)?TOC__|__NO(?:GALLERY|EDITSECTION|TITLECONVERT|TC|CONTENTCONVERT|CC)__)|"
    r"__(?:NOINDEX|NOGLOBAL|NEWSECTIONLINK|NONEWSECTIONLINK|INDEX|STATICREDIRECT|HIDDENCAT|DISAMBIG|"
    r"EXPECTUNUSEDCATEGORY|END|START)__|"
    rf"[_＿]{{2}}(?:{'|'.join(map(re.escape, _SWITCHES))})[_＿]{{2}}"
)
QUOTES = re.compile(r"('{2,})")
ORDINARY_QUOTES = frozenset([2, 3, 5])  # lengths of runs that contain no apostrophe of the text


class Block(NamedTuple):
    """A heading or a paragraph (level 0)."""

    text: str
    level: int = 0
    listed: bool = False  # it is an item of a list
    # Of HTML only. A list of references or a citation that is left out is a source without text.
    source: bool = False  # it has a citation, or a link out of the wiki
    linked: bool = False  # it is a link to another page and nothing else


def split_blocks(text: str, switches: tuple[str, ...] = ()) -> list[Block]:
    r"""Return the headings and paragraphs of a text, in order.

    `switches` are words between double underscores that the wiki itself names, beside those that we know.

    >>> [(block.level, block.text) for block in split_blocks("a\nb\n\n== ''C'' ==\n* d\n;e: f")]
    [(0, 'a b'), (2, 'C'), (0, 'd'), (0, 'e'), (0, 'f')]
    """
    if "__" in text or "＿＿" in text:
        text = MAGIC_WORDS.sub("", text)
        text = _switch(switches).sub("", text) if switches else text
    lines = replace_external_links(text).split("\n")
    return list(_paragraphs(_set_apart(lines) if BLOCK in text or BOX in text else lines))


@cache
def _switch(words: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(f"__(?:{'|'.join(map(re.escape, longest_first))})__")


def _set_apart(lines: list[str]) -> Iterator[str]:
    """Return the lines, with blank ones around those that contain a block, and at its place.

    As in MediaWiki's `BlockLevelPass`: a line with a `<div>`, `<figure>` or `<table>` in it closes the
    paragraph before it, and the line after it begins a new one. Items and headings stay on one line.
    """
    for line in lines:
        if BLOCK not in line and BOX not in line:
            yield line
        elif not line.strip(NO_TEXT):
            yield from ("", GONE, "") if GONE in line else ("",)  # a list of references counts
        elif BLOCK in line and (line[0] not in FIRST_OF_OWN_LINE or _joins_neighbours(line)):
            for piece in remove_quotes(line).replace(BOX, GONE).split(BLOCK):
                yield from ("", piece)
            yield ""
        else:
            yield line.replace(BLOCK, GONE).replace(BOX, GONE)


def _paragraphs(lines: Iterable[str]) -> Iterator[Block]:
    """Neighbouring lines of text are one paragraph; each list item and each indented line is one."""
    pending: list[str] = []
    for line in lines:
        blank = not line or line.isspace()
        if not blank and (line[0] not in FIRST_OF_OWN_LINE or _joins_neighbours(line)):
            pending.append(remove_quotes(line))
            continue
        if pending:
            yield from _broken(" ".join(pending))
            pending = []
        if not blank:
            yield from _own_line_blocks(line)
    yield from _broken(" ".join(pending))


def _joins_neighbours(line: str) -> bool:
    if line.startswith("="):
        return HEADING.fullmatch(line) is None
    return not line.startswith(OWN_LINE)


def _broken(line: str, *, listed: bool = False) -> Iterator[Block]:
    for piece in line.split(BREAK):
        if text := piece.strip().lstrip(": "):  # verses indented inside <poem>
            yield Block(text=text, listed=listed)


def _own_line_blocks(line: str) -> Iterator[Block]:
    """Return the blocks of a line that stands alone: a heading, a list item, an indented line."""
    if line.startswith("=") and (match := HEADING.fullmatch(line)):
        yield _heading(match)
    elif match := LIST_MARKS.match(line):
        item = remove_quotes(line[match.end() :])
        listed = match[0][0] in "*#"
        for term in _term_and_definition(item) if ";" in match[0] else [item]:
            yield from _broken(term, listed=listed)
    elif line.startswith(" "):
        yield from _broken(remove_quotes(line))
    elif line.startswith("----"):
        yield from _broken(remove_quotes(line.lstrip("-")))


def _term_and_definition(item: str) -> list[str]:
    """Return the two parts of `; term: definition`; a term alone loses its colon."""
    parts = TERM.split(item, maxsplit=1)
    return parts if len(parts) > 1 else [item.rstrip(": ")]


def _heading(match: re.Match[str]) -> Block:
    """Return a heading at level 2 or deeper; level 1 is for the title only.

    If one side has more equals signs than the other, the extra ones are text, as in MediaWiki.
    """
    level = min(len(match[1]), len(match[3]))
    text = match[1][level:] + match[2] + match[3][level:]
    return Block(text=remove_quotes(text).replace(BREAK, " ").strip(), level=max(level, 2))


def remove_quotes(line: str) -> str:
    """Return the line without its marks of italics and bold.

    Two apostrophes are italics, three are bold, five are both; a fourth one, and those over five, are text.
    If bold and italics are both unbalanced, one run of three is an apostrophe and italics (`L'''étoile''`).

    >>> remove_quotes("'''Tokyo''' is ''big''"), remove_quotes("l'''étoile''"), remove_quotes("''''s''''")
    ('Tokyo is big', "l'étoile", "'s'")
    """
    if "''" not in line:
        return line.replace(SEAM, "") if SEAM in line else line
    between = QUOTES.split(line)
    widths = [len(run) for run in between[1::2]]
    bold = sum(width >= 3 for width in widths)
    italics = sum(width == 2 or width >= 5 for width in widths)
    if not (bold % 2 and italics % 2) and ORDINARY_QUOTES.issuperset(widths):
        return "".join(between[::2]).replace(SEAM, "")
    runs = list(QUOTES.finditer(line))
    literal = [1 if width == 4 else max(width - 5, 0) for width in widths]
    if bold % 2 and italics % 2:
        index = _apostrophe_before_italics(line, runs)
        if index is not None:
            literal[index] += 1
    pieces, position = [], 0
    for run, apostrophes in zip(runs, literal, strict=True):
        pieces += [line[position : run.start()], "'" * apostrophes]
        position = run.end()
    return "".join([*pieces, line[position:]]).replace(SEAM, "")


def _apostrophe_before_italics(line: str, runs: list[re.Match[str]]) -> int | None:
    """Return the run of three with the apostrophe: after a one-letter word, a longer one, or a space."""
    candidates = [index for index, run in enumerate(runs) if len(run[0]) in {3, 4}]

    def rank(index: int) -> int:
        before = line[: runs[index].start()].rstrip(SEAM)[-2:]
        if before[-1:] == " ":
            return 2
        return 0 if before[:-1] == " " else 1

    return min(candidates, key=rank, default=None)


# Between two names of sections; the words of the Wikipedias that `wiki.languages` knows.
JOINT = re.compile(r"\s*(?:[,;/&、]|\b(?:and|und|et|y|e|en|i|och|и)\b|及|と)\s*")
HEADINGS = re.compile(r"^=.*=[ \t]*$", re.MULTILINE)
PAIRS = (("{{", "}}"), ("[[", "]]"), ("{|", "|}"), ("efbegin", "efend"))
ALONE = re.compile(r"<(?:br|hr|wbr)\b")


def select_sections(
    found: Sequence[Block], *, removed: Sequence[str], mode: str, marked: bool = False
) -> list[Block]:
    """Return the blocks that stay in the article.

    `official` removes the heading and the own text of a section; its sub-sections stay, and a heading stays
    if all of its text was tables. `clean` removes the sub-sections and empty headings too. If no names are
    known, or of `marked` blocks, the content decides, see `list_sections`.

    >>> found = [Block(text="Notes", level=2), Block(text="a")]
    >>> found += [Block(text="Sources A", level=3), Block(text="b")]
    >>> [block.text for block in select_sections(found, removed=["Notes"], mode="official")]
    ['Sources A', 'b']
    >>> select_sections(found, removed=["Notes"], mode="clean")
    []
    """
    is_removed = is_removed_by(removed)
    gone = {place for place, block in enumerate(found) if block.level and is_removed(_name(block))}
    if marked or not removed:
        gone = list_sections(found, gone, marked=marked)
    kept = _without(found, gone, trees=mode != "official")
    return kept if mode == "official" else _without_empty(kept)


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
    text = UNKNOWN.sub("", block.text) if UNKNOWN_START in block.text else block.text
    return text.replace(GONE, "").strip()


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


def _without(found: Sequence[Block], gone: Set[int], *, trees: bool) -> list[Block]:
    """Return the blocks outside of removed sections, which with `trees` include their sub-sections."""
    kept, inside = [], 0  # the level of the removed section that the block is in
    for place, block in enumerate(found):
        if block.level and (not trees or not inside or block.level <= inside):
            inside = block.level if place in gone else 0
        if not inside:
            kept.append(block)
    return kept


def _without_empty(found: Sequence[Block]) -> list[Block]:
    kept: list[Block] = []
    shallowest_below = 0  # the level of the next kept heading; 7 if text comes next
    for block in reversed(found):
        if not block.level:
            shallowest_below = 7 if _name(block) else shallowest_below
        elif block.level >= shallowest_below:
            continue
        else:
            shallowest_below = block.level
        kept.append(block)
    return kept[::-1]


# Sections that primarily feature lists, by their content. How often that is right in English, whose names
# are known: `docs/dataset-card.md`.
ITEMS: Final = 0.5  # of the words at least are in items of lists, or in sources
ALIKE: Final = 0.5  # of the items at least are sources or names
NAME_WORDS, NAME_LETTERS = 12, 100  # of a name at most; Chinese and others have no spaces
SOURCE_WORDS: Final = 10  # of a source with a year at least
LINK_WORDS: Final = 20  # at most before the references: longer lists are of works or places
LABEL: Final = 20  # characters at most over a list of references, such as a word in bold
LARGEST: Final = 0.5  # of the words of an article: a page that has more in such sections is a list itself
SOURCE = re.compile(r"ISBN|ISSN|OCLC|\bdoi\b|https?:|\bpp?\. ?\d")
ADDRESS = re.compile(r"https?://\S+")  # a paragraph with more is text
EVENT = re.compile(r"\d{1,4}\b.{0,10}?(?:[-–—]|&[nm]dash;)")  # of a chronology, also of births and deaths
NO_NAME = re.compile(f"[\\d{UNKNOWN_START}{GONE}]")
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
# What a section is: nothing that is shown, citations that are left out, references, sources alone, links
# alone, a list that can be of sources or of names, a list of anything else, or running text.
EMPTY, CITED, REFERENCES, SOURCES, LINKS, LIST, OTHER_LIST, PROSE = range(8)


def list_sections(found: Sequence[Block], named: Set[int] = frozenset(), *, marked: bool = False) -> set[int]:
    """Return the places of the headings of list sections; those in `named` have names of such.

    At the end of an article these are its references, each list after them, and before them lists of sources
    and a short one of links. Elsewhere they have nothing but sources, or such a name and no running text.
    `marked` blocks say what is a source, as those of HTML do.
    """
    starts = [place for place, block in enumerate(found) if block.level]
    sections = [found[start + 1 : end] for start, end in pairwise([*starts, len(found)])]
    kinds = [_kind(section, marked) for section in sections]
    names = {number for number, start in enumerate(starts) if start in named}
    every = range(len(kinds))
    tail = 1 + next(
        (number for number in reversed(every) if kinds[number] > LIST and number not in names), -1
    )
    first = next((number for number in every[tail:] if _has_references(sections[number], marked)), len(kinds))
    gone = {number for number in names if number >= tail or kinds[number] != PROSE}
    gone |= {number for number in every if marked and kinds[number] in {CITED, REFERENCES}}
    gone |= {number for number in every[tail:] if number > first or kinds[number] in {REFERENCES, SOURCES}}
    texts = (number for number in reversed(every[tail:first]) if number not in gone and kinds[number])
    before = next(texts, first)
    if before < first < len(kinds) and kinds[before] == LINKS and _words(sections[before]) <= LINK_WORDS:
        gone.add(before)
    following = below = 0  # the level of the next heading that stays, and of the next one
    for number in reversed(every):  # a heading of nothing but such sections
        level = found[starts[number]].level
        is_last = following == 0 and not marked  # perhaps references that only a template shows
        if kinds[number] == EMPTY and following <= level and (below > level or is_last):
            gone.add(number)
        following, below = following if number in gone else level, level
    unnamed = sum(_words(sections[number]) for number in gone - names)
    return {starts[number] for number in (names if unnamed and unnamed > LARGEST * _words(found) else gone)}


def _kind(section: Sequence[Block], marked: bool) -> int:
    texts = [block for block in section if _name(block)]
    items = [block for block in texts if block.listed or _is_source(block)]
    if sum(len(_name(block)) for block in texts) <= LABEL * marked and _has_references(section, marked):
        return REFERENCES
    if not texts:
        return CITED if any(block.source for block in section) else EMPTY
    if _words(items) < ITEMS * _words(texts):
        return PROSE
    if all(map(_is_source, items)):
        return SOURCES
    if all(block.linked if marked else _is_name(block) for block in texts):
        return LINKS
    return LIST if sum(map(_is_source_or_name, items)) >= ALIKE * len(items) else OTHER_LIST


def _has_references(section: Sequence[Block], marked: bool) -> bool:
    """Return True if a list of references stands there; in wikitext that is a hole, and nothing else."""
    if marked:
        return any(block.source and not block.listed and not block.text for block in section)
    return len(section) > 0 and not any(map(_name, section))


def _is_source(block: Block) -> bool:
    return block.source or (SOURCE.search if block.listed else ADDRESS.fullmatch)(_name(block)) is not None


def _is_source_or_name(item: Block) -> bool:
    if EVENT.match(item.text):
        return False
    if _is_source(item) or UNKNOWN.search(item.text) or GONE in item.text:  # a template, an address
        return True
    if YEAR.search(item.text):
        return len(item.text.split()) >= SOURCE_WORDS
    return _is_name(item)


def _is_name(item: Block) -> bool:
    is_short = len(item.text) <= NAME_LETTERS and len(item.text.split()) <= NAME_WORDS
    return is_short and item.listed and not NO_NAME.search(item.text)


def _words(found: Sequence[Block]) -> int:
    return sum(len(_name(block).split()) for block in found)
