"""Layers that models share: recurrences, softmaxes, attention over a window."""
