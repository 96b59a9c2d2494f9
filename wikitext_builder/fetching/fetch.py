"""Fetches pages, the texts of unknown template calls, and HTML, from a wiki into a store."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from wikitext_builder.article import Page
from wikitext_builder.errors import UNANSWERED, BuilderError, RejectedError
from wikitext_builder.fetching.expansions import (
    ExpansionsReport,
    HtmlReport,
    fetch_expansions,
    fetch_html,
)
from wikitext_builder.fetching.lookup import (
    FirstRevisions,
    Lookup,
    Selected,
    check_numbers,
    exact_page,
    titled_page,
)
from wikitext_builder.fetching.page_filters import ASKS_WIKI, Texts, first_fault
from wikitext_builder.fetching.selections import (
    language_selected,
    parse_conditions,
    parse_selections,
    select_pages,
)
from wikitext_builder.progress import Progress, WaitingProgress, no_progress
from wikitext_builder.store.reading import note_names
from wikitext_builder.store.schema import Rejected, Revision, Wanted
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.client import BATCH_TITLES, MAXLAG, FoundPages, NoAnswerError, Wikipedia, api_of
from wikitext_builder.wiki.dates import now, parse_date
from wikitext_builder.wiki.http import checked_api, is_trusted, read_token
from wikitext_builder.wiki.languages import language_of

LOG = logging.getLogger(__name__)
# Means of 57 English articles of April 2016 in the MediaWiki of tests/mediawiki: docs/fetching.md.
PAGE_BYTES = 21_000  # of the answer with a page's wikitext, in gzip
HTML_BYTES = 30_000  # of the answer with a page's HTML, in gzip
HTML_SECONDS = 0.37  # until the HTML of a page arrives


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """The numbers of requests of a fetch, after those that find its pages."""

    pages: int
    html: int  # one per page, if requested
    conditions: int  # at most: a page that is rejected early needs none
    expansions: int  # at most: pages without unknown calls need none; names of templates add one per 50
    seconds_per_request: float  # according to the pace
    seconds_per_html: float  # according to the pace, or the wiki's time to render a page
    bytes: int  # of all answers

    @property
    def seconds(self) -> tuple[float, float]:
        """The shortest and the longest duration."""
        least = (self.pages + self.conditions) * self.seconds_per_request + self.html * self.seconds_per_html
        return least, least + self.expansions * self.seconds_per_request


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReport:
    """What a fetch did."""

    pages: PagesReport
    expansions: ExpansionsReport | None  # None if not requested
    html: HtmlReport | None  # None if not requested
    plan: FetchPlan | None = None  # only of a dry run


def fetch(
    store: str | Path,
    *,
    select: str | Sequence[str] = (),
    include: Texts = (),
    exclude: Texts = (),
    contact: str = "",
    language: str | None = None,
    api: str | None = None,
    as_of: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    maxlag: float | None = MAXLAG,
    parallel: int = 1,
    per_minute: int | None = None,
    token_file: str | Path | None = None,
    expand: bool = True,
    rendered: bool | None = None,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> FetchReport:
    """Fetch articles from a Wikipedia's API into a store; call it again to resume.

    Args:
        store: Path of the store, which is created if missing.
        select: What to fetch, one or several of `good`, `featured`, `category:NAME`, `list:PAGE`,
            `list:PAGE@REVISION`, `titles:FILE`, `lock:FILE`, `created-since:DATE` and `recent:DATE`. Empty:
            good and featured.
        include: Keep only matching pages: another selection, `words:MIN-MAX` or `bytes:MIN-MAX`.
        exclude: Drop matching pages: another selection, or `stubs`.
        contact: Your mail or web address, which the wiki sees. Wikimedia requires it.
        language: Code of the Wikipedia, also as pt-BR or por; None: a selected lock file's, else en.
        api: URL of a wiki's `api.php`, instead of the language's Wikipedia.
        as_of: Fetch the newest revisions on or before this date or time, with one request per page.
        limit: Fetch only the first N titles, in code-point order.
        sample: Fetch only N random titles.
        seed: Seed for the sample; the same titles and seed give the same sample.
        maxlag: The wiki refuses while its database lag exceeds this many seconds; None: ignore lag.
        parallel: Concurrent requests, 1 to 3; on Wikimedia's wikis more than 1 needs a token.
        per_minute: Requests per minute; None: 200, or unlimited for a wiki on this machine.
        token_file: File with an OAuth 2 token; None: for Wikimedia's wikis and on this machine the
            environment's `WIKITEXT_BUILDER_TOKEN`.
        expand: Ask the wiki for the texts of template calls that `extract` does not know, on pages without
            HTML.
        rendered: Also store each page's HTML, with one request per page; False: only wikitext. None: HTML
            except in English; of the pages of a lock file, as the file has it.
        dry_run: Only find the pages, and estimate requests and time.
        progress: Called after each batch and each page, and while the wiki makes us wait.

    Raises:
        BuilderError: An argument is invalid, or the wiki or the store cannot be used.

    Example:
        >>> import wikitext_builder as wb
        >>> wb.fetch("pages.store", select="good", contact="you@example.org", limit=100)  # doctest: +SKIP
    """
    wiki = language_of(language or language_selected(select) or "en")
    date, waiting = parse_date(as_of), WaitingProgress(progress)
    if date > now():  # a later run would not ask again
        raise BuilderError(f"--as-of {as_of}: this day is not over (in UTC); give an earlier one, or a time")
    parse_selections(select, wiki)  # reports errors before any request
    parse_conditions(include, exclude, wiki)
    check_numbers(limit, sample)
    url = api or api_of(wiki)
    token = read_token(token_file, trusted=is_trusted(checked_api(url, contact)))
    pace: dict[str, Any] = {"maxlag": maxlag, "parallel": parallel, "per_minute": per_minute}
    client = Wikipedia(url, language=wiki, contact=contact, token=token, on_wait=waiting.wait, **pace)
    with client as wikipedia, Store.create(Path(store)) as opened, _only_fetch(opened.path, waiting):
        opened.expect_wiki(wikipedia.language.code, wikipedia.site().wiki, wikipedia.api)
        wikipedia.language = note_names(opened, wikipedia.language)
        lookup = Lookup(store=opened, wikipedia=wikipedia, as_of=date, progress=waiting)
        selected = select_pages(
            lookup,
            parse_selections(select, wikipedia.language),
            conditions=parse_conditions(include, exclude, wikipedia.language),
            limit=limit,
            sample=sample,
            seed=seed,
        )
        route = _Route(rendered=rendered, is_english=wiki.is_english, locked=selected.locked)
        if dry_run:
            return _dry_run(lookup, selected, route, expand=expand)
        pages = fetch_selected(lookup, selected)
        revision_ids = revisions_to_build(opened, wikipedia.language.code, selected.locked, date)
        with_html = tuple(filter(route.takes_html, revision_ids))
        html = fetch_html(opened, wikipedia, with_html, progress=waiting) if with_html else None
        refused = {revision for revision, sha1 in opened.rendered_sha1s(wiki.code) if not sha1} & {*with_html}
        from_wikitext = tuple(
            revision for revision in revision_ids if route.reads_wikitext(revision) or revision in refused
        )
        expansions = None
        if expand and (from_wikitext or not with_html):
            expansions = fetch_expansions(opened, wikipedia, from_wikitext, progress=waiting)
    return FetchReport(pages=pages, expansions=expansions, html=html)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """Whether a page is made from HTML or from wikitext.

    A build from a lock file takes HTML only of pages for which the file names it: the others need texts of
    calls.
    """

    rendered: bool | None  # None: as the lock file says of its pages, and of others by language
    is_english: bool
    locked: Mapping[int, Revision]

    def takes_html(self, revision_id: int) -> bool:
        """Return True if the HTML of a revision is asked for."""
        if self.rendered is not None:
            return self.rendered
        page = self.locked.get(revision_id)
        return bool(page.html) if page else not self.is_english

    def reads_wikitext(self, revision_id: int) -> bool:
        """Return True if a build takes the wikitext of a revision, also if its HTML is there."""
        page = self.locked.get(revision_id)
        return not self.takes_html(revision_id) or (page is not None and not page.html)


@contextmanager
def _only_fetch(store: Path, progress: Progress) -> Iterator[None]:
    """Wait while another fetch works on a store; the system releases the lock of a killed process."""
    path = Path(f"{store.resolve()}-fetch")
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        progress("waiting", 0, None, f"another fetch works on {store}; this one follows")
        lock.acquire()
        progress("waiting", 1, 1)
    try:
        yield
    finally:
        path.unlink(
            missing_ok=True
        )  # still locked: a waiting process sees that the file is gone, and creates another
        lock.release()


def _dry_run(lookup: Lookup, selected: Selected, route: _Route, *, expand: bool) -> FetchReport:
    """Count the requests of a fetch, including those for stored revisions that lack HTML or expansions."""
    store, wikipedia = lookup.store, lookup.wikipedia
    code, todo = wikipedia.language.code, _pages_to_fetch(store, wikipedia.language.code, selected)
    stored = revisions_to_build(store, code, selected.locked, lookup.as_of)
    query = "SELECT DISTINCT revision_id FROM expansions WHERE language = ?"
    expanded = {revision for (revision,) in store.read(query, (code,))}
    with_html = {revision for revision, _ in store.rendered_sha1s(code)}
    new = [page.revision_id for page in todo]
    html = sum(map(route.takes_html, [*new, *(revision for revision in stored if revision not in with_html)]))
    calls = sum(
        map(route.reads_wikitext, [*new, *(revision for revision in stored if revision not in expanded)])
    )
    plan = FetchPlan(
        pages=sum(1 for _ in _batches(todo)),
        html=html,
        conditions=len(todo) if any(rule.filter.cost >= ASKS_WIKI for rule in selected.rules) else 0,
        expansions=calls if expand else 0,
        seconds_per_request=wikipedia.seconds_per_request,
        seconds_per_html=max(wikipedia.seconds_per_request, HTML_SECONDS / wikipedia.parallel),
        bytes=len(todo) * PAGE_BYTES + html * HTML_BYTES,
    )
    report = _pages_report(wikipedia, selected, todo, Counter(), Counter())
    return FetchReport(pages=report, expansions=None, html=None, plan=plan)


def _pages_to_fetch(store: Store, language: str, selected: Selected) -> list[Wanted]:
    """Return the selected pages that are neither stored nor rejected under the same conditions."""
    settled = store.settled(language, _conditions(selected))
    return [page for page in selected.wanted if page not in settled]


def _conditions(selected: Selected) -> str:
    """Return everything that decides whether a page is taken, as a text to compare."""
    return repr(selected.rules) if selected.rules else ""


# --- pages


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesReport:
    """What fetching pages did."""

    selected: int
    present: int  # settled in an earlier run, or already stored: imported, or under another title
    fetched: int  # revisions that are new in the store
    redirects: int
    rejected: Mapping[str, int]  # in this run, by reason
    requests: int
    warnings: tuple[str, ...]  # of the API


def fetch_selected(lookup: Lookup, selected: Selected) -> PagesReport:
    """Fetch the selected pages that the store does not have.

    Each batch is one transaction: a killed fetch resumes where it stopped, and repeats at most the batches
    that it was requesting.
    """
    store, wikipedia = lookup.store, lookup.wikipedia
    code = wikipedia.language.code
    store.add(code, [], origin=wikipedia.api, rejected=selected.rejected)
    store.want(code, selected.wanted)
    todo = _pages_to_fetch(store, code, selected)
    store.ask_again(code, _conditions(selected))
    counts, rejected = _fetch_missing(store, wikipedia, todo, selected, lookup.progress)
    return _pages_report(wikipedia, selected, todo, counts, rejected)


def _pages_report(
    wikipedia: Wikipedia,
    selected: Selected,
    todo: Sequence[Wanted],
    counts: Counter[str],
    rejected: Counter[str],
) -> PagesReport:
    rejected = rejected + Counter(page.reason for page in selected.rejected)
    return PagesReport(
        selected=len(selected.wanted) + len(selected.rejected),
        present=len(selected.wanted) - len(todo) + counts["present"],
        fetched=counts["fetched"],
        redirects=counts["redirects"],
        rejected=dict(sorted(rejected.items())),
        requests=wikipedia.requests,
        warnings=tuple(sorted(wikipedia.warnings)),
    )


def revisions_to_build(
    store: Store, language: str, locked: Iterable[int] = (), as_of: str = ""
) -> tuple[int, ...]:
    """Return the ids of each page's newest revision up to the date, and of locked revisions in the store."""
    newest = {revision.revision_id for revision in store.revisions(language, as_of=as_of or None)}
    stored = {revision.revision_id for revision in store.all_revisions(language)}
    return tuple(sorted(newest | stored & set(locked)))


