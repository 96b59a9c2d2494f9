"""A dataset: recipes, splits, vocabulary, files, manifest, loading, statistics, plots and verification."""
