"""Listings, list pages and logs of a wiki, in which selections find pages; the store notes each piece."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from urllib.parse import unquote

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.rows import Rejected, Revision, Wanted
from wikitext_builder.pages.rules import Filter, WhyNot
from wikitext_builder.pages.store import Store
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.wiki.classify import tidy_title, title_fault, with_first
from wikitext_builder.wiki.client import BATCH, Site, Wikipedia
from wikitext_builder.wiki.dates import Span
from wikitext_builder.wiki.responses import ApiError, Json, continuation, expected_fields

LINK = re.compile(r"\[\[([^\[\]{}|<>\n]+)(?:\||\]\])")
TRANSCLUSION = re.compile(r"\{\{([^{}|<>\n\[\]]+)(?:\||\}\})")
NO_LINKS = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)", re.DOTALL | re.IGNORECASE)
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

        `what` names it among all listings, `name` for progress; `read` returns the lines of an answer's
        `query`.
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
        return self.list_all(what, name, members_of(category) | parameters, _articles)

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
    condition: Filter | None = None  # that each page must meet when it is here; None: all of them count


@runtime_checkable
class Selection(Protocol):
    """A choice of pages."""

    def find(self, lookup: Lookup) -> Selected:
        """Find the pages."""
        ...


# --- some of the pages


def check_numbers(limit: int | None, sample: int | None) -> None:
    """Refuse numbers of pages that nobody can want."""
    for option, number in (("--limit", limit), ("--sample", sample)):
        if number is not None and number < 1:
            raise BuilderError(f"{option} {number}: give 1 or more")
    if limit is not None and sample is not None:
        raise BuilderError("--limit takes the first titles, --sample random ones; give one of them")


def sampled(wanted: Iterable[Wanted], count: int | None, seed: int) -> list[Wanted]:
    """Return those with the smallest hashes of seed and title, whatever their order; None: all of them.

    >>> [one.title for one in sampled([Wanted(title=name) for name in "ABCDEF"], 2, 1)]
    ['D', 'F']
    """

    def place(one: Wanted) -> bytes:
        return hashlib.sha256(f"{seed} {one.title}".encode()).digest()

    return [*wanted] if count is None else sorted(wanted, key=lambda one: (place(one), one))[:count]


def members_of(category: str) -> dict[str, str]:
    """The parameters of a query for the articles in a category."""
    return {
        "list": "categorymembers",
        "cmtitle": f"Category:{category}",
        "cmnamespace": "0",
        "cmprop": "title",
        "cmlimit": "max",
    }


# --- links of list pages


def links_of(title: str, text: str, site: Site) -> list[str]:
    """Return the articles that the text of a list page links to."""
    if titles := linked_titles(text, site):
        return titles
    inner = sorted({name.strip() for name in TRANSCLUSION.findall(text) if "/" in name})
    advice = f"; it transcludes {', '.join(inner[:20])}: name each of them as list:PAGE" if inner else ""
    raise BuilderError(f"{title}: its own wikitext does not link to any article{advice}")


def linked_titles(wikitext: str, site: Site) -> list[str]:
    """Return the titles in namespace 0 that a text links to, each once, in their order."""
    targets = LINK.findall(NO_LINKS.sub("", wikitext))
    return sorted({title for target in targets if (title := _link_title(target, site))})


def _link_title(target: str, site: Site) -> str:
    title = tidy_title(unquote(html.unescape(target)).partition("#")[0]).removeprefix(":").lstrip()
    prefix, colon, _ = title.partition(":")
    if title_fault(title) or title.startswith((":", "/")):
        return ""
    if colon and site.namespaces.get(prefix.strip().lower(), 0) != 0:
        return ""
    return with_first(title, upper=True) if site.capital_first else title


# --- logs


def created_titles(lookup: Lookup, span: Span) -> tuple[list[str], tuple[Rejected, ...]]:
    """Today's titles of the articles in the log of creations, and what this run found to be none any more."""
    listing = f"{lookup.wikipedia.language.code} log create {span.since} {span.until} today"
    position = lookup.store.note(listing)
    if position is None:
        _check_log(lookup, span.since)
    rows, all_rejected = logged(lookup, "create", span, _ids_and_titles), list[Rejected]()
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
            f" {since}; select others, such as good, with --include created-since:{since[:10]}"
        )


def logged(lookup: Lookup, kind: str, span: Span, read: Callable[[Json], Iterable[str]]) -> list[str]:
    """Return what the entries of a log since a date name."""
    log = {"list": "logevents", "letype": kind, "leprop": "ids|title|details", "lelimit": "max"}
    log |= {"ledir": "newer", "lestart": span.since}
    if kind != "move":  # the namespace of its entries is that of the old title
        log["lenamespace"] = "0"
    if kind == "create":  # a page of the span can be moved or imported later
        log["leend"] = span.until
    name = f"log {kind} {span.since} {span.until}"
    return lookup.list_all(name, f"log {kind} since {span.since[:10]}", log, read)


def _ids_and_titles(query: Json) -> Iterator[str]:
    yield from (f"{one['logpage']} {one['title']}" for one in query["logevents"] if one.get("logpage"))


def titles_in(query: Json) -> Iterator[str]:
    """Titles of articles that entries of a log name."""
    yield from (str(one["title"]) for one in query["logevents"] if one.get("title") and one["ns"] == 0)


def moved_in(query: Json) -> Iterator[str]:
    """Titles that pages of other namespaces got among the articles."""
    for one in query["logevents"]:
        move = one.get("params") or {}
        if one.get("ns") and move.get("target_ns") == 0 and move.get("target_title"):
            yield str(move["target_title"])


def _today(lookup: Lookup, titles: Mapping[str, str]) -> tuple[list[str], list[Rejected]]:
    """Today's titles of page ids; for pages that are not articles any more, why, under the log's title."""
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
    """Why a page is not an article any more; None if it is."""
    if page.get("missing"):
        return "missing", "it was deleted"
    if page.get("ns", 0) != 0:
        return "other-namespace", f"it is now {page['title']!r}"
    return ("redirect", "it is a redirect") if page.get("redirect") else None
