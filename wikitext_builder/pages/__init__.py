"""The store: pages and templates in one SQLite file; files of titles, and lock files that name revisions."""
