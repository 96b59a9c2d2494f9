"""How fast a client asks: so many requests per minute, evenly, and slower while a server refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.http import is_loopback

PER_MINUTE = 200  # of a named operator: https://www.mediawiki.org/wiki/Wikimedia_APIs/Rate_limits (2026)
MARGIN = 1.015  # of the time between two requests: if one arrives late, the next ones seem early
CAUGHT_UP = 0.1  # of that time: what the next request may make up for if one was late
SLOWER, FASTER = 1.25, 0.999  # the time between requests: after a refusal, and after an answer
SLOWEST = 6.0  # seconds between two requests: the limit of clients without a name


class Pace:
    """When the next request of a client may go, for all its threads.

    Each refusal makes the pace slower by a quarter, each answer faster by a thousandth, up to the pace that
    was asked for: where a wiki allows less than that, it has to refuse one request in some 220. Without
    `per_minute` any number may go, also after refusals.
    """

    def __init__(self, per_minute: int | None, clock: Callable[[], float]) -> None:
        self._least = 60 / per_minute * MARGIN if per_minute else 0.0
        self._between = self._least
        self._clock = clock
        self._next = self._not_before = float("-inf")
        self._begun = False
        self._lock = threading.Lock()

    def wait(self) -> float:
        """Return the seconds until it may be asked again; 0: one request goes now, and counts."""
        with self._lock:
            now = self._clock()
            due = max(self._next, self._not_before)
            if due > now:
                return due - now
            self._next = max(due, now - CAUGHT_UP * self._between) + self._between
            return 0.0

    def hold(self, seconds: float, *, refused: bool) -> None:
        """Let no request go for some seconds; `refused`: the server found that there were too many."""
        with self._lock:
            now = self._clock()
            if refused and now >= self._not_before:  # else several requests met the same refusal
                self._between = min(max(SLOWEST, self._least), self._between * SLOWER)
            self._not_before = max(self._not_before, now + seconds)

    def answered(self) -> None:
        """Be faster again after an answer; the first one begins the pace: connecting takes its time."""
        with self._lock:
            if not self._begun:
                self._begun, self._next = True, self._clock() + self._between
            self._between = max(self._least, self._between * FASTER)

    @property
    def seconds(self) -> float:
        """The seconds between two requests."""
        return self._between


def pace_of(api: str, per_minute: int | None) -> int | None:
    """Return the pace that was asked for, or the usual one; None: no pace, on this machine.

    A wiki on this machine is the user's own: nobody else waits for its answers.

    >>> pace_of("https://en.wikipedia.org/w/api.php", None), pace_of("http://localhost/api.php", None)
    (200, None)
    """
    if per_minute is None:
        return None if is_loopback(urlsplit(api).hostname or "") else PER_MINUTE
    if per_minute < 1:
        raise BuilderError(f"--per-minute {per_minute}: give 1 or more; {PER_MINUTE} is usual")
    return per_minute
