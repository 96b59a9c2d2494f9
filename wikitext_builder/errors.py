"""Defines the errors: one ends the run, the other rejects a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

# How Python, torch and other libraries say that memory ran out.
OUT_OF_MEMORY: Final = re.compile(
    "can't start new thread|can't allocate memory|Failed to alloc|(not enough|out of) memory"
)
UNANSWERED: Final = "unanswered"  # rejection reason: the wiki gave no answer; the next run asks again
# Begins at a word and has few schemes, because a long word would otherwise take quadratic time.
URL_BEGIN: Final = r"(?<![\w.+-])(?:[\w.+-]++:){1,4}+//"
# A quoted URL ends at its quote, another at a space or at the next URL of a list, as in
# `mix:completions:http://…,completions:http://…`.
URL: Final = re.compile(
    rf"""(?<='){URL_BEGIN}[^'\s]*|(?<="){URL_BEGIN}[^"\s]*|(?<!['"]){URL_BEGIN}(?:(?!,{URL_BEGIN})\S)*"""
)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the part of an error that suggests a similar name; "" if no name is similar.

    >>> did_you_mean("octopus", ["Octopus", "Oak"]), did_you_mean("kn5", ["kn-5", "unigram"])
    ("; did you mean 'Octopus'?", "; did you mean 'kn-5'?")
    >>> did_you_mean("x", ["kn-5"])
    ''
    """
    from difflib import get_close_matches  # imported here because most runs never need it

    by_casefold = {candidate.casefold(): candidate for candidate in names}
    similar = get_close_matches(name.casefold(), by_casefold, n=1, cutoff=0.6)
    return f"; did you mean {by_casefold[similar[0]]!r}?" if similar else ""


class ToolkitError(Exception):
    """The run cannot continue, and the user can do something about it.

    The message says what was found, what was expected and what to do. It names options and commands as users
    type them (`--as-of`, `wikitext-builder status`): in Python, `--as-of` is the argument `as_of`. A command
    line prints it and exits with status 1. Each package raises its own subclass.

    >>> print(ToolkitError("http://me:secret@host/v1?key=secret refused it"))
    http://host/v1 refused it
    """

    def __str__(self) -> str:
        """Return the message, whose URLs have no users, passwords and keys."""
        return without_secrets(super().__str__())


class BuilderError(ToolkitError):
    """Fetching, extraction, building or a dataset failed."""


class RejectedError(Exception):
    """A page is rejected; the run continues with the next page.

    Attributes:
        reason: A short fixed word to count by, such as `too-large` or `deleted`.
        detail: A sentence with what was found and what was expected.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def reject(*faults: tuple[str, object, str]) -> None:
    """Raise `RejectedError` for the first true fault: its reason, its condition and its detail."""
    for reason, is_true, detail in faults:
        if is_true:
            raise RejectedError(reason, detail)


def is_short_memory(error: BaseException) -> bool:
    """Returns True if memory ran out.

    >>> is_short_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"))
    True
    >>> is_short_memory(RuntimeError("Failed to alloc"))  # torch, between two of its own allocations
    True
    >>> from zstandard import ZstdError
    >>> is_short_memory(ZstdError("cannot compress: Allocation error : not enough memory"))
    True
    """
    return isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error)) is not None


# --- URLs, which are shown, logged and stored only without users, passwords and keys


def without_secrets(text: str) -> str:
    """Return a text without the user, password, query and fragment of its URLs.

    >>> without_secrets("completions:http://me:p@ss@host:80/v1?api-key=SECRET is busy")
    'completions:http://host:80/v1 is busy'
    >>> without_secrets("command:ask 'http://host/v1?key=SECRET' http://host/v1?key='SECRET'&n=1 'more'")
    "command:ask 'http://host/v1' http://host/v1 'more'"
    >>> without_secrets("http://me:it's@host/v1"), without_secrets("http://me:a/b@host"), without_secrets("s3://")
    ('http://host/v1', 'http://…', 's3://')
    """
    return URL.sub(_public_url, text)


def _public_url(url: re.Match[str]) -> str:
    schemes, slashes, rest = url[0].partition("//")
    try:
        parts = urlsplit(slashes + rest)
        if "@" in parts.path:
            _ = parts.port  # raises if it is not a number: a password with a slash is read as host and port
    except ValueError:  # not a URL, so any part of it can be secret
        return f"{schemes}//…"
    return f"{schemes}//{parts.netloc.rpartition('@')[2]}{parts.path}"
