"""Errors of models."""

from __future__ import annotations

from wikitext_builder.errors import ToolkitError


class ModelError(ToolkitError):
    """A model, its training, its checkpoint or its evaluation failed."""
