"""Fetches pages, the texts of unknown template calls, and HTML, from a wiki into a store."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import UNANSWERED, BuilderError, RejectedError
from wikitext_builder.pages.expansions import (
    ExpansionsReport,
    HtmlReport,
    fetch_expansions,
    fetch_html,
    names_to_ask,
)
from wikitext_builder.pages.lookup import Lookup, Selected, Selection, check_numbers
from wikitext_builder.pages.page_history import WikiPast, exact_page, titled_page
from wikitext_builder.pages.reading import note_names
from wikitext_builder.pages.rows import Dates, Rejected, Wanted
from wikitext_builder.pages.rules import ASKS, Texts
from wikitext_builder.pages.selections import (
    Choice,
    default_selections,
    parse_selection,
    parse_wishes,
    select_pages,
)
from wikitext_builder.pages.store import Store
from wikitext_builder.pages.turns import only_fetch
from wikitext_builder.progress import Progress, WaitingProgress, no_progress
from wikitext_builder.wiki.client import BATCH, MAXLAG, Found, NoAnswerError, Wikipedia, api_of
from wikitext_builder.wiki.dates import now, parse_date
from wikitext_builder.wiki.http import checked_api, is_trusted
from wikitext_builder.wiki.languages import Language, language_of
from wikitext_builder.wiki.token import read_token

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """Numbers of requests of a fetch, after those that find its pages."""

    pages: int
    html: int  # if it was asked for
    conditions: int  # about: a page that is rejected early needs fewer, `promoted-since` more
    expansions: int  # at most: pages without unknown template calls need none
    redirects: int  # of names of templates, of pages in the store; new pages add one per 50 names
    seconds_per_request: float  # by the pace, or by the answers so far if these are slower

    @property
    def seconds(self) -> tuple[float, float]:
        """The shortest and the longest time that it takes."""
        least = self.pages + self.html + self.conditions + self.redirects
        return least * self.seconds_per_request, (least + self.expansions) * self.seconds_per_request


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReport:
    """What a fetch did."""

    pages: PagesReport
    expansions: ExpansionsReport | None  # None: not asked for
    html: HtmlReport | None  # None: not asked for
    plan: FetchPlan | None = None  # of a dry run


def fetch(
    store: str | Path,
    *,
    select: str | Sequence[str] = (),
    include: Texts = (),
    exclude: Texts = (),
    contact: str = "",
    language: str = "en",
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
    renew: bool = False,
    rendered: bool = False,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> FetchReport:
    """Fetch articles from a Wikipedia's API into a store; call it again to resume.

    Args:
        store: Path of the store, which is created if missing.
        select: What to fetch, one or several of `good`, `featured`, `category:NAME`, `category:NAME|depth=2`,
            `list:PAGE`, `list:PAGE@REVISION`, `titles:FILE`, `lock:FILE`, `created-since:DATE`,
            `promoted-since:DATE` and `recent:DATE`. Empty: good and featured.
        include: What each page must be: in another selection, `words:MIN-MAX`, `bytes:MIN-MAX` or
            `quality:CLASS`.
        exclude: What no page may be: in another selection, `stubs` or `series`.
        contact: Your mail or web address, which the wiki sees. Wikimedia requires it.
        language: Code of the Wikipedia.
        api: URL of a wiki's `api.php`, instead of the language's Wikipedia.
        as_of: Fetch the newest revisions up to this date or time, with one request per page.
        limit: Fetch only the first N titles, in code-point order.
        sample: Fetch only N random titles.
        seed: Of the sample; the same titles and seed give the same sample.
        maxlag: The wiki refuses while its database lag exceeds this many seconds; None: ignore lag.
        parallel: Concurrent requests, 1 to 3.
        per_minute: Requests per minute; None: 200, or unlimited for a wiki on this machine.
        token_file: File with an OAuth 2 token; None: for Wikimedia's wikis and on this machine the
            environment's `WIKITEXT_BUILDER_TOKEN`.
        expand: Ask the wiki for the texts of template calls that `extract` does not know.
        renew: Look up template redirects again, which the store keeps.
        rendered: Also store each page's HTML, with one request per page.
        dry_run: Only find the pages, and estimate requests and time.
        progress: Called after each batch and each page, and while the wiki makes us wait.

    Raises:
        BuilderError: An argument is wrong, or the wiki or the store cannot be used.

    Example:
        >>> import wikitext_builder as wb
        >>> wb.fetch("pages.store", select="good", contact="you@example.org", limit=100)  # doctest: +SKIP
    """
    wiki, date, shown = language_of(language), parse_date(as_of), WaitingProgress(progress)
    if date > now():  # a later run would not ask again
        raise BuilderError(f"--as-of {as_of}: this day is not over (in UTC); give an earlier one, or a time")
    selections, wishes = _selections(select, wiki), parse_wishes(include, exclude, wiki)
    check_numbers(limit, sample)
    url, wait = api or api_of(wiki), shown.wait
    asked = Wikipedia(
        url,
        language=wiki,
        contact=contact,
        maxlag=maxlag,
        parallel=parallel,
        per_minute=per_minute,
        token=read_token(token_file, trusted=is_trusted(checked_api(url, contact))),
        on_wait=wait,
    )
    with asked as wikipedia, Store.create(Path(store)) as opened, only_fetch(opened.path, shown):
        opened.expect_wiki(wikipedia.language.code, wikipedia.site().wiki, wikipedia.api)
        if (names := note_names(opened, wikipedia.language)) != wiki:  # it has names of its own
            selections, wishes = _selections(select, names), parse_wishes(include, exclude, names)
            wikipedia.language = names
        lookup = Lookup(store=opened, wikipedia=wikipedia, as_of=date, progress=shown)
        choice = select_pages(lookup, selections, wishes=wishes, limit=limit, sample=sample, seed=seed)
        if dry_run:
            return _dry_run(lookup, choice, expand=expand, renew=renew, rendered=rendered)
        pages = fetch_choice(lookup, choice)
        numbers = revisions_to_build(opened, wikipedia.language.code, choice.selected.locked, date)
        chosen = opened, wikipedia, numbers
        expansions = fetch_expansions(*chosen, renew=renew, progress=shown) if expand else None
        html = fetch_html(*chosen, progress=shown) if rendered else None
    return FetchReport(pages=pages, expansions=expansions, html=html)


def _dry_run(lookup: Lookup, choice: Choice, *, expand: bool, renew: bool, rendered: bool) -> FetchReport:
    """Count the requests of a fetch, and for what the revisions that are here still lack."""
    store, wikipedia, selected = lookup.store, lookup.wikipedia, choice.selected
    code, todo = wikipedia.language.code, _to_ask(store, wikipedia.language.code, choice)
    here = revisions_to_build(store, code, selected.locked, lookup.as_of)
    dear = sum(rule.condition.cost >= ASKS for rule in choice.rules)
    query = "SELECT DISTINCT revision_id FROM expansions WHERE language = ?"
    expanded = {number for (number,) in store.read(query, (code,))}
    with_html = {number for number, _ in store.rendered_sha1s(code)}
    plan = FetchPlan(
        pages=sum(1 for _ in _batches(todo)),
        html=len(todo) + sum(number not in with_html for number in here) if rendered else 0,
        conditions=dear * len(todo) + sum(one in choice.unless for one in todo),
        expansions=len(todo) + sum(number not in expanded for number in here) if expand else 0,
        redirects=len(names_to_ask(store, wikipedia.language, here, renew=renew)) if expand else 0,
        seconds_per_request=wikipedia.seconds_per_request,
    )
    report = _pages_report(wikipedia, selected, todo, Counter(), Counter())
    return FetchReport(pages=report, expansions=None, html=None, plan=plan)


def _to_ask(store: Store, language: str, choice: Choice) -> list[Wanted]:
    """Return the pages of a choice that a fetch would ask for."""
    query = "SELECT title, as_of, revision_id FROM wanted WHERE language = ? AND settled = ?"
    settled = set(store.records(Wanted, query, (language, 1)))
    settled |= choice.unless.keys() & store.records(Wanted, query, (language, 2))
    if (store.note(f"{language} conditions") or "") != choice.shown:  # see `Store.ask_again`
        rejected = {(one.title, one.revision_id) for one in store.rejected(language)}
        settled = {one for one in settled if (one.title, one.revision_id) not in rejected}
    return [one for one in choice.selected.wanted if one not in settled]


def _selections(select: str | Sequence[str], wiki: Language) -> Sequence[Selection]:
    texts = [select] if isinstance(select, str) else select
    return [parse_selection(text, wiki) for text in texts] or default_selections(wiki)


# --- pages


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesReport:
    """What fetching pages did."""

    selected: int
    present: int  # settled in an earlier run, or the store had it: imported, or by another title
    fetched: int  # revisions that are new in the store
    redirects: int
    rejected: Mapping[str, int]  # in this run, by reason
    requests: int
    warnings: tuple[str, ...]  # of the API


def fetch_choice(lookup: Lookup, choice: Choice) -> PagesReport:
    """Fetch the pages of a choice that the store does not have.

    Each batch is one transaction: a fetch that was killed resumes where it stopped, and repeats at most the
    batches that it was asking for.
    """
    store, wikipedia, selected = lookup.store, lookup.wikipedia, choice.selected
    code = wikipedia.language.code
    store.add(code, [], origin=wikipedia.api, rejected=selected.rejected)
    store.want(code, selected.wanted)
    store.ask_again(code, choice.shown, (one for one in selected.wanted if one not in choice.unless))
    missing = set(store.missing(code))
    todo = [one for one in selected.wanted if one in missing]
    counts, rejected = _fetch_missing(store, wikipedia, todo, choice, lookup.progress)
    return _pages_report(wikipedia, selected, todo, counts, rejected)


def _pages_report(
    wikipedia: Wikipedia,
    selected: Selected,
    todo: Sequence[Wanted],
    counts: Counter[str],
    rejected: Counter[str],
) -> PagesReport:
    rejected = rejected + Counter(one.reason for one in selected.rejected)
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
    """Return the ids of each page's newest revision up to the date, and of the locked ones in the store."""
    newest = {one.revision_id for one in store.revisions(language, as_of=as_of or None)}
    here = {one.revision_id for one in store.all_revisions(language)}
    return tuple(sorted(newest | here & set(locked)))


