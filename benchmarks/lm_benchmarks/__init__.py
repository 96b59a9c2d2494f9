"""Benchmarks of language models: runs, comparisons and reports of numbers that say what decided them."""
