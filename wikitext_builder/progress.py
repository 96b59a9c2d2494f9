"""What commands print besides results: progress, and with --verbose each step.

Progress is bars with rate and remaining time on a terminal, lines elsewhere. The library logs with Python's
`logging`, under the names of the packages; a program that uses it decides what becomes of that. The commands
decide here, for all three command lines.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol, TextIO, TypeVar

import click
from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

from wikitext_builder.tables import spelled_out

Result = TypeVar("Result")

CONNECTING = "connecting"  # the stage of a fetch before the first answer
PACKAGES = ("wikitext_builder", "ps_models", "lm_benchmarks")
QUIET_SECONDS = 10.0  # between two lines of a stage, if there is no terminal
UNITS = {  # what a stage counts; of a stage with several words the first one decides, if they are not here
    "check": "invariants",
    "check places": "places",
    "compare": "bytes",
    "compare parts": "parts",
    "count": "steps",
    "evaluate": "tokens",
    "expanding": "pages",
    "explain": "tokens",
    "export": "files",
    "extract": "pages",
    "fetching": "pages",
    "import": "bytes",
    "join": "files",
    "listing": "titles",
    "measure": "tokens",
    "measure pages": "pages",
    "measure windows": "windows",
    "measuring": "pages",
    "overlap": "articles",
    "read": "tokens",
    "rendering": "pages",
    "train": "tokens",
    "valid": "tokens",
    "write": "batches",
}


class Progress(Protocol):
    """Long functions call it as they proceed; a stage ends when done equals total."""

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Report.

        Args:
            stage: A few words; a new stage starts a new bar.
            done: The number of items that are done.
            total: The number of all items; None if it is not known yet.
            note: Counts to show, such as `3 rejected`.
        """
        ...


def no_progress(stage: str, done: int, total: int | None, note: str = "") -> None:
    """Reports nothing."""


class WaitingProgress:
    """Passes reports on; while the wiki makes us wait, repeats the last one with the reason as its note."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: tuple[str, int, int | None] = (CONNECTING, 0, None)
        self._waits_to_connect = False

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Pass a report on."""
        if self._waits_to_connect:
            self._progress(CONNECTING, 1, 1)
            self._waits_to_connect = False
        self._last = (stage, done, total)
        self._progress(stage, done, total, note)

    def wait(self, why: str) -> None:
        """Report a wait; called from any thread. Before the first report it is a stage of its own."""
        self._waits_to_connect = self._last[0] == CONNECTING
        self._progress(*self._last, why)


def reported(
    results: Iterable[Result], stage: str, progress: Progress, total: int, *, before: int = 0
) -> Iterator[Result]:
    """Yield the results of tasks, and report each when the caller is done with it.

    Of `total` tasks of the stage `before` are done already.
    """
    for done, result in enumerate(results, start=before + 1):
        yield result
        progress(stage, done, total)


class _Column(ProgressColumn):
    """A column with a text of a stage."""

    def __init__(self, text: Callable[[Task], str]) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._text = text

    def render(self, task: Task) -> Text:
        """The text of a stage."""
        return Text(self._text(task))


def _amount(task: Task) -> str:
    """How much is done of how much, with the unit."""
    total = None if task.total is None else int(task.total)
    known = total is not None or task.completed
    return counted(task.description, int(task.completed), total) if known else ""


def _time(task: Task) -> str:
    """How long a stage took, else how long it will take, else how long it has taken."""
    said, seconds = "{} elapsed", task.elapsed
    if task.finished:
        said, seconds = "took {}", task.finished_time
    elif task.time_remaining is not None:
        said, seconds = "{} left", task.time_remaining
    return "" if seconds is None else said.format(timedelta(seconds=round(seconds)))


def _rate(task: Task) -> str:
    """The speed of a stage, in its unit per second."""
    speed = task.finished_speed or task.speed
    return _per_second(task.description, speed) if speed else ""


def _per_second(stage: str, speed: float) -> str:
    unit = unit_of(stage)
    return f"{decimal(int(speed))}/s" if unit == "bytes" else f"{speed:.1f} {unit}/s".replace(" /", "/")


def unit_of(stage: str) -> str:
    """What a stage counts; empty if nobody said it."""
    return UNITS.get(stage) or UNITS.get(stage.partition(" ")[0], "")


def counted(stage: str, done: int, total: int | None) -> str:
    """How much of a stage is done, in its unit.

    >>> counted("fetching", 50, 120), counted("listing Good articles", 500, None)
    ('50/120 pages', '500 titles')
    >>> counted("import", 1_500_000, 7_000_000)
    '1.5/7.0 MB'
    """
    unit = unit_of(stage)
    if unit == "bytes":
        whole = "" if total is None else f"/{total / 1e6:.1f}"
        return f"{done / 1e6:.1f}{whole} MB"
    return f"{done}{'' if total is None else f'/{total}'} {unit}".rstrip()


