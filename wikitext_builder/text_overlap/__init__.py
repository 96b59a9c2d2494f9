"""How much of a dataset also stands in other text: the proof that it is new, or that it is not."""
