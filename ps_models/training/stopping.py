"""Signals that ask a long run to save and stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM wait until the update is done; a second one ends the process as usual."""
    seen: list[int] = []

    def remember(number: int, frame: object) -> None:
        del frame
        seen.append(number)
        signal.signal(number, before[signal.Signals(number)])

    numbers = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {number: signal.signal(number, remember) for number in numbers}
    except ValueError:  # not in the main thread, where only the caller can handle signals
        yield lambda: False
        return
    try:
        yield lambda: bool(seen)
    finally:
        for number in numbers:
            signal.signal(number, before[number])
