"""The articles in a category, and in its sub-categories down to a depth; those with a badge of Wikidata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lookup import Lookup, Selected, members_of
from wikitext_builder.progress import no_progress
from wikitext_builder.wiki.responses import Json

CATEGORY_NAMESPACE = 14
# Items of Wikidata. A Wikipedia without Good articles, say, gives no page that badge.
BADGES: Final = {"good": "Q17437798", "featured": "Q17437796"}
MOST = 20_000  # categories of a tree, each of them a request: deep ones lead to nearly all of a wiki


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """The articles in a category, as it is today."""

    name: str  # without its namespace
    depth: int = 0  # levels of sub-categories

    def find(self, lookup: Lookup) -> Selected:
        """List the members; the store notes each piece, so that a killed listing can be resumed."""
        if self.depth:
            titles = sorted(self._tree(lookup))
        else:
            titles = lookup.list_members(f"category {self.name}", self.name, self.name, cmtype="page")
        if not titles:
            raise BuilderError(
                f"Category:{self.name} of {lookup.wikipedia.api} has no articles or does not exist; check its"
                " name, or name another as --select category:NAME"
            )
        return Selected(wanted=lookup.wanted(titles))

    def _tree(self, lookup: Lookup) -> set[str]:
        """List it level by level, each category once: categories can contain each other in a circle."""
        quiet, stage = replace(lookup, progress=no_progress), f"listing {self.name}"
        titles, seen, level = set[str](), {self.name}, [self.name]
        for depth in range(self.depth + 1):
            kinds = "page|subcat" if depth < self.depth else "page"
            below, asked = set[str](), {"cmtype": kinds, "cmnamespace": f"0|{CATEGORY_NAMESPACE}"}
            for name in level:
                listing = f"categories {kinds} {name}"
                for row in quiet.list_all(listing, name, members_of(name) | asked, _rows):
                    namespace, title = row.split(" ", 1)
                    if namespace == "0":
                        titles.add(title)
                    else:
                        below.add(title.partition(":")[2])
                lookup.progress(stage, len(titles), None)
            level = sorted(below - seen)
            seen |= below
            if depth < self.depth and len(seen) > MOST:
                raise BuilderError(
                    f"Category:{self.name} has {len(seen):,} sub-categories down to depth {depth + 1},"
                    f" expected at most {MOST:,}; take depth={depth} or a narrower category"
                )
        lookup.progress(stage, len(titles), len(titles))
        return titles


def _rows(query: Json) -> Iterator[str]:
    members = ((int(one["ns"]), str(one["title"])) for one in query["categorymembers"])
    yield from (f"{number} {title}" for number, title in members if number in (0, CATEGORY_NAMESPACE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Badged:
    """The articles that have one of some badges today."""

    names: tuple[str, ...]  # of `BADGES`

    def find(self, lookup: Lookup) -> Selected:
        """List the pages with the property; the store notes each piece, so that a killed listing resumes."""
        titles = set[str]()
        for name in self.names:
            badge = {"pwppropname": f"wikibase-badge-{BADGES[name]}", "pwpprop": "title", "pwplimit": "max"}
            listed = lookup.list_all(f"badge {name}", name, {"list": "pageswithprop", **badge}, _badged)
            titles.update(listed)
        if not titles:
            raise BuilderError(
                f"{lookup.wikipedia.api}: no article has the badge of {' or '.join(self.names)} articles;"
                " name a category of them: --select category:NAME"
            )
        return Selected(wanted=lookup.wanted(titles))


def _badged(query: Json) -> Iterator[str]:
    yield from (str(one["title"]) for one in query["pageswithprop"] if one["ns"] == 0)
