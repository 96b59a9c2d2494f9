"""Fetches the pages of selections, batch by batch, from the API into a store."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.pages.fetch_checks import exact_page, titled_page
from wikitext_builder.pages.lookup import Lookup, Selection
from wikitext_builder.pages.page_history import WikiPast
from wikitext_builder.pages.selections import Choice, Wish, select_pages
from wikitext_builder.pages.store import (
    Dates,
    Rejected,
    Revision,
    Store,
    Wanted,
    add_dates,
    add_items,
    expect_wiki,
)
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.wiki.client import BATCH, Wikipedia

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesReport:
    """What fetching pages did."""

    selected: int
    present: int  # settled before: fetched or rejected in an earlier run
    fetched: int  # revisions that are new in the store
    redirects: int
    rejected: Mapping[str, int]  # in this run, by reason
    requests: int
    warnings: tuple[str, ...]  # of the API


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What fetching pages did, and which revisions a build of this selection takes."""

    report: PagesReport
    revision_ids: tuple[int, ...]  # see `revisions_to_build`


def fetch_pages(
    store: Store,
    wikipedia: Wikipedia,
    selections: Sequence[Selection],
    *,
    wishes: Sequence[Wish] = (),
    as_of: str = "",
    limit: int | None = None,
    progress: Progress = no_progress,
) -> Fetched:
    """Fetch what selections ask for and the store does not have.

    Each batch is one transaction: a fetch that was killed resumes where it stopped, and repeats at most the
    batches that it was asking for.

    Args:
        store: Open for writing.
        wikipedia: The wiki.
        selections: What to fetch.
        wishes: What each page must be, or none may be.
        as_of: Take each page's newest revision up to then, ISO 8601 in UTC; empty: the newest.
        limit: Take only the first pages of the order of `select_pages`.
        progress: Called after each batch.

    Raises:
        BuilderError: The wiki, the store or a selection cannot be used.
    """
    code, requests_before = wikipedia.language.code, wikipedia.requests
    check_wiki(store, wikipedia)
    lookup = Lookup(store=store, wikipedia=wikipedia, as_of=as_of, progress=progress)
    choice = select_pages(lookup, selections, wishes=wishes, limit=limit)
    selected = choice.selected
    store.add(code, [], origin=wikipedia.api, rejected=selected.rejected)
    store.want(code, selected.wanted)
    store.ask_again(code, choice.shown)
    missing = set(store.missing(code))
    todo = [one for one in selected.wanted if one in missing]
    counts = _fetch_missing(store, wikipedia, todo, choice, progress)
    counts.rejected.update(one.reason for one in selected.rejected)
    report = PagesReport(
        selected=len(selected.wanted) + len(selected.rejected),
        present=len(selected.wanted) - len(todo),
        fetched=counts.fetched,
        redirects=counts.redirects,
        rejected=dict(sorted(counts.rejected.items())),
        requests=wikipedia.requests - requests_before,
        warnings=tuple(sorted(wikipedia.warnings)),
    )
    numbers = revisions_to_build(store, code, selected.locked, as_of)
    return Fetched(report=report, revision_ids=numbers)


def revisions_to_build(
    store: Store, language: str, locked: Iterable[int] = (), as_of: str = ""
) -> tuple[int, ...]:
    """Return the ids of each page's newest revision up to the date, and of the locked ones in the store."""
    newest = {one.revision_id for one in store.revisions(language, as_of=as_of or None)}
    here = {one.revision_id for one in store.all_revisions(language)}
    return tuple(sorted(newest | here & set(locked)))


def check_wiki(store: Store, wikipedia: Wikipedia) -> None:
    """Refuse to mix two wikis of one language in one store: their revision ids mean different texts.

    Raises:
        BuilderError: The store has pages of another wiki.
    """
    expect_wiki(store, wikipedia.language.code, wikipedia.site().wiki, wikipedia.api)


