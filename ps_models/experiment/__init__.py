"""What the front door hands out: a model by name or path, a dataset by path."""
