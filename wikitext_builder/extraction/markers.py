"""Marks of what is no text, and the holes of calls without a text.

The marks are control characters, which trimmed wikitext does not contain. A hole between sentences, or of a
mark behind a word, is closed. Any other one is of words that its sentence cannot do without, and the smallest
whole around it goes, see decision 15: that is decided by the structure of the line and not by names of
templates.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

import regex

FORMULA = "\x01"  # a formula; its LaTeX follows in characters that no other text has, see `formula`
GONE = "\x02"  # something was removed from running text here
UNKNOWN_START, UNKNOWN_END = "\x03", "\x04"  # around the number of an unknown template call
BREAK = "\x05"  # a line break that does not end the block, such as <br>
BLOCK = "\x07"  # a picture or a box was removed here: it closes the paragraph wherever it stands
BOX = "\x08"  # a template was removed here: it closes the paragraph if nothing else stands in its line
MARGIN = "\x0e"  # a link that shows in the margin of the page, such as a category; only `LinkReader` gives it
SEAM = "\x06"  # separates apostrophes where a tag, a link or a template was between them
UNKNOWN = re.compile(f"{UNKNOWN_START}(\\d+){UNKNOWN_END}")
FORMULA_MARK = re.compile(f"{FORMULA}(?:[\U0010ff00-\U0010fffd]*\U0010ffff)?")  # with its LaTeX, if known
SHOWN_FORMULA = "<formula>"  # what the official files have in its place
# A list item that is citations alone is a source.
CITATIONS = re.compile(f"(?:{UNKNOWN.pattern}|[\\s.,;{GONE}{BLOCK}{BOX}])+")
CITATION = re.compile(r"\{\{\s*(?:[Cc]ite|[Cc]itation\s*[|}])")
ALONE = re.compile(f"(?:{UNKNOWN.pattern}|[\\s{GONE}{BLOCK}{BOX}])+")
# What is no value: names of templates and of parameters. What follows a colon is one, such as another page.
VALUES = re.compile(r"\{\{[^{}|:]*|\|(?:[^{}|=\[\]]*=)?")


def add_seams(text: str) -> str:
    """Return the text with marks that keep its apostrophes apart from those around it."""
    before = SEAM if text.startswith("'") else ""
    return f"{before}{text}{SEAM}" if text.endswith("'") else before + text


def formula(latex: str) -> str:
    """Return the mark of a formula. It hides the LaTeX from all that reads wikitext.

    Each byte is a character of a private plane, and another one ends it. `polish` removes these characters
    from all other text.

    >>> with_latex(formula("x^{2}"))
    '$x^{2}$'
    """
    latex = " ".join(FORMULA_MARK.sub(lambda mark: latex_of(mark[0]), latex).split())
    return f"{FORMULA}{''.join(chr(0x10FF00 + byte) for byte in latex.encode(errors='ignore'))}\U0010ffff"


def latex_of(mark: str) -> str:
    """Return the LaTeX of the mark of a formula; empty if it is not known."""
    latex = bytes(ord(one) - 0x10FF00 for one in mark[1:-1]).decode(errors="ignore")
    return "".join(filter(str.isprintable, latex)).strip()


def with_latex(text: str) -> str:
    """Return the text with formulas as LaTeX between dollar signs; `<formula>` if the LaTeX is unknown."""
    if FORMULA not in text:
        return text
    return FORMULA_MARK.sub(
        lambda mark: f"${latex}$" if (latex := latex_of(mark[0])) else SHOWN_FORMULA, text
    )


def without_latex(text: str) -> str:
    """Return the text with `<formula>` for each formula, as in the official files."""
    return FORMULA_MARK.sub(SHOWN_FORMULA, text) if FORMULA in text else text


class LeftOut:
    """The unknown template calls of one page; the number of each marks its place."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.errors: set[str] = set()  # those in place of which the wiki shows an error

    def mark(self, source: str) -> str:
        """Return the mark to leave in place of the call."""
        self.sources.append(source)
        return f"{UNKNOWN_START}{len(self.sources) - 1}{UNKNOWN_END}"

    def is_source(self, item: str) -> bool:
        """Return True if a list item is citations alone: it belongs to a list of sources."""
        if not CITATIONS.fullmatch(item):
            return False
        return all(CITATION.match(self.sources[int(number)]) for number in UNKNOWN.findall(item))

    def calls_in(self, text: str, *, alone: bool) -> list[str]:
        """Return the wikitext of the calls marked in a text, in order.

        A call that is `alone` in its paragraph and has no value (`{{Greek religion}}`) is nearly always a box
        of links, and the page has no text of it: it does not count.
        """
        sources = [self.sources[int(number)] for number in UNKNOWN.findall(text)]
        if alone and ALONE.fullmatch(text):
            return [source for source in sources if VALUES.sub("", source).strip(" \n:}")]
        return sources


