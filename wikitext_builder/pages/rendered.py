"""HTML that MediaWiki renders, page by page; calls of templates that the wiki does not have are removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.names import call_name, template_name
from wikitext_builder.extraction.trim import ClosingTags
from wikitext_builder.pages.store import Revision, Store, check_wiki
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.responses import ApiError, Json, expected_fields

TEMPLATE_NAMESPACE = 10
# What opens and closes calls, and what contains no call.
TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(nowiki|pre|math|source|syntaxhighlight)\b[^<>]*(?<!/)>|\{\{+|\}\}+",
    re.DOTALL | re.IGNORECASE,
)
LONGEST_NAME = 1_000  # characters, comments included; a title has 255 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A page's HTML, and the page with the wikitext that it was rendered from."""

    page: Page
    html: str


def render_revision(wikipedia: Wikipedia, revision: Revision) -> str:
    """Return the HTML of a revision that the wiki has, made with the templates of today.

    Raises:
        RejectedError: The wiki no longer has it or may not show it (the reason is MediaWiki's word), or has
            the text of another page under this id (`other-page`).
    """
    answer = _parse(wikipedia, {"oldid": str(revision.revision_id), "prop": "text|revid"})
    with expected_fields(wikipedia.api):
        found = int(answer["parse"]["pageid"]), int(answer["parse"]["revid"])
    if found != (revision.page_id, revision.revision_id):
        raise RejectedError(
            "other-page",
            f"expected page and revision {revision.page_id}, {revision.revision_id}, found {found}",
        )
    return _html(wikipedia, answer)


def render_page(wikipedia: Wikipedia, page: Page) -> Rendering:
    """Let the wiki render a page's wikitext, whether the wiki has such a page or not.

    Calls of templates that the wiki does not have are removed first, also from the page of the result, so
    that both sides miss the same text.

    Raises:
        RejectedError: The wiki cannot render it; the reason is MediaWiki's word.
    """
    answer = _parse(wikipedia, _given(page))
    with expected_fields(wikipedia.api):
        missing = {
            template_name(str(one["title"]))
            for one in answer["parse"]["templates"]
            if one["ns"] == TEMPLATE_NAMESPACE and not one["exists"]
        }
    wikitext = without_templates(page.wikitext, missing)
    if wikitext != page.wikitext:
        page = replace(page, wikitext=wikitext)
        answer = _parse(wikipedia, _given(page))
    return Rendering(page=page, html=_html(wikipedia, answer))


def _given(page: Page) -> Mapping[str, str]:
    text = {"title": page.title, "text": page.wikitext, "contentmodel": "wikitext"}
    return {**text, "prop": "text|templates"}


def _parse(wikipedia: Wikipedia, parameters: Mapping[str, str]) -> Json:
    quiet = {"disablelimitreport": "1", "disableeditsection": "1"}
    try:
        return wikipedia.request({"action": "parse", **quiet, **parameters})
    except ApiError as error:
        raise RejectedError(error.code, str(error)) from error


def _html(wikipedia: Wikipedia, answer: Json) -> str:
    with expected_fields(wikipedia.api):
        return str(answer["parse"]["text"])


def without_templates(wikitext: str, names: Container[str]) -> str:
    """Remove the calls of the templates of these names, and all that is inside these calls.

    >>> without_templates("a {{b|{{c}}}} {{d|{{b}}<!-- {{b}} -->}}{{b", {"B"})
    'a  {{d|<!-- {{b}} -->}}{{b'
    """
    cuts: list[tuple[int, int]] = []
    opened: list[list[int]] = []  # where runs of braces are, and how many of their braces are still open
    closing, position = ClosingTags(wikitext), 0
    while token := TOKEN.search(wikitext, position):
        position = token.end()
        if token[1]:
            position = max(position, closing.end_after(token[1].lower(), position))
        elif token[0].startswith("{"):
            opened.append([token.start(), len(token[0])])
        elif token[0].startswith("}"):
            cuts += _closed(wikitext, opened, token.start(), len(token[0]), names)
    kept, position = list[str](), 0
    for start, end in sorted(cuts):
        if start >= position:
            kept.append(wikitext[position:start])
        position = max(position, end)
    return "".join([*kept, wikitext[position:]])


def _closed(
    wikitext: str, opened: list[list[int]], start: int, count: int, names: Container[str]
) -> list[tuple[int, int]]:
    """Return the calls of these names that a run of closing braces ends."""
    cuts = []
    while opened and count >= 2:
        first, left = opened[-1]
        width = min(left, count, 3)
        start, count, left = start + width, count - width, left - width
        opened[-1][1] = left
        if left < 2:
            opened.pop()
        call = wikitext[first + left : min(start, first + left + LONGEST_NAME)]
        if width == 2 and call_name(call) in names:
            cuts.append((first + left, start))
    return cuts


# --- into the store


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    """What fetching HTML did."""

    pages: int  # looked at
    present: int  # settled before
    fetched: int
    failed: Mapping[str, int]  # by reason; noted in the store, not asked again
    requests: int


def fetch_html(
    store: Store, wikipedia: Wikipedia, revision_ids: Sequence[int], *, progress: Progress = no_progress
) -> HtmlReport:
    """Fetch the HTML of revisions, with one request per page; what the store has is not asked for again.

    Args:
        store: Open for writing.
        wikipedia: The wiki that the pages come from.
        revision_ids: Which revisions; all are in the store.
        progress: Called after each page.

    Raises:
        BuilderError: The wiki or the store cannot be used.
    """
    code, requests_before = wikipedia.language.code, wikipedia.requests
    check_wiki(store, wikipedia)
    here = {one.revision_id: one for one in store.all_revisions(code)}
    settled = store.rendered_sha1s(code)
    todo = [here[number] for number in revision_ids if number not in settled]
    failed: Counter[str] = Counter()
    done = 0

    def ask(revision: Revision) -> tuple[int, str, str]:
        try:
            return revision.revision_id, render_revision(wikipedia, revision), ""
        except RejectedError as error:
            return revision.revision_id, "", error.reason

    if todo:
        progress("rendering", 0, len(todo))
    for number, html, failure in wikipedia.map(ask, todo):
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
