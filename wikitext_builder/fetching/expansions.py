"""Texts of template calls that no macro knows, where names of templates lead, HTML: asked of a wiki."""

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

MARK = "%(({}))%"  # not wiki syntax, and rare; the order of the marks shows if a page has one itself
MARKS = re.compile(r"%\(\((0|[1-9][0-9]{0,8})\)\)%")
TEMPLATE_NAMESPACE = 10
ERROR = re.compile(r"""class=["']?[\w -]*\berror\b""")  # of MediaWiki, its extensions and Lua modules
NO_TEMPLATE = re.compile(
    r"\[\[:([^\[\]|{}:]+):[^\[\]|{}]+\]\]"
)  # the text of a call whose template is missing
STRIP_MARKER = "\x7f"
CALLED = re.compile(r"(?<!\{)\{\{([^{}|\[\]<>#:]{1,300}?)\s*[|}]")
REDIRECTS = {"prop": "redirects", "rdprop": "title", "rdnamespace": "10", "rdlimit": "max", "redirects": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionsReport:
    """What fetching expansions did."""

    pages: int  # looked at
    expanded: int  # calls whose text is new in the store
    failed: Mapping[str, int]  # calls without a text, by reason; noted, but for `unanswered`: not asked again
    rejected: Mapping[str, int]  # pages that could not be extracted, by reason
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedCalls:
    """The answers to the calls of one page: each call has a text or a reason."""

    texts: Mapping[str, str]
    failures: Mapping[str, str]


def fetch_expansions(
    store: Store,
    wikipedia: Wikipedia,
    revision_ids: Sequence[int],
    *,
    progress: Progress = no_progress,
) -> ExpansionsReport:
    """Fetch where names of templates lead, then the texts of calls that `extract` leaves out, once.

    The texts are from today's templates, even for old revisions. The calls of a page are one transaction, so
    that a killed run resumes where it stopped. Pages that had nothing new are not read again.
    """
    code, requests_before = wikipedia.language.code, wikipedia.requests
    note, looked_through = f"{code} expanded", lines_sha256([code_hash(), *map(str, revision_ids)])
    if store.note(note) == looked_through:
        return ExpansionsReport(pages=len(revision_ids), expanded=0, failed={}, rejected={}, requests=0)
    fetch_redirects(store, wikipedia, revision_ids)
    rejected, pages = Counter[str](), len(revision_ids)
    asked = _pages_with_calls(store, stored_language(store, code), revision_ids, rejected)

    def ask(page_and_calls: tuple[Page, Sequence[str]]) -> tuple[int, ExpandedCalls]:
        page, calls = page_and_calls
        return page.revision_id, expand_calls(wikipedia, page, calls)

    expanded, failed = 0, Counter[str]()
    if pages:
        progress("expanding", 0, pages)
    for looked_at, (revision_id, result) in enumerate(wikipedia.map(ask, asked), start=1):
        lasting = {call: why for call, why in result.failures.items() if why != UNANSWERED}
        if result.texts or lasting:
            store.add_expansions(code, revision_id, result.texts, lasting)
        expanded += len(result.texts)
        failed.update(result.failures.values())
        progress("expanding", looked_at, pages, f"{expanded} calls, {failed.total()} failed")
    if not (expanded or failed or rejected):
        store.set_note(note, looked_through)
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
    """Yield each page with the calls that nothing expands; `rejected` counts pages that cannot be read."""
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
        except Exception:  # an error of ours: `build` writes it into rejected.jsonl
            rejected["extraction-failed"] += 1
        yield stored.page, calls


def _unknown_calls(
    store: Store, language: Language, stored: StoredPage, unsure: Mapping[str, UserMacro]
) -> tuple[str, ...]:
    """Return the calls without a sure text that we did not ask for yet, each once, in their order."""
    asked = {*stored.expansions, *store.failed_expansions(language.code, stored.page.revision_id)}
    article = extract(stored.page, language=language, expansions=stored.expansions, macros=unsure)
    return tuple(dict.fromkeys(call for call in article.left_out if call not in asked))


def expand_calls(wikipedia: Wikipedia, page: Page, calls: Sequence[str]) -> ExpandedCalls:
    """Ask for the texts of the calls of one page, many per request.

    A call that fails together with others is asked for again alone before it counts as failed: another call
    can swallow its mark, or use up the limits of the request.
    """
    texts: dict[str, str] = {}
    failures = {call: "too-large" for call in calls if len(call.encode()) > CALL_BYTES}
    groups = deque(_by_request([call for call in calls if call not in failures]))
    while groups:
        together = groups.popleft()
        for call, (text, failure) in zip(together, _ask(wikipedia, page, together), strict=True):
            if not failure:
                texts[call] = text
            elif len(together) == 1 or failure == UNANSWERED:
                failures[call] = failure
            else:
                groups.append([call])
    return ExpandedCalls(texts=texts, failures=failures)


def _by_request(calls: Iterable[str]) -> Iterator[list[str]]:
    together: list[str] = []
    size = 0
    for call in calls:
        if together and size + len(call.encode()) > CALLS_BYTES:
            yield together
            together, size = [], 0
        together.append(call)
        size += len(call.encode())
    if together:
        yield together


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
    """Return the texts between the marks; None unless each mark is there once and all are in order.

    >>> split_at_marks("%((0))%1&nbsp;km%((1))%%((2))%", 2)
    ['1&nbsp;km', '']
    """
    marks = [mark for mark in MARKS.finditer(text) if int(mark[1]) <= count]
    if [int(mark[1]) for mark in marks] != list(range(count + 1)):
        return None
    if marks[0].start() != 0 or marks[-1].end() != len(text):
        return None
    return [text[mark.end() : after.start()] for mark, after in pairwise(marks)]


def failure_of(text: str, template_names: Container[str]) -> str:
    """Return the reason why a text of `expandtemplates` is not an expansion; empty if it is one.

    >>> failure_of('<strong class="error">Division by zero.</strong>', ["template"])
    'error'
    >>> failure_of("by [[:Template:Nope]]", ["template"]), failure_of("[[:Category:Cities]]", ["template"])
    ('no-template', '')
    """
    if len(text.encode()) > CALL_TEXT_BYTES:
        return "too-large"
    if any(found[1].lower() in template_names for found in NO_TEMPLATE.finditer(text)):
        return "no-template"
    if ERROR.search(text):
        return "error"
    return "strip-marker" if STRIP_MARKER in text else ""


# --- where names of templates lead


def fetch_redirects(store: Store, wikipedia: Wikipedia, revision_ids: Sequence[int]) -> None:
    """Keep where the names lead that pages call; the wiki is asked once for each name, 50 at a time."""
    language = wikipedia.language
    asked = {*store.template_redirects(language.code)}
    called = {name for page in store.pages(language.code, revision_ids) for name in names_in(page.wikitext)}
    names = sorted(name for name in called - asked if not is_known(name, language))
    batches = (names[start : start + BATCH_TITLES] for start in range(0, len(names), BATCH_TITLES))
    for found in wikipedia.map(lambda some: _lead(wikipedia, some), batches):
        store.add_template_redirects(language.code, {name: (target, now()) for name, target in found.items()})


def names_in(wikitext: str) -> Iterator[str]:
    r"""The names of templates that a wikitext calls.

    >>> sorted(names_in("{{bda|1|{{ Foo_bar\n|x}}}} {{{1|}}} {{#if:a|b}} {{PAGENAME}}"))
    ['Bda', 'Foo bar']
    """
    names = (template_name(name) for name in CALLED.findall(wikitext))
    return (name for name in names if name not in VARIABLES and not title_fault(name))


def _lead(wikipedia: Wikipedia, names: Sequence[str]) -> Mapping[str, str]:
    """The target of each template name, itself if it is no redirect, and older names that we know."""
    spelled, moved, older = dict[str, str](), dict[str, str](), dict[str, str]()
    titles = {name: f"Template:{name}" for name in names}
    for answer in wikipedia.query({"titles": "|".join(titles.values()), **REDIRECTS}):
        spelled |= {change.source: change.to for change in answer.query.normalized}
        moved |= {redirect.source: redirect.to for redirect in answer.query.redirects}
        for page in answer.query.pages:
            older |= {_name(redirect.title): _name(page.title) for redirect in page.redirects}
    ours = {name: spelled.get(title, title) for name, title in titles.items()}
    found = {name: _name(moved.get(title, title)) for name, title in ours.items()}
    older = {name: target for name, target in older.items() if is_known(name, wikipedia.language)}
    return {**older, **found}


def _name(title: str) -> str:
    return template_name(title.partition(":")[2])


# --- HTML


def render_revision(wikipedia: Wikipedia, revision: Revision) -> str:
    """Return the HTML of a revision that the wiki has, made with the templates of today.

    Raises:
        RejectedError: The wiki no longer has it or may not show it (the reason is MediaWiki's word), or has
            the text of another page under this id (`other-page`).
    """
    parsed = parse_page(wikipedia, {"oldid": str(revision.revision_id), "prop": "text|revid"})
    found, asked = (parsed.page_id, parsed.revision_id), (revision.page_id, revision.revision_id)
    if found != asked:
        raise RejectedError("other-page", f"expected page and revision {asked}, found {found}")
    return parsed.text


def parse_page(wikipedia: Wikipedia, parameters: Mapping[str, str]) -> Parsed:
    """Return what `action=parse` gives, without reports; RejectedError: the wiki's word of refusal."""
    quiet = {"disablelimitreport": "1", "disableeditsection": "1"}
    try:
        answer = wikipedia.request({"action": "parse", **quiet, **parameters})
    except ApiError as error:
        raise RejectedError(error.code, str(error)) from error
    return expected(wikipedia.api, answer.parse, "parse")


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    """What fetching HTML did."""

    pages: int  # looked at
    present: int  # settled before
    fetched: int
    failed: Mapping[str, int]  # by reason; noted in the store, but for `unanswered`: not asked again
    requests: int


def fetch_html(
    store: Store, wikipedia: Wikipedia, revision_ids: Sequence[int], *, progress: Progress = no_progress
) -> HtmlReport:
    """Fetch the HTML of revisions, with one request per page; what the store has is not asked for again."""
    code, requests_before = wikipedia.language.code, wikipedia.requests
    here = {revision.revision_id: revision for revision in store.all_revisions(code)}
    settled = {number for number, _ in store.rendered_sha1s(code)}
    todo = [here[number] for number in revision_ids if number not in settled]
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
    for number, html, failure in wikipedia.map(ask, todo):
        if failure != UNANSWERED:
            store.add_rendered(code, number, html, failure)
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
