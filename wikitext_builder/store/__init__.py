"""The store: pages and templates in one SQLite file; lock files and files of titles, which name pages."""
