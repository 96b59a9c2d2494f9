"""Runs tasks on the workers of a Dask cluster (extra `cluster`).

Workers need only the installed package: tasks carry their inputs, and results are sent back.

Dask's workers run tasks in threads, but the time limit of a page needs a main thread
(`processes.time_limit`), and a task that hangs in spite of the limit must be killed. So each task runs in a
child of the worker: a subprocess, because daemons cannot have children of `multiprocessing`.
"""

from __future__ import annotations

import logging
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

from wikitext_builder.errors import BuilderError
from wikitext_builder.processes import TASKS_PER_WORKER, ProcessPool, Runner, Serial, cores

LOG = logging.getLogger(__name__)
Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS_TO_CONNECT = 20
SECONDS_PER_TASK = 600.0  # a task takes some seconds; a child that takes longer hangs, and is killed
RETRIES = 3  # of a task whose child process died; Dask itself moves tasks of a dead worker to others
MAX_SERIAL_PAGES = 64  # one process has done these before others have started
# Reasons for which Dask cancels tasks when all workers with the shared arguments are gone; these are sent
# again.
LOST_SHARED_ARGUMENTS = ("lost dependencies", "already forgotten")
MIN_SUBMITTED_TASKS = 64  # enough for workers that join after the workers were counted


class Cluster(AbstractContextManager["Cluster"]):
    """Runs tasks on the workers of a Dask scheduler.

    If a worker dies, other workers do its tasks.
    """

    def __init__(self, scheduler: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise BuilderError("--scheduler needs Dask; pip install 'wikitext-builder[cluster]'") from error
        dask: Any = distributed  # the package has no types
        self._scheduler = scheduler
        try:
            # Checked first, because a client would wait for a scheduler at an invalid address.
            dask.comm.get_address_host_port(dask.comm.normalize_address(scheduler))
            self._client = dask.Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except ValueError as error:
            raise BuilderError(
                f"--scheduler {scheduler}: not an address; expected one like tcp://HOST:8786"
            ) from error
        except (OSError, TimeoutError) as error:
            raise BuilderError(
                f"{scheduler}: no Dask scheduler answers ({error}); start one with `dask scheduler` and"
                " workers with `dask worker`, both with wikitext-builder installed"
            ) from error
        self._workers = set(self._client.nthreads())
        self._client.subscribe_topic("all", self._watch_workers)

    def _watch_workers(self, event: tuple[float, dict[str, Any]]) -> None:
        """Warn when the scheduler loses a worker."""
        action, worker = (event[1].get(name) for name in ("action", "worker"))
        if action == "add-worker":
            self._workers.add(str(worker))
        elif action == "remove-worker" and worker in self._workers:
            self._workers.remove(str(worker))
            remaining = len(self._workers)
            advice = "others do its tasks again" if remaining else "start one, or the build again"
            LOG.warning("lost the Dask worker %s, %d remain: %s", worker, remaining, advice)

    def __exit__(self, *_error: object) -> None:
        self._client.close(timeout=2)

    def map(
        self, function: Callable[..., Result], tasks: Iterable[Task], *shared: object
    ) -> Iterator[Result]:
        """Yield the results, see `processes.Runner`.

        Raises:
            BuilderError: The scheduler is gone, or a task killed several workers, or its child process
                in every attempt.
        """
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        waiting = iter(tasks)
        begun: deque[Task] = deque()  # tasks whose results are not yielded yet
        try:
            while True:
                futures: deque[Any] = deque()  # of the first tasks in `begun`
                self._client.wait_for_workers(1)
                # Not sent to all at once: workers, even later ones, copy the arguments from one another.
                scattered = self._client.scatter(list(shared), hash=False) if shared else ()
                threads = sum(self._client.nthreads().values())
                max_begun = max(MIN_SUBMITTED_TASKS, TASKS_PER_WORKER * threads)
                try:
                    while True:
                        begun.extend(islice(waiting, max_begun - len(begun)))
                        if not begun:
                            return
                        futures.extend(
                            self._client.submit(
                                run_in_child, function, task, *scattered, pure=False, retries=RETRIES
                            )
                            for task in islice(begun, len(futures), None)
                        )
                        result = futures[0].result()
                        futures.popleft()  # Dask then forgets the task and its result
                        begun.popleft()
                        yield result
                except FutureCancelledError as error:
                    if error.reason not in LOST_SHARED_ARGUMENTS:
                        raise
        except (KilledWorker, ChildDiedError) as error:
            raise BuilderError(
                f"{self._scheduler}: {error}; the workers may have run out of memory. Run it again to resume"
            ) from error
        except (CommClosedError, FutureCancelledError, TimeoutError) as error:
            raise BuilderError(
                f"{self._scheduler}: lost the scheduler, or all workers ({error}); start them and run it"
                " again to resume"
            ) from error


class ChildDiedError(Exception):
    """The child process ended before it answered; the task can be tried again."""


class _Child:
    """A subprocess that answers tasks until its parent ends, or closes the pipe."""

    def __init__(self) -> None:
        self._pipe, child_end = Pipe()
        with child_end:
            command = [sys.executable, "-P", "-m", __name__, str(child_end.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[child_end.fileno()])  # noqa: S603
        self._shared: tuple[object, ...] = ()

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, function: Callable[..., Result], task: Task, shared: tuple[object, ...]) -> object:
        timer = threading.Timer(SECONDS_PER_TASK, self._process.kill)
        timer.start()
        try:
            # Dask keeps one copy of scattered arguments: while the objects are the same, the child has them.
            is_new = [*map(id, shared)] != [*map(id, self._shared)]
            self._shared = shared
            self._pipe.send((function, task, shared if is_new else None))
            return self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise ChildDiedError(f"the child process ended with status {self._process.wait()}") from error
        finally:
            timer.cancel()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()


_idle: queue.SimpleQueue[_Child] = queue.SimpleQueue()


def run_in_child(function: Callable[..., Result], task: Task, *shared: object) -> Result:
    """Run a function on a task in a child process, which is reused for the next task; return the result.

    Raises:
        BuilderError: The function raised this error.
        ChildDiedError: The child was killed, perhaps because it was too slow.
    """
    child = _take_child()
    try:
        answer = child.ask(function, task, shared)
    except BaseException:
        child.end()
        raise
    _idle.put(child)
    if isinstance(answer, BaseException):
        raise answer
    return cast("Result", answer)  # what the function returned


def _take_child() -> _Child:
    with suppress(queue.Empty):
        while not (child := _idle.get_nowait()).is_alive():
            child.end()
        return child
    return _Child()


def _main() -> None:
    """Answer tasks until the parent ends."""
    last_shared: tuple[object, ...] = ()
    with suppress(EOFError, ConnectionError), Connection(int(sys.argv[1])) as pipe:
        while True:
            function, task, shared = pipe.recv()
            last_shared = last_shared if shared is None else shared
            try:
                answer = function(task, *last_shared)
            except BuilderError as error:
                answer = error
            pipe.send(answer)


@contextmanager
def open_runner(pages: int, *, workers: int | None = None, scheduler: str | None = None) -> Iterator[Runner]:
    """Open the runner for a build of a number of pages.

    `scheduler` is the address of a Dask scheduler; without it, tasks run in `workers` processes of this
    machine.
    """
    workers = cores() if workers is None else workers
    if workers < 1:
        raise BuilderError(f"--workers: {workers}; expected at least 1")
    if scheduler is not None:
        with Cluster(scheduler) as cluster:
            yield cluster
    elif workers > 1 and pages > MAX_SERIAL_PAGES:
        with ProcessPool(workers) as pool:
            yield pool
    else:
        yield Serial()


if __name__ == "__main__":
    _main()
