"""From the store to a dataset."""
