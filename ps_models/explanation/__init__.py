"""How a model came to its predictions."""
