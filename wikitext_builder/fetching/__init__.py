"""Selects pages of a wiki, and fetches them, their HTML, and the texts of their template calls."""
