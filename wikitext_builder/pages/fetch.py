"""The function `fetch`: pages, the texts of unknown template calls, and HTML, from a wiki into a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.expansions import ExpansionsReport, fetch_expansions
from wikitext_builder.pages.fetch_pages import PagesReport, fetch_pages
from wikitext_builder.pages.lookup import Selection
from wikitext_builder.pages.rendered import HtmlReport, fetch_html
from wikitext_builder.pages.selections import default_selections, parse_selection, parse_wishes
from wikitext_builder.pages.store import Store
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.wiki.client import Wikipedia, api_of
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import Language, language_of

CONNECTING = "connecting"  # the stage before the first answer


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReport:
    """What a fetch did."""

    pages: PagesReport
    expansions: ExpansionsReport | None  # None: not asked for
    html: HtmlReport | None  # None: not asked for


def fetch(
    store: str | Path,
    *,
    select: str | Sequence[str] = (),
    within: str | Sequence[str] = (),
    without: str | Sequence[str] = (),
    contact: str = "",
    language: str = "en",
    api: str | None = None,
    as_of: str | None = None,
    limit: int | None = None,
    maxlag: float | None = None,
    parallel: int = 1,
    expand: bool = True,
    rendered: bool = False,
    progress: Progress = no_progress,
) -> FetchReport:
    """Fetch articles through the API of a Wikipedia into a store; call it again to resume it.

    Args:
        store: Path of the store; it is made if it is absent.
        select: What to fetch: `good`, `featured`, `category:NAME`, `list:PAGE`, `list:PAGE@REVISION`,
            `titles:FILE`, `lock:FILE`, `created-since:DATE`, `promoted-since:DATE` or `recent:DATE`, or
            several of them. Empty: good and featured.
        within: What each page must be: in another selection, `words:MIN-MAX`, `bytes:MIN-MAX` or
            `quality:CLASS`.
        without: What no page may be: in another selection, `stubs` or `series`.
        contact: Your mail or web address, which the wiki sees. Wikimedia requires it.
        language: Code of the Wikipedia.
        api: Address of a wiki's `api.php`, instead of the Wikipedia of the language.
        as_of: A date or time; fetch the newest revisions up to then, with one request per page.
        limit: Fetch only the first titles, in the order of their code points.
        maxlag: Ask the wiki not to answer while its databases lag by more seconds than this.
        parallel: The number of requests at once, 1 to 3.
        expand: Ask the wiki for the texts of template calls that `extract` does not know.
        rendered: Keep the HTML of each page too, with one request per page.
        progress: Called after each batch and each page, and while the wiki makes us wait.

    Raises:
        BuilderError: An argument is wrong, or the wiki or the store cannot be used.

    Example:
        >>> import wikitext_builder as wb
        >>> wb.fetch("pages.store", select="good", contact="you@example.org", limit=100)  # doctest: +SKIP
    """
    wiki, date, shown = language_of(language), parse_date(as_of), WaitingProgress(progress)
    selections, wishes = _selections(select, wiki), parse_wishes(within, without, wiki)
    if limit is not None and limit < 1:
        raise BuilderError(f"--limit {limit}: give 1 or more")
    url, wait = api or api_of(wiki), shown.wait
    asked = Wikipedia(url, language=wiki, contact=contact, maxlag=maxlag, parallel=parallel, on_wait=wait)
    with asked as wikipedia, Store.create(Path(store)) as opened:
        found = fetch_pages(
            opened, wikipedia, selections, wishes=wishes, as_of=date, limit=limit, progress=shown
        )
        chosen = opened, wikipedia, found.revision_ids
        expansions = fetch_expansions(*chosen, progress=shown) if expand else None
        html = fetch_html(*chosen, progress=shown) if rendered else None
    return FetchReport(pages=found.report, expansions=expansions, html=html)


def _selections(select: str | Sequence[str], wiki: Language) -> Sequence[Selection]:
    texts = [select] if isinstance(select, str) else select
    return [parse_selection(text, wiki) for text in texts] or default_selections(wiki)


class WaitingProgress:
    """Passes reports on; while the wiki makes us wait, repeats the last one with the reason as its note."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: tuple[str, int, int | None] = (CONNECTING, 0, None)
        self._waits_to_connect = False

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Pass a report on."""
        if self._waits_to_connect:
            self._progress(CONNECTING, 1, 1)
            self._waits_to_connect = False
        self._last = (stage, done, total)
        self._progress(stage, done, total, note)

    def wait(self, why: str) -> None:
        """Report a wait; called from any thread. Before the first report it is a stage of its own."""
        self._waits_to_connect = self._last[0] == CONNECTING
        self._progress(*self._last, why)
