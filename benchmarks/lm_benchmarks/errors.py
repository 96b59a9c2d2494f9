"""Errors of the harness."""

from __future__ import annotations

from wikitext_builder.errors import ToolkitError


class HarnessError(ToolkitError):
    """A measurement, a comparison or a report failed."""


class StorageError(HarnessError):
    """Results, or scores of an interrupted measurement, cannot be kept."""


class UnreachableError(HarnessError):
    """A server does not answer now: the same command can resume later."""
