"""Turns text into tokens, and tokens back into text."""
