"""How much of a dataset also occurs in other text: whether it is new."""
