"""Fetches texts of template calls that no macro knows, targets of template names, and HTML."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wikitext_builder.article import Page
from wikitext_builder.errors import UNANSWERED, BuilderError, RejectedError
from wikitext_builder.extraction.macros import template_name
from wikitext_builder.extraction.macros.parser_functions import VARIABLES
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.templates import UserMacro, is_known, without_authority
from wikitext_builder.files import code_hash, lines_sha256
from wikitext_builder.limits import CALL_BYTES, CALL_TEXT_BYTES, CALLS_BYTES
from wikitext_builder.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.reading import StoredPage, stored_language, stored_pages
from wikitext_builder.store.schema import Revision
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import title_fault
from wikitext_builder.wiki.client import BATCH_TITLES, NoAnswerError, Wikipedia
from wikitext_builder.wiki.dates import now
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import ApiError, Parsed, expected

MARK = "%(({}))%"  # not wiki syntax, and rare; the order of marks shows if a page itself has such text
MARKS = re.compile(r"%\(\((0|[1-9][0-9]{0,8})\)\)%")
TEMPLATE_NAMESPACE = 10
ERROR_CLASS = re.compile(r"""class=["']?[\w -]*\berror\b""")  # of MediaWiki, its extensions and Lua modules
# The text of a call whose template is missing.
NO_TEMPLATE = re.compile(r"\[\[:([^\[\]|{}:]+):[^\[\]|{}]+\]\]")
STRIP_MARKER = "\x7f"
CALLED_NAME = re.compile(r"(?<!\{)\{\{([^{}|\[\]<>#:]{1,300}?)\s*[|}]")
REDIRECT_PARAMETERS = {
    "prop": "redirects",
    "rdprop": "title",
    "rdnamespace": "10",
    "rdlimit": "max",
    "redirects": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionsReport:
    """What fetching expansions did."""

    pages: int  # that were searched for calls
    expanded: int  # calls whose text is new in the store
    failed: Mapping[str, int]  # calls without a text, by reason; asked again only if `unanswered`
    rejected: Mapping[str, int]  # pages that could not be extracted, by reason
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedCalls:
    """The answers to the calls of a page: each call has a text, or a reason of failure."""

    texts: Mapping[str, str]
    failures: Mapping[str, str]


def fetch_expansions(
    store: Store,
    wikipedia: Wikipedia,
    revision_ids: Sequence[int],
    *,
    progress: Progress = no_progress,
) -> ExpansionsReport:
    """Fetch the targets of template names, then the texts of calls that `extract` leaves out, once.

    The texts are from today's templates, even for old revisions. The calls of a page are one transaction, so
    that a killed run resumes where it stopped. Pages without new calls are not read again.
    """
    code, requests_before = wikipedia.language.code, wikipedia.requests
    note, searched = f"{code} expanded", lines_sha256([code_hash(), *map(str, revision_ids)])
    if store.note(note) == searched:
        return ExpansionsReport(pages=len(revision_ids), expanded=0, failed={}, rejected={}, requests=0)
    fetch_redirects(store, wikipedia, revision_ids)
    rejected, pages = Counter[str](), len(revision_ids)
    pages_with_calls = _pages_with_calls(store, stored_language(store, code), revision_ids, rejected)

    def ask(page_and_calls: tuple[Page, Sequence[str]]) -> tuple[int, ExpandedCalls]:
        page, calls = page_and_calls
        return page.revision_id, expand_calls(wikipedia, page, calls)

    expanded, failed = 0, Counter[str]()
    if pages:
        progress("expanding", 0, pages)
    for done, (revision_id, result) in enumerate(wikipedia.map(ask, pages_with_calls), start=1):
        lasting = {call: reason for call, reason in result.failures.items() if reason != UNANSWERED}
        if result.texts or lasting:
            store.add_expansions(code, revision_id, result.texts, lasting)
        expanded += len(result.texts)
        failed.update(result.failures.values())
        progress("expanding", done, pages, f"{expanded} calls, {failed.total()} failed")
    if not (expanded or failed or rejected):
        store.set_note(note, searched)
    return ExpansionsReport(
        pages=pages,
        expanded=expanded,
        failed=dict(sorted(failed.items())),
        rejected=dict(sorted(rejected.items())),
        requests=wikipedia.requests - requests_before,
    )


def _pages_with_calls(
    store: Store, language: Language, revision_ids: Sequence[int], rejected: Counter[str]
) -> Iterator[tuple[Page, Sequence[str]]]:
    """Yield each page with its unknown calls; count pages that cannot be extracted in `rejected`."""
    unsure = without_authority(language)
    for stored in stored_pages(store, language.code, revision_ids):
        calls: Sequence[str] = ()
        try:
            with time_limit(SECONDS_PER_PAGE):
                calls = _unknown_calls(store, language, stored, unsure)
        except RejectedError as error:
            rejected[error.reason] += 1
        except (BuilderError, MemoryError):  # not the page's fault
            raise
        except Exception:  # our error, which `build` writes into rejected.jsonl
            rejected["extraction-failed"] += 1
        yield stored.page, calls


def _unknown_calls(
    store: Store, language: Language, stored: StoredPage, unsure: Mapping[str, UserMacro]
) -> tuple[str, ...]:
    """Return the distinct calls without a certain text that were not asked for yet, in order."""
    answered = {*stored.expansions, *store.failed_expansions(language.code, stored.page.revision_id)}
    article = extract(stored.page, language=language, expansions=stored.expansions, macros=unsure)
    return tuple(dict.fromkeys(call for call in article.left_out if call not in answered))


def expand_calls(wikipedia: Wikipedia, page: Page, calls: Sequence[str]) -> ExpandedCalls:
    """Ask for the texts of the calls of a page, many per request.

    A call that fails in a group is asked for again alone before it counts as failed, because another call can
    swallow its mark, or use up the limits of the request.
    """
    texts: dict[str, str] = {}
    failures = {call: "too-large" for call in calls if len(call.encode()) > CALL_BYTES}
    groups = deque(_groups([call for call in calls if call not in failures]))
    while groups:
        group = groups.popleft()
        for call, (text, failure) in zip(group, _ask(wikipedia, page, group), strict=True):
            if not failure:
                texts[call] = text
            elif len(group) == 1 or failure == UNANSWERED:
                failures[call] = failure
            else:
                groups.append([call])
    return ExpandedCalls(texts=texts, failures=failures)


def _groups(calls: Iterable[str]) -> Iterator[list[str]]:
    """Yield groups of calls that fit in a request."""
    group: list[str] = []
    size = 0
    for call in calls:
        if group and size + len(call.encode()) > CALLS_BYTES:
            yield group
            group, size = [], 0
        group.append(call)
        size += len(call.encode())
    if group:
        yield group


def _ask(wikipedia: Wikipedia, page: Page, calls: list[str]) -> list[tuple[str, str]]:
    """Return text and failure of each call; one of the two is empty, or both if a call expands to nothing."""
    parameters = {"action": "expandtemplates", "prop": "wikitext", "title": page.title, "text": marked(calls)}
    try:
        answer = wikipedia.request(parameters)
    except ApiError as error:
        return [("", error.code)] * len(calls)
    except NoAnswerError:
        return [("", UNANSWERED)] * len(calls)
    expanded = expected(wikipedia.api, answer.expandtemplates, "expandtemplates")
    pieces = split_at_marks(expanded.wikitext, len(calls))
    if pieces is None:
        return [("", "lost-mark")] * len(calls)
    names = [name for name, number in wikipedia.site().namespaces.items() if number == TEMPLATE_NAMESPACE]
    return [(("", failure) if (failure := failure_of(piece, names)) else (piece, "")) for piece in pieces]


def marked(calls: Sequence[str]) -> str:
    """Return the calls with a mark before, between and after them.

    >>> marked(["{{a}}", "{{b}}"])
    '%((0))%{{a}}%((1))%{{b}}%((2))%'
    """
    return "".join(f"{MARK.format(number)}{call}" for number, call in enumerate([*calls, ""]))


def split_at_marks(text: str, count: int) -> list[str] | None:
    """Return the texts between the marks; None unless each mark occurs once and all are in order.

    >>> split_at_marks("%((0))%1&nbsp;km%((1))%%((2))%", 2)
    ['1&nbsp;km', '']
    """
    marks = [mark for mark in MARKS.finditer(text) if int(mark[1]) <= count]
    if [int(mark[1]) for mark in marks] != list(range(count + 1)):
        return None
    if marks[0].start() != 0 or marks[-1].end() != len(text):
        return None
    return [text[mark.end() : next_mark.start()] for mark, next_mark in pairwise(marks)]


def failure_of(text: str, template_names: Container[str]) -> str:
    """Return the reason why a text of `expandtemplates` is not an expansion; empty for an expansion.

    >>> failure_of('<strong class="error">Division by zero.</strong>', ["template"])
    'error'
    >>> failure_of("by [[:Template:Nope]]", ["template"]), failure_of("[[:Category:Cities]]", ["template"])
    ('no-template', '')
    """
    if len(text.encode()) > CALL_TEXT_BYTES:
        return "too-large"
    if any(link[1].lower() in template_names for link in NO_TEMPLATE.finditer(text)):
        return "no-template"
    if ERROR_CLASS.search(text):
        return "error"
    return "strip-marker" if STRIP_MARKER in text else ""


# --- targets of template names


def fetch_redirects(store: Store, wikipedia: Wikipedia, revision_ids: Sequence[int]) -> None:
    """Store the targets of the template names that pages call; each name is asked for once, 50 at a time."""
    language = wikipedia.language
    stored = {*store.template_redirects(language.code)}
    called = {name for page in store.pages(language.code, revision_ids) for name in names_in(page.wikitext)}
    names = sorted(name for name in called - stored if not is_known(name, language))
    batches = (names[start : start + BATCH_TITLES] for start in range(0, len(names), BATCH_TITLES))
    for targets in wikipedia.map(lambda batch: _targets(wikipedia, batch), batches):
        dated = {name: (target, now()) for name, target in targets.items()}
        store.add_template_redirects(language.code, dated)


def names_in(wikitext: str) -> Iterator[str]:
    r"""Yield the names of templates that a wikitext calls.

    >>> sorted(names_in("{{bda|1|{{ Foo_bar\n|x}}}} {{{1|}}} {{#if:a|b}} {{PAGENAME}}"))
    ['Bda', 'Foo bar']
    """
    names = (template_name(name) for name in CALLED_NAME.findall(wikitext))
    return (name for name in names if name not in VARIABLES and not title_fault(name))


def _targets(wikipedia: Wikipedia, names: Sequence[str]) -> Mapping[str, str]:
    """Return each template name's target, itself if not a redirect, and older names that we know."""
    spelled, redirects, older = dict[str, str](), dict[str, str](), dict[str, str]()
    titles = {name: f"Template:{name}" for name in names}
    for answer in wikipedia.query({"titles": "|".join(titles.values()), **REDIRECT_PARAMETERS}):
        spelled |= {change.source: change.to for change in answer.query.normalized}
        redirects |= {redirect.source: redirect.to for redirect in answer.query.redirects}
        for page in answer.query.pages:
            older |= {_name(redirect.title): _name(page.title) for redirect in page.redirects}
    normalized = {name: spelled.get(title, title) for name, title in titles.items()}
    targets = {name: _name(redirects.get(title, title)) for name, title in normalized.items()}
    older = {name: target for name, target in older.items() if is_known(name, wikipedia.language)}
    return {**older, **targets}


def _name(title: str) -> str:
    return template_name(title.partition(":")[2])


# --- HTML


def render_revision(wikipedia: Wikipedia, revision: Revision) -> str:
    """Return the HTML of a revision, rendered with today's templates.

    Raises:
        RejectedError: The wiki no longer has the revision or may not show it (with MediaWiki's word as the
            reason), has another page under this id (`other-page`), or gives no HTML (`empty`).
    """
    parsed = parse_page(wikipedia, {"oldid": str(revision.revision_id), "prop": "text|revid"})
    found, expected_ids = (parsed.page_id, parsed.revision_id), (revision.page_id, revision.revision_id)
    if found != expected_ids:
        raise RejectedError("other-page", f"expected page and revision {expected_ids}, found {found}")
    if not parsed.text.strip():
        raise RejectedError("empty", f"the HTML of revision {revision.revision_id} is empty")
    return parsed.text


def parse_page(wikipedia: Wikipedia, parameters: Mapping[str, str]) -> Parsed:
    """Return the answer to `action=parse`, without reports; RejectedError: the wiki refuses."""
    quiet = {"disablelimitreport": "1", "disableeditsection": "1"}
    try:
        answer = wikipedia.request({"action": "parse", **quiet, **parameters})
    except ApiError as error:
        raise RejectedError(error.code, str(error)) from error
    return expected(wikipedia.api, answer.parse, "parse")


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    """What fetching HTML did."""

    pages: int
    present: int  # already done
    fetched: int
    failed: Mapping[str, int]  # by reason; asked again only if `unanswered`
    requests: int


def fetch_html(
    store: Store, wikipedia: Wikipedia, revision_ids: Sequence[int], *, progress: Progress = no_progress
) -> HtmlReport:
    """Fetch the HTML of revisions that the store lacks, with one request per page."""
    code, requests_before = wikipedia.language.code, wikipedia.requests
    revisions = {revision.revision_id: revision for revision in store.all_revisions(code)}
    settled = {revision_id for revision_id, _ in store.rendered_sha1s(code)}
    todo = [revisions[revision_id] for revision_id in revision_ids if revision_id not in settled]
    failed: Counter[str] = Counter()
    done = 0

    def ask(revision: Revision) -> tuple[int, str, str]:
        try:
            return revision.revision_id, render_revision(wikipedia, revision), ""
        except RejectedError as error:
            return revision.revision_id, "", error.reason
        except NoAnswerError:
            return revision.revision_id, "", UNANSWERED

    if todo:
        progress("rendering", 0, len(todo))
    for revision_id, html, failure in wikipedia.map(ask, todo):
        if failure != UNANSWERED:
            store.add_rendered(code, revision_id, html, failure)
        failed.update([failure] if failure else [])
        done += 1
        progress("rendering", done, len(todo), f"{failed.total()} failed" if failed else "")
    return HtmlReport(
        pages=len(revision_ids),
        present=len(revision_ids) - len(todo),
        fetched=done - failed.total(),
        failed=dict(sorted(failed.items())),
        requests=wikipedia.requests - requests_before,
    )
