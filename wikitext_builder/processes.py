"""Runs the tasks of a build in this process, or in a pool whose processes may die without harm."""

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

MAX_BROKEN_POOLS = 5  # a worker that dies this often dies because of its task, not by chance
# After the limit the signal is repeated, because an error that is raised in a `__del__` or in a callback of
# the garbage collector is lost.
SECONDS_BETWEEN_SIGNALS = 1.0
# The last resort for a page: extraction itself rejects by structure, which does not depend on a machine's
# speed.
SECONDS_PER_PAGE = 10.0
SAFE_PATH = "PYTHONSAFEPATH"
TASKS_PER_WORKER = 4  # submitted at once: enough to keep workers busy while the oldest task is slow


def cores() -> int:
    """Return how many cores this process may use; a container or `taskset` can allow fewer than exist."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class Runner(Protocol):
    """Runs functions over tasks; a build does not know where they run."""

    def map(
        self, function: Callable[..., Result], tasks: Iterable[Task], *shared: object
    ) -> Iterator[Result]:
        """Yield `function(task, *shared)` for each task, in the order of the tasks.

        A task is taken from `tasks` only when a worker is about to need it, so a generator of large tasks
        does not fill the memory.

        Args:
            function: A pure top-level function: a task whose worker dies is run again.
            tasks: Values that can be pickled.
            shared: Further arguments for all tasks; a worker on another machine gets them once.
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

    A worker that dies (killed, out of memory) breaks the pool; a new pool runs the unfinished tasks.
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
        begun: deque[Task] = deque()  # tasks whose results are not yielded yet
        for _ in range(MAX_BROKEN_POOLS):
            futures: deque[Future[Result]] = deque()  # of the first tasks in `begun`
            try:
                while True:
                    begun.extend(islice(waiting, TASKS_PER_WORKER * self._workers - len(begun)))
                    if not begun:
                        return
                    for task in islice(begun, len(futures), None):
                        with _safe_path():  # a submission can start a process
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
            f"worker processes died {MAX_BROKEN_POOLS} times, and at least {len(begun)} tasks are not done;"
            " memory may be short: try fewer --workers and run it again to resume"
        )

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # spawn, because a forked child inherits the locks of threads that it does not have.
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
    """Stop new processes from importing modules from the current folder, where they would look first.

    The folder can be a stranger's dataset, with a file called `multiprocessing.py`.
    """
    previous = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if previous is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = previous


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end when the parent ends, for whatever reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after_parent, args=(parent.sentinel,), daemon=True).start()


def _exit_after_parent(sentinel: int) -> None:
    wait_for_sentinel([sentinel])
    os._exit(1)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop a block that takes longer, by SIGPROF; only in the main thread, and not inside a C function.

    The limit is in processor time, not clock time: a dataset must not depend on how busy the machine is.

    Raises:
        RejectedError: `too-slow`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def cut_off(_signal: int, _frame: FrameType | None) -> None:
        raise RejectedError("too-slow", f"took longer than {seconds:g} s; expected a fraction of a second")

    previous_handler: Any = signal.signal(signal.SIGPROF, cut_off)
    outer_seconds, _ = signal.setitimer(signal.ITIMER_PROF, seconds, SECONDS_BETWEEN_SIGNALS)
    try:
        yield
    finally:
        seconds_left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous_handler)
        outer_left = outer_seconds - (seconds - seconds_left)
        if outer_seconds and outer_left > 0:  # an enclosing limit continues, or is exceeded
            signal.setitimer(signal.ITIMER_PROF, outer_left, SECONDS_BETWEEN_SIGNALS)
        elif outer_seconds:
            signal.raise_signal(signal.SIGPROF)
