"""Tokens back to text: the inverse of the tokenizer on the official WikiText lines.

Where the tokens do not say whether a quotation mark opens or closes, marks are taken in turns. The law is the
round trip: `tokenize_line(detokenize_line(tokens)) == tokens`, which holds for every line of the official raw
valid file; not that the text is the one that the tokens came from.
"""

from __future__ import annotations

from typing import Final

from wikitext_builder.article import heading_level

LEFT: Final = frozenset(",.;:!?)]%°′″”…") | {"..."}  # tokens that follow their word at once
RIGHT: Final = frozenset("([$£₱¥₩₤#“‘@")  # tokens that the next word follows at once
BOTH: Final = frozenset("/–‑⁄×") | {"@-@"}
SPLIT: Final = {"@-@": "-", "@,@": ",", "@.@": "."}  # what the tokenizer split words and numbers at
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
        return f"{marks} {join(tokens[level:-level])} {marks}"
    return join(tokens)


def join(tokens: list[str]) -> str:
    """The tokens as text, each with a space before it or glued to the one before."""
    pieces: list[str] = []
    glued = True
    quoted = {QUOTE: False, APOSTROPHE: False}
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token in quoted:
            left = quoted[token] or (token == APOSTROPHE and is_possessive(before, glued=glued))
            right = not left
            quoted[token] = right
        else:
            left, right = sides(token, before, after)
        pieces.append(SPLIT.get(token, token) if left or glued else f" {SPLIT.get(token, token)}")
        glued = right
    return "".join(pieces)


def is_possessive(before: str, *, glued: bool) -> bool:
    """Whether a lone apostrophe after this token ends a plural possessor: the teams ' goals."""
    return not glued and before[-1:] in tuple("sxz")


def sides(token: str, before: str, after: str) -> tuple[bool, bool]:
    """Whether the token is glued to what stands before it, and to what stands after it."""
    if token in ("@,@", "@.@"):
        return True, after[:1].isdigit()
    if not token.strip("."):
        return token in LEFT and before not in DOTS, False
    contraction = token[0] == APOSTROPHE and token[1:2].isalnum()
    return contraction or token in LEFT | BOTH, token in RIGHT | BOTH
