"""A server that allows so many requests in some seconds, and refuses the others: a fetch in real time."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.mediawiki.asking import GOOD, ask, fetch_pages, stored
from tests.mediawiki.load import DATE, LoadedWiki, missing
from tests.mediawiki.loopback import send, server
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import LANGUAGES


@dataclass(kw_only=True)
class StrictWiki:
    """Answers `most` requests in any `seconds`; the others get status 429 with Retry-After."""

    pages: LoadedWiki
    most: int = 20
    seconds: float = 3.0
    delay: float = 0.0  # of each answer
    came: list[float] = field(default_factory=list)  # when requests came that were answered
    refused: int = 0
    clock: Callable[[], float] = time.monotonic
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        now = self.clock()
        with self.lock:
            recent = [one for one in self.came if now - one < self.seconds]
            refuse = len(recent) >= self.most
            self.refused += refuse
            self.came += [] if refuse else [now]
        if refuse:
            send(handler, "slow down", status=429, headers={"Retry-After": "1"})
        else:
            time.sleep(self.delay)
            send(handler, self.pages.answer(query))


def fetch_all(wiki: StrictWiki, folder: Path, wikipedia: Wikipedia) -> float:
    """Fetch its pages with a request per page; returns by how much that took longer than it had to."""
    with stored(folder) as store, wikipedia:
        report = fetch_pages(store, wikipedia, [GOOD], as_of=DATE)
    assert (report.fetched, missing(wiki.pages, folder)) == (98, [])
    assert report.requests == 100 + wiki.refused
    return (wiki.came[-1] - wiki.came[0]) / (99 * wiki.seconds / wiki.most) - 1


def test_a_paced_fetch_is_never_refused_and_at_most_2_percent_longer(tmp_path: Path) -> None:
    """On a clock that is put forward instead of waiting."""
    wiki = StrictWiki(pages=LoadedWiki(pages=98))
    with server(wiki, protocol="HTTP/1.1") as api:
        wikipedia = ask(api, per_minute=400)
        wiki.clock = wikipedia.clock
        assert fetch_all(wiki, tmp_path, wikipedia) <= 0.02
    assert wiki.refused == 0


@pytest.mark.slow
def test_so_it_is_in_real_time_with_three_at_once(tmp_path: Path) -> None:
    """A loaded machine takes longer: 70 % leaves room for that, and none for 30 seconds of answers in turn.

    Requests that it sends late come closer to the next ones, so that the server refuses some of those.
    """
    wiki = StrictWiki(pages=LoadedWiki(pages=98), delay=0.3)
    with server(wiki, protocol="HTTP/1.1") as api:
        assert fetch_all(wiki, tmp_path, ask(api, really=True, parallel=3, per_minute=400)) <= 0.7
    assert wiki.refused <= 3


def test_a_pace_that_is_too_fast_loses_nothing(tmp_path: Path) -> None:
    wiki = StrictWiki(pages=LoadedWiki(pages=40), most=20, seconds=1.0)
    with (
        server(wiki, protocol="HTTP/1.1") as api,
        stored(tmp_path) as store,
        Wikipedia(api, language=LANGUAGES["en"], parallel=3, per_minute=3000) as wikipedia,
    ):
        report = fetch_pages(store, wikipedia, [GOOD], as_of=DATE)
    assert (report.fetched, missing(wiki.pages, tmp_path)) == (40, [])
    assert 1 <= wiki.refused <= 6