def _fetch_missing(
    store: Store, wikipedia: Wikipedia, todo: Sequence[Wanted], selected: Selected, progress: Progress
) -> tuple[Counter[str], Counter[str]]:
    """Fetch the pages, and store each batch in one transaction.

    Returns how many are settled, fetched and redirects, and how many are rejected, by reason.
    """
    counts, rejected = Counter[str](), Counter[str]()
    code, fetcher = wikipedia.language.code, _BatchFetcher(wikipedia, selected, FirstRevisions(wikipedia))
    if todo:
        progress("fetching", 0, len(todo))
    for batch in chain.from_iterable(wikipedia.map(fetcher.fetch, _batches(todo))):
        store.add_items(code, batch.items)
        store.add_dates(code, batch.created)
        added = store.add(
            code,
            batch.pages,
            origin=wikipedia.api,
            settled=batch.settled,
            rejected=batch.rejected,
            redirects=batch.redirects,
        )
        for page in batch.rejected:
            LOG.info("rejected %s: %s, %s", page.title, page.reason, page.detail)
        for wanted in batch.unanswered:
            LOG.warning("%s: the wiki did not answer; the next fetch asks again", wanted.title)
        counts.update(fetched=added, present=len(batch.pages) - added)
        counts.update(redirects=len(batch.redirects), settled=len(batch.settled))
        rejected.update(page.reason for page in batch.rejected)
        rejected.update({UNANSWERED: len(batch.unanswered)} if batch.unanswered else {})
        progress("fetching", counts["settled"], len(todo), f"{rejected.total()} rejected" if rejected else "")
    return counts, rejected


