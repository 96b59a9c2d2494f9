"""Runs tasks in a child process, for callers that are threads.

The time limit of a page needs a main thread (`processes.time_limit`), and a task that hangs in spite of it
must be killed. Dask's workers are daemons: they cannot have children of `multiprocessing`, but a subprocess.
"""

from __future__ import annotations

import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, TypeVar, cast

from wikitext_builder.errors import BuilderError

Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS_PER_TASK = 600.0  # a task takes some seconds; a child that takes longer hangs, and is killed
LENGTH = struct.Struct(">Q")

_idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()


class ChildDiedError(Exception):
    """The child ended before it answered; the task can be tried again."""


def run_in_child(function: Callable[[Task], Result], task: Task) -> Result:
    """Return the result of a function for a task, from a child process that is kept for the next task.

    Raises:
        BuilderError: The function raised it.
        ChildDiedError: The child was killed, perhaps because it was too slow.
    """
    child = _take_child()
    try:
        answer = _ask(child, (function, task))
    except BaseException:
        child.kill()
        child.wait()
        raise
    _idle.put(child)
    if isinstance(answer, BaseException):
        raise answer
    return cast("Result", answer)  # what the function returned


def _take_child() -> subprocess.Popen[bytes]:
    with suppress(queue.Empty):
        while (child := _idle.get_nowait()).poll() is not None:
            pass
        return child
    command = [sys.executable, "-m", __name__]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603


def _ask(child: subprocess.Popen[bytes], question: object) -> object:
    timer = threading.Timer(SECONDS_PER_TASK, child.kill)
    timer.start()
    try:
        _send(cast("IO[bytes]", child.stdin), question)
        return _receive(cast("IO[bytes]", child.stdout))
    except (EOFError, BrokenPipeError) as error:
        raise ChildDiedError(f"the child process ended with status {child.wait()}") from error
    finally:
        timer.cancel()


def _send(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:  # noqa: ANN401
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)  # noqa: S301


def _main() -> None:
    """Answer tasks from stdin on stdout until the parent ends."""
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # a stray print must not break the answers
    with suppress(EOFError):
        while True:
            function, task = _receive(sys.stdin.buffer)
            try:
                answer = function(task)
            except BuilderError as error:
                answer = error
            except OSError as error:
                answer = OSError(error.errno, error.strerror, str(error.filename))
            _send(answers, answer)


if __name__ == "__main__":
    _main()
