"""Splits wikitext without templates, links, tables and tags into headings and paragraphs; removes sections.

Sections that mainly hold lists are removed by their exact names, or combinations of these: "Notes and
references", "References, notes & sources". No heading in the 720 articles of WikiText-2 is such a name.
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
OWN_LINE_STARTS = ("*", "#", ":", ";", " ", "----")
SPACES_AND_MARKS = f" \t{GONE}{BLOCK}{BOX}"
TERM_COLON = re.compile(r" ?: | :")
_SWITCHES = sorted({name for wiki in LANGUAGES.values() for name in wiki.switches}, key=len, reverse=True)
MAGIC_WORDS = re.compile(
    r"(?i:__(?:NO|FORCE)?TOC__|__NO(?:GALLERY|EDITSECTION|TITLECONVERT|TC|CONTENTCONVERT|CC)__)|"
    r"__(?:NOINDEX|NOGLOBAL|NEWSECTIONLINK|NONEWSECTIONLINK|INDEX|STATICREDIRECT|HIDDENCAT|DISAMBIG|"
    r"EXPECTUNUSEDCATEGORY|END|START)__|"
    rf"[_＿]{{2}}(?:{'|'.join(map(re.escape, _SWITCHES))})[_＿]{{2}}"
)
QUOTES = re.compile(r"('{2,})")
MARKUP_WIDTHS = frozenset([2, 3, 5])  # of runs of apostrophes without one that is text


class Block(NamedTuple):
    """A heading or a paragraph (level 0)."""

    text: str
    level: int = 0
    listed: bool = False  # an item of a list
    # Only in HTML; a list of references or a citation that is left out is a source without text.
    source: bool = False  # it has a citation, or a link out of the wiki
    linked: bool = False  # only links to other pages


def split_blocks(text: str, switches: tuple[str, ...] = ()) -> list[Block]:
    r"""Return the headings and paragraphs of a text, in order.

    `switches` are words between double underscores that the wiki has in addition to those of MAGIC_WORDS.

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
    """Yield the lines, with blank ones around those that contain a block, and in place of the block.

    As in MediaWiki's `BlockLevelPass`, a line that contains a `<div>`, `<figure>` or `<table>` closes the
    paragraph before it, and the line after it begins a new one. Items and headings stay on one line.
    """
    for line in lines:
        if BLOCK not in line and BOX not in line:
            yield line
        elif not line.strip(SPACES_AND_MARKS):
            yield from ("", GONE, "") if GONE in line else ("",)  # a list of references counts
        elif BLOCK in line and _joins_neighbours(line):
            for piece in remove_quotes(line).replace(BOX, GONE).split(BLOCK):
                yield from ("", piece)
            yield ""
        else:
            yield line.replace(BLOCK, GONE).replace(BOX, GONE)


def _paragraphs(lines: Iterable[str]) -> Iterator[Block]:
    """Yield a block per paragraph, which joins neighbouring lines, and per line that stands alone."""
    paragraph: list[str] = []
    for line in lines:
        is_blank = not line or line.isspace()
        if not is_blank and _joins_neighbours(line):
            paragraph.append(remove_quotes(line))
            continue
        if paragraph:
            yield from split_lines(" ".join(paragraph))
            paragraph = []
        if not is_blank:
            yield from _own_line_blocks(line)
    yield from split_lines(" ".join(paragraph))


def _joins_neighbours(line: str) -> bool:
    if line[0] == "=":
        return HEADING.fullmatch(line) is None
    return not line.startswith(OWN_LINE_STARTS)


def split_lines(text: str, **properties: bool) -> Iterator[Block]:
    """Yield a block per line of a paragraph, without its indentation, as of verses inside <poem>."""
    for piece in text.split(BREAK):
        if line := piece.strip().lstrip(": "):
            yield Block(text=line, **properties)


def _own_line_blocks(line: str) -> Iterator[Block]:
    """Yield the blocks of a line that stands alone: a heading, a list item, an indented line."""
    if line.startswith("=") and (match := HEADING.fullmatch(line)):
        yield _heading(match)
    elif match := LIST_MARKS.match(line):
        item = remove_quotes(line[match.end() :])
        listed = match[0][0] in "*#"
        for part in _term_and_definition(item) if ";" in match[0] else [item]:
            yield from split_lines(part, listed=listed)
    else:  # an indented line, or what follows a horizontal rule
        yield from split_lines(remove_quotes(line.lstrip("-")))