@dataclass(slots=True, kw_only=True)
class _Counts:
    """What the batches so far came to."""

    settled: int = 0
    fetched: int = 0
    redirects: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # by reason


def _fetch_missing(
    store: Store,
    wikipedia: Wikipedia,
    todo: Sequence[Wanted],
    choice: Choice,
    progress: Progress,
) -> _Counts:
    """Ask for what the store does not have, and keep each batch in one transaction."""
    counts, past = _Counts(), WikiPast(wikipedia, wikipedia.language.categories)
    if todo:
        progress("fetching", 0, len(todo))
    for batch in wikipedia.map(lambda wanted: _ask(wikipedia, wanted, choice, past), _batches(todo)):
        add_items(store, wikipedia.language.code, batch.items)
        add_dates(store, wikipedia.language.code, batch.dates)
        counts.fetched += store.add(
            wikipedia.language.code,
            batch.pages,
            origin=wikipedia.api,
            settled=batch.settled,
            rejected=batch.rejected,
            redirects=batch.redirects,
        )
        for one in batch.rejected:
            LOG.info("rejected %s: %s, %s", one.title, one.reason, one.detail)
        counts.redirects += len(batch.redirects)
        counts.rejected.update(one.reason for one in batch.rejected)
        counts.settled += len(batch.settled)
        refused = counts.rejected.total()
        progress("fetching", counts.settled, len(todo), f"{refused} rejected" if refused else "")
    return counts


# --- one batch


@dataclass(slots=True, kw_only=True)
class _Batch:
    """The answer to one batch: all of it goes into the store at once."""

    settled: tuple[Wanted, ...]
    pages: list[Page] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    items: dict[int, str] = field(default_factory=dict)  # of Wikidata, by page id
    dates: dict[int, Dates] = field(default_factory=dict)  # by page id


def _batches(wanted: Sequence[Wanted]) -> Iterator[tuple[Wanted, ...]]:
    """Yield what one request can ask for: 50 titles, 50 revision ids, or one title at a date."""
    newest = iter([one for one in wanted if not one.as_of and not one.revision_id])
    exact = iter([one for one in wanted if one.revision_id])
    for kind in (newest, exact):
        while batch := tuple(islice(kind, BATCH)):
            yield batch
    for one in wanted:
        if one.as_of and not one.revision_id:
            yield (one,)


def _ask(wikipedia: Wikipedia, wanted: tuple[Wanted, ...], choice: Choice, past: WikiPast) -> _Batch:
    """Ask for one batch, and check what comes."""
    first, locked = wanted[0], choice.selected.locked
    if first.revision_id:
        found = wikipedia.find({"revids": "|".join(str(one.revision_id) for one in wanted)})
    else:
        dated = {"rvstart": first.as_of, "rvdir": "older", "rvlimit": "1"} if first.as_of else {}
        titles = "|".join(one.title for one in wanted)
        found = wikipedia.find({"titles": titles, "redirects": "1", **dated})
    items = {page.page_id: page.wikidata_id for page in found.pages.values()}
    batch = _Batch(settled=wanted, items=items)
    for one in wanted:
        try:
            if one.revision_id:
                page = exact_page(found, locked[one.revision_id])
            else:
                page = titled_page(found, one, wikipedia.language)
            choice.check(one, page, past)
        except RejectedError as error:
            detail = error.detail.encode("utf-8", "replace").decode()
            batch.rejected.append(
                Rejected(title=one.title, revision_id=one.revision_id, reason=error.reason, detail=detail)
            )
        else:
            batch.pages.append(page)
            batch.dates[page.page_id] = _dates(locked.get(one.revision_id), past.dates(page.page_id))
            if not one.revision_id and found.renamed.get(one.title, one.title) != page.title:
                batch.redirects[one.title] = page.title
    return batch


def _dates(locked: Revision | None, found: Dates) -> Dates:
    """The dates of a page; those of a lock file win."""
    if locked is None:
        return found
    return Dates(created=locked.created or found.created, promoted=locked.promoted or found.promoted)
