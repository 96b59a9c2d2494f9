"""Marks what is not text, and cuts what lacks the text of an unknown template call.

The marks are control characters, which trimmed wikitext does not contain. A hole between sentences or behind
a word is closed. Any other hole stands for words that the sentence needs, and the smallest part around it is
cut, see decision 15: the structure of the line decides, not the names of templates.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

import regex

FORMULA = "\x01"  # a formula; its LaTeX follows, in characters that no other text has, see `formula`
GONE = "\x02"  # something was removed from running text here
UNKNOWN_START, UNKNOWN_END = "\x03", "\x04"  # around the number of an unknown template call
BREAK = "\x05"  # a line break that does not end the block, such as <br>
BLOCK = "\x07"  # a picture or a box was removed here: it closes the paragraph
BOX = "\x08"  # a template was removed here: it closes the paragraph if its line has no other text
MARGIN = "\x0e"  # a link in the margin of the page, such as a category; `preprocessor` removes the mark
SEAM = "\x06"  # separates apostrophes where a tag, a link or a template was between them
UNKNOWN = re.compile(f"{UNKNOWN_START}(\\d+){UNKNOWN_END}")
FORMULA_MARK = re.compile(f"{FORMULA}(?:[\U0010ff00-\U0010fffd]*\U0010ffff)?")  # with its LaTeX, if known
SHOWN_FORMULA = "<formula>"  # in the official files
# A list item that consists of citations is a source.
ONLY_CALLS_AND_POINTS = re.compile(f"(?:{UNKNOWN.pattern}|[\\s.,;{GONE}{BLOCK}{BOX}])+")
CITATION = re.compile(r"\{\{\s*(?:[Cc]ite|[Cc]itation\s*[|}])")
ONLY_CALLS = re.compile(f"(?:{UNKNOWN.pattern}|[\\s{GONE}{BLOCK}{BOX}])+")
# Names of templates and of parameters; the rest of a call is values, also what follows a colon.
NAMES = re.compile(r"\{\{[^{}|:]*|\|(?:[^{}|=\[\]]*=)?")


def add_seams(text: str) -> str:
    """Return the text with marks that keep its apostrophes apart from those around it."""
    before = SEAM if text.startswith("'") else ""
    return f"{before}{text}{SEAM}" if text.endswith("'") else before + text


def formula(latex: str) -> str:
    """Return the mark of a formula, which hides its LaTeX from the steps that read wikitext.

    Each byte is a character of a private plane, and another one is the end. `polish` removes such characters
    from all other text.

    >>> with_latex(formula("x^{2}"))
    '$x^{2}$'
    """
    latex = " ".join(FORMULA_MARK.sub(lambda mark: latex_of(mark[0]), latex).split())
    return f"{FORMULA}{''.join(chr(0x10FF00 + byte) for byte in latex.encode(errors='ignore'))}\U0010ffff"


def latex_of(mark: str) -> str:
    """Return the LaTeX of the mark of a formula; empty if it is unknown."""
    latex = bytes(ord(character) - 0x10FF00 for character in mark[1:-1]).decode(errors="ignore")
    return "".join(filter(str.isprintable, latex)).strip()


def with_latex(text: str) -> str:
    """Return the text with formulas as LaTeX between dollar signs; `<formula>` if the LaTeX is unknown."""
    return FORMULA_MARK.sub(
        lambda mark: f"${latex}$" if (latex := latex_of(mark[0])) else SHOWN_FORMULA, text
    )


def without_latex(text: str) -> str:
    """Return the text with `<formula>` for each formula, as in the official files."""
    return FORMULA_MARK.sub(SHOWN_FORMULA, text) if FORMULA in text else text


class LeftOut:
    """The unknown template calls of one page; a mark with the number of the call keeps its place."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.errors: set[str] = set()  # calls for which the wiki shows an error

    def mark(self, source: str) -> str:
        """Return the mark of one more call."""
        self.sources.append(source)
        return f"{UNKNOWN_START}{len(self.sources) - 1}{UNKNOWN_END}"

    def is_source(self, item: str) -> bool:
        """Return True if a list item consists of citations: it belongs to a list of sources."""
        if not ONLY_CALLS_AND_POINTS.fullmatch(item):
            return False
        return all(CITATION.match(self.sources[int(number)]) for number in UNKNOWN.findall(item))

    def calls_in(self, text: str, *, alone: bool) -> list[str]:
        """Return the wikitext of the calls marked in a text, in order.

        A call that is `alone` in its paragraph and has no value (`{{Greek religion}}`) does not count: it is
        nearly always a box of links, which is not text of the page.
        """
        sources = [self.sources[int(number)] for number in UNKNOWN.findall(text)]
        if alone and ONLY_CALLS.fullmatch(text):
            return [source for source in sources if NAMES.sub("", source).strip(" \n:}")]
        return sources


