"""Runs commands side by side as child processes, until all are done, time is up, or the user stops.

A child is `python -m lm_benchmarks.reproducing.queue ps-models train lstm ptb --out run`. Its stdin is a pipe
from the parent: when the parent closes it, or is killed, the child gets Ctrl-C, saves and stops.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from ps_models.processor import stop_signals
from wikitext_builder.progress import Progress

POLL_SECONDS: Final = 0.5
TICK_SECONDS: Final = 30.0
LAST_LINES: Final = 3  # of a log, in an error
RUNNING, STOPPED, DONE, FAILED = "running", "stopped", "done", "failed: "  # why follows


def run_commands(
    ready: Callable[[], Mapping[str, Sequence[str]]],
    states: dict[str, str],
    logs: Path,
    *,
    workers: int,
    seconds: float,
    lock: IO[bytes],
    on_tick: Callable[[], None],
) -> bool:
    """Run commands, each once; returns whether they were stopped.

    `ready` says what can run now, by name, the most urgent first; it is asked again when a command has ended.
    `states` gets the state of each. Ctrl-C, SIGTERM and the end of the seconds end all: the running commands
    save first. Each has a log in the folder `logs`; children inherit `lock`, an open file, whose lock lasts
    as long as they do. `on_tick` is called about twice per minute, and when all have ended.
    """
    running, next_tick = dict[str, subprocess.Popen[bytes]](), 0.0
    commands, ends, stopping = ready(), time.monotonic() + seconds, False
    read, write = os.pipe()
    with os.fdopen(read), os.fdopen(write, "wb") as alive, stop_signals() as asked_to_stop:
        while True:
            if asked_to_stop() or time.monotonic() >= ends:
                stopping = True
                alive.close()  # all children see it
            for name, child in list(running.items()):
                if (status := child.poll()) is not None:
                    del running[name]
                    # What failed by itself while it was stopped fails again in the next run.
                    failed = STOPPED if stopping else _why(logs / f"{name}.log", status)
                    states[name], commands = failed if status else DONE, ready()
            for name, words in commands.items():
                if not stopping and name not in states and len(running) < workers:
                    states[name], running[name] = RUNNING, _start(words, logs / f"{name}.log", read, lock)
            if not running or time.monotonic() >= next_tick:
                on_tick()
                next_tick = time.monotonic() + TICK_SECONDS
            if not running:
                return stopping
            time.sleep(POLL_SECONDS)


def _start(words: Sequence[str], path: Path, stdin: int, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    with path.open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own commands
            [sys.executable, "-P", "-m", __name__, *words],
            stdin=stdin,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock.fileno(),),
            start_new_session=True,  # Ctrl-C in a terminal would reach it twice
        )


def _why(log: Path, status: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LAST_LINES:]
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return f"{FAILED}{how}; the end of {log}: {' | '.join(line[:200] for line in lines)}"


@contextmanager
def locked(path: Path, progress: Progress) -> Iterator[IO[bytes]]:
    """Wait for another queue in a folder, or for the children of a killed one: they save, and then stop."""
    with path.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = f"another queue works in {path.parent}, or its children still save"
            progress("waiting", 0, None, busy)
            fcntl.flock(lock, fcntl.LOCK_EX)
            progress("waiting", 1, 1)
        yield lock


def _main() -> None:
    main: Callable[[], None] = import_module(f"{sys.argv[1].replace('-', '_')}.cli").main
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