def _term_and_definition(item: str) -> list[str]:
    """Return the two parts of `; term: definition`; a term alone loses its colon."""
    parts = TERM_COLON.split(item, maxsplit=1)
    return parts if len(parts) > 1 else [item.rstrip(": ")]


def _heading(match: re.Match[str]) -> Block:
    """Return a heading at level 2 or deeper; level 1 is for the title only.

    If one side has more equals signs than the other, the extra ones are text, as in MediaWiki.
    """
    level = min(len(match[1]), len(match[3]))
    text = match[1][level:] + match[2] + match[3][level:]
    return Block(text=remove_quotes(text).replace(BREAK, " ").strip(), level=max(level, 2))


def remove_quotes(line: str) -> str:
    """Return the line without the apostrophes that mark italics and bold.

    Two apostrophes are italics, three are bold, five are both; a fourth one, and those over five, are text.
    If bold and italics are both unbalanced, one run of three is an apostrophe and italics (`L'''étoile''`).

    >>> remove_quotes("'''Tokyo''' is ''big''"), remove_quotes("l'''étoile''"), remove_quotes("''''s''''")
    ('Tokyo is big', "l'étoile", "'s'")
    """
    if "''" not in line:
        return line.replace(SEAM, "") if SEAM in line else line
    texts_and_runs = QUOTES.split(line)
    widths = [len(run) for run in texts_and_runs[1::2]]
    bold = sum(width >= 3 for width in widths)
    italics = sum(width == 2 or width >= 5 for width in widths)
    if not (bold % 2 and italics % 2) and MARKUP_WIDTHS.issuperset(widths):
        return "".join(texts_and_runs[::2]).replace(SEAM, "")
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
    """Return the index of the run with the apostrophe: after a one-letter word, a longer one, or a space."""
    candidates = [index for index, run in enumerate(runs) if len(run[0]) in {3, 4}]

    def rank(index: int) -> int:
        before = line[: runs[index].start()].rstrip(SEAM)[-2:]
        if before[-1:] == " ":
            return 2
        return 0 if before[:-1] == " " else 1

    return min(candidates, key=rank, default=None)


# Between two names in a heading, such as a comma, or "and" in the languages of `wiki.languages`.
NAME_SEPARATOR = re.compile(r"\s*(?:[,;/&、]|\b(?:and|und|et|y|e|en|i|och|и)\b|及|と)\s*")
HEADING_LINE = re.compile(r"^=.*=[ \t]*$", re.MULTILINE)
OPENINGS_AND_CLOSINGS = (("{{", "}}"), ("[[", "]]"), ("{|", "|}"), ("efbegin", "efend"))
VOID_TAG = re.compile(r"<(?:br|hr|wbr)\b")


def select_sections(
    blocks: Sequence[Block], *, names: Sequence[str], mode: str, sources_marked: bool = False
) -> list[Block]:
    """Return the blocks that stay in the article.

    `official` removes the heading and own text of a section with one of these names; its subsections stay,
    and so does a heading whose text was only tables. `clean` also removes subsections and empty headings. If
    no names are known or the blocks have `sources_marked`, the content decides, see `_list_sections`.

    >>> blocks = [Block(text="Notes", level=2), Block(text="a")]
    >>> blocks += [Block(text="Sources A", level=3), Block(text="b")]
    >>> [block.text for block in select_sections(blocks, names=["Notes"], mode="official")]
    ['Sources A', 'b']
    >>> select_sections(blocks, names=["Notes"], mode="clean")
    []
    """
    is_removed = name_matcher(names)
    removed = {place for place, block in enumerate(blocks) if block.level and is_removed(_text(block))}
    if sources_marked or not names:
        removed = _list_sections(blocks, removed, sources_marked)
    if mode == "official":
        return _without_sections(blocks, removed, deep=False)
    return _without_empty(_without_sections(blocks, removed, deep=True))


