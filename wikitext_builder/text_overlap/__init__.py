"""How much of a dataset also occurs in other text."""
