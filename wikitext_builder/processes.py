"""Where the tasks of a build run: in this process, or in a pool of processes that may die without harm."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from multiprocessing.connection import wait as wait_for_sentinel
from types import FrameType
from typing import Any, Protocol, TypeVar

from wikitext_builder.errors import BuilderError, RejectedError

Task = TypeVar("Task")
Result = TypeVar("Result")

MAX_BROKEN_POOLS = 5  # a worker that dies so often dies because of its task, not by chance
# After the limit the signal comes again and again: an error that is raised in a `__del__` or in a callback of
# the garbage collector is lost.
SECONDS_AGAIN = 1.0
# The last resort for a page: extraction itself refuses by structure, which does not depend on a machine's
# speed.
SECONDS_PER_PAGE = 10.0
SAFE_PATH = "PYTHONSAFEPATH"
AHEAD = 4  # tasks given to each worker: enough to keep it busy while a slow one is waited for


def cores() -> int:
    """How many cores this process may use: a container or `taskset` can give fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class Runner(Protocol):
    """Runs functions over tasks; a build knows nothing else about where they run."""

    def map(
        self, function: Callable[..., Result], tasks: Iterable[Task], *shared: object
    ) -> Iterator[Result]:
        """Yield `function(task, *shared)` for each task, in the order of the tasks.

        A task is taken from `tasks` only when a worker is about to need it, so a generator of large tasks
        does not fill the memory.

        Args:
            function: Top-level and pure: a task whose worker dies is done again.
            tasks: Values that can be pickled.
            shared: What all tasks need; a worker on another machine gets it once.
        """
        ...


class Serial:
    """Runs everything in this process."""

    def map(
        self, function: Callable[..., Result], tasks: Iterable[Task], *shared: object
    ) -> Iterator[Result]:
        """Yield the results, see `Runner`."""
        return (function(task, *shared) for task in tasks)


class ProcessPool(AbstractContextManager["ProcessPool"]):
    """Runs tasks in processes of this machine.

    A worker that dies (killed, out of memory) breaks the pool; a new one does the missing tasks.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __exit__(self, *_error: object) -> None:
        self._close()

    def map(
        self, function: Callable[..., Result], tasks: Iterable[Task], *shared: object
    ) -> Iterator[Result]:
        """Yield the results, see `Runner`."""
        waiting = iter(tasks)
        begun: deque[Task] = deque()  # tasks whose results were not yielded
        for _ in range(MAX_BROKEN_POOLS):
            futures: deque[Future[Result]] = deque()  # of the first tasks in `begun`
            try:
                while True:
                    begun.extend(islice(waiting, AHEAD * self._workers - len(begun)))
                    if not begun:
                        return
                    for task in islice(begun, len(futures), None):
                        with _safe_path():  # a process can begin here
                            futures.append(self._open().submit(function, task, *shared))
                    result = futures[0].result()
                    futures.popleft()
                    begun.popleft()
                    yield result
            except BrokenProcessPool:
                self._close()
            finally:
                for future in futures:
                    future.cancel()
        raise BuilderError(
            f"worker processes died {MAX_BROKEN_POOLS} times, and {len(begun)} or more tasks are not done;"
            " memory may be short: try fewer --workers and run it again to resume"
        )

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # spawn: a forked child inherits the locks of threads that it does not have.
            context = multiprocessing.get_context("spawn")
            with _safe_path():
                self._pool = ProcessPoolExecutor(self._workers, mp_context=context, initializer=_begin_worker)
        return self._pool

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let new processes find modules where this one did: they would look in the current folder first.

    It can be a stranger's dataset, with a file called `multiprocessing.py`.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent ends, for whatever reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for_sentinel([sentinel])
    os._exit(1)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what takes longer, by SIGPROF; it works only in the main thread, and not inside a C function.

    The seconds are of processor time, not of the clock: a dataset must not depend on how busy the machine is.

    Raises:
        RejectedError: `too-slow`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def cut_off(_signal: int, _frame: FrameType | None) -> None:
        raise RejectedError("too-slow", f"took longer than {seconds:g} s; expected a fraction of a second")

    before: Any = signal.signal(signal.SIGPROF, cut_off)
    outer, _ = signal.setitimer(signal.ITIMER_PROF, seconds, SECONDS_AGAIN)
    try:
        yield
    finally:
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        rest = outer - (seconds - left)
        if outer and rest > 0:  # a limit around this one continues, or is over
            signal.setitimer(signal.ITIMER_PROF, rest, SECONDS_AGAIN)
        elif outer:
            signal.raise_signal(signal.SIGPROF)