NOTHING, CLAUSE, PARENTHESES, SENTENCE, ITEM = CUT_KINDS = (
    "nothing",
    "clause",
    "parentheses",
    "sentence",
    "item",
)
INVISIBLE = f"{GONE}{BLOCK}{BOX}{SEAM}"
HOLE = re.compile(f"{UNKNOWN.pattern}(?:[ {INVISIBLE}]*{UNKNOWN.pattern})*")
UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai to Chinese
)
CJK = re.compile(f"[{UNSPACED_SCRIPTS}]")
ENTITY = re.compile(r"&#?\w{1,31};")
# Where sentences end: a mark, closing marks, and a space before a capital, a number or an opening mark; in
# Chinese and Japanese, a special full stop. With NOT_AN_END in the same pattern, it would not be linear.
SENTENCE_END = regex.compile(
    rf"[.!?…](?:[»”\"“')\]{INVISIBLE}]|{UNKNOWN.pattern})*(?=\s+[^\W\p{{Ll}}_]|\s+[«„“\"'(¿¡\x02\x03]|\s*$)"
    r"|[。！？][」』）”]*"
)
# A dot after these belongs to an abbreviation or ordinal: one letter, a small number, "St.", "bzw.", "ca.".
# Words of two letters have a vowel ("it", "is"): of those in 1,445 pages of 58 languages, only "al", "ca",
# "ed", "op" and "vi" have a dot behind them more often than not.
NOT_AN_END = regex.compile(
    r"(?:^|[\s(\[«„“\"'/-])(?:[^\W\d_]|\d{1,2}|[b-df-hj-np-tv-xzб-дж-зк-нп-тф-щ]{2,3}|"
    r"al|ca|ed|op|vi|etc|hab|usw|тыс|approx|\p{Lu}\p{Ll}{1,2})$|\.[^\W\d_]$"
)
SENTENCE_START = regex.compile(r"\s*(?:$|[^\W\p{Ll}_]|[«„“\"¿¡])")
# The text before a hole that can be a mark: a letter, a digit, a closing mark, or a point, but not that of
# `c.`. After `$`, `L'` and `pre-` a word is missing.
BEFORE_MARK = re.compile(
    rf"(?:[^\W{UNSPACED_SCRIPTS}]|[)\]}}%,;!?…。！？，；]|(?<![\s(,]\w)\.|[^\s\w][\"'”’»“]|\w[\"”»“])$"
)
AFTER_MARK = re.compile(r"$|[\s.,;:!?…)\]»”\"。！？，；、）」]")
COMPLETE_LINE = regex.compile(r"(?:[)\]\"”»]|(?<!\S)(?:\p{Lu}\S*\w|\d{4}))\s*$")  # a name, a year
BRACKET = re.compile(r"[()\[\]（）]")
INNER_PARENTHESES = re.compile(r"\([^()]*\)")
CLAUSE_SEPARATOR = re.compile(r"[,;](?=[\s\x02\x03\x06]|$)|[；，、،؛]")
SEMICOLONS = ";；؛"
WORD = re.compile(r"[^\W_]+")
LETTERS = re.compile(r"[^\W\d_]+")
CONTEXT_CHARACTERS = 40  # around a hole or a mark
MAX_PARENTHESES_CHARACTERS = 600
MAX_SENTENCE_CHARACTERS = 1000  # a longer sentence is not searched for a clause
MAX_WORDS_AFTER_HOLE = 3  # in a clause that can be cut
MIN_WORDS_BEFORE_CLAUSE = 4  # with fewer the rest is not a sentence

