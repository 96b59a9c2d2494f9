"""Tests of the language models."""
