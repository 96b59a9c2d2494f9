"""Runs commands side by side as child processes, until all are done, time is up, or the user stops.

A child is `python -m lm_benchmarks.reproducing.queue ps-models train lstm ptb --out run`. The parent keeps
its stdin open: when the parent closes it, or is killed, the child gets the signal of Ctrl-C, saves and stops.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from lm_benchmarks.errors import HarnessError
from ps_models.processor import stop_signals
from wikitext_builder.progress import Progress

PROGRAMS: Final = {"ps-models": "ps_models.cli", "lm-benchmarks": "lm_benchmarks.cli"}
LOCK_SECONDS: Final = 120.0  # for the children of a killed queue: they save and stop
POLL_SECONDS: Final = 0.5
ATTEMPTS: Final = 3  # of a command that a signal ended, such as the kernel's when memory is short
LAST_LINES: Final = 3  # of a log, in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command, and the steps that must be done before it."""

    name: str
    words: tuple[str, ...]  # of `ps-models` or `lm-benchmarks`
    needs: frozenset[str] = frozenset()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What happened to the steps, by name."""

    done: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)  # with the last lines of the log
    stopped: bool = False  # by the user, or because time was up: the rest can be done later


@dataclass(slots=True, kw_only=True)
class _Running:
    step: Step
    process: subprocess.Popen[bytes]
    log: Path
    attempt: int

    def end(self) -> None:
        """Ask it to save and stop: it watches its stdin."""
        if self.process.stdin is not None:
            self.process.stdin.close()
            self.process.stdin = None


def run_steps(
    steps: Sequence[Step],
    logs: Path,
    *,
    workers: int,
    seconds: float,
    lock: IO[bytes],
    on_tick: Callable[[Outcome, Sequence[str]], None],
) -> Outcome:
    """Run steps, each as soon as what it needs is done, in their order.

    Args:
        steps: What to run. A step that fails ends the steps that need it, and no others.
        logs: The folder of the logs, one per step.
        workers: Steps at the same time.
        seconds: Ask the running steps to stop after this time.
        lock: An open file that the children inherit: its lock lasts as long as they do.
        on_tick: Called about twice per second, with the outcome so far and the names of what is running.

    Returns:
        The outcome. Ctrl-C and SIGTERM also end it: the running steps save first.
    """
    outcome, running, waiting = Outcome(), list[_Running](), list(steps)
    ends = time.monotonic() + seconds
    try:
        with stop_signals() as asked_to_stop:
            while waiting or running:
                if not outcome.stopped and (asked_to_stop() or time.monotonic() >= ends):
                    outcome.stopped = True
                    for one in running:
                        one.end()
                running = _reap(running, outcome, logs, lock)
                waiting = [] if outcome.stopped else _without_blocked(waiting, outcome)
                for step in [one for one in waiting if one.needs <= outcome.done]:
                    if len(running) < workers:
                        waiting.remove(step)
                        running.append(_start(step, logs, lock))
                on_tick(outcome, [one.step.name for one in running])
                if running:
                    time.sleep(POLL_SECONDS)
    finally:
        for one in running:
            one.end()
    return outcome


def _start(step: Step, logs: Path, lock: IO[bytes], attempt: int = 1) -> _Running:
    path = logs / f"{step.name}.log"
    with path.open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own commands
            [sys.executable, "-m", "lm_benchmarks.reproducing.queue", *step.words],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock.fileno(),),
            start_new_session=True,  # Ctrl-C in a terminal would reach it twice
        )
    return _Running(step=step, process=process, log=path, attempt=attempt)


def _reap(running: Sequence[_Running], outcome: Outcome, logs: Path, lock: IO[bytes]) -> list[_Running]:
    """Take note of what ended; start again what a signal ended."""
    still = []
    for one in running:
        status = one.process.poll()
        if status is None:
            still.append(one)
            continue
        one.end()
        if status == 0:
            outcome.done.add(one.step.name)
        elif outcome.stopped:
            continue  # it stopped because it was asked to; if not, the next run reports its error
        elif status < 0 and one.attempt < ATTEMPTS:
            still.append(_start(one.step, logs, lock, one.attempt + 1))
        else:
            outcome.failed[one.step.name] = _why(one.log, status)
    return still


def _without_blocked(waiting: Sequence[Step], outcome: Outcome) -> list[Step]:
    """The steps that can still be done; the others fail because of what they need."""
    left = []
    for step in waiting:
        missing = step.needs & outcome.failed.keys()
        if missing:
            outcome.failed[step.name] = f"needs {', '.join(sorted(missing))}"
        else:
            left.append(step)
    return left


def _why(log: Path, status: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LAST_LINES:]
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return f"{how}; the end of {log}: {' | '.join(line[:200] for line in lines)}"


@contextmanager
def locked(path: Path, progress: Progress) -> Iterator[IO[bytes]]:
    """One queue per folder: also the children of a killed queue hold the lock until they have saved."""
    with path.open("ab") as lock:
        ends = time.monotonic() + LOCK_SECONDS
        while not try_lock(lock):
            if time.monotonic() > ends:
                raise HarnessError(
                    f"{path.parent}: another `lm-benchmarks reproduce` works there; wait for it, or stop it"
                )
            progress("waiting", 0, None, f"another queue still saves in {path.parent}")
            time.sleep(1)
        yield lock


def try_lock(file: IO[bytes]) -> bool:
    """Lock an open file; returns False if another process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _main() -> None:
    main: Callable[[], None] = import_module(PROGRAMS[sys.argv[1]]).main
    # A shell's background command ignores Ctrl-C, and its children inherit that: they would never stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_interrupt_when_stdin_ends, daemon=True).start()
    sys.argv = sys.argv[1:]  # records keep the command
    main()


def _interrupt_when_stdin_ends() -> None:
    while os.read(0, 1 << 10):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    _main()