Match = re.Match[str] | regex.Match[str]


class Span(NamedTuple):
    """A part of a text that can be cut."""

    start: int
    end: int
    kind: str  # one of CUT_KINDS


def lost_words(call: str) -> int:
    """Estimate how many words are lost with an unknown call: those of its values.

    Words are runs of letters, because numbers are mostly those of tables. What the template adds is unknown,
    and some values are never shown, such as the name of a picture. `Article.lost` adds the words around the
    call that `close_calls` cuts. A word that two calls remove counts once.

    >>> lost_words("{{Unknown verse|text=The road is long.|lang=en}}"), lost_words("{{convert|34|km}}")
    (5, 1)
    """
    return len(LETTERS.findall(NAMES.sub(" ", call)))


def close_calls(text: str, *, listed: bool = False, cut: bool = True) -> tuple[str, list[str], list[int]]:
    r"""Return the text without its unknown calls and the parts that need their words.

    For each call there is one of CUT_KINDS, and the number of words around it that were cut.

    >>> text = "It is old. With \x031\x04 people it is large (\x032\x04 in 2020). It has a river.\x033\x04"
    >>> close_calls(text)[:2]
    ('It is old.\x02\x02 It has a river.\x02', ['sentence', 'parentheses', 'nothing'])
    >>> close_calls("It is a town (\x031\x04 in 2020), \x032\x04 north of Ayr, and fine.")
    ('It is a town \x02\x02 and fine.', ['parentheses', 'clause'], [2, 3])
    """
    if not cut:
        calls = text.count(UNKNOWN_START)
        return UNKNOWN.sub(GONE, text), [NOTHING] * calls, [0] * calls
    whole = " ".join(text.split())
    # The character of an entity, padded to the length of the entity.
    text = ENTITY.sub(lambda entity: html.unescape(entity[0])[-1:].rjust(len(entity[0]), SEAM), whole)
    pairs = _parentheses(text)
    marks, ends = _sentence_ends(text, pairs)
    cuts: list[str] = []
    spans: list[tuple[Span, int]] = []  # with the number of the call
    for hole in HOLE.finditer(text):
        sentence_number = bisect_left(ends, hole.end())
        start, end = ends[bisect_right(ends, hole.start()) - 1], ends[sentence_number]
        kind = NOTHING
        if _needs_words(text, hole, start, listed=listed):
            sentence = Span(start, end, ITEM if listed and end - start == len(text) else SENTENCE)
            span = _smallest_span(text, hole, _innermost(pairs, hole), sentence, marks[sentence_number])
            spans.append((span, len(cuts)))
            kind = span.kind
        cuts += [kind] * hole[0].count(UNKNOWN_START)
    kept, position, words = [], 0, [0] * len(cuts)
    for (start, end, _kind), call in sorted(spans):
        start, end = max(start, position), max(end, position)
        kept += [whole[position:start], GONE]
        words[call] = _words(UNKNOWN.sub("", text[start:end]))
        position = end
    return UNKNOWN.sub(GONE, "".join([*kept, whole[position:]])), cuts, words


def _parentheses(text: str) -> list[tuple[int, int]]:
    """Return the end and the start of each pair of parentheses, in order of the ends."""
    opened: list[int] = []
    pairs = []
    for bracket in BRACKET.finditer(text):
        if bracket[0] in "([（":
            opened.append(bracket.start())
        elif opened and bracket.end() - (start := opened.pop()) <= MAX_PARENTHESES_CHARACTERS:
            pairs.append((bracket.end(), start))
    return pairs


def _innermost(pairs: list[tuple[int, int]], match: Match) -> tuple[int, int] | None:
    """Return the innermost of these parentheses around a match."""
    first = bisect_left(pairs, (match.end() + 1,))
    last = bisect_left(pairs, (match.start() + MAX_PARENTHESES_CHARACTERS,))
    return next((pair for pair in pairs[first:last] if pair[1] < match.start()), None)


