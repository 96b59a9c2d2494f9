"""What the tests ask a wiki with: the real client, which waits for a shorter time."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wikitext_builder.fetching.fetch import PagesReport, fetch_selected
from wikitext_builder.fetching.lookup import Lookup, Selection
from wikitext_builder.fetching.page_filters import Filter, Rule
from wikitext_builder.fetching.selections import Category, TitlesFile, select_pages
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.lock import lock_lines
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.http import Patience
from wikitext_builder.wiki.languages import LANGUAGES

GOOD = Category(name="Good articles")
FEATURED = Category(name="Featured articles")
DATE = "2016-08-31T23:59:59Z"


class StoppedError(Exception):
    """A fetch was stopped on purpose."""


def interrupted_at(place: str, least: int) -> Progress:
    """Stops a fetch that is that far; words of a stage are joined by hyphens."""

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        if place == stage.replace(" ", "-") and done >= least:
            raise StoppedError

    return progress


class Impatient(Wikipedia):
    """Notes how long it would sleep, and puts its clock forward instead."""

    def __init__(self, api: str, waits: list[float], **options: Any) -> None:
        super().__init__(api, **options)
        self.waits = waits

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def clock(self) -> float:
        return time.monotonic() + sum(self.waits)


def fetch_pages(
    store: Store,
    wikipedia: Wikipedia,
    selections: Sequence[Selection],
    *,
    conditions: Sequence[Rule[Filter | Selection]] = (),
    as_of: str = "",
    limit: int | None = None,
    progress: Progress = no_progress,
) -> PagesReport:
    """Fetch what selections ask for and the store does not have, as `fetch` does with an open store."""
    store.expect_wiki(wikipedia.language.code, wikipedia.site().wiki, wikipedia.api)
    lookup = Lookup(store=store, wikipedia=wikipedia, as_of=as_of, progress=progress)
    selected = select_pages(lookup, selections, conditions=conditions, limit=limit)
    return fetch_selected(lookup, selected)


def ask(api: str, waits: list[float] | None = None, *, really: bool = False, **options: Any) -> Wikipedia:
    """The client for a wiki in English; with `really` it waits in real time."""
    options = {"language": LANGUAGES["en"], "patience": Patience(attempts=5, first_wait=0.5), **options}
    return Wikipedia(api, **options) if really else Impatient(api, [] if waits is None else waits, **options)


@contextlib.contextmanager
def stored(path: Path) -> Iterator[Store]:
    with Store.create(path / "a.store") as store:
        yield store


def fetched(api: str, store: Store, *selections: Selection, **options: Any) -> PagesReport:
    """Fetch with a new client, and look that each page is counted once."""
    with ask(api) as wikipedia:
        report = fetch_pages(store, wikipedia, selections, **options)
    assert report.selected == report.fetched + report.present + sum(report.rejected.values())
    return report


def titles(path: Path, *lines: str) -> TitlesFile:
    """A selection of titles, through a file."""
    file = path / "titles.txt"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return TitlesFile(path=file)


def lock_text(store: Store) -> str:
    """The lock file of all that is in a store."""
    return "".join(lock_lines(store.all_revisions("en"), LANGUAGES["en"]))
