"""Errors of the harness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wikitext_builder.errors import ToolkitError

if TYPE_CHECKING:
    from lm_benchmarks.records.result import Result


class HarnessError(ToolkitError):
    """A measurement, a comparison or a report failed."""


class MeasuringError(HarnessError):
    """Some models failed or break a law; the others were measured.

    Attributes:
        results: What was measured.
    """

    def __init__(self, message: str, results: list[Result]) -> None:
        super().__init__(message)
        self.results = results
