"""How well a model predicts texts, and texts that it generates."""
