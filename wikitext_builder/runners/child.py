"""Runs tasks in a child process, for callers that are threads.

The time limit of a page needs a main thread (`processes.time_limit`), and a task that hangs in spite of it
must be killed. Dask's workers are daemons: they cannot have children of `multiprocessing`, but a subprocess.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

from wikitext_builder.errors import BuilderError

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
        command = [sys.executable, "-m", __name__, str(its.fileno())]
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


if __name__ == "__main__":
    _main()
