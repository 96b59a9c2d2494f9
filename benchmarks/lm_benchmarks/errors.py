"""Errors of the harness."""

from __future__ import annotations

from wikitext_builder.errors import ToolkitError


class HarnessError(ToolkitError):
    """A measurement, a comparison or a report failed."""


class UnreachableError(HarnessError):
    """A server does not answer now: the same command can resume later."""
