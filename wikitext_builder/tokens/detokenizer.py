"""From tokens back to text: the inverse of the tokenizer on the official WikiText lines.

Tokens do not show whether a quotation mark opens or closes, so marks alternate. The round trip is exact:
`tokenize_line(detokenize_line(tokens)) == tokens` for every line of the official raw valid file. The text can
differ from the text before tokenization.
"""

from __future__ import annotations

from typing import Final

from wikitext_builder.article import heading_level

LEFT: Final = frozenset(",.;:!?)]%°′″”…") | {"..."}  # tokens without a space before them
RIGHT: Final = frozenset("([$£₱¥₩₤#“‘@")  # tokens without a space after them
BOTH: Final = frozenset("/–‑⁄×") | {"@-@"}
SPLIT: Final = {"@-@": "-", "@,@": ",", "@.@": "."}  # where the tokenizer splits words and numbers
QUOTE, APOSTROPHE = '"', "'"
DOTS: Final = frozenset((".", "..", "..."))


def detokenize(text: str) -> str:
    """The plain text of official lines: the inverse of `tokenize`, up to the side of some quotation marks.

    >>> detokenize("Don 't stop at 1 @,@ 500 .")
    "Don't stop at 1,500."
    """
    return "\n".join(map(detokenize_line, text.split("\n")))


def detokenize_line(line: str) -> str:
    """The text of a line of tokens.

    >>> detokenize_line('a guest @-@ starring role ( 1 @,@ 500 words ) ; said " no " .')
    'a guest-starring role (1,500 words); said "no".'
    >>> detokenize_line("= = Early life = =")
    '== Early life =='
    """
    tokens = line.split()
    level = heading_level(" ".join(tokens))
    if level:
        marks = "=" * level
        return f"{marks} {_join(tokens[level:-level])} {marks}"
    return _join(tokens)


def _join(tokens: list[str]) -> str:
    """The tokens as text, each with or without a space before it."""
    pieces: list[str] = []
    glued = True
    quoted = {QUOTE: False, APOSTROPHE: False}
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in quoted:
            left = quoted[token] or (token == APOSTROPHE and _is_possessive(before))
            right = not left
            quoted[token] = right
        else:
            left, right = _sides(token, before, after)
        pieces.append(SPLIT.get(token, token) if left or glued else f" {token}")
        glued = right
    return "".join(pieces)


def _is_possessive(before: str) -> bool:
    """True if an apostrophe after this token ends a plural possessive: the teams ' goals."""
    return before[-1:] in tuple("sxz")


def _sides(token: str, before: str, after: str) -> tuple[bool, bool]:
    """True for each side of the token that has no space: before it, after it."""
    if token in ("@,@", "@.@"):
        return True, after[:1].isdigit()
    if token in DOTS:
        return token in LEFT and before not in DOTS, False
    contraction = token[0] == APOSTROPHE and token[1:2].isalnum()
    return contraction or token in LEFT | BOTH, token in RIGHT | BOTH
