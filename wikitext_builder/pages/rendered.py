"""The HTML of pages as a wiki renders them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wikitext_builder.errors import RejectedError
from wikitext_builder.pages.store import Revision, Store, check_wiki
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.responses import ApiError, Json, expected_fields


def render_revision(wikipedia: Wikipedia, revision: Revision) -> str:
    """Return the HTML of a revision that the wiki has, made with the templates of today.

    Raises:
        RejectedError: The wiki no longer has it or may not show it (the reason is MediaWiki's word), or has
            the text of another page under this id (`other-page`).
    """
    answer = parse_page(wikipedia, {"oldid": str(revision.revision_id), "prop": "text|revid"})
    found, expected = (answer.get("pageid"), answer.get("revid")), (revision.page_id, revision.revision_id)
    if found != expected:
        raise RejectedError("other-page", f"expected page and revision {expected}, found {found}")
    return str(answer["text"])


def parse_page(wikipedia: Wikipedia, parameters: Mapping[str, str]) -> Json:
    """Return what `action=parse` gives, without reports and links to edit.

    Raises:
        RejectedError: The wiki refuses it; the reason is MediaWiki's word.
    """
    quiet = {"disablelimitreport": "1", "disableeditsection": "1"}
    try:
        answer = wikipedia.request({"action": "parse", **quiet, **parameters})
    except ApiError as error:
        raise RejectedError(error.code, str(error)) from error
    with expected_fields(wikipedia.api):
        return {**answer["parse"]}


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
