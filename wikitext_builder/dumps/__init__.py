"""Dumps and snapshots: unpacked, read page by page, imported into a store."""
