"""Selections by time: pages that are new, and pages that became Good or Featured.

A listing of the wiki gives candidates; the condition of the same name then confirms each when it is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lookup import Lookup, Selected
from wikitext_builder.pages.page_filters import Created, Promoted, WhyNot
from wikitext_builder.pages.store import Rejected
from wikitext_builder.wiki.dates import Span
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import Json, expected_fields

BATCH = 50  # page ids per request


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentPages:
    """The articles that the log of creations names in a span of time, as live leaderboards take them."""

    span: Span

    def find(self, lookup: Lookup) -> Selected:
        """List the log, and find today's titles of its pages."""
        titles, rejected = created_titles(lookup, self.span)
        return Selected(wanted=lookup.wanted(titles), rejected=rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSince:
    """The articles whose first revision is of a span of time."""

    span: Span
    language: Language = field(repr=False)

    def find(self, lookup: Lookup) -> Selected:
        """List what was created, moved among the articles or imported."""
        created, rejected = created_titles(lookup, self.span)
        moved = _logged(lookup, "move", self.span, _moved_in)
        imported = _logged(lookup, "import", self.span, _titles)
        condition = Created(span=self.span, language=self.language, moved=frozenset(moved))
        wanted = lookup.wanted({*created, *moved, *imported})
        return Selected(wanted=wanted, rejected=rejected, condition=condition)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedSince:
    """The articles that became Good or Featured in a span of time."""

    span: Span
    language: Language = field(repr=False)

    def find(self, lookup: Lookup) -> Selected:
        """List what joined the categories since then."""
        since, titles = self.span.since, set[str]()
        for category in self.language.categories:
            found = lookup.list_members(
                f"category {category} since {since}",
                f"{category} since {since[:10]}",
                category,
                cmsort="timestamp",
                cmdir="newer",
                cmstart=since,
            )
            titles.update(found)
        condition = Promoted(span=self.span, language=self.language)
        return Selected(wanted=lookup.wanted(titles), condition=condition)


# --- logs


def created_titles(lookup: Lookup, span: Span) -> tuple[list[str], tuple[Rejected, ...]]:
    """Today's titles of the articles in the log of creations, and what this run found to be none any more.

    Raises:
        BuilderError: The log begins later, or the wiki has none.
    """
    listing = f"{lookup.wikipedia.language.code} log create {span.since} {span.until} today"
    position = lookup.store.note(listing)
    if position is None:
        _check_log(lookup, span.since)
    rows, all_rejected = _logged(lookup, "create", span, _with_ids), list[Rejected]()
    for start in range(0 if position is None else int(position), len(rows), BATCH):
        batch = dict(row.split(" ", 1) for row in rows[start : start + BATCH])
        titles, rejected = _today(lookup, batch)
        lookup.store.add(lookup.wikipedia.language.code, [], origin=lookup.wikipedia.api, rejected=rejected)
        all_rejected += rejected
        done = min(start + BATCH, len(rows))
        lookup.store.note_listing(listing, titles, str(done))
        lookup.progress("finding new pages", done, len(rows), f"{len(rejected)} rejected" if rejected else "")
    return lookup.store.listed(listing), tuple(all_rejected)


def _check_log(lookup: Lookup, since: str) -> None:
    """Refuse a date from before the log: it would look as if nothing had been created."""
    oldest = {
        "list": "logevents",
        "letype": "create",
        "ledir": "newer",
        "leprop": "timestamp",
        "lelimit": "1",
    }
    answer = lookup.wikipedia.request({"action": "query", **oldest})
    with expected_fields(lookup.wikipedia.api):
        begins = max((str(one.get("timestamp", "")) for one in answer["query"]["logevents"]), default="")
    if not begins or since < begins:
        what = f"begins at {begins}" if begins else "is empty"
        raise BuilderError(
            f"the log of creations of {lookup.wikipedia.api} {what}: it does not name the pages since"
            f" {since}; select others, such as good, with --within created-since:{since[:10]}"
        )


def _logged(lookup: Lookup, kind: str, span: Span, read: Callable[[Json], Iterable[str]]) -> list[str]:
    """What the entries of a log since a date name."""
    log = {"list": "logevents", "letype": kind, "leprop": "ids|title|details", "lelimit": "max"}
    log |= {"ledir": "newer", "lestart": span.since}
    if kind != "move":  # the namespace of its entries is that of the old title
        log["lenamespace"] = "0"
    if kind == "create":  # a page of the span can be moved or imported later
        log["leend"] = span.until
    name = f"log {kind} {span.since} {span.until}"
    return lookup.list_all(name, f"log {kind} since {span.since[:10]}", log, read)


def _with_ids(query: Json) -> Iterator[str]:
    yield from (f"{one['logpage']} {one['title']}" for one in query["logevents"] if one.get("logpage"))


def _titles(query: Json) -> Iterator[str]:
    yield from (str(one["title"]) for one in query["logevents"] if one.get("title") and one["ns"] == 0)


def _moved_in(query: Json) -> Iterator[str]:
    """Titles that pages of other namespaces got among the articles."""
    for one in query["logevents"]:
        move = one.get("params") or {}
        if one.get("ns") and move.get("target_ns") == 0 and move.get("target_title"):
            yield str(move["target_title"])


def _today(lookup: Lookup, titles: Mapping[str, str]) -> tuple[list[str], list[Rejected]]:
    """Today's titles of page ids; of what is no article any more, why, under the title of the log."""
    found: list[str] = []
    rejected: list[Rejected] = []
    answer = lookup.wikipedia.request({"action": "query", "prop": "info", "pageids": "|".join(titles)})
    with expected_fields(lookup.wikipedia.api):
        pages = {str(page["pageid"]): page for page in answer["query"]["pages"]}
        for number, title in titles.items():
            page = pages.get(number, {"missing": True})
            if why := _no_article(page):
                rejected.append(Rejected(title=title, page_id=int(number), reason=why[0], detail=why[1]))
            else:
                found.append(str(page["title"]))
    return found, rejected


def _no_article(page: Json) -> WhyNot:
    """Why a page is no article any more; None if it is one."""
    if page.get("missing"):
        return "missing", "it was deleted"
    if page.get("ns", 0) != 0:
        return "other-namespace", f"it is now {page['title']!r}"
    return ("redirect", "it is a redirect") if page.get("redirect") else None
