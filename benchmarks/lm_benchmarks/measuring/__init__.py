"""Measurements of a model on a dataset."""
