"""Regenerates the WikiText datasets from Wikipedia."""

__version__ = "0.1.0"
