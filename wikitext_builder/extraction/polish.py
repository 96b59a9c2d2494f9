"""Makes lines fit for a corpus: entities, spaces, characters, and the holes that removed calls leave.

Drops sentences whose template data could not be expanded: "With some million inhabitants it is the largest
city" is worse than no sentence. See decision 15.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from html.entities import html5

import regex

from wikitext_builder.extraction.markers import (
    BREAK,
    FORMULA,
    FORMULA_MARK,
    GONE,
    SHOWN_FORMULA,
    UNKNOWN,
    UNKNOWN_START,
    without_latex,
)
from wikitext_builder.tokens.tokenizer import MANY_MARKS, sort_marks

ENTITY = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
# The official files have none of these: formats (ZWSP, soft hyphen, bidi marks), controls, surrogates,
# private use.
UNPRINTABLE = regex.compile(rf"(?V1)[\p{{Cf}}\p{{Cc}}\p{{Cs}}\p{{Co}}--{FORMULA}]+")
ALPHANUMERIC = re.compile(r"[^\W_]")
# Left over from links and templates: `[[`, also with the beginning of a link, `{{`, and what closes them.
BRACKETS = re.compile(r"\[\[(?:[^\[\]|]{0,200}\|)?|\{\{+|[\[{]|\]+|\}+")
OPENS = {"]": "[", "}": "{"}

HOLES = re.compile(f"{GONE}(?:\\s*{GONE})+")
HOLE = f"\\s?{GONE}\\s?"
# Patterns that begin with an optional part are slow to search: these two say whether they can match.
HOLE_AFTER_MARKS = re.compile(f"[$£€¥]{GONE}|[(\\[](?:[\\s,;:/]|or\\b|and\\b)*{GONE}")
HOLE_BEFORE_MARK = re.compile(f"{GONE}\\s?[])\\.,;:!?]")
EMPTY_PARENTHESES = re.compile(
    f"\\s?[(\\[](?:[\\s,;:/]|or\\b|and\\b)*{GONE}(?:[\\s,;:/{GONE}]|or\\b|and\\b)*[)\\]]"
)
# A sum adjusted for inflation, which is unknown here: `(equivalent to $… in 2016)`.
MONEY_WITHOUT_AMOUNT = re.compile(f"(\\s?\\([^()]{{0,200}})[$£€¥]{GONE}([^()]{{0,200}}\\))")
LONG_ASIDE = 40  # characters: after so many in parentheses, only the clause without its amount goes
CLAUSE_END = re.compile(r"[,;)]")
HOLE_AFTER_OPENING = re.compile(f"([(\\[]){HOLE}[,;:]?\\s?")
HOLE_BEFORE_CLOSING = re.compile(f"\\s?[,;:]?{HOLE}([)\\]])")
HOLE_BETWEEN = re.compile(f"([,;:]){HOLE}[,;:]")
HOLE_AT_START = re.compile(f"^{HOLE}[,;:.]? ?")
HOLE_BEFORE_POINT = re.compile(f"{HOLE}([.,;:!?])")
FORMULA_ALONE = re.compile(FORMULA)
FORMULA_LINE = re.compile(rf" ?((?:{FORMULA_MARK.pattern}|{SHOWN_FORMULA})(?: ?[.,;:!?]+(?= |$))?) ?")


def polish(text: str) -> str:
    r"""Return the line of one paragraph, in which formulas are still marks; empty if nothing is left.

    >>> polish("Caf\u00e9&nbsp;( \x02, \x02 ) is [[open"), polish("= x ="), polish("\x02")
    ('Café is open', '= x', '')
    """
    line = _not_a_heading(_clean_characters(_close_holes(_mark_unknown(text))))
    return line if _has_text(line) else ""


def own_lines(line: str) -> list[str]:
    r"""Return the pieces of a polished line, formulas on lines of their own as in the official files.

    >>> own_lines("where \x01, as \x01 is"), own_lines("no formula")
    (['where', '\x01,', 'as', '\x01', 'is'], ['no formula'])
    """
    if FORMULA not in line and SHOWN_FORMULA not in line:
        return [line]
    pieces = (_not_a_heading(piece.strip()) for piece in FORMULA_LINE.split(line))
    return [piece for piece in pieces if _has_text(piece)]


def polish_heading(text: str) -> str:
    """Return the text of a heading on one line, without outer equals signs."""
    return _clean_characters(_close_holes(_mark_unknown(text.replace(BREAK, " ")))).strip("= ")


def _mark_unknown(text: str) -> str:
    """Return the text with the mark of a removed call in place of each unknown call."""
    return UNKNOWN.sub(GONE, text) if UNKNOWN_START in text else text


def _clean_characters(text: str) -> str:
    """Return the text with entities decoded, in NFC, with plain single spaces and no invisible characters.

    The LaTeX of formulas stays as it is.
    """
    marks = FORMULA_MARK.findall(text) if FORMULA in text else []
    if marks:
        text = FORMULA_MARK.sub(FORMULA, text)
    if "{{" in text or "[[" in text or "}}" in text or "]]" in text:
        text = _without_slips(text)
    if "&" in text:
        text = ENTITY.sub(_decoded, text)
    text = " ".join(text.split())
    if not text.isprintable():
        text = " ".join(UNPRINTABLE.sub("", text).split())
    if not text.isascii():
        text = " ".join(unicodedata.normalize("NFC", MANY_MARKS.sub(sort_marks, text)).split())
    if marks:
        rest = iter(marks)
        text = FORMULA_ALONE.sub(lambda _: next(rest), text)
    return text


def _without_slips(text: str) -> str:
    """Return the text without brackets that an editor forgot, such as `]]` alone; those of `x[y[0]]` stay."""
    open_ones: Counter[str] = Counter()

    def kept(run: re.Match[str]) -> str:
        bracket = run[0][0]
        if bracket in OPENS.values():
            open_ones[bracket] += len(run[0]) == 1
            return run[0] if len(run[0]) == 1 else ""
        paired = min(len(run[0]), open_ones[OPENS[bracket]])
        open_ones[OPENS[bracket]] -= paired
        alone = len(run[0]) - paired
        return bracket * (paired + (alone == 1))

    return BRACKETS.sub(kept, text)


def _decoded(entity: re.Match[str]) -> str:
    """Return the character of an entity; a name that does not exist stays as it is."""
    known = entity[0][1] == "#" or entity[0][1:] in html5
    return html.unescape(entity[0]) if known else entity[0]


def _close_holes(text: str) -> str:
    """Return the text with the holes of removed calls closed, as a careful editor would do it."""
    if GONE not in text:
        return text
    text = HOLES.sub(GONE, " ".join(text.split()))  # single spaces and marks keep the next steps linear
    if HOLE_AFTER_MARKS.search(text):
        text = EMPTY_PARENTHESES.sub(_between_words, text)
        text = MONEY_WITHOUT_AMOUNT.sub(_without_amount, text)
    text = HOLE_AT_START.sub("", text)
    text = HOLE_AFTER_OPENING.sub(r"\1", text)
    if HOLE_BEFORE_MARK.search(text):
        text = HOLE_BEFORE_CLOSING.sub(r"\1", text)
        text = HOLE_BETWEEN.sub(r"\1", text)
        text = HOLE_BEFORE_POINT.sub(r"\1", text)
    return text.replace(GONE, "")


def _between_words(parentheses: re.Match[str]) -> str:
    """What stays of empty parentheses: the space before them, if a word follows at once."""
    follows = parentheses.string[parentheses.end() : parentheses.end() + 1]
    return " " if parentheses[0][0].isspace() and follows.isalnum() else ""


def _without_amount(aside: re.Match[str]) -> str:
    """What stays of parentheses in which a sum has no amount: nothing, or what is before its clause."""
    head = aside[1].rpartition(", ")[0]
    end = CLAUSE_END.search(aside[2])
    return head + aside[2][end.start() :] if len(head) >= LONG_ASIDE and end else ""


def _not_a_heading(line: str) -> str:
    """Return the line without closing equals signs if it also opens with one: only headings look like that.

    The official files have false headings there; a program that reads the files must be able to tell.
    """
    return line.rstrip("= ") if line.startswith("=") and line.endswith("=") else line


def _has_text(line: str) -> bool:
    return ALPHANUMERIC.search(shown := without_latex(line)) is not None or not shown.isascii()


# Two patterns, so that each stays linear: a sentence ends with a mark, closing marks, and a space before a
# capital, a number or an opening mark; in Chinese and Japanese, with a full stop of its own.
END = re.compile(
    r"[.!?…][»”\"“')\]\x02]*(?=\s+[^\Wa-zà-öø-ÿа-яё_]|\s+[«„“\"'(¿¡\x02\x03]|\s*$)|[。！？][」』）”]*"
)
# A dot after these is of an abbreviation or an ordinal: one letter, a small number, "St.", "ca.", "bzw."
NO_END = re.compile(
    r"(?:^|[\s(\[«„“\"'/-])(?:[^\W\d_]|\d{1,2}|[a-zà-öø-ÿа-яё]{2}|[b-df-hj-np-tv-xzб-дж-зк-нп-тф-щ]{3}|"
    r"etc|hab|usw|тыс|[A-ZÀ-ÖØ-ÞА-ЯЁ][a-zà-öø-ÿа-яё]{1,2})$"
)
PARENTHESIS = re.compile("[()（）]")
LONGEST_WORD = 8  # characters before a dot that NO_END looks at
LONGEST_PARENTHESES = 300  # characters before and after a hole


def drop_incomplete(text: str, holes: list[re.Match[str]]) -> str:
    r"""Return the text without sentences, or parentheses in them, that have one of the holes.

    >>> text = "It is old. With \x031\x04 people it is large (\x032\x04, in 2020). It has a river."
    >>> drop_incomplete(text, list(re.finditer("\x03\\d\x04", text)))
    'It is old. It has a river.'
    >>> drop_incomplete(text, list(re.finditer("\x032\x04", text)))
    'It is old. With \x031\x04 people it is large. It has a river.'
    """
    ends = _ends(text)
    cuts = [_parenthesis(text, hole) or _sentence(ends, hole) for hole in holes]
    kept, position = [], 0
    for start, end in sorted(cuts):
        kept.append(text[position : max(start, position)])
        position = max(end, position)
    return "".join([*kept, text[position:]])


def _parenthesis(text: str, hole: re.Match[str]) -> tuple[int, int] | None:
    """Return where the innermost parentheses around the hole are, with a space before them."""
    before = [*PARENTHESIS.finditer(text, max(0, hole.start() - LONGEST_PARENTHESES), hole.start())]
    after = PARENTHESIS.search(text, hole.end(), hole.end() + LONGEST_PARENTHESES)
    if not before or before[-1][0] in ")）" or after is None or after[0] in "(（":
        return None
    start = before[-1].start()
    return start - text[max(0, start - 1) : start].isspace(), after.end()


def _ends(text: str) -> list[int]:
    """Return where sentences begin and end: at the start, after each end, at the end of the text."""
    return [
        0,
        *(
            match.end()
            for match in END.finditer(text)
            if match[0][0] != "."
            or not NO_END.search(text[max(0, match.start() - LONGEST_WORD) : match.start()])
        ),
        len(text),
    ]


def _sentence(ends: list[int], hole: re.Match[str]) -> tuple[int, int]:
    return ends[bisect_right(ends, hole.start()) - 1], ends[bisect_left(ends, hole.end())]
