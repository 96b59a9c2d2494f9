"""Wikitext in, the lines that a reader sees out."""
