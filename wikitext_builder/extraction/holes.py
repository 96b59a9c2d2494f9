"""Closes the holes of calls without a text, by the structure of the line and not by names of templates.

A hole between sentences, or of a mark behind a word, is closed. Any other one is of words that its sentence
cannot do without, and the smallest whole around it goes: the part of an enumeration, the clause, the
parentheses, the sentence, the item of a list. See decision 15.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

import regex

from wikitext_builder.extraction.markers import BLOCK, BOX, GONE, SEAM, UNKNOWN, UNKNOWN_END, UNKNOWN_START

NOTHING, CLAUSE, PARENTHESES, SENTENCE, ITEM = WENT = ("nothing", "clause", "parentheses", "sentence", "item")

UNSEEN = f"{GONE}{BLOCK}{BOX}{SEAM}"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai to Chinese
# Two patterns, so that each stays linear: a sentence ends with a mark, closing marks, and a space before a
# capital, a number or an opening mark; in Chinese and Japanese, with a full stop of its own.
END = regex.compile(
    rf"[.!?…](?:[»”\"“')\]{UNSEEN}]|{UNKNOWN.pattern})*(?=\s+[^\W\p{{Ll}}_]|\s+[«„“\"'(¿¡\x02\x03]|\s*$)"
    r"|[。！？][」』）”]*"
)
# A dot after these is of an abbreviation or an ordinal: one letter, a small number, "St.", "ca.", "bzw."
NO_END = regex.compile(
    r"(?:^|[\s(\[«„“\"'/-])(?:[^\W\d_]|\d{1,2}|\p{Ll}{2}|[b-df-hj-np-tv-xzб-дж-зк-нп-тф-щ]{3}|"
    r"etc|hab|usw|тыс|approx|\p{Lu}\p{Ll}{1,2})$|\.[^\W\d_]$"
)
SHORT = re.compile(r"(?:^|\W)[^\W\d_]{1,4}$")  # before a dot and a hole: most are abbreviations
WINDOW = 40  # characters around a hole that decide
LONGEST_WORD = 8  # characters before a dot that NO_END looks at
LONGEST_PARENTHESES = 300  # characters before and after a hole
LONGEST_SENTENCE = 1000  # characters in which a clause is looked for
# Before a mark: a letter or a digit, what closes, or a point. `$`, `L'` and `pre-` ask for a word instead.
MARKED = re.compile(rf"(?:[^\W{UNSPACED}]|[)\]}}%.,;!?…。！？，；])$|[^\s\w][\"'”’»“]$|\w[\"”»“]$")
INITIAL = re.compile(r"(?:^|[\s(,])[^\W\d_]\.$")  # `c.`, `r.`
AFTER_MARK = re.compile(r"$|[\s.,;:!?…)\]»”\"。！？，；、）」]")
AFTER_SENTENCE = regex.compile(r"\s*(?:$|[^\W\p{Ll}_]|[«„“\"¿¡])")
WHOLE = regex.compile(r"(?:[)\]\"”»]|(?<!\S)(?:\p{Lu}\S*\w|\d{4}))\s*$")  # can end a line: a name, a year
BRACKET = re.compile(r"[()\[\]（）]")
OPENING, CLOSING = "([（", ")]）"
CJK = re.compile(f"[{UNSPACED}]")
PARENTHESES_INSIDE = re.compile(r"\([^()]*\)")
COMMA = re.compile(r"[,;](?=[\s\x02\x03\x06]|$)|[；，、،؛]")
ENTITY = re.compile(r"&#?\w{1,31};")
SEMICOLONS = ";；؛"
WORD = re.compile(r"[^\W_]+")
FEW = 3  # words behind the hole of a clause that can go
MANY = 7  # words of an aside that stays without its last clause
ENOUGH = 4  # words before the last clause, without which no sentence stays


class Hole(NamedTuple):
    """Neighbouring calls without a text, and how many they are."""

    start: int
    end: int
    calls: int


class Cut(NamedTuple):
    """What goes, and what it is."""

    start: int
    end: int
    kind: str


def close_calls(text: str, *, listed: bool = False, cut: bool = True) -> tuple[str, list[str]]:
    r"""Return the text without words that lack those of an unknown call, and what went with each call.

    >>> text = "It is old. With \x031\x04 people it is large (\x032\x04 in 2020). It has a river.\x033\x04"
    >>> close_calls(text)
    ('It is old.\x02\x02 It has a river.\x02', ['sentence', 'parentheses', 'nothing'])
    >>> close_calls("It is a town (\x031\x04 in 2020), \x032\x04 north of Ayr, and fine.")
    ('It is a town\x02\x02 and fine.', ['parentheses', 'clause'])
    """
    if not cut:
        return UNKNOWN.sub(GONE, text), [NOTHING] * text.count(UNKNOWN_START)
    whole = " ".join(text.split())
    text = ENTITY.sub(_as_long, whole) if "&" in whole else whole
    marks, ends = _ends(text)
    cuts: list[Cut] = []
    went: list[str] = []
    for hole in _holes(text):
        place = bisect_right(ends, hole.start) - 1
        start, end = ends[place], ends[bisect_left(ends, hole.end)]
        kind = NOTHING
        if _misses_words(text, hole, start, listed=listed):
            sentence = Cut(start, end, ITEM if listed and end - start == len(text) else SENTENCE)
            cuts.append(_smallest(text, hole, sentence, marks[bisect_left(ends, hole.end)]))
            kind = cuts[-1].kind
        went += [kind] * hole.calls
    kept, position = [], 0
    for start, end, _kind in sorted(cuts):
        kept += [whole[position : max(start, position)], GONE]
        position = max(end, position)
    return UNKNOWN.sub(GONE, "".join([*kept, whole[position:]])), went


def _as_long(entity: re.Match[str]) -> str:
    """Return the character of an entity, after as many unseen marks as make it as long."""
    return html.unescape(entity[0])[-1:].rjust(len(entity[0]), SEAM)


def _holes(text: str) -> list[Hole]:
    holes: list[Hole] = []
    for mark in UNKNOWN.finditer(text):
        if holes and not text[holes[-1].end : mark.start()].strip(f" {UNSEEN}"):
            holes[-1] = Hole(holes[-1].start, mark.end(), holes[-1].calls + 1)
        else:
            holes.append(Hole(mark.start(), mark.end(), 1))
    return holes


def _ends(text: str) -> tuple[list[int], list[int]]:
    """Return where the last marks of sentences are, and where these begin and end: never in parentheses."""
    marks, ends = [0], [0]
    inside = [found.span() for found in PARENTHESES_INSIDE.finditer(text)]
    for match in END.finditer(text):
        place = bisect_left(inside, match.span()) - 1
        if place >= 0 and match.end() < inside[place][1]:
            continue
        before = text[max(0, match.start() - LONGEST_WORD) : match.start()]
        after = text[match.end() : match.end() + WINDOW].lstrip()
        before_hole = after.startswith(UNKNOWN_START) and not AFTER_SENTENCE.match(UNKNOWN.sub("", after))
        if match[0][0] != "." or not (SHORT if before_hole else NO_END).search(before):
            marks.append(match.start())
            ends.append(match.end())
    return [*marks, len(text)], [*ends, len(text)]


def _misses_words(text: str, hole: Hole, start: int, *, listed: bool) -> bool:
    """Return True if a sentence, which begins at `start`, cannot do without the words of the calls."""
    before = text[max(start, hole.start - WINDOW) : hole.start].rstrip(UNSEEN)
    after = text[hole.end : hole.end + WINDOW].lstrip(UNSEEN)
    if not before.strip():  # it begins the sentence
        is_number = listed and after.lstrip()[:1].isdigit()
        return is_number or not AFTER_SENTENCE.match(after) or (not start and CJK.match(after) is not None)
    if MARKED.search(before) and AFTER_MARK.match(after):
        return INITIAL.search(before) is not None
    return len(text) > hole.end + len(after) or after.strip(f" {UNSEEN}") != "" or not WHOLE.search(before)


def _smallest(text: str, hole: Hole, sentence: Cut, mark: int) -> Cut:
    """Return the smallest whole around a hole, in a sentence whose last mark is known."""
    if (found := _parentheses(text, hole)) is not None:
        start, end = found
        parentheses = Cut(start - (text[start - 1 : start] == " "), end, PARENTHESES)
        return _clause(text, hole, Cut(start + 1, end - 1, PARENTHESES)) or parentheses
    if mark - sentence.start > LONGEST_SENTENCE:
        return sentence
    return _clause(text, hole, sentence._replace(end=mark)) or sentence


def _parentheses(text: str, hole: Hole) -> tuple[int, int] | None:
    """Return where the innermost parentheses around the hole are."""
    first, last = max(0, hole.start - LONGEST_PARENTHESES), hole.end + LONGEST_PARENTHESES
    start = _unpaired([*BRACKET.finditer(text, first, hole.start)][::-1], CLOSING)
    end = _unpaired([*BRACKET.finditer(text, hole.end, last)], OPENING)
    return None if start is None or end is None else (start.start(), end.end())


def _unpaired(brackets: list[re.Match[str]], paired: str) -> re.Match[str] | None:
    """Return the first bracket that none of the `paired` ones before it belongs to."""
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket[0] in paired else -1
        if depth < 0:
            return bracket
    return None


def _clause(text: str, hole: Hole, whole: Cut) -> Cut | None:
    """Return the clause of a hole in parentheses, a sentence or an item, if the rest can do without it."""
    start, end, kind = whole
    shown = PARENTHESES_INSIDE.sub(lambda found: "x" * len(found[0]), text[start:end])
    points = [start + match.start() for match in COMMA.finditer(shown)]
    left, right = _around(points, hole)
    clause = text[start if left is None else left + 1 : right or end]
    ahead, behind = _words(clause.partition(UNKNOWN_START)[0]), _words(clause.rpartition(UNKNOWN_END)[2])
    if kind == PARENTHESES and not UNKNOWN.sub("", clause).strip(f" {UNSEEN}"):
        if left is None and right is not None:
            return Cut(start, right + 1 + (text[right + 1 : right + 2] == " "), CLAUSE)
        return None if left is None else Cut(left, right or end, CLAUSE)
    if kind == PARENTHESES and left is not None and right is None and _words(shown[: left - start]) >= MANY:
        return Cut(left, end, CLAUSE)
    if kind != PARENTHESES and left is not None and text[left] == "," and ahead <= 1:
        enough = kind == ITEM or _words(shown[: left - start]) >= ENOUGH
        if right is None and not behind and enough:
            return Cut(left, end, CLAUSE)
        if right is not None and ((behind <= FEW and enough) or (ahead, behind) == (0, 1)):
            both = text[right] == "," and kind != ITEM and (ahead + behind or len(points) == 2)
            return Cut(left, right + bool(both), CLAUSE)
    left, right = _around([point for point in points if text[point] in SEMICOLONS], hole)
    if left is None and right is not None and kind == PARENTHESES:
        return Cut(start, right + 1 + (text[right + 1 : right + 2] == " "), CLAUSE)
    return None if left is None else Cut(left, right or end, CLAUSE)


def _around(points: list[int], hole: Hole) -> tuple[int | None, int | None]:
    """Return the last point before a hole and the first one after it."""
    place = bisect_left(points, hole.start)
    left = points[place - 1] if place else None
    return left, next((one for one in points[place:] if one > hole.end - 1), None)


def _words(text: str) -> int:
    return len(WORD.findall(text))
