"""Cleans lines: decodes entities, normalizes characters and spaces, closes the holes of removed calls."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from html.entities import html5
from operator import add

import regex

from wikitext_builder.extraction.markers import (
    BREAK,
    FORMULA,
    FORMULA_MARK,
    GONE,
    SHOWN_FORMULA,
    without_latex,
)
from wikitext_builder.tokens.tokenizer import MANY_MARKS, sort_marks

ENTITY = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
JOINERS = "\u200c\u200d"
# The official files have none of these: formats (ZWSP, soft hyphen, bidi marks), controls, surrogates,
# private use.
UNPRINTABLE, UNPRINTABLE_BUT_JOINERS = (
    regex.compile(rf"(?V1)[\p{{Cf}}\p{{Cc}}\p{{Cs}}\p{{Co}}--[{FORMULA}{joiners}]]+")
    for joiners in ("", JOINERS)
)
ALPHANUMERIC = re.compile(r"[^\W_]")
# Remains of links and templates: `[[`, also with the target of a link, `{{`, and what closes them.
BRACKETS = re.compile(r"\[\[(?:[^\[\]|]{0,200}\|)?|\{\{+|[\[{]|\]+|\}+")
OPENING_OF = {"]": "[", "}": "{"}

HOLES = re.compile(f"{GONE}(?:\\s*{GONE})+")
HOLE = f"\\s?{GONE}\\s?"
# Patterns that begin with an optional part are slow to search: these two test first if they can match.
HOLE_AFTER_MARKS = re.compile(f"[(\\[](?:[\\s,;:/]|or\\b|and\\b)*{GONE}")
HOLE_BEFORE_MARK = re.compile(f"{GONE}\\s?[])\\.,;:!?]")
EMPTY_PARENTHESES = re.compile(
    f"\\s?[(\\[](?:[\\s,;:/]|or\\b|and\\b)*{GONE}(?:[\\s,;:/{GONE}]|or\\b|and\\b)*[)\\]]"
)
HOLE_AFTER_OPENING = re.compile(f"([(\\[]){HOLE}[,;:]?\\s?")
HOLE_BEFORE_CLOSING = re.compile(f"\\s?[,;:]?{HOLE}([)\\]])")
HOLE_BETWEEN = re.compile(f"([,;:]){HOLE}[,;:]")
HOLE_AT_START = re.compile(f"^{HOLE}[,;:.]? ?")
HOLE_BEFORE_POINT = re.compile(f"{HOLE}([.,;:!?])")
FORMULA_LINE = re.compile(rf" ?((?:{FORMULA_MARK.pattern}|{SHOWN_FORMULA})(?: ?[.,;:!?]+(?= |$))?) ?")


def polish(text: str, *, joiners: bool = False) -> str:
    r"""Return the clean line of a paragraph, in which formulas are still marks; empty if no text is left.

    With `joiners`, U+200C and U+200D between letters stay: Persian and Indic languages spell with them.

    >>> polish("Caf\u00e9&nbsp;( \x02, \x02 ) is [[open"), polish("= x ="), polish("\x02")
    ('Café is open', '= x', '')
    >>> polish("a&zwnj;b &zwnj; c", joiners=True), polish("&zwnj;", joiners=True)
    ('a\u200cb c', '')
    """
    line = _not_a_heading(_clean_characters(_close_holes(text), joiners))
    return line if _has_text(line) else ""


def own_lines(line: str) -> list[str]:
    r"""Split a polished line so that formulas are on lines of their own, as in the official files.

    >>> own_lines("where \x01, as \x01 is"), own_lines("no formula")
    (['where', '\x01,', 'as', '\x01', 'is'], ['no formula'])
    """
    if FORMULA not in line and SHOWN_FORMULA not in line:
        return [line]
    pieces = (_not_a_heading(piece.strip()) for piece in FORMULA_LINE.split(line))
    return [piece for piece in pieces if _has_text(piece)]


def polish_heading(text: str, *, joiners: bool = False) -> str:
    """Return the text of a heading on one line, without outer equals signs."""
    return _clean_characters(_close_holes(text.replace(BREAK, " ")), joiners).strip("= ")


def _clean_characters(text: str, joiners: bool) -> str:
    """Return the text with entities decoded, in NFC, with plain single spaces and no invisible characters.

    The LaTeX of formulas does not change.
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
        words = (UNPRINTABLE_BUT_JOINERS if joiners else UNPRINTABLE).sub("", text).split()
        text = " ".join(word for word in words if word.strip(JOINERS))
    if not text.isascii():
        text = " ".join(unicodedata.normalize("NFC", MANY_MARKS.sub(sort_marks, text)).split())
    if marks:
        texts = text.split(FORMULA)
        text = texts[0] + "".join(map(add, marks, texts[1:]))
    return text


def _without_slips(text: str) -> str:
    """Return the text without brackets that an editor forgot, such as one `]]`; those of `x[y[0]]` stay."""
    unclosed: Counter[str] = Counter()

    def kept(run: re.Match[str]) -> str:
        bracket = run[0][0]
        opening = OPENING_OF.get(bracket)
        if opening is None:
            unclosed[bracket] += len(run[0]) == 1
            return run[0] if len(run[0]) == 1 else ""
        paired = min(len(run[0]), unclosed[opening])
        unclosed[opening] -= paired
        unpaired = len(run[0]) - paired
        return bracket * (paired + (unpaired == 1))

    return BRACKETS.sub(kept, text)


def _decoded(entity: re.Match[str]) -> str:
    """Return the character of an entity; an unknown name stays."""
    is_known = entity[0][1] == "#" or entity[0][1:] in html5
    return html.unescape(entity[0]) if is_known else entity[0]


def _close_holes(text: str) -> str:
    """Return the text with the holes of removed calls closed, as a careful editor would."""
    if GONE not in text:
        return text
    text = HOLES.sub(GONE, " ".join(text.split()))  # single spaces and marks keep the next steps linear
    if HOLE_AFTER_MARKS.search(text):
        text = EMPTY_PARENTHESES.sub(_between_words, text)
    text = HOLE_AT_START.sub("", text)
    text = HOLE_AFTER_OPENING.sub(r"\1", text)
    if HOLE_BEFORE_MARK.search(text):
        text = HOLE_BEFORE_CLOSING.sub(r"\1", text)
        text = HOLE_BETWEEN.sub(r"\1", text)
        text = HOLE_BEFORE_POINT.sub(r"\1", text)
    return text.replace(GONE, "")


def _between_words(parentheses: re.Match[str]) -> str:
    """Return what replaces empty parentheses: the space before them, if a word follows directly."""
    following = parentheses.string[parentheses.end() : parentheses.end() + 1]
    return " " if parentheses[0][0].isspace() and following.isalnum() else ""


def _not_a_heading(line: str) -> str:
    """Return the line without closing equals signs if it also begins with one, as only headings do.

    The official files contain such lines that are not headings, which readers of the files cannot tell apart.
    """
    return line.rstrip("= ") if line.startswith("=") and line.endswith("=") else line


def _has_text(line: str) -> bool:
    text = without_latex(line)
    return ALPHANUMERIC.search(text) is not None or not text.isascii()
