"""fetch: what selections ask for, batch by batch from the API into the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from wikitext_builder.article import Page
from wikitext_builder.dumps.importing import ArticleTest
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.fetching.selection import LockFile, Selection, select
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.lock import read_lock
from wikitext_builder.store.store import Rejected, Revision, Store, Wanted, sha1_of
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import Language, is_list_title
from wikitext_builder.wiki.responses import Found, FoundPage, FoundRevision
from wikitext_builder.wiki.titles import is_redirect

BATCH = 50  # titles or revision ids a request: the API's limit for all who are not bots
MAX_WIKITEXT_BYTES = 4 << 20  # MediaWiki's own limit is 2 MiB; what is longer is no article


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReport:
    """What a fetch did."""

    selected: int
    present: int  # was settled before: fetched or rejected in an earlier run
    fetched: int  # revisions that are new in the store
    redirects: int
    rejected: Mapping[str, int]  # in this run, by reason
    requests: int
    warnings: tuple[str, ...]  # that the API gave


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one batch came to: all of it goes into the store at once."""

    settled: tuple[Wanted, ...]
    pages: list[Page] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)


def fetch(
    store: Store,
    wikipedia: Wikipedia,
    selections: Sequence[Selection],
    *,
    as_of: str = "",
    limit: int | None = None,
    progress: Progress = no_progress,
) -> FetchReport:
    """Fetch what selections ask for and the store has not.

    Each batch is one transaction, so that a fetch that was killed goes on where it stopped and repeats
    at most the batches that were under way.

    Args:
        store: Open for writing.
        wikipedia: The wiki.
        selections: What to fetch; see `select` for the order and for `limit`.
        as_of: Take each page's last revision up to then, ISO 8601 in UTC; empty takes the newest.
        limit: Only the first so many.
        progress: Called after each batch.

    Raises:
        BuilderError: The wiki, the store or a selection cannot be used.
    """
    code, requests_before = wikipedia.language.code, wikipedia.requests
    check_wiki(store, wikipedia)
    selected = select(store, wikipedia, selections, as_of=as_of, limit=limit, progress=progress)
    store.add(code, [], source=wikipedia.api, rejected=selected.rejected)
    store.want(code, selected.wanted)
    missing = set(store.missing(code))
    todo = [one for one in selected.wanted if one in missing]
    done = fetch_missing(store, wikipedia, todo, selected.locked, progress)
    return FetchReport(
        selected=len(selected.wanted) + len(selected.rejected),
        present=len(selected.wanted) - len(todo),
        fetched=done.fetched,
        redirects=done.redirects,
        rejected=dict(sorted((done.rejected + Counter(one.reason for one in selected.rejected)).items())),
        requests=wikipedia.requests - requests_before,
        warnings=tuple(sorted(wikipedia.warnings)),
    )


@dataclass(slots=True, kw_only=True)
class Tally:
    """What batches came to so far."""

    settled: int = 0
    fetched: int = 0
    redirects: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # by reason


def fetch_missing(
    store: Store,
    wikipedia: Wikipedia,
    todo: Sequence[Wanted],
    locked: Mapping[int, Revision],
    progress: Progress = no_progress,
) -> Tally:
    """Ask for what the store has not, and keep each batch's answer in one transaction."""
    tally = Tally()
    wikipedia.on_wait = lambda why: progress("fetching", tally.settled, len(todo), why)
    for outcome in wikipedia.map(lambda batch: ask_for(wikipedia, batch, locked), batches(todo)):
        tally.fetched += store.add(
            wikipedia.language.code,
            outcome.pages,
            source=wikipedia.api,
            settled=outcome.settled,
            rejected=outcome.rejected,
            redirects=outcome.redirects,
        )
        tally.redirects += len(outcome.redirects)
        tally.rejected.update(one.reason for one in outcome.rejected)
        tally.settled += len(outcome.settled)
        refused = tally.rejected.total()
        progress("fetching", tally.settled, len(todo), f"{refused} rejected" if refused else "")
    return tally


def current_revisions(
    store: Store, language: str, selections: Sequence[Selection], as_of: str = ""
) -> list[int]:
    """Ids of what builds take after a fetch: each page's newest revision up to the date, and locked ones."""
    chosen = {one.revision_id for one in store.revisions(language, as_of=as_of or None)}
    here = {one.revision_id for one in store.all_revisions(language)}
    for selection in selections:
        if isinstance(selection, LockFile):
            chosen |= here & {one.revision_id for one in read_lock(selection.path, language=language)}
    return sorted(chosen)


def check_wiki(store: Store, wikipedia: Wikipedia) -> None:
    """Refuse to mix two wikis of one language in one store: their revision ids mean different texts."""
    key = f"{wikipedia.language.code} wiki"
    wiki = wikipedia.site().wiki
    known = store.progress(key)
    if known is None:
        store.note_progress(key, wiki)
    elif known != wiki:
        raise BuilderError(
            f"{store.path}: holds pages of the wiki {known!r}, but {wikipedia.api} is {wiki!r};"
            " use another --store"
        )


def batches(wanted: Iterable[Wanted]) -> Iterator[tuple[Wanted, ...]]:
    """What one request can ask for together: 50 titles, 50 revision ids, or one title as of a date."""
    wanted = list(wanted)
    newest = iter([one for one in wanted if not one.as_of and not one.revision_id])
    exact = iter([one for one in wanted if one.revision_id])
    for kind in (newest, exact):
        while batch := tuple(islice(kind, BATCH)):
            yield batch
    for one in wanted:
        if one.as_of and not one.revision_id:
            yield (one,)


