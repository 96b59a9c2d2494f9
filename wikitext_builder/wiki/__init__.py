"""A wiki: its API over HTTP, its language, its titles and dates, and what its pages are."""
