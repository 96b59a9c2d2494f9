"""XML exports and dumps: reading them, and importing their articles into a store."""
