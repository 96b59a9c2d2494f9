"""A wiki: its API over HTTP, its titles, its language."""
