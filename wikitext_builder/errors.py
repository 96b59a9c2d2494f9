"""The two ways in which things go wrong: the run cannot go on, or one page is left out."""

from __future__ import annotations


class BuilderError(Exception):
    """The run cannot go on, and the user can do something about it.

    The message says what was found, what was expected and what to do. Only `cli.py` catches it.
    """


class RejectedError(Exception):
    """One page is left out; the rest goes on.

    Attributes:
        reason: a short stable word to count by, such as `too-large` or `deleted`.
        detail: a sentence with what was found and what was expected.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
