"""expand: template calls that no macro knows, expanded by MediaWiki itself and kept in the store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.page import extract
from wikitext_builder.fetching.pages import check_wiki
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.responses import ApiError, expected_parts

MAX_CALL_BYTES = 100_000  # of a call; a larger one is a table of data, not text
MAX_REQUEST_BYTES = 200_000  # of the calls that go in one request
MAX_TEXT_BYTES = 1_000_000  # of what one call expands to
MARK = "%(({}))%"  # no wiki syntax, and rare; what stands in a page anyway is found by the order of the marks
TEMPLATE_NAMESPACE = 10
ERROR = re.compile(r"""class=["']?[\w -]*\berror\b""")  # of MediaWiki, its extensions and Lua modules
NO_TEMPLATE = re.compile(r"\[\[:([^\[\]|{}:]+):[^\[\]|{}]+\]\]")  # what a call of an absent template gives
STRIP_MARKER = "\x7f"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandReport:
    """What an expansion did."""

    pages: int  # looked at
    expanded: int  # calls whose text is new in the store
    failed: Mapping[str, int]  # calls without a text, by reason; noted in the store, not asked again
    rejected: Mapping[str, int]  # pages that could not be extracted, by reason
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The unknown calls of one page."""

    page: Page
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """What became of them: each call has a text or a reason."""

    task: Task
    texts: Mapping[str, str]
    failures: Mapping[str, str]


def expand(
    store: Store,
    wikipedia: Wikipedia,
    *,
    revision_ids: Sequence[int] | None = None,
    progress: Progress = no_progress,
) -> ExpandReport:
    """Expand each template call that `extract` leaves out, once, through the API.

    The texts are those of today's templates, also for old revisions. A page's calls are one transaction: an
    expansion that was killed goes on where it stopped.

    Args:
        store: Open for writing.
        wikipedia: The wiki that the pages came from.
        revision_ids: Of the pages; None takes the newest revision of each.
        progress: Called after each page that had unknown calls.
    """
    code, requests_before = wikipedia.language.code, wikipedia.requests
    check_wiki(store, wikipedia)
    if revision_ids is None:
        revision_ids = [one.revision_id for one in store.revisions(code)]
    expanded = looked_at = 0
    failed: Counter[str] = Counter()
    rejected: Counter[str] = Counter()

    def tasks() -> Iterator[Task]:
        nonlocal looked_at
        for page in store.pages(code, revision_ids):
            calls: tuple[str, ...] = ()
            try:
                with time_limit(SECONDS_PER_PAGE):
                    calls = unknown_calls(store, code, page)
            except RejectedError as error:
                rejected[error.reason] += 1
            except Exception:  # a page that breaks our code: the build writes it out with the error
                rejected["extraction-failed"] += 1
            looked_at += 1
            if calls:
                yield Task(page=page, calls=calls)
            progress("expanding", looked_at, len(revision_ids), f"{expanded} calls, {failed.total()} failed")

    wikipedia.on_wait = lambda why: progress("expanding", looked_at, len(revision_ids), why)
    for result in wikipedia.map(lambda task: expand_calls(wikipedia, task), tasks()):
        store.add_expansions(code, result.task.page.revision_id, result.texts, result.failures)
        expanded += len(result.texts)
        failed.update(result.failures.values())
    progress("expanding", looked_at, looked_at, f"{expanded} calls, {failed.total()} failed")
    return ExpandReport(
        pages=looked_at,
        expanded=expanded,
        failed=dict(sorted(failed.items())),
        rejected=dict(sorted(rejected.items())),
        requests=wikipedia.requests - requests_before,
    )


def unknown_calls(store: Store, code: str, page: Page) -> tuple[str, ...]:
    """The calls in a page that nobody knows and that were not asked for yet, each once, in their order."""
    known = store.expansions(code, page.revision_id)
    asked = store.failed_expansions(code, page.revision_id)
    article = extract(page, language=code, expansions=known)
    return tuple(dict.fromkeys(call for call in article.left_out if call not in known and call not in asked))


def expand_calls(wikipedia: Wikipedia, task: Task) -> Expanded:
    """Expand the calls of one page, many a request.

    A call that fails among others is asked for alone before it counts as failed: another one may have eaten
    its mark, or the request's limits.
    """
    texts: dict[str, str] = {}
    failures = {call: "too-large" for call in task.calls if len(call.encode()) > MAX_CALL_BYTES}
    alone: list[str] = []
    for group in _groups([call for call in task.calls if call not in failures]):
        for call, (text, failure) in zip(group, _ask(wikipedia, task.page, group), strict=True):
            if not failure:
                texts[call] = text
            elif len(group) == 1:
                failures[call] = failure
            else:
                alone.append(call)
    for call in alone:
        text, failure = _ask(wikipedia, task.page, [call])[0]
        if failure:
            failures[call] = failure
        else:
            texts[call] = text
    return Expanded(task=task, texts=texts, failures=failures)


def _groups(calls: Iterable[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for call in calls:
        if group and size + len(call.encode()) > MAX_REQUEST_BYTES:
            yield group
            group, size = [], 0
        group.append(call)
        size += len(call.encode())
    if group:
        yield group


def _ask(wikipedia: Wikipedia, page: Page, calls: list[str]) -> list[tuple[str, str]]:
    """Text and failure of each call; one of the two is empty, or both where a call expands to nothing."""
    parameters = {
        "action": "expandtemplates",
        "prop": "wikitext",
        "title": page.title,
        "text": marked(calls),
    }
    try:
        answer = wikipedia.request(parameters)
    except ApiError as error:
        return [("", error.code)] * len(calls)
    with expected_parts(wikipedia.api):
        pieces = parted(str(answer["expandtemplates"]["wikitext"]), len(calls))
    if pieces is None:
        return [("", "lost-mark")] * len(calls)
    names = [name for name, number in wikipedia.site().namespaces.items() if number == TEMPLATE_NAMESPACE]
    return [(("", failure) if (failure := failure_of(piece, names)) else (piece, "")) for piece in pieces]


def marked(calls: Sequence[str]) -> str:
    """The calls with a mark before, between and after them.

    >>> marked(["{{a}}", "{{b}}"])
    '%((0))%{{a}}%((1))%{{b}}%((2))%'
    """
    return "".join(f"{MARK.format(number)}{call}" for number, call in enumerate([*calls, ""]))


def parted(text: str, count: int) -> list[str] | None:
    """What stands between the marks; None where they have not all come back, once each and in order.

    >>> parted("%((0))%1&nbsp;km%((1))%%((2))%", 2)
    ['1&nbsp;km', '']
    """
    marks = [MARK.format(number) for number in range(count + 1)]
    if any(text.count(mark) != 1 for mark in marks):
        return None
    places = [text.index(mark) for mark in marks]
    if places != sorted(places) or places[0] != 0 or places[-1] + len(marks[-1]) != len(text):
        return None
    ends = [place + len(mark) for place, mark in zip(places, marks, strict=True)]
    return [text[ends[number] : places[number + 1]] for number in range(count)]


def failure_of(text: str, template_names: Container[str]) -> str:
    """Why an expansion is none; empty where it is one.

    `template_names` are the names of the namespace Template in lower case.

    >>> failure_of('<strong class="error">Division by zero.</strong>', ["template"])
    'error'
    >>> failure_of("by [[:Template:Nope]]", ["template"]), failure_of("[[:Category:Cities]]", ["template"])
    ('no-template', '')
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "not-unicode"
    if size > MAX_TEXT_BYTES:
        return "too-large"
    if any(found[1].lower() in template_names for found in NO_TEMPLATE.finditer(text)):
        return "no-template"
    if ERROR.search(text):
        return "error"
    return "strip-marker" if STRIP_MARKER in text else ""
