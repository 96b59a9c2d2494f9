"""A dataset as a language model reads it."""
