"""How far a long run is: a bar with rate and remaining time on a terminal, quiet lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

QUIET_SECONDS = 10.0  # between two lines of a stage where no terminal listens


class Progress(Protocol):
    """What long functions call as they go; a stage has ended when done equals total."""

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Report.

        Args:
            stage: A few words; a new one starts a new bar.
            done: How many of them.
            total: Of how many, None where that is not known yet.
            note: Counts worth seeing, such as `3 rejected`.
        """
        ...


def no_progress(stage: str, done: int, total: int | None, note: str = "") -> None:
    """Reports nothing, for callers that do not want to hear."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """The speed of a stage, items a second."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "")


@contextmanager
def shown_progress(stream: TextIO = sys.stderr, *, as_json: bool = False) -> Iterator[Progress]:
    """A bar a stage on a terminal; elsewhere a line when a stage starts, each ten seconds, and at its end.

    As JSON each line is an object of stage, done, total, note and the seconds since the beginning.
    """
    if stream.isatty() and not as_json:
        with _bars(Console(file=stream)) as report:
            yield report
    else:
        yield _quiet_lines(stream, time.monotonic, as_json=as_json)


@contextmanager
def _bars(console: Console) -> Iterator[Progress]:
    columns = (
        TextColumn("{task.description:>12}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),  # a note may hold a title
    )
    with RichProgress(*columns, console=console) as bars:
        tasks = {}

        def report(stage: str, done: int, total: int | None, note: str = "") -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, note=note)
            bars.update(tasks[stage], completed=done, total=total, note=note)

        yield report


def _quiet_lines(stream: TextIO, clock: Callable[[], float], *, as_json: bool = False) -> Progress:
    last: dict[str, float] = {}
    started = clock()

    def report(stage: str, done: int, total: int | None, note: str = "") -> None:
        now = clock()
        if done == total or stage not in last or now - last[stage] >= QUIET_SECONDS:
            last[stage] = now
            of_total = f"/{total}" if total is not None else ""
            line = f"{stage}: {done}{of_total}{' ' + note if note else ''}"
            if as_json:
                seconds = round(now - started, 1)
                found = {"stage": stage, "done": done, "total": total, "note": note, "seconds": seconds}
                line = json.dumps(found, ensure_ascii=False)
            print(line, file=stream, flush=True)

    return report
