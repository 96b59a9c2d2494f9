"""The Wikidata items of the pages of a store, as a wiki's API gives them; a dump does not have them."""

from __future__ import annotations

from collections.abc import Mapping

from wikitext_builder.pages.store import Store


def add_items(store: Store, language: str, items: Mapping[int, str]) -> None:
    """Keep the item of each page id, such as Q1490; an empty one is not kept."""
    rows = [(language, page_id, item) for page_id, item in items.items() if item]
    if rows:
        store.write("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", rows)


def item_of(store: Store, language: str, page_id: int) -> str:
    """The item of a page; empty if it is not known."""
    query = "SELECT item FROM items WHERE language = ? AND page_id = ?"
    rows = store.read(query, (language, page_id)) if store.has_table("items") else []
    return str(rows[0][0]) if rows else ""


def items_of(store: Store, language: str) -> dict[int, str]:
    """The known items by page id, in the order of page ids."""
    query = "SELECT page_id, item FROM items WHERE language = ? ORDER BY page_id"
    return dict(store.read(query, (language,))) if store.has_table("items") else {}
