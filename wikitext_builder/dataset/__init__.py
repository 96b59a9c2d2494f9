"""A finished dataset: its files, vocabulary, splits, recipes, statistics, plots and verification."""
