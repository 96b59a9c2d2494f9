"""From XML exports and dumps into the store."""
