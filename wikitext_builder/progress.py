"""Progress of long runs: bars with rate and remaining time on a terminal, lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

QUIET_SECONDS = 10.0  # between two lines of a stage, if there is no terminal


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


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """The speed of a stage, in items per second."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "")


@contextmanager
def shown_progress(stream: TextIO = sys.stderr, *, as_json: bool = False) -> Iterator[Progress]:
    """One bar per stage on a terminal; elsewhere a line when a stage starts, every ten seconds, at its end.

    As JSON each line is an object with stage, done, total, note and the seconds since the beginning.
    """
    if stream.isatty() and not as_json:
        with _bars(Console(file=stream)) as report:
            yield report
    else:
        yield _quiet_lines(stream, time.monotonic, as_json=as_json)


class _Bars(RichProgress):
    """One bar per stage; notes are below the bars if there is no room to their right."""

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
    MofNCompleteColumn(table_column=Column(no_wrap=True)),
    _Rate(table_column=Column(no_wrap=True)),
    TimeElapsedColumn(table_column=Column(no_wrap=True)),
    TextColumn("left", table_column=Column(no_wrap=True)),
    TimeRemainingColumn(table_column=Column(no_wrap=True)),
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