def ask_for(wikipedia: Wikipedia, batch: tuple[Wanted, ...], locked: Mapping[int, Revision]) -> Outcome:
    """Ask for one batch and judge what comes."""
    first = batch[0]
    if first.revision_id:
        found = wikipedia.find({"revids": "|".join(str(one.revision_id) for one in batch)})
    else:
        dated = {"rvstart": first.as_of, "rvdir": "older", "rvlimit": "1"} if first.as_of else {}
        titles = "|".join(one.title for one in batch)
        found = wikipedia.find({"titles": titles, "redirects": "1", **dated})
    outcome = Outcome(settled=batch)
    for wanted in batch:
        try:
            if wanted.revision_id:
                page = exact_page(found, locked[wanted.revision_id])
            else:
                page = titled_page(found, wanted, wikipedia.language)
        except RejectedError as error:
            detail = error.detail.encode("utf-8", "replace").decode()
            outcome.rejected.append(
                Rejected(
                    title=wanted.title, revision_id=wanted.revision_id, reason=error.reason, detail=detail
                )
            )
        else:
            outcome.pages.append(page)
            if not wanted.revision_id and found.renamed.get(wanted.title, wanted.title) != page.title:
                outcome.redirects[wanted.title] = page.title
    return outcome


def titled_page(found: Found, wanted: Wanted, language: Language) -> Page:
    """The page that a title leads to.

    Raises:
        RejectedError: It leads to none that can be used.
    """
    page = resolve(found, wanted.title)
    _check_kind(page, language)
    if not page.revisions:
        if wanted.as_of:
            raise RejectedError("not-yet-created", f"{page.title!r} has no revision up to {wanted.as_of}")
        raise RejectedError("no-revision", f"{page.title!r} came without a revision")
    newest = max(page.revisions, key=lambda revision: (revision.timestamp, revision.revision_id))
    text = checked_text(newest)
    if is_redirect(text, language):
        raise RejectedError("was-redirect", f"revision {newest.revision_id} of {page.title!r} is a redirect")
    if ArticleTest(language).is_disambiguation(text):
        raise RejectedError("disambiguation", f"revision {newest.revision_id} bears a mark of disambiguation")
    return Page(
        title=page.title,
        page_id=page.page_id,
        revision_id=newest.revision_id,
        timestamp=newest.timestamp,
        wikitext=text,
    )


def resolve(found: Found, title: str) -> FoundPage:
    """Follow a title through MediaWiki's spelling of it and through redirects."""
    chain = [found.renamed.get(title, title)]
    while (target := found.redirects.get(chain[-1])) is not None:
        if target in chain:
            raise RejectedError("redirect-loop", " → ".join([*chain, target]))
        chain.append(target)
    last = chain[-1]
    if last in found.other_wikis or title in found.other_wikis:
        raise RejectedError("other-wiki", f"{last!r} is a page of another wiki")
    if last not in found.pages:
        raise RejectedError("unanswered", f"the API said nothing of {last!r}")
    return found.pages[last]


def _check_kind(page: FoundPage, language: Language) -> None:
    if page.invalid:
        raise RejectedError("invalid-title", page.invalid)
    if page.namespace != 0:
        raise RejectedError("other-namespace", f"{page.title!r} is in namespace {page.namespace}, no article")
    if page.missing or not page.page_id:
        raise RejectedError("missing", f"there is no page {page.title!r}")
    if is_list_title(language, page.title):
        raise RejectedError("list", f"{page.title!r} is a list by its title")
    if page.disambiguation:
        raise RejectedError("disambiguation", f"{page.title!r} is a disambiguation page")


def exact_page(found: Found, locked: Revision) -> Page:
    """The revision that a lock file names, under the names that it gives.

    Raises:
        RejectedError: It is gone, or is another text than it was.
    """
    number = locked.revision_id
    revisions = (one for page in found.pages.values() for one in page.revisions if one.revision_id == number)
    revision = next(revisions, None)
    if revision is None:
        reason = "the wiki has it no more" if number in found.bad_revisions else "the API said nothing of it"
        raise RejectedError("missing-revision", f"revision {number}: {reason}")
    text = checked_text(replace(revision, sha1=""))
    if (sha1 := sha1_of(text)) != locked.sha1:
        raise RejectedError("sha1-mismatch", f"revision {number} has sha1 {sha1}, the lock {locked.sha1}")
    return Page(
        title=locked.title,
        page_id=locked.page_id,
        revision_id=number,
        timestamp=locked.timestamp,
        wikitext=text,
    )


def checked_text(revision: FoundRevision) -> str:
    """The wikitext of a revision.

    Raises:
        RejectedError: There is none that can be kept.
    """
    number = revision.revision_id
    if revision.hidden:
        raise RejectedError(
            "hidden", f"the text of revision {number} was hidden by the wiki's administrators"
        )
    if revision.text is None:
        raise RejectedError("no-text", f"the wiki has lost the text of revision {number}")
    if revision.model != "wikitext":
        raise RejectedError("content-model", f"revision {number} is {revision.model!r}, not wikitext")
    try:
        size = len(revision.text.encode())
    except UnicodeEncodeError as error:
        raise RejectedError(
            "not-unicode", f"revision {number} has a lone surrogate at {error.start}"
        ) from error
    if size > MAX_WIKITEXT_BYTES:
        raise RejectedError(
            "too-large", f"revision {number} has {size:,} bytes, {MAX_WIKITEXT_BYTES:,} is the most"
        )
    if revision.sha1 and (sha1 := sha1_of(revision.text)) != revision.sha1:
        raise RejectedError(
            "sha1-mismatch", f"revision {number} has sha1 {sha1}, the API says {revision.sha1}"
        )
    return revision.text
