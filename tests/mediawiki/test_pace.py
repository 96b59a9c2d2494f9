"""A server that allows so many requests in some seconds, and refuses the others."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.mediawiki.asking import GOOD, ask, fetch_pages, stored
from tests.mediawiki.load import DATE, LoadedWiki, missing
from tests.mediawiki.loopback import send, server


@dataclass(kw_only=True)
class StrictWiki:
    """Answers `most` requests in any `seconds`; the others get status 429 with Retry-After."""

    pages: LoadedWiki
    most: int = 20
    seconds: float = 3.0
    clock: Callable[[], float] = time.monotonic
    came: list[float] = field(default_factory=list)  # when requests came that were answered
    refused: int = 0

    def __call__(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        now = self.clock()
        recent = [moment for moment in self.came if now - moment < self.seconds]
        if len(recent) >= self.most:
            self.refused += 1
            send(handler, "slow down", status=429, headers={"Retry-After": "1"})
        else:
            self.came.append(now)
            send(handler, self.pages.answer(query))


def test_a_paced_fetch_is_never_refused_and_at_most_2_percent_longer_and_a_faster_one_loses_nothing(
    tmp_path: Path,
) -> None:
    """On a clock that is put forward instead of waiting, with a request per page."""
    for per_minute, refused in ((400, {0}), (3000, range(1, 31))):
        wiki, folder = StrictWiki(pages=LoadedWiki(pages=98)), tmp_path / str(per_minute)
        folder.mkdir()
        with (
            server(wiki, protocol="HTTP/1.1") as api,
            stored(folder) as store,
            ask(api, per_minute=per_minute) as wikipedia,
        ):
            wiki.clock = wikipedia.clock
            report = fetch_pages(store, wikipedia, [GOOD], as_of=DATE)
        assert (report.fetched, missing(wiki.pages, folder)) == (98, [])
        assert report.requests == 100 + wiki.refused
        assert wiki.refused in refused
        longer = (wiki.came[-1] - wiki.came[0]) / (99 * wiki.seconds / wiki.most) - 1
        assert longer <= 0.02 or per_minute > 400
