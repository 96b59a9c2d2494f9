"""Builds datasets from the pages of a store."""
