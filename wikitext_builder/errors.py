"""Errors: a run cannot continue, or one page is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

# What Python, torch and others say in an error.
SHORT_MEMORY: Final = re.compile(
    "can't start new thread|can't allocate memory|Failed to alloc|(not enough|out of) memory"
)
UNANSWERED: Final = "unanswered"  # the reason of a page of which a wiki said nothing: the next run asks again
# Not from the middle of a word, and with few kinds: else a long word would take quadratic time.
BEGIN: Final = r"(?<![\w.+-])(?:[\w.+-]++:){1,4}+//"
# Up to the quote that stands before it; else to a space or the next of several, as in
# `mix:completions:http://…,completions:http://…`.
ADDRESS: Final = re.compile(
    rf"""(?<='){BEGIN}[^'\s]*|(?<="){BEGIN}[^"\s]*|(?<!['"]){BEGIN}(?:(?!,{BEGIN})\S)*"""
)


def nearest(name: str, names: Iterable[str]) -> str:
    """What an error says of a name that is none: `; did you mean X?`, or nothing if none is similar.

    >>> nearest("octopus", ["Octopus", "Oak"]), nearest("kn5", ["kn-5", "unigram"]), nearest("x", ["kn-5"])
    ("; did you mean 'Octopus'?", "; did you mean 'kn-5'?", '')
    """
    from difflib import get_close_matches  # here, because most runs never need it

    folded = {one.casefold(): one for one in names}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


class ToolkitError(Exception):
    """The run cannot continue, and the user can do something about it.

    The message says what was found, what was expected and what to do. It names options and commands as one
    types them (`--as-of`, `wikitext-builder status`): in Python, `--as-of` is the argument `as_of`. A command
    line prints it and exits with status 1. Each package raises a class of its own.

    >>> print(ToolkitError("http://me:secret@host/v1?key=secret refused it"))
    http://host/v1 refused it
    """

    def __str__(self) -> str:
        """The message, whose addresses have no users, passwords and keys."""
        return without_secrets(super().__str__())


class BuilderError(ToolkitError):
    """Fetching, extraction, building or a dataset failed."""


class RejectedError(Exception):
    """One page is left out; the run continues with the next one.

    Attributes:
        reason: A short fixed word to count by, such as `too-large` or `deleted`.
        detail: A sentence with what was found and what was expected.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def reject(*faults: tuple[str, object, str]) -> None:
    """Raise for the first fault that is there: its reason, whether it is there, and what was found."""
    for reason, is_there, detail in faults:
        if is_there:
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
    return isinstance(error, MemoryError) or SHORT_MEMORY.search(str(error)) is not None


# --- addresses, which may be shown, logged and kept without users, passwords and keys


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