def _fetch_missing(
    store: Store, wikipedia: Wikipedia, todo: Sequence[Wanted], choice: Choice, progress: Progress
) -> tuple[Counter[str], Counter[str]]:
    """Ask for what the store does not have, and keep each batch in one transaction.

    At the end it asks once more for what was not answered. Returns how many were settled, fetched and are
    redirects, and how many were rejected by reason.
    """
    counts, rejected = Counter[str](), Counter[str]()
    silent, lost = list[Wanted](), list[Wanted]()
    past, code = WikiPast(wikipedia, wikipedia.language.categories), wikipedia.language.code
    if todo:
        progress("fetching", 0, len(todo))
    for attempt in (1, 2):
        asked = _batches(todo if attempt == 1 else silent)
        silent = []
        answers = wikipedia.map(lambda wanted: _ask(wikipedia, wanted, choice, past), asked)
        for batch in chain.from_iterable(answers):
            store.add_items(code, batch.items)
            store.add_dates(code, batch.dates)
            added = store.add(
                code,
                batch.pages,
                origin=wikipedia.api,
                settled=batch.settled,
                rejected=batch.rejected,
                bound=choice.unless,
                redirects=batch.redirects,
            )
            for one in batch.rejected:
                LOG.info("rejected %s: %s, %s", one.title, one.reason, one.detail)
            counts.update(fetched=added, present=len(batch.pages) - added)
            counts.update(redirects=len(batch.redirects), settled=len(batch.settled))
            rejected.update(one.reason for one in batch.rejected)
            silent += batch.unanswered
            lost += batch.lost
            note = f"{rejected.total()} rejected" if rejected else ""
            progress("fetching", counts["settled"], len(todo), note)
    for wanted in (*silent, *lost):
        LOG.warning("%s: the wiki did not answer; the next fetch asks again", wanted.title)
    rejected[UNANSWERED] += len(silent) + len(lost)
    return counts, rejected


