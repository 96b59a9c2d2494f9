"""Addresses as they may be shown, logged and kept: without users, passwords and keys."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

# Not from the middle of a word, and with few kinds: else a long word would take quadratic time.
BEGIN: Final = r"(?<![\w.+-])(?:[\w.+-]++:){1,4}+//"
# Up to the quote that stands before it; else to a space or the next of several, as in
# `mix:completions:http://…,completions:http://…`.
ADDRESS: Final = re.compile(
    rf"""(?<='){BEGIN}[^'\s]*|(?<="){BEGIN}[^"\s]*|(?<!['"]){BEGIN}(?:(?!,{BEGIN})\S)*"""
)


def without_secrets(text: str) -> str:
    """A text whose addresses have no user, password, query or fragment.

    >>> without_secrets("completions:http://me:p@ss@host:80/v1?api-key=SECRET is busy")
    'completions:http://host:80/v1 is busy'
    >>> without_secrets("command:ask 'http://host/v1?key=SECRET' http://host/v1?key='SECRET'&n=1 'more'")
    "command:ask 'http://host/v1' http://host/v1 'more'"
    >>> without_secrets("http://me:it's@host/v1"), without_secrets("http://me:a/b@host"), without_secrets("s3://")
    ('http://host/v1', 'http://…', 's3://')
    """
    return ADDRESS.sub(_public, text)


def _public(address: re.Match[str]) -> str:
    kinds, slashes, rest = address[0].partition("//")
    try:
        parts = urlsplit(slashes + rest)
        if "@" in parts.path:
            _ = parts.port  # a password with a slash looks like one, and is no number
    except ValueError:  # no address: nobody knows what of it is secret
        return f"{kinds}//…"
    return f"{kinds}//{parts.netloc.rpartition('@')[2]}{parts.path}"
