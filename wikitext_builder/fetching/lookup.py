"""Asks a wiki for titles, from listings, list pages and logs, and checks the pages that it returns."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from urllib.parse import unquote

from wikitext_builder.article import Page
from wikitext_builder.errors import UNANSWERED, BuilderError, RejectedError, reject
from wikitext_builder.fetching.page_filters import Fault, Filter, FirstRevision, Rule
from wikitext_builder.limits import WIKITEXT_BYTES
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.schema import Rejected, Revision, Wanted, sha1_of
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import classifier, tidy_title, title_fault
from wikitext_builder.wiki.client import BATCH_TITLES, FoundPages, Site, Wikipedia
from wikitext_builder.wiki.dates import Span, is_timestamp
from wikitext_builder.wiki.languages import Language, with_first
from wikitext_builder.wiki.responses import (
    ApiError,
    FoundPage,
    FoundRevision,
    LogEntry,
    Query,
    Titled,
    expected,
)

LINK = re.compile(r"\[\[([^\[\]{}|<>\n]+)(?:\||\]\])")
TRANSCLUSION = re.compile(r"\{\{([^{}|<>\n\[\]]+)(?:\||\}\})")
WITHOUT_LINKS = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)", re.DOTALL | re.IGNORECASE)
DONE = "done"  # the position of a finished listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The store and the wiki in which selections find their pages."""

    store: Store  # notes the positions of listings, so that killed ones can be resumed
    wikipedia: Wikipedia
    as_of: str = ""  # ISO 8601 in UTC; empty for now
    progress: Progress = no_progress

    def wanted(self, titles: Iterable[str]) -> tuple[Wanted, ...]:
        """Return requests for the pages of titles, at the date."""
        return tuple(Wanted(title=title, as_of=self.as_of) for title in titles)

    def list_all(
        self,
        key: str,
        name: str,
        parameters: Mapping[str, str],
        read: Callable[[Query], Iterable[str]],
    ) -> list[str]:
        """Return all lines of a listing of the wiki, in order; the store notes each part.

        `key` identifies the listing in the store, `name` is for progress; `read` returns the lines of an
        answer.
        """
        listing = f"{self.wikipedia.language.code} {key}"
        position = self.store.note(listing)
        try:
            self._list(listing, name, position, parameters, read)
        except ApiError as error:
            if error.code != "badcontinue" or position is None:
                raise
            self._list(listing, name, None, parameters, read)  # the wiki has forgotten our position
        return self.store.listed(listing)

    def list_titles(self, key: str, name: str, kind: str, parameters: Mapping[str, str]) -> list[str]:
        """Return the articles in a listing of a kind, such as `categorymembers`; see `list_all`."""

        def articles(query: Query) -> list[str]:
            rows: list[Titled] | None = getattr(query, kind)
            return [row.title for row in expected(self.wikipedia.api, rows, kind) if row.ns == 0]

        return self.list_all(key, name, {"list": kind, **parameters}, articles)

    def _list(
        self,
        listing: str,
        name: str,
        position: str | None,
        parameters: Mapping[str, str],
        read: Callable[[Query], Iterable[str]],
    ) -> None:
        if position == DONE:
            return
        wikipedia, stage = self.wikipedia, f"listing {name}"
        count = len(self.store.listed(listing))
        self.progress(stage, count, None)
        for answer in wikipedia.query(parameters, json.loads(position) if position else None):
            token, lines = answer.continuation, list(read(answer.query))
            self.store.note_listing(listing, lines, json.dumps(token) if token else DONE)
            count += len(lines)
            self.progress(stage, count, None if token else count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The pages that a selection found."""

    wanted: tuple[Wanted, ...] = ()
    locked: dict[int, Revision] = field(default_factory=dict)  # by id, from a lock file
    rejected: tuple[Rejected, ...] = ()
    rules: tuple[Rule[Filter], ...] = ()  # that each fetched page must pass


@runtime_checkable
class Selection(Protocol):
    """A way to find pages."""

    def find(self, lookup: Lookup) -> Selected:
        """Find the pages."""
        ...


# --- limits and samples


def check_numbers(limit: int | None, sample: int | None) -> None:
    """Check --limit and --sample."""
    for option, number in (("--limit", limit), ("--sample", sample)):
        if number is not None and number < 1:
            raise BuilderError(f"{option} {number}: give 1 or more")
    if limit is not None and sample is not None:
        raise BuilderError("--limit takes the first titles, --sample random ones; give one of them")


def sampled(wanted: Iterable[Wanted], count: int | None, seed: int) -> list[Wanted]:
    """Return `count` requests with the smallest hashes of seed and title, in any order; None: all.

    >>> [page.title for page in sampled([Wanted(title=name) for name in "ABCDEF"], 2, 1)]
    ['D', 'F']
    """

    def rank(page: Wanted) -> tuple[bytes, Wanted]:
        return hashlib.sha256(f"{seed} {page.title}".encode()).digest(), page

    return [*wanted] if count is None else sorted(wanted, key=rank)[:count]


# --- links of list pages


def links_of(title: str, text: str, site: Site) -> list[str]:
    """Return the articles that the text of a list page links to."""
    if titles := linked_titles(text, site):
        return titles
    subpages = sorted({name.strip() for name in TRANSCLUSION.findall(text) if "/" in name})
    listed = ", ".join(subpages[:20])
    advice = f"; it transcludes {listed}: name each of them as list:PAGE" if subpages else ""
    raise BuilderError(f"{title}: its own wikitext does not link to any article{advice}")


def linked_titles(wikitext: str, site: Site) -> list[str]:
    """Return the distinct titles in namespace 0 that a text links to, in order."""
    targets = LINK.findall(WITHOUT_LINKS.sub("", wikitext))
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
    """Return today's titles of the articles in the log of creations, and those that this run rejected."""
    listing = f"{lookup.wikipedia.language.code} log create {span.since} {span.until} today"
    position = lookup.store.note(listing)
    if position is None:
        _check_log(lookup, span.since)
    rows, all_rejected = _created(lookup, span), list[Rejected]()
    for start in range(0 if position is None else int(position), len(rows), BATCH_TITLES):
        batch = dict(row.split(" ", 1) for row in rows[start : start + BATCH_TITLES])
        titles, rejected = _current_titles(lookup, batch)
        lookup.store.add(lookup.wikipedia.language.code, [], origin=lookup.wikipedia.api, rejected=rejected)
        all_rejected += rejected
        done = min(start + BATCH_TITLES, len(rows))
        lookup.store.note_listing(listing, titles, str(done))
        lookup.progress("finding new pages", done, len(rows), f"{len(rejected)} rejected" if rejected else "")
    return lookup.store.listed(listing), tuple(all_rejected)


def _check_log(lookup: Lookup, since: str) -> None:
    """Refuse a date from before the log, which would look as if nothing had been created."""
    oldest = {"letype": "create", "ledir": "newer", "leprop": "timestamp", "lelimit": "1"}
    answer = lookup.wikipedia.request({"action": "query", "list": "logevents", **oldest})
    beginning = max((entry.timestamp for entry in _entries(lookup, answer.query)), default="")
    if not beginning or since < beginning:
        fault = f"begins at {beginning}" if beginning else "is empty"
        raise BuilderError(
            f"the log of creations of {lookup.wikipedia.api} {fault}: it does not name the pages since"
            f" {since}; select others, such as good, with --include created-since:{since[:10]}"
        )


def _created(lookup: Lookup, span: Span) -> list[str]:
    """Return the entries of the log of creations for articles: page id and title of each."""
    # With ids, because a page of the span can have been moved since.
    log = {"letype": "create", "lenamespace": "0", "leend": span.until, "leprop": "ids|title"}

    def line(entry: LogEntry) -> str:  # a hidden entry has no page
        return f"{entry.logpage} {entry.title}" if entry.logpage else ""

    return _logged(lookup, "create", span, log, line)


def moved_titles(lookup: Lookup, span: Span) -> list[str]:
    """Return the titles under which pages of other namespaces became articles since the span began."""

    def title(entry: LogEntry) -> str:
        move = entry.params
        return "" if isinstance(move, list) or not entry.ns or move.target_ns else move.target_title

    # Without a namespace, because an entry has that of the old title.
    return _logged(lookup, "move", span, {"letype": "move", "leprop": "title|details"}, title)


def _logged(
    lookup: Lookup, kind: str, span: Span, log: Mapping[str, str], line: Callable[[LogEntry], str]
) -> list[str]:
    """Return a line per entry of a log, oldest first; entries with an empty line are left out."""

    def lines(query: Query) -> Iterator[str]:
        return filter(None, map(line, _entries(lookup, query)))

    log = {"list": "logevents", "lelimit": "max", "ledir": "newer", "lestart": span.since, **log}
    name = f"log {kind} {span.since} {span.until}"
    return lookup.list_all(name, f"log {kind} since {span.since[:10]}", log, lines)


def _entries(lookup: Lookup, query: Query) -> list[LogEntry]:
    return expected(lookup.wikipedia.api, query.logevents, "logevents")


def _current_titles(lookup: Lookup, titles: Mapping[str, str]) -> tuple[list[str], list[Rejected]]:
    """Return today's titles of page ids; reject pages that are no longer articles, by the log's title."""
    current, rejected = list[str](), list[Rejected]()
    answer = lookup.wikipedia.request({"action": "query", "prop": "info", "pageids": "|".join(titles)})
    pages = {str(page.page_id): page for page in answer.query.pages}
    for page_id, title in titles.items():
        page = pages.get(page_id, FoundPage(absent=True))
        if fault := _article_fault(page):
            rejected.append(Rejected(title=title, page_id=int(page_id), reason=fault[0], detail=fault[1]))
        else:
            current.append(page.title)
    return current, rejected


def _article_fault(page: FoundPage) -> Fault:
    """Return why a page is no longer an article; None if it is."""
    if page.missing:
        return "missing", "it was deleted"
    if page.namespace != 0:
        return "other-namespace", f"it is now {page.title!r}"
    return ("redirect", "it is a redirect") if page.redirect else None


# --- checked pages and first revisions


class FirstRevisions:
    """Asks a wiki once for each first revision; used by several threads."""

    def __init__(self, wikipedia: Wikipedia) -> None:
        self._wikipedia = wikipedia
        self._by_page = dict[int, FirstRevision]()

    def __call__(self, page_id: int) -> FirstRevision:
        """Return the first revision of a page: the one with the oldest timestamp, even if imported."""
        if page_id not in self._by_page:
            oldest = {"rvdir": "newer", "rvlimit": "1", "rvprop": "ids|timestamp|comment"}
            query = {"action": "query", "prop": "revisions", "pageids": str(page_id), **oldest}
            pages = self._wikipedia.request(query).query.pages
            revisions = [revision for page in pages for revision in page.revisions]
            first = FirstRevision()
            if revisions and is_timestamp(revisions[0].timestamp):
                first = FirstRevision(timestamp=revisions[0].timestamp, summary=revisions[0].comment)
            self._by_page[page_id] = first
        return self._by_page[page_id]

    def created(self, page_id: int) -> str:
        """Return when a page was created; empty if not asked for, or if the wiki did not say."""
        return self._by_page.get(page_id, FirstRevision()).timestamp


def titled_page(found: FoundPages, wanted: Wanted, language: Language) -> Page:
    """Return the page that a title leads to; RejectedError: the page cannot be used."""
    page, classify = _found_page(found, wanted.title), classifier(language)
    name, as_of = repr(page.title), wanted.as_of
    fault = title_fault(page.title)  # a lock file could not name the page
    reject(
        ("invalid-title", page.invalid, page.invalid),
        ("invalid-title", fault, f"{name}: {fault}"),
        (
            "other-namespace",
            page.namespace,
            f"{name} is in namespace {page.namespace}, so it is not an article",
        ),
        ("missing", page.missing or not page.page_id, f"there is no page {name}"),
        ("list", classify.is_list(page.title), f"{name} is a list by its title"),
        ("disambiguation", page.disambiguation, f"{name} is a disambiguation page"),
        ("not-yet-created", as_of and not page.revisions, f"{name} has no revision up to {as_of}"),
        ("no-revision", not page.revisions, f"{name} came without a revision"),
    )
    newest = max(page.revisions, key=lambda revision: (revision.timestamp, revision.revision_id))
    number, text = newest.revision_id, checked_text(newest, newest.sha1, "the API")
    reject(
        ("was-redirect", classify.is_redirect(text), f"revision {number} of {name} is a redirect"),
        (
            "disambiguation",
            classify.is_disambiguation(text),
            f"revision {number} has a mark of disambiguation",
        ),
    )
    return Page(
        title=page.title, page_id=page.page_id, revision_id=number, timestamp=newest.timestamp, wikitext=text
    )


def _found_page(found: FoundPages, title: str) -> FoundPage:
    """Follow a title through MediaWiki's spelling and redirects; RejectedError: not a page of this wiki."""
    chain = [found.renamed.get(title, title)]
    while (target := found.redirects.get(chain[-1])) is not None:
        if target in chain:
            raise RejectedError("redirect-loop", " → ".join([*chain, target]))
        chain.append(target)
    last = chain[-1]
    if last in found.other_wikis or title in found.other_wikis:
        raise RejectedError("other-wiki", f"{last!r} is a page of another wiki")
    if last not in found.pages:
        raise RejectedError(UNANSWERED, f"the API said nothing about {last!r}")
    return found.pages[last]


def exact_page(found: FoundPages, locked: Revision) -> Page:
    """Return the revision that a lock file names, under its title; RejectedError: gone, or another text."""
    number = locked.revision_id
    revisions = (revision for page in found.pages.values() for revision in page.revisions)
    revision = next((revision for revision in revisions if revision.revision_id == number), None)
    if revision is None:
        if number not in found.bad_revisions:
            raise RejectedError(UNANSWERED, f"the API said nothing about revision {number}")
        raise RejectedError("missing-revision", f"revision {number}: the wiki no longer has it")
    return Page(
        title=locked.title,
        page_id=locked.page_id,
        revision_id=number,
        timestamp=locked.timestamp,
        wikitext=checked_text(revision, locked.sha1, "the lock file"),
    )


def checked_text(revision: FoundRevision, sha1: str, source: str) -> str:
    """Return the wikitext of a revision; RejectedError: the text is missing or invalid.

    `source` names the origin of `sha1`; an empty `sha1` is not compared.
    """
    number, text, when = revision.revision_id, revision.text, revision.timestamp
    reject(
        ("malformed", not is_timestamp(when), f"revision {number} has the timestamp {when!r}"),
        ("hidden", revision.hidden, f"the wiki's administrators hid the text of revision {number}"),
        ("no-text", text is None, f"the wiki has lost the text of revision {number}"),
        (
            "content-model",
            revision.model != "wikitext",
            f"revision {number} is {revision.model!r}, not wikitext",
        ),
    )
    text = text or ""
    size, actual = len(text.encode()), sha1_of(text)
    limit = f"revision {number} has {size:,} bytes, more than {WIKITEXT_BYTES:,}"
    differs = f"revision {number}: expected sha1 {sha1} of {source}, found {actual}"
    reject(("too-large", size > WIKITEXT_BYTES, limit), ("sha1-mismatch", sha1 and actual != sha1, differs))
    return text
