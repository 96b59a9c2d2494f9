"""Measures and plots corpora, and compares them with other text."""
