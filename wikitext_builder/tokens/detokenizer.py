"""From tokens back to text: the inverse of the tokenizer.

Tokens do not show whether a quotation mark opens or closes, so marks alternate. The round trip is exact:
`tokenize_line(detokenize_line(tokens)) == tokens` for every line of the official raw valid file. The text can
differ from the text before tokenization.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from wikitext_builder.article import heading_level
from wikitext_builder.wiki.languages import language_of

LEFT: Final = frozenset(",.;:!?)]%°′″”…") | {"..."}  # tokens without a space before them
RIGHT: Final = frozenset("([$£₱¥₩₤#“‘@")  # tokens without a space after them
BOTH: Final = frozenset("/–‑⁄×") | {"@-@"}
# The same of other scripts: of Indic ones and Arabic; full-width ones have no spaces at all around them.
OTHER_LEFT: Final = frozenset("।॥،؛؟۔፡።፣፤၊။៖។")
OTHER_BOTH: Final = frozenset("。、，．：；？！「」『』（）【】《》〈〉〔〕・〜～")
SPLIT: Final = {"@-@": "-", "@,@": ",", "@.@": "."}  # where the tokenizer splits words and numbers
QUOTE, APOSTROPHE, CURVED = '"', "'", "’"
DOTS: Final = frozenset((".", "..", "..."))

OPENING: Final = {
    "„": "“”",
    "‚": "‘’",
    "“": "”",
    "‘": "’",
    "«": "»",
    "‹": "›",
}  # each with the marks that close it
REVERSED: Final = {**OPENING, "»": "«", "›": "‹"}
SAME: Final = {**OPENING, "”": "”", "»": "»"}
PAIRS: Final = {
    "fr": {"“": "”", "‘": "’"},  # with spaces within « »
    **dict.fromkeys(("de", "da", "hu", "sl", "hr"), REVERSED),
    **dict.fromkeys(("sv", "fi"), SAME),
}
CONTRACTIONS: Final = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})
ELIDING: Final = frozenset({"fr", "it", "ca", "ga"})  # l' état
SPACED_PERCENT: Final = frozenset({"fr", "de", "fi", "sv"})
ABBREVIATION = re.compile(r"[A-Z][A-Z0-9]{0,3}")  # on both sides of an ampersand: R&B, AT&T
DOLLARS = re.compile(r"US|A|AU|C|CA|NZ|HK|NT|S|R|Z")
CASE_ENDING = re.compile(r"[a-zåäö]{1,5}")


def detokenize(text: str, language: str = "en") -> str:
    """Return the text of official lines: the inverse of `tokenize`, up to the side of some quotation marks.

    Args:
        text: One or more lines of tokens.
        language: Code of the tokens' language.

    Raises:
        BuilderError: The language is unknown.

    >>> detokenize("Don 't stop at 1 @,@ 500 .")
    "Don't stop at 1,500."
    >>> detokenize("L' amitié : 5 % , oui !", "fr")
    "L'amitié : 5 %, oui !"
    """
    code = language_of(language).text_language
    return "\n".join(detokenize_line(line, code) for line in text.split("\n"))


def detokenize_line(line: str, language: str | None = "en") -> str:
    """The text of a line of tokens; None for `language` takes only what holds in all of them, for metrics.

    >>> detokenize_line('a guest @-@ starring role ( 1 @,@ 500 words ) ; said " no " .')
    'a guest-starring role (1,500 words); said "no".'
    >>> detokenize_line("= = Early life = =")
    '== Early life =='
    """
    tokens = line.split()
    level = heading_level(" ".join(tokens))
    if level:
        marks = "=" * level
        return f"{marks} {_join(tokens[level:-level], language)} {marks}"
    return _join(tokens, language)


def _join(tokens: list[str], language: str | None) -> str:
    """The tokens as text, each with or without a space before it."""
    pieces: list[str] = []
    glued = True
    quoted = {QUOTE: False, APOSTROPHE: False}
    style = None if language is None else _style(language)
    closing: list[str] = []  # what closes each mark that is open
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in quoted and not (style and not quoted[token] and style.joins(token, before, after)):
            left = quoted[token] or (token == APOSTROPHE and _is_possessive(before, language))
            right = not left
            quoted[token] = right
        elif style is None:
            left, right = _sides(token, before, after)
        elif closing and token in closing[-1] and not (after in CONTRACTIONS and token == CURVED):
            closing.pop()
            left, right = True, False
        elif token in style.pairs:
            closing.append(style.pairs[token])
            left, right = False, True
        else:
            left, right = style.sides(token, before, after)
        pieces.append(SPLIT.get(token, token) if left or glued else f" {token}")
        glued = right
    return "".join(pieces)


def _is_possessive(before: str, language: str | None) -> bool:
    """True if an apostrophe after this token belongs to it: the teams ' goals; in Italian un po '."""
    return before.lower() == "po" if language == "it" else before[-1:] in tuple("sxz")


def _sides(token: str, before: str, after: str) -> tuple[bool, bool]:
    """True for each side of the token that has no space: before it, after it."""
    if token in ("@,@", "@.@"):
        return True, after[:1].isdigit()
    if token in DOTS:
        return token in LEFT and before not in DOTS, False
    contraction = token[0] == APOSTROPHE and token[1:2].isalnum()
    return contraction or token in LEFT | BOTH, token in RIGHT | BOTH


@dataclass(frozen=True, slots=True)
class _Style:
    """How a language sets its marks."""

    language: str
    pairs: dict[str, str]

    def joins(self, mark: str, before: str, after: str) -> bool:
        """True for an apostrophe within a word, a time and the like."""
        letters = before[-1:].isalpha() and after[:1].isalpha()
        if mark == CURVED:
            english = after in CONTRACTIONS or (len(before) == 1 and before.isupper())
            return letters and (english or self.language != "en")
        if mark == APOSTROPHE:  # Rosie O ' Donnell, Sotheby ' s
            return letters and self.language != "en" and (len(before) == 1 or after == "s")
        if mark == "·":
            return letters and self.language == "ca"
        if mark == ":":
            time = before.isdigit() and len(after) == 2 and after.isdigit()
            ending = self.language in ("fi", "sv") and CASE_ENDING.fullmatch(after) is not None
            return time or (ending and before[-1:].isupper())
        if mark == "&":
            return bool(ABBREVIATION.fullmatch(before) and ABBREVIATION.fullmatch(after.removesuffix(".")))
        return False

    def sides(self, mark: str, before: str, after: str) -> tuple[bool, bool]:
        """True for each side of the mark that has no space."""
        if self.joins(mark, before, after):
            return True, True
        language = self.language
        if language == "fr" and mark in (":", ";", "!", "?"):
            return False, False
        if mark == "%" and language in SPACED_PERCENT:
            return False, False
        if mark == "–" and language != "en":
            return (True, True) if before[-1:].isdigit() and after[:1].isdigit() else (False, False)
        if mark == CURVED:
            return True, False
        if mark in ("¿", "¡") or (mark == "€" and language == "en"):
            return False, True
        if mark in OTHER_LEFT:
            return True, False
        if mark in OTHER_BOTH:
            return True, True
        if mark == "$" and language == "en":
            return DOLLARS.fullmatch(before) is not None, True
        elided = language in ELIDING and mark[-1] == APOSTROPHE and mark[-2:-1].isalpha()
        if elided and after[:1].isalnum():
            return False, True
        return _sides(mark, before, after)


@cache
def _style(language: str) -> _Style:
    return _Style(language, PAIRS.get(language, OPENING))
