"""From tokens back to text: the inverse of the tokenizer.

Tokens do not show whether a quotation mark opens or closes, so marks alternate. For English the round trip is
exact: `tokenize_line(detokenize_line(tokens)) == tokens` for every line of the official raw valid file. The
text can differ from the text before tokenization. Other languages have the rules of Moses.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from wikitext_builder.article import heading_level
from wikitext_builder.wiki.languages import language_of

LEFT: Final = frozenset(",.;:!?)]%°′″”…") | {"..."}  # tokens without a space before them
RIGHT: Final = frozenset("([$£₱¥₩₤#“‘@")  # tokens without a space after them
BOTH: Final = frozenset("/–‑⁄×") | {"@-@"}
SPLIT: Final = {"@-@": "-", "@,@": ",", "@.@": "."}  # where the tokenizer splits words and numbers
SPLIT_MARK = re.compile(r" @([-,.])@(?: |$)")
QUOTE, APOSTROPHE, CURVED = '"', "'", "’"
DOTS: Final = frozenset((".", "..", "..."))
CLOSING: Final = {"„": "“”", "‚": "‘’", "“": "”", "‘": "’", "«": "»", "‹": "›"}  # what closes each mark
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
    """The text of a line of tokens; None for `language` takes only what holds in all of them, for metrics.

    >>> detokenize_line('a guest @-@ starring role ( 1 @,@ 500 words ) ; said " no " .')
    'a guest-starring role (1,500 words); said "no".'
    >>> detokenize_line("= = Early life = =")
    '== Early life =='
    """
    tokens = line.split()
    level = heading_level(" ".join(tokens))
    inner = tokens[level:-level] if level else tokens
    text = _join(inner, language) if language in ("en", None) else _by_moses(inner, str(language))
    return f"{'=' * level} {text} {'=' * level}" if level else text


def _by_moses(tokens: list[str], language: str) -> str:
    words = SPLIT_MARK.sub(r"\1", " ".join(tokens)).split()
    text: str = _moses(language).detokenize(words, unescape=False)
    return text


@cache
def _moses(language: str) -> Any:  # noqa: ANN401 - sacremoses has no types
    from sacremoses import MosesDetokenizer  # here, because it takes 0.5 s

    return MosesDetokenizer(lang=language)


def _join(tokens: list[str], language: str | None) -> str:
    """The tokens as text, each with or without a space before it."""
    pieces: list[str] = []
    glued = True
    quoted = {QUOTE: False, APOSTROPHE: False}
    closing: list[str] = []  # what closes each mark that is open
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in quoted:
            left = quoted[token] or (token == APOSTROPHE and before[-1:] in tuple("sxz"))  # the teams ' goals
            right = not left
            quoted[token] = right
        elif language is None:
            left, right = _sides(token, before, after)
        elif closing and token in closing[-1] and not (after in CONTRACTIONS and token == CURVED):
            closing.pop()
            left, right = True, False
        elif token in CLOSING:
            closing.append(CLOSING[token])
            left, right = False, True
        else:
            left, right = _english_sides(token, before, after)
        pieces.append(SPLIT.get(token, token) if left or glued else f" {token}")
        glued = right
    return "".join(pieces)


def _sides(token: str, before: str, after: str) -> tuple[bool, bool]:
    """True for each side of the token that has no space: before it, after it."""
    if token in ("@,@", "@.@"):
        return True, after[:1].isdigit()
    if token in DOTS:
        return token in LEFT and before not in DOTS, False
    contraction = token[0] == APOSTROPHE and token[1:2].isalnum()
    return contraction or token in LEFT | BOTH, token in RIGHT | BOTH


def _english_sides(mark: str, before: str, after: str) -> tuple[bool, bool]:
    """The same, with what holds in English only: times, abbreviations, curved apostrophes, currencies."""
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
