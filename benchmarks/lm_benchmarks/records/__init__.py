"""Stored measurements: JSON lines that are only appended to."""