NOTHING, CLAUSE, PARENTHESES, SENTENCE, ITEM = WENT = ("nothing", "clause", "parentheses", "sentence", "item")
UNSEEN = f"{GONE}{BLOCK}{BOX}{SEAM}"
HOLE = re.compile(f"{UNKNOWN.pattern}(?:[ {UNSEEN}]*{UNKNOWN.pattern})*")
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai to Chinese
CJK = re.compile(f"[{UNSPACED}]")
ENTITY = re.compile(r"&#?\w{1,31};")
# Two patterns, so that each stays linear: a sentence ends with a mark, closing marks, and a space before a
# capital, a number or an opening mark; in Chinese and Japanese, with a full stop of its own.
END = regex.compile(
    rf"[.!?…](?:[»”\"“')\]{UNSEEN}]|{UNKNOWN.pattern})*(?=\s+[^\W\p{{Ll}}_]|\s+[«„“\"'(¿¡\x02\x03]|\s*$)"
    r"|[。！？][」』）”]*"
)
# A dot after these is of an abbreviation or an ordinal: one letter, a small number, "St.", "bzw.", "ca.".
# Words of two letters have a vowel ("it", "is"): of those in 1,445 pages of 58 languages only "al", "ca",
# "ed", "op" and "vi" have a dot behind them more often than not.
NO_END = regex.compile(
    r"(?:^|[\s(\[«„“\"'/-])(?:[^\W\d_]|\d{1,2}|[b-df-hj-np-tv-xzб-дж-зк-нп-тф-щ]{2,3}|"
    r"al|ca|ed|op|vi|etc|hab|usw|тыс|approx|\p{Lu}\p{Ll}{1,2})$|\.[^\W\d_]$"
)
AFTER_SENTENCE = regex.compile(r"\s*(?:$|[^\W\p{Ll}_]|[«„“\"¿¡])")
# Before a mark: a letter or a digit, what closes, or a point, but not that of `c.`. `$`, `L'` and `pre-` ask
# for a word instead.
MARKED = re.compile(
    rf"(?:[^\W{UNSPACED}]|[)\]}}%,;!?…。！？，；]|(?<![\s(,]\w)\.|[^\s\w][\"'”’»“]|\w[\"”»“])$"
)
AFTER_MARK = re.compile(r"$|[\s.,;:!?…)\]»”\"。！？，；、）」]")
WHOLE = regex.compile(r"(?:[)\]\"”»]|(?<!\S)(?:\p{Lu}\S*\w|\d{4}))\s*$")  # can end a line: a name, a year
BRACKET = re.compile(r"[()\[\]（）]")
INNER = re.compile(r"\([^()]*\)")
COMMA = re.compile(r"[,;](?=[\s\x02\x03\x06]|$)|[；，、،؛]")
SEMICOLONS = ";；؛"
WORD = re.compile(r"[^\W_]+")
LETTERS = re.compile(r"[^\W\d_]+")
WINDOW = 40  # characters around a hole or a mark that decide
LONGEST = 600  # characters of parentheses
LONGEST_SENTENCE = 1000  # characters in which a clause is looked for
FEW = 3  # words behind the hole of a clause that can go
ENOUGH = 4  # words before the last clause, without which no sentence stays


