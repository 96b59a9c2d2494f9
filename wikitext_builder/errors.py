"""Errors: a run cannot continue, or one page is left out."""

from __future__ import annotations


class ToolkitError(Exception):
    """The run cannot continue, and the user can do something about it.

    The message says what was found, what was expected and what to do. The command lines print it and exit
    with status 1. Each package raises a class of its own.
    """


class BuilderError(ToolkitError):
    """Fetching, extraction, building or a dataset failed."""


class RejectedError(Exception):
    """One page is left out; the run continues with the next one.

    Attributes:
        reason: a short stable word to count by, such as `too-large` or `deleted`.
        detail: a sentence with what was found and what was expected.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