# --- one batch


@dataclass(slots=True, kw_only=True)
class _Batch:
    """The answer to one batch: all of it goes into the store at once."""

    settled: list[Wanted] = field(default_factory=list)
    unanswered: list[Wanted] = field(default_factory=list)
    # Asked for alone, with all attempts: not again in this run.
    lost: list[Wanted] = field(default_factory=list)
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


def _ask(wikipedia: Wikipedia, wanted: tuple[Wanted, ...], choice: Choice, past: WikiPast) -> list[_Batch]:
    """Ask for one batch, and check what comes; for each page alone if there is no answer for all of them."""
    first = wanted[0]
    if first.revision_id:
        asked = {"revids": "|".join(str(one.revision_id) for one in wanted)}
    else:
        dated = {"rvstart": first.as_of, "rvdir": "older", "rvlimit": "1"} if first.as_of else {}
        asked = {"titles": "|".join(one.title for one in wanted), "redirects": "1", **dated}
    try:
        found = wikipedia.find(asked)
    except NoAnswerError:
        if len(wanted) == 1:
            return [_Batch(lost=[first])]
        return [batch for one in wanted for batch in _ask(wikipedia, (one,), choice, past)]
    return [_checked(wikipedia, wanted, found, choice, past)]


def _checked(
    wikipedia: Wikipedia, wanted: tuple[Wanted, ...], found: Found, choice: Choice, past: WikiPast
) -> _Batch:
    """What of an answer can be kept, and why the rest cannot."""
    locked = choice.selected.locked
    items = {page.page_id: page.wikidata_id for page in found.pages.values()}
    batch = _Batch(items=items)
    for one in wanted:
        try:
            if one.revision_id:
                page = exact_page(found, locked[one.revision_id])
            else:
                page = titled_page(found, one, wikipedia.language)
            choice.check(one, page, past)
        except NoAnswerError:
            batch.lost.append(one)
            continue
        except RejectedError as error:
            if error.reason == UNANSWERED:
                batch.unanswered.append(one)
                continue
            detail = error.detail.encode("utf-8", "replace").decode()
            batch.rejected.append(
                Rejected(title=one.title, revision_id=one.revision_id, reason=error.reason, detail=detail)
            )
        else:
            batch.pages.append(page)
            dates, given = past.dates(page.page_id), locked.get(one.revision_id)
            if given:  # those of a lock file win
                created, promoted = given.created or dates.created, given.promoted or dates.promoted
                dates = Dates(created=created, promoted=promoted)
            batch.dates[page.page_id] = dates
            if not one.revision_id and found.renamed.get(one.title, one.title) != page.title:
                batch.redirects[one.title] = page.title
        batch.settled.append(one)
    return batch
