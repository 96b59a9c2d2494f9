"""Runs tasks on the workers of a Dask cluster (extra `cluster`), or on this machine if none is asked for.

A worker of Dask runs tasks in threads, but the time limit of a page needs a main thread
(`processes.time_limit`), and a task that hangs in spite of it must be killed. So each task runs in a child of
the worker: a subprocess, because daemons cannot have children of `multiprocessing`.
"""

from __future__ import annotations

import logging
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

from wikitext_builder.errors import BuilderError
from wikitext_builder.runners.processes import ProcessPool, Runner, Serial, cores

LOG = logging.getLogger(__name__)
Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS_PER_TASK = 600.0  # a task takes some seconds; a child that takes longer hangs, and is killed


class ChildDiedError(Exception):
    """The child ended before it answered; the task can be tried again."""


@dataclass(frozen=True, slots=True)
class _Child:
    process: subprocess.Popen[bytes]
    pipe: Connection[Any, Any]

    def ask(self, question: object) -> object:
        timer = threading.Timer(SECONDS_PER_TASK, self.process.kill)
        timer.start()
        try:
            self.pipe.send(question)
            return self.pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise ChildDiedError(f"the child process ended with status {self.process.wait()}") from error
        finally:
            timer.cancel()


_idle: queue.SimpleQueue[_Child] = queue.SimpleQueue()


def run_in_child(function: Callable[[Task], Result], task: Task) -> Result:
    """Return the result of a function for a task, from a child process that is kept for the next task.

    Raises:
        BuilderError: The function raised it.
        ChildDiedError: The child was killed, perhaps because it was too slow.
    """
    child = _take_child()
    try:
        answer = child.ask((function, task))
    except BaseException:
        child.process.kill()
        child.process.wait()
        child.pipe.close()
        raise
    _idle.put(child)
    if isinstance(answer, BaseException):
        raise answer
    return cast("Result", answer)  # what the function returned


def _take_child() -> _Child:
    with suppress(queue.Empty):
        while (child := _idle.get_nowait()).process.poll() is not None:
            child.pipe.close()
        return child
    ours, its = Pipe()
    with its:
        command = [sys.executable, "-P", "-m", __name__, str(its.fileno())]
        return _Child(subprocess.Popen(command, pass_fds=[its.fileno()]), ours)  # noqa: S603


def _main() -> None:
    """Answer tasks until the parent ends."""
    with suppress(EOFError, ConnectionError), Connection(int(sys.argv[1])) as pipe:
        while True:
            function, task = pipe.recv()
            try:
                answer = function(task)
            except BuilderError as error:
                answer = error
            except OSError as error:
                answer = OSError(error.errno, error.strerror, str(error.filename))
            pipe.send(answer)


SECONDS_TO_CONNECT = 20
FEW_PAGES = 64  # one process has done them before others have started
RETRIES = 3  # of a task that lost its child process; Dask itself moves tasks of a dead worker elsewhere


class Cluster(AbstractContextManager["Cluster"]):
    """A Dask scheduler, by its address.

    If a worker dies, nothing is lost: other workers do its tasks, and files are complete or absent.
    """

    def __init__(self, scheduler: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise BuilderError("--scheduler needs Dask; pip install 'wikitext-builder[cluster]'") from error
        dask: Any = distributed  # it has no types
        self._scheduler, self._as_completed = scheduler, dask.as_completed
        try:
            dask.comm.get_address_host_port(
                dask.comm.normalize_address(scheduler)
            )  # a client would wait for it
            self._client = dask.Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except ValueError as error:
            raise BuilderError(
                f"--scheduler {scheduler}: no address; expected one as tcp://HOST:8786"
            ) from error
        except (OSError, TimeoutError) as error:
            raise BuilderError(
                f"{scheduler}: no Dask scheduler answers ({error}); start one with `dask scheduler` and"
                " workers with `dask worker`, both with wikitext-builder installed"
            ) from error
        self._workers = set(self._client.nthreads())
        self._client.subscribe_topic("all", self._hear)

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """Say it when the scheduler loses a worker."""
        action, worker = (event[1].get(name) for name in ("action", "worker"))
        if action == "add-worker":
            self._workers.add(str(worker))
        elif action == "remove-worker" and worker in self._workers:
            self._workers.remove(str(worker))
            left = len(self._workers)
            then = "others do its tasks again" if left else "the build waits until one is started"
            LOG.warning("lost the Dask worker %s, %d remain: %s", worker, left, then)

    def __exit__(self, *_error: object) -> None:
        self._client.close(timeout=2)

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results, see `processes.Runner`.

        Raises:
            BuilderError: The scheduler is gone, or a task killed one worker after another, or its child
                process each time.
        """
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        # A task runs in a thread of a Dask worker, where a page that hangs cannot be stopped; a child can.
        futures = self._client.map(partial(run_in_child, function), list(tasks), pure=False, retries=RETRIES)
        try:
            for _, result in self._as_completed(futures, loop=self._client.loop, with_results=True):
                if isinstance(result, BaseException):  # of a future that was cancelled; others are raised
                    raise result
                yield result
        except (KilledWorker, ChildDiedError) as error:
            raise BuilderError(
                f"{self._scheduler}: {error}; the workers may have run out of memory. Run it again to resume"
            ) from error
        except (CommClosedError, FutureCancelledError, OSError) as error:
            if getattr(error, "filename", None) is not None:  # of a task: its disk is full, …
                raise
            raise BuilderError(
                f"{self._scheduler}: lost the scheduler ({error}); start it and run it again to resume"
            ) from error


@contextmanager
def open_runners(
    pages: int, *, workers: int | None = None, scheduler: str | None = None
) -> Iterator[tuple[Runner, Runner]]:
    """Open a runner for tasks that can run anywhere, and one for tasks that must run on this machine.

    `pages` is how many there are to extract; `scheduler` the address of a Dask scheduler for the first
    runner.
    """
    workers = cores() if workers is None else workers
    if workers < 1:
        raise BuilderError(f"--workers: {workers}; expected at least 1")
    with ExitStack() as stack:
        here: Runner = Serial()
        if workers > 1 and pages > FEW_PAGES:
            here = stack.enter_context(ProcessPool(workers))
        if scheduler is None:
            yield here, here
            return
        yield stack.enter_context(Cluster(scheduler)), here


if __name__ == "__main__":
    _main()