def cut_lists(text: str, names: Sequence[str]) -> str:
    r"""Return the trimmed wikitext without the own text of sections that `select_sections` removes by name.

    Such text is a third of a page, and extraction is faster without it. A text whose markup is not balanced
    stays, because the rest of the page may depend on it.

    >>> cut_lists("a\n== Notes ==\n* b\n== C ==\nd", ["Notes"])
    'a\n== Notes ==\n== C ==\nd'
    """
    is_removed = name_matcher(names)
    kept, position = [], 0
    headings = [*HEADING_LINE.finditer(text)]
    for heading, following in zip(headings, [*headings[1:], None], strict=False):
        start, end = heading.end() + 1, following.start() if following else len(text)
        if start < end and is_removed(heading[0].strip("= \t")) and _is_balanced(text[start:end]):
            kept.append(text[position:start])
            position = end
    return "".join([*kept, text[position:]])


def _is_balanced(text: str) -> bool:
    if text.count("<") != 2 * text.count("</") + len(VOID_TAG.findall(text)):
        return False
    return all(text.count(opening) == text.count(closing) for opening, closing in OPENINGS_AND_CLOSINGS)


def _text(block: Block) -> str:
    """Return the text of a block without marks."""
    text = UNKNOWN.sub("", block.text) if UNKNOWN_START in block.text else block.text
    return text.replace(GONE, "").strip()


