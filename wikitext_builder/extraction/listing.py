"""Long lists of names, written in the source as one text: names have spaces, so semicolons separate them."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    r"""The names in a text, separated by semicolons, with single spaces.

    >>> listed("Nowrap; Nobr; Not a\n typo")
    ('Nowrap', 'Nobr', 'Not a typo')
    """
    return tuple(" ".join(name.split()) for name in text.split(";"))
