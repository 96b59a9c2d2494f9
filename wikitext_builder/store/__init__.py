"""The store: fetched pages in one SQLite file; files of titles, and lock files that name revisions."""