Match = re.Match[str] | regex.Match[str]


class Part(NamedTuple):
    """A part of a text, and what it is."""

    start: int
    end: int
    kind: str


def lost_words(call: str) -> int:
    """Estimate how many words of its page are lost with a call without a text: those of its values.

    Words are runs of letters; a name of a template or of a parameter is none, and numbers are mostly those of
    tables. What the template adds is unknown, and some values are never shown, such as the name of a picture.
    `Article.lost` adds the words that `close_calls` cuts because of the call: those of the clause, the
    parentheses, the sentence or the item around it. A word that goes because of two calls counts once.

    >>> lost_words("{{Unknown verse|text=The road is long.|lang=en}}"), lost_words("{{convert|34|km}}")
    (5, 1)
    """
    return len(LETTERS.findall(VALUES.sub(" ", call)))


class Closed(NamedTuple):
    """A text without calls, what went with each of them, and how many words around it went."""

    text: str
    went: list[str]
    words: list[int]


def close_calls(text: str, *, listed: bool = False, cut: bool = True) -> Closed:
    r"""Return the text without what lacks the words of an unknown call.

    >>> text = "It is old. With \x031\x04 people it is large (\x032\x04 in 2020). It has a river.\x033\x04"
    >>> close_calls(text)[:2]
    ('It is old.\x02\x02 It has a river.\x02', ['sentence', 'parentheses', 'nothing'])
    >>> close_calls("It is a town (\x031\x04 in 2020), \x032\x04 north of Ayr, and fine.")
    Closed(text='It is a town \x02\x02 and fine.', went=['parentheses', 'clause'], words=[2, 3])
    """
    if not cut:
        calls = text.count(UNKNOWN_START)
        return Closed(UNKNOWN.sub(GONE, text), [NOTHING] * calls, [0] * calls)
    whole = " ".join(text.split())
    # The character of an entity, after as many unseen marks as make it as long.
    text = ENTITY.sub(lambda one: html.unescape(one[0])[-1:].rjust(len(one[0]), SEAM), whole)
    pairs = _pairs(text)
    marks, ends = _ends(text, pairs)
    went: list[str] = []
    cuts: list[tuple[Part, int]] = []  # each with the number of the call
    for hole in HOLE.finditer(text):
        place = bisect_left(ends, hole.end())
        start, end = ends[bisect_right(ends, hole.start()) - 1], ends[place]
        kind = NOTHING
        if _misses_words(text, hole, start, listed=listed):
            sentence = Part(start, end, ITEM if listed and end - start == len(text) else SENTENCE)
            part = _smallest(text, hole, _around(pairs, hole), sentence, marks[place])
            cuts.append((part, len(went)))
            kind = part.kind
        went += [kind] * hole[0].count(UNKNOWN_START)
    kept, position, words = [], 0, [0] * len(went)
    for (start, end, _kind), call in sorted(cuts):
        start, end = max(start, position), max(end, position)
        kept += [whole[position:start], GONE]
        words[call] = _words(UNKNOWN.sub("", text[start:end]))
        position = end
    return Closed(UNKNOWN.sub(GONE, "".join([*kept, whole[position:]])), went, words)


def _pairs(text: str) -> list[tuple[int, int]]:
    """Return where parentheses end and begin, in order."""
    opened: list[int] = []
    pairs = []
    for bracket in BRACKET.finditer(text):
        if bracket[0] in "([（":
            opened.append(bracket.start())
        elif opened and bracket.end() - (start := opened.pop()) <= LONGEST:
            pairs.append((bracket.end(), start))
    return pairs