# --- one batch


@dataclass(slots=True, kw_only=True)
class _Batch:
    """The result of a batch, which is stored in one transaction."""

    settled: list[Wanted] = field(default_factory=list)
    unanswered: list[Wanted] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    items: dict[int, str] = field(default_factory=dict)  # of Wikidata, by page id
    created: dict[int, str] = field(default_factory=dict)  # by page id


def _batches(wanted: Sequence[Wanted]) -> Iterator[tuple[Wanted, ...]]:
    """Yield the pages of each request: 50 titles, 50 revision ids, or one title at a date."""
    newest = iter([page for page in wanted if not page.as_of and not page.revision_id])
    exact = iter([page for page in wanted if page.revision_id])
    for pages in (newest, exact):
        while batch := tuple(islice(pages, BATCH_TITLES)):
            yield batch
    for page in wanted:
        if page.as_of and not page.revision_id:
            yield (page,)


@dataclass(frozen=True, slots=True)
class _BatchFetcher:
    """Fetches batches of pages, and checks them; used by several threads."""

    wikipedia: Wikipedia
    selected: Selected
    first_of: FirstRevisions

    def fetch(self, wanted: tuple[Wanted, ...]) -> list[_Batch]:
        """Fetch a batch; if the wiki does not answer, fetch each page alone."""
        first = wanted[0]
        if first.revision_id:
            parameters = {"revids": "|".join(str(page.revision_id) for page in wanted)}
        else:
            dated = {"rvstart": first.as_of, "rvdir": "older", "rvlimit": "1"} if first.as_of else {}
            parameters = {"titles": "|".join(page.title for page in wanted), "redirects": "1", **dated}
        try:
            found = self.wikipedia.find(parameters)
        except NoAnswerError:
            if len(wanted) == 1:
                return [_Batch(unanswered=[first])]
            return [batch for page in wanted for batch in self.fetch((page,))]
        batch = _Batch(items={page.page_id: page.wikidata_id for page in found.pages.values()})
        for page in wanted:
            self._sort_into(batch, page, found)
        return [batch]

    def _sort_into(self, batch: _Batch, wanted: Wanted, found: FoundPages) -> None:
        """Add a requested page of an answer to the batch, or the reason why it is rejected."""
        try:
            page = self._page(wanted, found)
        except (RejectedError, NoAnswerError) as error:
            if isinstance(error, NoAnswerError) or error.reason == UNANSWERED:
                batch.unanswered.append(wanted)
                return
            batch.rejected.append(Rejected.by(error, wanted.title, revision_id=wanted.revision_id))
        else:
            batch.pages.append(page)
            locked = self.selected.locked.get(wanted.revision_id)
            created = (locked.created if locked else "") or self.first_of.created(page.page_id)
            batch.created[page.page_id] = created
            if not locked and found.renamed.get(wanted.title, wanted.title) != page.title:
                batch.redirects[wanted.title] = page.title
        batch.settled.append(wanted)

    def _page(self, wanted: Wanted, found: FoundPages) -> Page:
        """Return the requested page; RejectedError: the page is rejected."""
        if locked := self.selected.locked.get(wanted.revision_id):
            page = exact_page(found, locked)
        else:
            page = titled_page(found, wanted, self.wikipedia.language)
        if fault := first_fault(self.selected.rules, page, self.first_of):
            raise RejectedError(*fault)
        return page
