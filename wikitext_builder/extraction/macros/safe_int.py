"""Whole numbers from arguments: bounded, because Python converts 4,300 digits at most, and dates fewer."""

from __future__ import annotations

MAX_DIGITS = 9  # of a number that something is computed from: it fits into 32 bits


def whole_number(text: str, *, digits: int = MAX_DIGITS) -> int | None:
    """The whole number that a text of decimal digits stands for; None where it has more of them, or others.

    >>> whole_number("2016"), whole_number("10000", digits=4), whole_number("²"), whole_number("")
    (2016, None, None, None)
    """
    return int(text) if len(text) <= digits and text.isdecimal() else None


def at_most(limit: int, text: str) -> int | None:
    """The whole number that a text of decimal digits stands for, or the limit if it is larger.

    >>> at_most(20, "3"), at_most(20, "9" * 10_000), at_most(20, "many")
    (3, 20, None)
    """
    if not text.isdecimal():
        return None
    number = whole_number(text)
    return limit if number is None else min(number, limit)
