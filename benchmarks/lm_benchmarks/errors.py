"""Errors of the harness."""

from __future__ import annotations

from wikitext_builder.errors import ToolkitError


class HarnessError(ToolkitError):
    """A measurement, a comparison or a report failed."""
