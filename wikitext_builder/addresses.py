"""Addresses as they may be shown, logged and kept: without users, passwords and keys."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

# Up to the next of several, as in `mix:completions:http://…,completions:http://…`; a value can be in quotes.
ADDRESS: Final = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]*://(?:(?!,[\w.+-]+:\S*?://)(?:='[^'\s]*'|="[^"\s]*"|[^\s'"]))*"""
)


def without_secrets(text: str) -> str:
    """A text whose addresses have no user, password, query or fragment.

    >>> without_secrets("completions:http://me:p@ss@host:80/v1?api-key=SECRET is busy")
    'completions:http://host:80/v1 is busy'
    >>> without_secrets("command:ask 'http://host/v1?key=SECRET' http://host/v1?key='SECRET'&n=1 'more'")
    "command:ask 'http://host/v1' http://host/v1 'more'"
    """
    return ADDRESS.sub(lambda match: _public(match[0]), text)


def _public(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:  # no address: nobody knows what of it is secret
        return f"{address.partition('://')[0]}://…"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
