"""How a model made its predictions."""
