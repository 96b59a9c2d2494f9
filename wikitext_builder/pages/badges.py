"""Good and Featured articles by Wikidata's badges, which every Wikipedia has as page properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lookup import Lookup, Selected
from wikitext_builder.wiki.responses import Json

# Items of Wikidata. A Wikipedia without Good articles, say, gives no page that badge.
BADGES: Final = {"good": "Q17437798", "featured": "Q17437796"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Badged:
    """The articles that have one of some badges today."""

    names: tuple[str, ...]  # of `BADGES`

    def find(self, lookup: Lookup) -> Selected:
        """List the pages with the property; the store notes each piece, so that a killed listing resumes."""
        titles = set[str]()
        for name in self.names:
            badge = {"pwppropname": f"wikibase-badge-{BADGES[name]}", "pwpprop": "title", "pwplimit": "max"}
            listed = lookup.list_all(f"badge {name}", name, {"list": "pageswithprop", **badge}, _articles)
            titles.update(listed)
        if not titles:
            raise BuilderError(
                f"{lookup.wikipedia.api}: no article has the badge of {' or '.join(self.names)} articles;"
                " name a category of them: --select category:NAME"
            )
        return Selected(wanted=lookup.wanted(titles))


def _articles(query: Json) -> Iterator[str]:
    yield from (str(one["title"]) for one in query["pageswithprop"] if one["ns"] == 0)
