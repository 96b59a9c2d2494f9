"""Expands calls of plain wikitext templates offline, by the rules of MediaWiki's preprocessor."""
