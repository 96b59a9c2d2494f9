"""Shows how a model made its predictions."""
