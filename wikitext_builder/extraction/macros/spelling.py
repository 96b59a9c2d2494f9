"""Numbers in words, as in `{{convert|8|mi|spell=in}}`."""

from __future__ import annotations

import re

from wikitext_builder.extraction.listing import listed

UNDER_TWENTY = listed(
    """
zero; one; two; three; four; five; six; seven; eight; nine; ten; eleven; twelve; thirteen;
fourteen; fifteen; sixteen; seventeen; eighteen; nineteen
"""
)
TENS = listed("; ; twenty; thirty; forty; fifty; sixty; seventy; eighty; ninety")
THOUSANDS = listed("; thousand; million; billion; trillion")
ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
PLAIN = re.compile(r"(?P<sign>[-−]?)(?P<whole>\d{1,3}(?:,\d{3})*|\d+)(?:\.(?P<decimals>\d+))?")


def in_words(shown: str, *, american: bool = False) -> str:
    """A number in words; any other text unchanged.

    >>> in_words("8"), in_words("122"), in_words("1,122", american=True), in_words("2.5")
    ('eight', 'one hundred and twenty-two', 'one thousand, one hundred twenty-two', 'two point five')
    """
    match = PLAIN.fullmatch(shown)
    if match is None or len(digits := match["whole"].replace(",", "")) > 15:
        return shown
    words = whole_in_words(int(digits), american=american)
    if decimals := match["decimals"]:
        words += " point " + " ".join(UNDER_TWENTY[int(digit)] for digit in decimals)
    return ("minus " if match["sign"] else "") + words


def fraction_in_words(whole: str, over: int, under: int, *, american: bool = False) -> str:
    """A fraction in words, after a whole number that may be absent.

    >>> fraction_in_words("", 1, 2), fraction_in_words("2", 3, 4), fraction_in_words("", 5, 8)
    ('one half', 'two and three quarters', 'five eighths')
    """
    named = {2: "half", 4: "quarter"}.get(under) or ordinal_in_words(under)
    plural = "halves" if named == "half" else f"{named}s"
    text = f"{whole_in_words(over, american=american)} {named if over == 1 else plural}"
    return f"{in_words(whole, american=american)} and {text}" if whole else text


def whole_in_words(number: int, *, american: bool) -> str:
    """A whole number below 10¹⁵ in words; British English has an `and` after the hundreds."""
    groups: list[str] = []
    rest, power = number, 0
    while rest:
        rest, group = divmod(rest, 1000)
        if group:
            groups.append(f"{_below_thousand(group, american=american)} {THOUSANDS[power]}".rstrip())
        power += 1
    if not groups:
        return UNDER_TWENTY[0]
    joint = " and " if not american and 0 < number % 1000 < 100 and len(groups) > 1 else ", "
    return ", ".join(groups[:0:-1]) + (joint if len(groups) > 1 else "") + groups[0]


def _below_thousand(number: int, *, american: bool) -> str:
    hundreds, rest = divmod(number, 100)
    pieces = [f"{UNDER_TWENTY[hundreds]} hundred"] if hundreds else []
    if rest:
        pieces += ["and"] if hundreds and not american else []
        pieces.append(_below_hundred(rest))
    return " ".join(pieces)


def _below_hundred(number: int) -> str:
    if number < 20:
        return UNDER_TWENTY[number]
    tens, ones = divmod(number, 10)
    return TENS[tens] + (f"-{UNDER_TWENTY[ones]}" if ones else "")


def ordinal_in_words(number: int) -> str:
    """`twenty-first` of 21.

    >>> ordinal_in_words(21), ordinal_in_words(40), ordinal_in_words(6)
    ('twenty-first', 'fortieth', 'sixth')
    """
    words = whole_in_words(number, american=False)
    last = re.split("[^a-z]", words)[-1]
    head = words.removesuffix(last)
    if last in ORDINALS:
        return head + ORDINALS[last]
    return f"{head}{last[:-1]}ieth" if last.endswith("y") else f"{head}{last}th"