def duration(seconds: float) -> str:
    """A time in the unit that fits.

    >>> duration(0.2), duration(75), duration(3_000), duration(100_000)
    ('1 s', '75 s', '50 minutes', '28 hours')
    """
    size, unit = (1, "s") if seconds <= 90 else (60, "minutes") if seconds <= 90 * 60 else (3600, "hours")
    return f"{math.ceil(seconds / size):,} {unit}"


@contextmanager
def shown_progress(stream: TextIO | None = None, *, as_json: bool = False) -> Iterator[Progress]:
    """Show a bar per stage on a terminal; elsewhere lines at its start, every ten seconds, and at its end.

    Both show the rate and the remaining time, lines after ten seconds. A report that only brings a note, such
    as why the wiki makes us wait, is a line of its own. As JSON each line is an object with stage, done,
    total, note and the seconds since the beginning. With --quiet, nothing is shown.
    """
    stream = stream or sys.stderr  # what it is now, not what it was when this module was imported
    if is_quiet():
        yield no_progress
    elif stream.isatty() and not as_json:
        with _bars(Console(file=stream)) as report:
            yield report
    else:
        yield _quiet_lines(stream, time.monotonic, as_json=as_json)


class _Bars(RichProgress):
    """One bar per stage; notes are below the bars if there is no room beside them."""

    notes_below = False

    def get_renderables(self) -> Iterator[RenderableType]:
        """What is shown now."""
        if not self.notes_below:
            yield from super().get_renderables()
            return
        for task in self.tasks:
            yield self.make_tasks_table([task])
            if task.fields["note"]:
                yield Text(f"{'':>{NAMES}} {task.fields['note']}", no_wrap=True, overflow="ellipsis")


NAMES, ROOM = 12, 130  # columns of a terminal: for the name of a stage, and for everything in one line
COLUMNS = (
    TextColumn(f"{{task.description:>{NAMES}}}", markup=False),
    BarColumn(bar_width=None, table_column=Column(min_width=5, max_width=40, ratio=1)),
    _Column(_amount),
    _Column(_rate),
    _Column(_time),
)
NOTE = TextColumn("{task.fields[note]}", markup=False)  # a note can contain a title


@contextmanager
def _bars(console: Console) -> Iterator[Progress]:
    bars = _Bars(*COLUMNS, *([NOTE] if console.width >= ROOM else []), console=console)
    bars.notes_below = console.width < ROOM
    with bars:
        tasks: dict[str, TaskID] = {}
        last: dict[str, int] = {}

        def report(stage: str, done: int, total: int | None, note: str = "") -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, note=note)
            elif done < last[stage]:  # it starts again, as validation does after each epoch
                bars.reset(tasks[stage], total=total)
            last[stage] = done
            bars.update(tasks[stage], completed=done, total=total, note=note)

        yield report


def _quiet_lines(stream: TextIO, clock: Callable[[], float], *, as_json: bool = False) -> Progress:
    last: dict[str, float] = {}
    counts: dict[str, int] = {}
    first: dict[str, tuple[float, int]] = {}  # when a stage began, and with what
    started = clock()

    def pace(stage: str, done: int, total: int | None, now: float) -> str:
        then, before = first[stage]
        if now - then < QUIET_SECONDS or done <= before:
            return ""
        speed = (done - before) / (now - then)
        left = f", {duration((total - done) / speed)} left" if total and done < total else ""
        return f", {_per_second(stage, speed)}{left}"

    def report(stage: str, done: int, total: int | None, note: str = "") -> None:
        now = clock()
        if stage not in first or done < counts[stage]:
            first[stage] = now, done
        only_a_note = bool(note) and counts.get(stage) == done
        counts[stage] = done
        if done == total or stage not in last or only_a_note or now - last[stage] >= QUIET_SECONDS:
            last[stage] = now
            paced = pace(stage, done, total, now)
            line = f"{stage}: {counted(stage, done, total)}{paced}{', ' + note if note else ''}"
            if as_json:
                seconds = round(now - started, 1)
                found = {"stage": stage, "done": done, "total": total, "note": note, "seconds": seconds}
                line = json.dumps(found, ensure_ascii=False)
            print(line, file=stream, flush=True)

    return report


# --- verbosity


class _LogLines(logging.Handler):
    """Prints each record as a line on stderr, above the bars if there are some."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        click.echo(spelled_out(self.format(record)), err=True)


def set_verbosity(verbose: bool | None) -> None:
    """Say what goes to stderr: True: also each step, False: only errors, None: progress."""
    level = {True: logging.INFO, None: logging.WARNING, False: logging.ERROR}[verbose]
    for name in PACKAGES:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        if not logger.handlers:
            logger.addHandler(_LogLines())


def is_quiet() -> bool:
    """Returns True if only results and errors are printed."""
    return not logging.getLogger(PACKAGES[0]).isEnabledFor(logging.WARNING)
