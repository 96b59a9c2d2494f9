"""Titles: how MediaWiki writes them, and which ones it refuses."""

from __future__ import annotations

import re
import unicodedata

MAX_TITLE_BYTES = 255  # https://www.mediawiki.org/wiki/Manual:Page_title
ILLEGAL = re.compile(r"[\x00-\x1f\x7f#<>\[\]|{}\ufffd\ud800-\udfff]|~~~|%[0-9A-Fa-f]{2}")
RELATIVE = re.compile(r"\.\.?|\.\.?/.*|.*/\.\.?/.*|.*/\.\.?", re.DOTALL)
SPACES = re.compile(r"[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
BIDI_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e]")


def tidy_title(text: str) -> str:
    """Return a title as MediaWiki writes it, except for the case of its first letter.

    >>> tidy_title(" Łódź_(city) ")
    'Łódź (city)'
    """
    # Not all of a long text: NFC takes quadratic time on unordered combining marks.
    start = SPACES.sub(" ", text)[: 4 * MAX_TITLE_BYTES]
    return SPACES.sub(" ", BIDI_MARKS.sub("", unicodedata.normalize("NFC", start))).strip(" ")


def title_fault(title: str) -> str:
    """Say why no page can have a title; empty if one can.

    >>> title_fault("../x"), title_fault("A|B"), title_fault("AT&T"), title_fault("100 %")
    ('it is a relative path', "it contains '|'", '', '')
    """
    if not title.strip(" _:"):
        return "it is empty"
    if found := ILLEGAL.search(title):
        return f"it contains {found[0]!r}"
    if len(title.encode()) > MAX_TITLE_BYTES:
        return f"it is longer than {MAX_TITLE_BYTES} bytes"
    return "it is a relative path" if RELATIVE.fullmatch(title) else ""


def with_first(text: str, *, upper: bool) -> str:
    """A text with its first letter in upper or lower case."""
    first = text[:1].upper() if upper else text[:1].lower()
    return first + text[1:] if len(first) == 1 else text  # MediaWiki leaves `ß`: no `SS`
