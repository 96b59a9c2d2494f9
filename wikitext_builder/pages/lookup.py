"""How a selection finds its pages: listings of a wiki, which the store notes piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from wikitext_builder.pages.page_filters import Condition
from wikitext_builder.pages.store import Rejected, Revision, Store, Wanted
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.responses import ApiError, Json, continuation, expected_fields

DONE = "done"  # the position of a listing that has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What a selection can use to find its pages."""

    store: Store  # notes how far a listing is, so that a killed one can be resumed
    wikipedia: Wikipedia
    as_of: str = ""  # ISO 8601 in UTC; empty: now
    progress: Progress = no_progress

    def wanted(self, titles: Iterable[str]) -> tuple[Wanted, ...]:
        """Want the pages of some titles, at the date."""
        return tuple(Wanted(title=title, as_of=self.as_of) for title in titles)

    def list_all(
        self, what: str, name: str, parameters: Mapping[str, str], read: Callable[[Json], Iterable[str]]
    ) -> list[str]:
        """Return all lines of a listing of the wiki, in their order; the store notes each piece.

        Args:
            what: The listing among all listings of the wiki.
            name: For progress.
            parameters: Of the query.
            read: Returns the lines of an answer's `query`.
        """
        listing = f"{self.wikipedia.language.code} {what}"
        position = self.store.note(listing)
        try:
            self._list(listing, name, position, parameters, read)
        except ApiError as error:
            if error.code != "badcontinue" or position is None:
                raise
            self._list(listing, name, None, parameters, read)  # the wiki has forgotten our position
        return self.store.listed(listing)

    def list_members(self, what: str, name: str, category: str, **parameters: str) -> list[str]:
        """Return the articles in a category; see `list_all`, and the API's `categorymembers`."""
        members = {
            "list": "categorymembers",
            "cmtitle": f"Category:{category}",
            "cmnamespace": "0",
            "cmprop": "title",
            "cmlimit": "max",
        }
        return self.list_all(what, name, members | parameters, _articles)

    def _list(
        self,
        listing: str,
        name: str,
        position: str | None,
        parameters: Mapping[str, str],
        read: Callable[[Json], Iterable[str]],
    ) -> None:
        if position == DONE:
            return
        wikipedia, stage = self.wikipedia, f"listing {name}"
        count = len(self.store.listed(listing))
        self.progress(stage, count, None)
        for answer in wikipedia.query(parameters, json.loads(position) if position else None):
            token = continuation(wikipedia.api, answer)
            with expected_fields(wikipedia.api):
                lines = list(read(answer["query"]))
            self.store.note_listing(listing, lines, json.dumps(token) if token else DONE)
            count += len(lines)
            self.progress(stage, count, None if token else count)


def _articles(query: Json) -> list[str]:
    return [str(one["title"]) for one in query["categorymembers"] if one["ns"] == 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The pages that a selection found."""

    wanted: tuple[Wanted, ...] = ()
    locked: dict[int, Revision] = field(default_factory=dict)  # by id, as a lock file describes them
    rejected: tuple[Rejected, ...] = ()
    condition: Condition | None = None  # that each page must meet when it is here; None: all of them count


class Selection(Protocol):
    """A choice of pages."""

    def find(self, lookup: Lookup) -> Selected:
        """Find the pages.

        Raises:
            BuilderError: The selection cannot be read, or has no pages.
        """
        ...
