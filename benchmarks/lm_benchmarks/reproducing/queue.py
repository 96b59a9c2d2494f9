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
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
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


def run_steps(
    steps: Sequence[Step],
    logs: Path,
    *,
    workers: int,
    seconds: float,
    lock: IO[bytes],
    on_tick: Callable[[Outcome, Collection[str]], None],
) -> Outcome:
    """Run steps, each as soon as what it needs is done, in their order.

    A step that fails ends the steps that need it, and no others. Ctrl-C, SIGTERM and the end of the seconds
    end all: the running steps save first. Each step has a log in the folder `logs`; children inherit `lock`,
    an open file, whose lock lasts as long as they do. About twice per second, `on_tick` gets the outcome so
    far and the names of what is running.
    """
    outcome, attempts, waiting = Outcome(), Counter[str](), list(steps)
    running, ends = dict[str, subprocess.Popen[bytes]](), time.monotonic() + seconds
    try:
        with stop_signals() as asked_to_stop:
            while waiting or running:
                if not outcome.stopped and (asked_to_stop() or time.monotonic() >= ends):
                    outcome.stopped = True
                    _end(running.values())
                for name, status in [(name, child.poll()) for name, child in running.items()]:
                    if status is not None:
                        _end([running.pop(name)])
                        again = status < 0 and attempts[name] < ATTEMPTS
                        if status == 0:
                            outcome.done.add(name)
                        elif not outcome.stopped and again:
                            waiting = [*(step for step in steps if step.name == name), *waiting]
                        elif not outcome.stopped:  # else the next run reports its error, if it has one
                            outcome.failed[name] = _why(logs / f"{name}.log", status)
                for step in list(waiting):
                    if outcome.stopped:
                        waiting.remove(step)
                    elif missing := step.needs & outcome.failed.keys():
                        waiting.remove(step)
                        outcome.failed[step.name] = f"needs {', '.join(sorted(missing))}"
                    elif step.needs <= outcome.done and len(running) < workers:
                        waiting.remove(step)
                        attempts[step.name] += 1
                        running[step.name] = _start(step, logs, lock)
                on_tick(outcome, running.keys())
                if running:
                    time.sleep(POLL_SECONDS)
    finally:
        _end(running.values())
    return outcome


def _start(step: Step, logs: Path, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    with (logs / f"{step.name}.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own commands
            [sys.executable, "-m", "lm_benchmarks.reproducing.queue", *step.words],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock.fileno(),),
            start_new_session=True,  # Ctrl-C in a terminal would reach it twice
        )


def _end(children: Collection[subprocess.Popen[bytes]]) -> None:
    """Ask children to save and stop: they watch their stdin."""
    for child in children:
        if child.stdin is not None:
            child.stdin.close()


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