def _sentence_ends(text: str, pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the places of the marks that end sentences, and of the ends; none is in parentheses."""
    marks, ends = [0], [0]
    for match in SENTENCE_END.finditer(text):
        before = text[max(0, match.start() - CONTEXT_CHARACTERS) : match.start()]
        if not (match[0][0] == "." and NOT_AN_END.search(before)) and _innermost(pairs, match) is None:
            marks.append(match.start())
            ends.append(match.end())
    return [*marks, len(text)], [*ends, len(text)]


def _needs_words(text: str, hole: re.Match[str], start: int, *, listed: bool) -> bool:
    """Return True if the sentence, which begins at `start`, needs the words of the calls."""
    before = text[max(start, hole.start() - CONTEXT_CHARACTERS) : hole.start()].rstrip(INVISIBLE)
    after = text[hole.end() : hole.end() + CONTEXT_CHARACTERS].lstrip(INVISIBLE)
    if not before.strip():  # the hole begins the sentence
        is_number = listed and after.lstrip()[:1].isdigit()
        return is_number or not SENTENCE_START.match(after) or (not start and CJK.match(after) is not None)
    if BEFORE_MARK.search(before) and AFTER_MARK.match(after):
        return False
    ends_text = len(text) <= hole.end() + CONTEXT_CHARACTERS and not after.strip(f" {INVISIBLE}")
    return not ends_text or not COMPLETE_LINE.search(before)


def _smallest_span(
    text: str, hole: re.Match[str], pair: tuple[int, int] | None, sentence: Span, mark: int
) -> Span:
    """Return the smallest part around a hole that can be cut, in parentheses or up to the sentence's mark."""
    if pair is None:
        return _clause(text, hole, sentence._replace(end=mark)) or sentence
    end, start = pair
    return _clause(text, hole, Span(start + 1, end - 1, PARENTHESES)) or Span(start, end, PARENTHESES)


def _clause(text: str, hole: re.Match[str], whole: Span) -> Span | None:
    """Return the clause around a hole in parentheses, a sentence or an item; None if the rest needs it."""
    start, end, kind = whole
    if hole.end() > end or end - start > MAX_SENTENCE_CHARACTERS:
        return None
    outside = INNER_PARENTHESES.sub(lambda inner: "x" * len(inner[0]), text[start:end])
    points = [start - 1, *(start + match.start() for match in CLAUSE_SEPARATOR.finditer(outside)), end]
    left, right = points[bisect_left(points, hole.start()) - 1], points[bisect_left(points, hole.end())]
    clause = text[left + 1 : right]
    words_before = _words(clause.partition(UNKNOWN_START)[0])
    words_after = _words(clause.rpartition(UNKNOWN_END)[2])
    if kind != PARENTHESES and left >= start and text[left] == "," and words_before <= 1:
        rest_stays = kind == ITEM or _words(outside[: left - start]) >= MIN_WORDS_BEFORE_CLAUSE
        if right == end and not words_after and rest_stays:
            return Span(left, end, CLAUSE)
        is_short = words_after <= MAX_WORDS_AFTER_HOLE and rest_stays
        if right < end and (is_short or (words_before, words_after) == (0, 1)):
            has_words = words_before + words_after > 0 or len(points) == 4
            with_comma = text[right] == "," and kind != ITEM and has_words
            return Span(left, right + with_comma, CLAUSE)
    if kind != PARENTHESES or UNKNOWN.sub("", clause).strip(f" {INVISIBLE}"):
        strong = [point for point in points if not start <= point < end or text[point] in SEMICOLONS]
        left, right = strong[bisect_left(strong, hole.start()) - 1], strong[bisect_left(strong, hole.end())]
    if left >= start:
        return Span(left, right, CLAUSE)
    return Span(start, right + 1, CLAUSE) if right < end and kind == PARENTHESES else None


def _words(text: str) -> int:
    return len(WORD.findall(text))
