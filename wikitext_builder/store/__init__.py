"""The store: fetched pages in one SQLite file, and lock files that name its revisions."""
