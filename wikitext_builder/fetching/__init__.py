"""Pages of a wiki's API: which ones, their HTML, and the texts of their template calls."""
