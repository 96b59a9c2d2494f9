"""Turns tokens back into text: the inverse of the tokenizer.

Tokens do not show whether a quotation mark opens or closes, so marks alternate. For English the round trip is
exact: `tokenize_line(detokenize_line(tokens)) == tokens` for every line of the official raw valid file. The
text can differ from the text before tokenization. Other languages follow the rules of Moses.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from wikitext_builder.article import heading_level
from wikitext_builder.wiki.languages import language_of

NO_SPACE_BEFORE: Final = frozenset(",.;:!?)]%°′″”…") | {"..."}
NO_SPACE_AFTER: Final = frozenset("([$£₱¥₩₤#“‘@")
NO_SPACE_AROUND: Final = frozenset("/–‑⁄×") | {"@-@"}
SPLIT_PARTS: Final = {"@-@": "-", "@,@": ",", "@.@": "."}  # where the tokenizer splits words and numbers
SPLIT_MARK = re.compile(r" @([-,.])@(?: |$)")
QUOTE, APOSTROPHE, CURVED = '"', "'", "’"
DOTS: Final = frozenset((".", "..", "..."))
CLOSERS: Final = {"„": "“”", "‚": "‘’", "“": "”", "‘": "’", "«": "»", "‹": "›"}  # by the opening mark
CONTRACTIONS: Final = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})
ABBREVIATION = re.compile(r"[A-Z][A-Z0-9]{0,3}")  # on both sides of an ampersand: R&B, AT&T
DOLLARS = re.compile(r"US|A|AU|C|CA|NZ|HK|NT|S|R|Z")


def detokenize(text: str, language: str = "en") -> str:
    """Return the text of official lines: the inverse of `tokenize`, up to the side of some quotation marks.

    Args:
        text: One or more lines of tokens.
        language: Code of the tokens' language.

    Raises:
        BuilderError: The language is unknown.

    >>> detokenize("Don 't stop at 1 @,@ 500 .")
    "Don't stop at 1,500."
    >>> detokenize("L' amitié : 1 @,@ 5 km .", "fr")
    "L'amitié : 1,5 km."
    """
    code = language_of(language).text_language
    return "\n".join(detokenize_line(line, code) for line in text.split("\n"))


def detokenize_line(line: str, language: str | None = "en") -> str:
    """Return the text of a line of tokens; `language` None: only rules common to all languages, for metrics.

    >>> detokenize_line('a guest @-@ starring role ( 1 @,@ 500 words ) ; said " no " .')
    'a guest-starring role (1,500 words); said "no".'
    >>> detokenize_line("= = Early life = =")
    '== Early life =='
    """
    tokens = line.split()
    level = heading_level(" ".join(tokens))
    content = tokens[level:-level] if level else tokens
    text = _join(content, language) if language in ("en", None) else _join_by_moses(content, str(language))
    return f"{'=' * level} {text} {'=' * level}" if level else text


def _join_by_moses(tokens: list[str], language: str) -> str:
    words = SPLIT_MARK.sub(r"\1", " ".join(tokens)).split()
    text: str = _moses(language).detokenize(words, unescape=False)
    return text


@cache
def _moses(language: str) -> Any:  # noqa: ANN401 - sacremoses has no types
    from sacremoses import MosesDetokenizer  # imported here, because it takes 0.5 s

    return MosesDetokenizer(lang=language)


def _join(tokens: list[str], language: str | None) -> str:
    """Join tokens to text, with or without a space before each of them."""
    pieces: list[str] = []
    is_glued = True  # no space follows the previous token
    is_open = {QUOTE: False, APOSTROPHE: False}
    closers: list[str] = []  # for each open mark, the marks that can close it
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in is_open:
            is_possessive = token == APOSTROPHE and before[-1:] in tuple("sxz")  # the teams ' goals
            left = is_open[token] or is_possessive
            right = not left
            is_open[token] = right
        elif language is None:
            left, right = _sides(token, before, after)
        elif closers and token in closers[-1] and not (after in CONTRACTIONS and token == CURVED):
            closers.pop()
            left, right = True, False
        elif token in CLOSERS:
            closers.append(CLOSERS[token])
            left, right = False, True
        else:
            left, right = _english_sides(token, before, after)
        pieces.append(SPLIT_PARTS.get(token, token) if left or is_glued else f" {token}")
        is_glued = right
    return "".join(pieces)


def _sides(token: str, before: str, after: str) -> tuple[bool, bool]:
    """Return True for each side of a token that has no space: before it, after it."""
    if token in ("@,@", "@.@"):
        return True, after[:1].isdigit()
    if token in DOTS:
        return token in NO_SPACE_BEFORE and before not in DOTS, False
    contraction = token[0] == APOSTROPHE and token[1:2].isalnum()
    left = contraction or token in NO_SPACE_BEFORE | NO_SPACE_AROUND
    return left, token in NO_SPACE_AFTER | NO_SPACE_AROUND


def _english_sides(mark: str, before: str, after: str) -> tuple[bool, bool]:
    """Extend `_sides` by the rules of English: times, abbreviations, curved apostrophes, currencies."""
    if mark == ":" and before.isdigit() and len(after) == 2 and after.isdigit():
        return True, True
    if mark == "&":
        joins = bool(ABBREVIATION.fullmatch(before) and ABBREVIATION.fullmatch(after.removesuffix(".")))
        return joins, joins
    if mark == CURVED:
        is_name = len(before) == 1 and before.isupper()  # O’Neill
        return True, before[-1:].isalpha() and after[:1].isalpha() and (after in CONTRACTIONS or is_name)
    if mark in ("¿", "¡", "€"):
        return False, True
    if mark == "$":
        return DOLLARS.fullmatch(before) is not None, True
    return _sides(mark, before, after)