def _around(pairs: list[tuple[int, int]], found: Match) -> tuple[int, int] | None:
    """Return the innermost parentheses around what was found, their end first."""
    near = pairs[bisect_left(pairs, (found.end() + 1,)) : bisect_left(pairs, (found.start() + LONGEST,))]
    return next((pair for pair in near if pair[1] < found.start()), None)


def _ends(text: str, pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return where the last marks of sentences are, and where these begin and end: never in parentheses."""
    marks, ends = [0], [0]
    for match in END.finditer(text):
        before = text[max(0, match.start() - WINDOW) : match.start()]
        if not (match[0][0] == "." and NO_END.search(before)) and _around(pairs, match) is None:
            marks.append(match.start())
            ends.append(match.end())
    return [*marks, len(text)], [*ends, len(text)]


def _misses_words(text: str, hole: re.Match[str], start: int, *, listed: bool) -> bool:
    """Return True if a sentence, which begins at `start`, cannot do without the words of the calls."""
    before = text[max(start, hole.start() - WINDOW) : hole.start()].rstrip(UNSEEN)
    after = text[hole.end() : hole.end() + WINDOW].lstrip(UNSEEN)
    if not before.strip():  # it begins the sentence
        is_number = listed and after.lstrip()[:1].isdigit()
        return is_number or not AFTER_SENTENCE.match(after) or (not start and CJK.match(after) is not None)
    if MARKED.search(before) and AFTER_MARK.match(after):
        return False
    return len(text) > hole.end() + WINDOW or after.strip(f" {UNSEEN}") != "" or not WHOLE.search(before)


def _smallest(
    text: str, hole: re.Match[str], pair: tuple[int, int] | None, sentence: Part, mark: int
) -> Part:
    """Return the smallest whole around a hole, in parentheses or in a sentence whose last mark is known."""
    if pair is None:
        return _clause(text, hole, sentence._replace(end=mark)) or sentence
    end, start = pair
    return _clause(text, hole, Part(start + 1, end - 1, PARENTHESES)) or Part(start, end, PARENTHESES)


def _clause(text: str, hole: re.Match[str], whole: Part) -> Part | None:
    """Return the clause of a hole in parentheses, a sentence or an item, if the rest can do without it."""
    start, end, kind = whole
    if hole.end() > end or end - start > LONGEST_SENTENCE:
        return None
    shown = INNER.sub(lambda found: "x" * len(found[0]), text[start:end])
    points = [start - 1, *(start + match.start() for match in COMMA.finditer(shown)), end]
    place = bisect_left(points, hole.start())
    left, right = points[place - 1], points[bisect_left(points, hole.end())]
    clause = text[left + 1 : right]
    ahead, behind = _words(clause.partition(UNKNOWN_START)[0]), _words(clause.rpartition(UNKNOWN_END)[2])
    if kind != PARENTHESES and left >= start and text[left] == "," and ahead <= 1:
        enough = kind == ITEM or _words(shown[: left - start]) >= ENOUGH
        if right == end and not behind and enough:
            return Part(left, end, CLAUSE)
        if right < end and ((behind <= FEW and enough) or (ahead, behind) == (0, 1)):
            both = text[right] == "," and kind != ITEM and (ahead + behind or len(points) == 4)
            return Part(left, right + bool(both), CLAUSE)
    if kind != PARENTHESES or UNKNOWN.sub("", clause).strip(f" {UNSEEN}"):
        strong = [point for point in points if not start <= point < end or text[point] in SEMICOLONS]
        left, right = strong[bisect_left(strong, hole.start()) - 1], strong[bisect_left(strong, hole.end())]
    if left >= start:
        return Part(left, right, CLAUSE)
    return Part(start, right + 1, CLAUSE) if right < end and kind == PARENTHESES else None


def _words(text: str) -> int:
    return len(WORD.findall(text))
