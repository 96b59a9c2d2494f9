"""Prints progress and log lines, for all three command lines.

Progress is bars with the remaining time on a terminal, and lines elsewhere. The library logs with Python's
`logging`, under the names of the packages, so a program that uses the library decides what is printed.
Commands print warnings, and with --verbose every step.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from wikitext_builder.tables import spelled_out

CONNECTING = "connecting"  # the stage of a fetch before the wiki's first answer
PACKAGES = ("wikitext_builder", "ps_models", "lm_benchmarks")
SECONDS_BETWEEN_LINES = 10.0  # of a stage, without a terminal


class Progress(Protocol):
    """Receives reports of long functions; a stage ends when done equals total."""

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Report how far a stage is.

        Args:
            stage: A few words; a new stage starts a new bar.
            done: The number of items that are done.
            total: The number of all items; None if unknown.
            note: Counts to show, such as `3 rejected`.
        """
        ...


def no_progress(stage: str, done: int, total: int | None, note: str = "") -> None:
    """Ignore reports."""


class WaitingProgress:
    """Forwards reports; while the wiki makes us wait, repeats the last report with the reason as its note."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: tuple[str, int, int | None] = (CONNECTING, 0, None)
        self._waits_to_connect = False

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Forward a report."""
        if self._waits_to_connect:
            self._progress(CONNECTING, 1, 1)
            self._waits_to_connect = False
        self._last = (stage, done, total)
        self._progress(stage, done, total, note)

    def wait(self, why: str) -> None:
        """Report a wait, from any thread. Before the first report, the wait is a stage."""
        self._waits_to_connect = self._last[0] == CONNECTING
        self._progress(*self._last, why)


def duration(seconds: float) -> str:
    """Return a time in the unit that fits.

    >>> duration(0.2), duration(75), duration(3_000), duration(100_000)
    ('1 s', '75 s', '50 minutes', '28 hours')
    """
    size, unit = (1, "s") if seconds <= 90 else (60, "minutes") if seconds <= 90 * 60 else (3600, "hours")
    return f"{math.ceil(seconds / size):,} {unit}"


@contextmanager
def show_progress(stream: TextIO | None = None) -> Iterator[Progress]:
    """Show a bar per stage on a terminal; elsewhere a line at its start, every ten seconds, and at its end.

    A report that changes only the note, such as why the wiki makes us wait, is also a line. With --quiet,
    nothing is shown.
    """
    stream = stream or sys.stderr  # not a default, which would be the stderr of when this module was imported
    if is_quiet():
        yield no_progress
    elif stream.isatty():
        with _bars(Console(file=stream)) as report:
            yield report
    else:
        yield _lines(stream, time.monotonic)


@contextmanager
def _bars(console: Console) -> Iterator[Progress]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[note]}", markup=False),  # a note can contain a title
    )
    with RichProgress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}
        last_done: dict[str, int] = {}

        def report(stage: str, done: int, total: int | None, note: str = "") -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, note=note)
            elif done < last_done[stage]:  # the stage starts again, like validation after each epoch
                bars.reset(tasks[stage], total=total)
            last_done[stage] = done
            bars.update(tasks[stage], completed=done, total=total, note=note)

        yield report


def _lines(stream: TextIO, clock: Callable[[], float]) -> Progress:
    last: dict[str, tuple[float, int]] = {}  # by stage: time of its last line, `done` of its last report

    def report(stage: str, done: int, total: int | None, note: str = "") -> None:
        now = clock()
        last_time, last_done = last.get(stage, (-math.inf, -1))
        has_new_note = bool(note) and last_done == done
        if done == total or done < last_done or has_new_note or now - last_time >= SECONDS_BETWEEN_LINES:
            last_time = now
            count = f"{done:,}" if total is None else f"{done:,}/{total:,}"
            # One call, so that reports of several threads do not share a line.
            stream.write(f"{stage}: {count}{', ' if note else ''}{note}\n")
            stream.flush()
        last[stage] = last_time, done

    return report


# --- verbosity


class _LogLines(logging.Handler):
    """Prints each log record as a line on stderr, above the bars if there are any."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        click.echo(spelled_out(self.format(record)), err=True)


def set_verbosity(verbose: bool | None) -> None:
    """Set what goes to stderr: True: every step too; None: progress and warnings; False: only errors."""
    level = {True: logging.INFO, None: logging.WARNING, False: logging.ERROR}[verbose]
    for name in PACKAGES:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        if not logger.handlers:
            logger.addHandler(_LogLines())


def is_quiet() -> bool:
    """Return True if only results and errors are printed."""
    return not logging.getLogger(PACKAGES[0]).isEnabledFor(logging.WARNING)