def name_matcher(names: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that is True for a heading that is one of these names, or joins several of them.

    >>> is_removed = name_matcher(["Notes", "References"])
    >>> is_removed("Notes and references"), is_removed("Notes on style")
    (True, False)
    """
    exact, lower = frozenset(names), frozenset(name.lower() for name in names)

    def matches(heading: str) -> bool:
        if heading in exact:
            return True
        first, *following = NAME_SEPARATOR.split(heading)
        return (
            len(following) > 0 and first in exact and all(name.lower() in lower for name in following if name)
        )

    return matches


def _without_sections(blocks: Sequence[Block], removed: Set[int], *, deep: bool) -> list[Block]:
    """Return the blocks outside of removed sections and, if `deep`, of their subsections."""
    kept, removed_level = [], 0  # of the removed section around the block; 0 if there is none
    for place, block in enumerate(blocks):
        if block.level and (not deep or not removed_level or block.level <= removed_level):
            removed_level = block.level if place in removed else 0
        if not removed_level:
            kept.append(block)
    return kept


def _without_empty(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks without headings that have no text below them."""
    kept: list[Block] = []
    shallowest_below = 0  # the level of the next kept heading; 7 if text comes next
    for block in reversed(blocks):
        if not block.level:
            shallowest_below = 7 if _text(block) else shallowest_below
        elif block.level >= shallowest_below:
            continue
        else:
            shallowest_below = block.level
        kept.append(block)
    return kept[::-1]


# Limits for sections that primarily feature lists, by their content. How often they are right in English,
# whose names of such sections are known: `docs/dataset-card.md`.
MIN_ITEM_SHARE: Final = 0.5  # of the words: in items of lists, or in sources
MIN_SOURCE_SHARE: Final = 0.5  # of the items: sources or names
MAX_NAME_WORDS, MAX_NAME_CHARACTERS = 12, 100  # Chinese and others have no spaces
MIN_SOURCE_WORDS: Final = 10  # of a source with a year
MAX_LINK_WORDS: Final = 20  # of links before the references: longer lists are of works or places
MAX_LABEL_CHARACTERS: Final = 20  # over a list of references, such as a word in bold
# Of the words of an article: a page with more of them in such sections is a list itself.
MAX_REMOVED_SHARE: Final = 0.5
SOURCE = re.compile(r"ISBN|ISSN|OCLC|\bdoi\b|https?:|\bpp?\. ?\d")
ADDRESS = re.compile(r"https?://\S+")  # a paragraph with more is text
EVENT = re.compile(r"\d{1,4}\b.{0,10}?(?:[-–—]|&[nm]dash;)")  # of a chronology, also of births and deaths
NOT_IN_NAMES = re.compile(f"[\\d{UNKNOWN_START}{GONE}]")
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
# The kinds of sections: nothing to see, citations that are left out, references, only sources, only links, a
# list that can be of sources or of names, a list of anything else, running text.
EMPTY, CITED, REFERENCES, SOURCES, LINKS, LIST, OTHER_LIST, PROSE = range(8)


def _list_sections(blocks: Sequence[Block], named: Set[int], sources_marked: bool) -> set[int]:
    """Return the places of the headings of list sections; the headings in `named` have names of such.

    At the end of an article these are its references, every list after them, and before them lists of sources
    and a short list of links. Elsewhere they have nothing but sources, or such a name and no running text.
    """
    starts = [place for place, block in enumerate(blocks) if block.level]
    sections = [blocks[start + 1 : end] for start, end in pairwise([*starts, len(blocks)])]
    kinds = [_kind(section, sources_marked) for section in sections]
    numbers = range(len(sections))
    names = {number for number in numbers if starts[number] in named}
    body = (number for number in reversed(numbers) if kinds[number] > LIST and number not in names)
    tail = numbers[1 + next(body, -1) :]
    with_references = (number for number in tail if _has_references(sections[number], sources_marked))
    first = next(with_references, len(kinds))
    removed = {number for number in names if number in tail or kinds[number] != PROSE}
    if sources_marked:
        removed |= {number for number in numbers if kinds[number] in {CITED, REFERENCES}}
    removed |= {number for number in tail if number > first or kinds[number] in {REFERENCES, SOURCES}}
    candidates = [number for number in tail if number < first and number not in removed and kinds[number]]
    if candidates and first < len(kinds) and kinds[candidates[-1]] == LINKS:
        removed |= {candidates[-1]} if _words(sections[candidates[-1]]) <= MAX_LINK_WORDS else set()
    removed |= _empty_parents([blocks[start].level for start in starts], kinds, removed, sources_marked)
    unnamed_words = sum(_words(sections[number]) for number in removed - names)
    # Most articles have none, so the words of the whole article need not be counted.
    is_list = unnamed_words > 0 and unnamed_words > MAX_REMOVED_SHARE * _words(blocks)
    return {starts[number] for number in (names if is_list else removed)}


def _empty_parents(
    levels: Sequence[int], kinds: Sequence[int], removed: Set[int], sources_marked: bool
) -> set[int]:
    """Return the numbers of the sections that only have subsections, all of them removed."""
    parents = set[int]()
    next_kept = next_level = 0  # the level of the next heading that stays, and of the next one
    for number in reversed(range(len(levels))):
        level = levels[number]
        # In wikitext, perhaps references that only a template shows.
        is_last = next_kept == 0 and not sources_marked
        if kinds[number] == EMPTY and next_kept <= level and (next_level > level or is_last):
            parents.add(number)
        next_kept = next_kept if number in removed or number in parents else level
        next_level = level
    return parents


def _kind(section: Sequence[Block], sources_marked: bool) -> int:
    texts = [block for block in section if _text(block)]
    items = [block for block in texts if block.listed or _is_source(block)]
    characters = sum(len(_text(block)) for block in texts)
    if characters <= MAX_LABEL_CHARACTERS and _has_references(section, sources_marked):
        return REFERENCES
    if not texts:
        return CITED if any(block.source for block in section) else EMPTY
    if not items:
        return PROSE
    if _words(items) < MIN_ITEM_SHARE * _words(texts):
        return PROSE
    if all(map(_is_source, items)):
        return SOURCES
    if all(block.linked if sources_marked else _is_name(block) for block in texts):
        return LINKS
    similar = sum(map(_is_source_or_name, items))
    return LIST if similar >= MIN_SOURCE_SHARE * len(items) else OTHER_LIST


def _has_references(section: Sequence[Block], sources_marked: bool) -> bool:
    """Return True if the section has a list of references; in wikitext that is a hole and nothing else."""
    if sources_marked:
        return any(block.source and not block.listed and not block.text for block in section)
    return len(section) > 0 and not any(map(_text, section))


def _is_source(block: Block) -> bool:
    return block.source or (SOURCE.search if block.listed else ADDRESS.fullmatch)(_text(block)) is not None


def _is_source_or_name(item: Block) -> bool:
    if EVENT.match(item.text):
        return False
    if _is_source(item) or UNKNOWN.search(item.text) or GONE in item.text:  # a template, an address
        return True
    if YEAR.search(item.text):
        return len(item.text.split()) >= MIN_SOURCE_WORDS
    return _is_name(item)


def _is_name(item: Block) -> bool:
    is_short = len(item.text) <= MAX_NAME_CHARACTERS and len(item.text.split()) <= MAX_NAME_WORDS
    return is_short and item.listed and not NOT_IN_NAMES.search(item.text)


def _words(blocks: Sequence[Block]) -> int:
    return sum(len(_text(block).split()) for block in blocks)
