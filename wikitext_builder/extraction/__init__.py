"""From wikitext, or from rendered HTML, to the lines that a reader sees."""
