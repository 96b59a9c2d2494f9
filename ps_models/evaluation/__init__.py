"""Evaluation: how well a model predicts a text, and text that it generates."""
