"""How tools make a perplexity of a text: one file per convention, and one registry."""
