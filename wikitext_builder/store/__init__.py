"""Stores pages and templates in one SQLite file; reads and writes lock files and files of titles."""
