"""Decompresses dumps and snapshots, reads them page by page, and imports them into a store."""
