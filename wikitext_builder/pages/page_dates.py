"""When the pages of a store were made and promoted, as far as a selection asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wikitext_builder.pages.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates:
    """Two moments in the past of a page, ISO 8601 in UTC; empty: not known."""

    created: str = ""  # its first revision
    promoted: str = ""  # since when its category of Good or Featured articles lists it


def add_dates(store: Store, language: str, dates: Mapping[int, Dates]) -> None:
    """Keep the dates of each page id; one that is not known leaves what is there."""
    rows = [
        (language, page_id, one.created, one.promoted) for page_id, one in dates.items() if one != Dates()
    ]
    if rows:
        store.write(
            "INSERT INTO dates VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " created = iif(excluded.created = '', created, excluded.created),"
            " promoted = iif(excluded.promoted = '', promoted, excluded.promoted)",
            rows,
        )
