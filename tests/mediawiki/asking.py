"""What the tests ask a wiki with: the real client, which waits for a shorter time."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import hear_control_c
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

# A separate process that fetches, and prints its progress after each batch.
CHILD = """
import os
import sys
from pathlib import Path
import wikitext_builder as wb

def report(stage, done, total=None, note=""):
    os.write(1, f"{stage.replace(' ', '-')} {done}\\n".encode())  # one write: threads report too

api, path, select, as_of, limit, parallel = sys.argv[1:]
options = {"as_of": as_of or None, "limit": int(limit) or None, "parallel": int(parallel), "expand": False}
wb.fetch(path, api=api, select=select, progress=report, **options)
report("ended", 0)
"""


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


def child(
    api: str, path: Path, select: str = "good", *, as_of: str = "", limit: int = 0, parallel: int = 1
) -> subprocess.Popen[str]:
    """Start a fetch in a separate process."""
    command = [sys.executable, "-c", CHILD, api, str(path), select, as_of, str(limit), str(parallel)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=hear_control_c)


def wait_for(process: subprocess.Popen[str], stage: str, least: int) -> None:
    """Read what a child prints until it is that far."""
    assert process.stdout is not None
    for line in process.stdout:
        said, count = line.split()
        if said == stage and int(count) >= least:
            return
    raise AssertionError(f"the child ended: {process.stderr.read() if process.stderr else ''}")
