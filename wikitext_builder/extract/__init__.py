"""Wikitext in, the lines that a reader sees out."""

from __future__ import annotations

from wikitext_builder.extract.page import extract

__all__ = ["extract"]
