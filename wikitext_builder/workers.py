"""Runs a pure function over tasks: here, or in processes that may die without harm."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from wikitext_builder.errors import BuilderError, RejectedError

Task = TypeVar("Task")
Result = TypeVar("Result")

MAX_BROKEN_POOLS = 5  # a worker that dies so often dies of its task, not of chance
AHEAD = 2  # tasks handed out a worker: enough to keep it busy, few enough to lose little


def run(function: Callable[[Task], Result], tasks: Sequence[Task], *, workers: int) -> Iterator[Result]:
    """Yield the results of a function over tasks, in any order.

    A worker that dies (killed, out of memory) breaks its pool; what is missing is done again in a new one.

    Args:
        function: Top-level and pure but for files that it writes whole; doing a task twice does no harm.
        tasks: Values that can be pickled.
        workers: Processes; 1 runs all in this one.

    Raises:
        BuilderError: Workers died again and again.
    """
    if workers <= 1 or len(tasks) <= 1:
        yield from map(function, tasks)
        return
    left = dict(enumerate(tasks))
    for _ in range(MAX_BROKEN_POOLS):
        try:
            for index, result in _in_processes(function, left, min(workers, len(left))):
                del left[index]
                yield result
        except BrokenProcessPool:
            continue
        return
    raise BuilderError(
        f"worker processes died {MAX_BROKEN_POOLS} times, {len(left)} of {len(tasks)} tasks are missing;"
        " memory may be short: try fewer --workers, then run the same command again: it goes on"
    )


def _in_processes(
    function: Callable[[Task], Result], tasks: dict[int, Task], workers: int
) -> Iterator[tuple[int, Result]]:
    queue = iter(list(tasks.items()))
    # spawn: a forked child inherits locks of threads that it does not have.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        running: dict[Future[Result], int] = {}
        try:
            while True:
                for index, task in queue:
                    running[pool.submit(function, task)] = index
                    if len(running) >= AHEAD * workers:
                        break
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Cut off what takes longer, by SIGALRM; only a process's main thread can be cut off.

    Raises:
        RejectedError: `too-slow`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def cut_off(_signal: int, _frame: FrameType | None) -> None:
        raise RejectedError("too-slow", f"took longer than {seconds:g} s; expected a fraction of a second")

    before = signal.signal(signal.SIGALRM, cut_off)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
