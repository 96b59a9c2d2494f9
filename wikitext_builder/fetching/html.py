"""What MediaWiki renders: asked for page by page, without the templates that the wiki does not have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.names import call_name, template_name
from wikitext_builder.fetching.pages import check_wiki
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.store import Revision, Store
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.responses import ApiError, Json, expected_parts

TEMPLATE_NAMESPACE = 10
# What opens and closes calls, and what no call stands in.
TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(nowiki|pre|math|source|syntaxhighlight)\b[^<>]*(?<!/)>.*?</\1\s*>|\{\{+|\}\}+",
    re.DOTALL | re.IGNORECASE,
)
LONGEST_NAME = 1_000  # characters, comments included; a title has 255 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A page's HTML, and the wikitext that it was made of."""

    page: Page
    html: str


def render_revision(wikipedia: Wikipedia, revision: Revision) -> str:
    """The HTML of a revision that the wiki has, made with the templates of today.

    Raises:
        RejectedError: It has it no more, may not show it (the reason is MediaWiki's word for it), or has
            another page's text under this number (`other-page`).
    """
    answer = _parse(wikipedia, {"oldid": str(revision.revision_id), "prop": "text|revid"})
    with expected_parts(wikipedia.api):
        found = int(answer["parse"]["pageid"]), int(answer["parse"]["revid"])
    if found != (revision.page_id, revision.revision_id):
        raise RejectedError(
            "other-page", f"page and revision {found}, expected {revision.page_id}, {revision.revision_id}"
        )
    return _html(wikipedia, answer)


def render_page(wikipedia: Wikipedia, page: Page) -> Rendering:
    """What the wiki makes of a page's wikitext, whether the wiki has such a page or not.

    Calls of templates that it does not have are taken out before, so that both sides miss the same: the
    wikitext of the result is without them.
    """
    answer = _parse(wikipedia, _given(page))
    with expected_parts(wikipedia.api):
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
    with expected_parts(wikipedia.api):
        return str(answer["parse"]["text"])


def without_templates(wikitext: str, names: Container[str]) -> str:
    """The wikitext without calls of the templates of these names, with all that stands inside of them.

    >>> without_templates("a {{b|{{c}}}} {{d|{{b}}<!-- {{b}} -->}}{{b", {"B"})
    'a  {{d|<!-- {{b}} -->}}{{b'
    """
    cuts: list[tuple[int, int]] = []
    opened: list[list[int]] = []  # where runs of braces stand, and how many of their braces are still open
    for token in TOKEN.finditer(wikitext):
        if token[0].startswith("{"):
            opened.append([token.start(), len(token[0])])
        elif token[0].startswith("}"):
            cuts += _closed(wikitext, opened, token.start(), len(token[0]), names)
    kept, position = [], 0
    for start, end in sorted(cuts):
        if start >= position:
            kept.append(wikitext[position:start])
        position = max(position, end)
    return "".join([*kept, wikitext[position:]])


def _closed(
    wikitext: str, opened: list[list[int]], start: int, count: int, names: Container[str]
) -> list[tuple[int, int]]:
    """The calls of these names that a run of closing braces ends."""
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
class RenderReport:
    """What fetching rendered pages did."""

    pages: int  # looked at
    present: int  # were settled before
    fetched: int
    failed: Mapping[str, int]  # by reason; noted in the store, not asked again
    requests: int


def fetch_rendered(
    store: Store,
    wikipedia: Wikipedia,
    *,
    revision_ids: Sequence[int] | None = None,
    progress: Progress = no_progress,
) -> RenderReport:
    """Keep the HTML of revisions, one request a page; what is in the store is not asked for again.

    Args:
        store: Open for writing.
        wikipedia: The wiki that the pages came from.
        revision_ids: Which; None takes the newest revision of each page.
        progress: Called after each page.
    """
    code, requests_before = wikipedia.language.code, wikipedia.requests
    check_wiki(store, wikipedia)
    here = {one.revision_id: one for one in store.all_revisions(code)}
    if revision_ids is None:
        revision_ids = [one.revision_id for one in store.revisions(code)]
    settled = store.rendered_sha1s(code)
    todo = [here[number] for number in revision_ids if number not in settled]
    failed: Counter[str] = Counter()
    done = 0

    def ask(revision: Revision) -> tuple[int, str, str]:
        try:
            return revision.revision_id, render_revision(wikipedia, revision), ""
        except RejectedError as error:
            return revision.revision_id, "", error.reason

    wikipedia.on_wait = lambda why: progress("rendering", done, len(todo), why)
    for number, html, failure in wikipedia.map(ask, todo):
        store.add_rendered(code, number, html, failure)
        failed.update([failure] if failure else [])
        done += 1
        progress("rendering", done, len(todo), f"{failed.total()} failed" if failed else "")
    return RenderReport(
        pages=len(revision_ids),
        present=len(revision_ids) - len(todo),
        fetched=done - failed.total(),
        failed=dict(sorted(failed.items())),
        requests=wikipedia.requests - requests_before,
    )
