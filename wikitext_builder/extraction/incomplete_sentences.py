"""Drops sentences whose template data could not be expanded.

"With some million inhabitants it is the largest city" is worse than no sentence. See decision 15.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

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
