"""Reproduces a published table: trains its rows, measures them once, and shows how far it is."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Final

import pandas as pd

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.reporting.formats import WORDS, Column, shown, text_table
from lm_benchmarks.reporting.published import PUBLISHED, published_on
from lm_benchmarks.reporting.report import make_report, report_text
from lm_benchmarks.reproducing.queue import Outcome, Step, locked, run_steps
from lm_benchmarks.reproducing.table import (
    MEASURED,
    Conditions,
    Row,
    Table,
    Training,
    expect_conditions,
    plan,
    read_texts,
    settings_text,
    trainings_of,
)
from ps_models.training.loop import StoppedError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.processes import cores

PAGE: Final = "report.html"
PAGE_SECONDS: Final = 30.0  # between two versions of the page
REFRESH: Final = 60  # seconds after which a browser reads the page again, while something runs
LOCK: Final = "queue.lock"


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """How far the reproduction of a table is."""

    table: Table
    rows: tuple[Row, ...]
    running: Collection[str] = ()  # names of steps
    failed: Mapping[str, str] = field(default_factory=dict)  # by the name of a step, why

    @property
    def done(self) -> int:
        """The number of rows that are done."""
        return sum(row.done for row in self.rows)

    @property
    def summary(self) -> str:
        """How many rows are done, and the time that is left."""
        known = [one.seconds_left for one in trainings_of(self.rows)]
        left, unknown = duration(sum(seconds or 0.0 for seconds in known)), known.count(None)
        more = f", and {unknown} whose speed is not measured" if unknown else ""
        unlike = " These are not the official files: published numbers do not compare."
        return (
            f"{self.done} of {len(self.rows)} rows are done. The trainings that are left take"
            f" about {left} of one process{more}; patience can end some earlier."
            + ("" if self.table.texts.official else unlike)
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        columns = (
            Column(head="row", value=lambda row: row.row),
            Column(
                head="model",
                value=lambda row: row.recipe + (f", seed {row.seed}" if row.trainings else ""),
                words=True,
            ),
            Column(head="state", value=self.state, words=True),
            Column(head="time left", value=_time_left),
            Column(head="tokens/s", value=_speeds),
            *(Column(head=split, value=partial(_shown, split=split)) for split in MEASURED),
            Column(head="published", value=self._published),
        )
        return shown(columns, self.rows)

    def state(self, row: Row) -> str:
        """What a row waits for, or that it is done."""
        if row.done:
            return "done"
        for step in (*(one.name for one in row.trainings), row.measuring):
            if step in self.failed:
                return f"failed: {self.failed[step]}"
        if broken := dict.fromkeys(law for one in row.results for law in one.broken):
            return f"breaks: {', '.join(broken)}"
        if row.trainings and all(one.done for one in row.trainings):
            return "trained, not measured"
        return "; ".join(self._training(one) for one in row.trainings if not one.done) or "waits"

    def _training(self, one: Training) -> str:
        best = "" if one.best is None else f", valid {one.best:.2f} so far"
        epochs = f"{len(one.curve)} of {one.config.epochs} epochs{best}"
        if one.name in self.running:
            return f"training: {epochs}"
        return f"stopped: {epochs}" if one.curve else "waits"

    def _published(self, row: Row) -> str:
        """The published numbers, if the files are the official ones."""
        paper = published_on(self.table.name).get(row.row)
        return paper.both if paper and self.table.texts.official else ""

    @property
    def text(self) -> str:
        """The rows and the summary, for a terminal."""
        frame = self.frame
        frame.attrs[WORDS] = list(frame.columns)
        return text_table(frame) + self.summary

    def fields(self) -> dict[str, object]:
        """For programs."""
        return {"table": self.table.name, "rows": [_fields(row) for row in self.rows]}


def _time_left(row: Row) -> str:
    """The time of the trainings that are left."""
    left = [one.seconds_left for one in row.trainings]
    return "unknown" if None in left else duration(sum(seconds or 0.0 for seconds in left))


def duration(seconds: float) -> str:
    """A time in hours, if it is short in minutes or seconds.

    >>> [duration(one) for one in (0, 59.4, 90, 3599, 5400, 360_000)]
    ['0 seconds', '59 seconds', '2 minutes', '60 minutes', '1.5 hours', '100.0 hours']
    """
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if seconds >= unit:
            return f"{seconds / unit:,.{int(unit == 3600)}f} {name}"
    return f"{seconds:.0f} seconds"


def _speeds(row: Row) -> str:
    return ", ".join(f"{one.tokens_per_second:,.0f}" for one in row.trainings if one.tokens_per_second)


def _shown(row: Row, split: str) -> str:
    return f"{row.perplexities[split]:,.2f}" if split in row.perplexities else ""


def _fields(row: Row) -> dict[str, object]:
    trainings = [
        {
            "name": one.name,
            "epochs": len(one.curve),
            "of_epochs": one.config.epochs,
            "tokens_per_second": one.tokens_per_second,
            "hours_left": None if one.seconds_left is None else one.seconds_left / 3600,
            "best_valid": one.best,
        }
        for one in row.trainings
    ]
    start = {"row": row.row, "recipe": row.recipe, "seed": row.seed, "trainings": trainings}
    return {**start, "perplexity": row.perplexities, "done": row.done}


def reproduce(
    table: str,
    data: str | Path,
    out: str | Path,
    *,
    size: str = "own",
    rows: Sequence[str] = (),
    seeds: Sequence[int] = (1,),
    settings: Sequence[str] = (),
    workers: int = 1,
    threads: int | None = None,
    hours: float = math.inf,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> Reproduction:
    """Train and measure the rows of a published table; what is done in the folder already is not done again.

    Each model is trained and chosen by valid, and measured on valid and test once, at the end. You can stop
    it at any time: the same call continues, and ends with the same records.

    Args:
        table: `ptb` or `wikitext-2`.
        data: The dataset; only on the official files the numbers compare with published ones.
        out: The folder of the runs, the records and the page.
        size: `own`, `full` or `small`: see SIZES.
        rows: Only these rows, by name or by recipe; all if empty.
        seeds: Seeds of the trainings.
        settings: `key=value` for all trainings, such as `precision=bf16`.
        workers: Trainings at the same time, one process each.
        threads: Threads of each process; None: the processor's cores divided by the workers.
        hours: Stop after this time; the same call continues.
        dry_run: Only measure the speeds and return the plan.
        progress: Receives the epochs of each training.

    Returns:
        How far each row is.

    Raises:
        HarnessError: A row failed (the others are done), or the folder has other runs or another process.
        StoppedError: The user or `hours` stopped it.
    """
    _expect_usable(out, settings, hours)
    (folder := Path(out)).mkdir(parents=True, exist_ok=True)
    made = Table(
        name=table,
        data=Path(data),
        folder=folder,
        texts=read_texts(table, Path(data)),
        planned=plan(table, size, names=rows, seeds=seeds),
        settings=tuple(settings),
        workers=workers,
        threads=threads or max(1, cores() // workers),
    )
    conditions = Conditions(table=table, settings=settings_text(settings), **made.texts.hashes)
    with locked(folder / LOCK, progress) as lock:
        expect_conditions(folder, conditions, keep=not dry_run)
        _measure_speeds(made, progress)
        outcome = Outcome() if dry_run else _run(made, hours * 3600, lock, progress)
    found = Reproduction(table=made, rows=made.rows())
    done = f"{found.done} of {len(found.rows)} rows are done in {folder}"
    if outcome.failed:
        failed = "\n".join(f"{name}: {why}" for name, why in outcome.failed.items())
        raise HarnessError(f"{len(outcome.failed)} steps failed; {done}\n{failed}")
    if outcome.stopped and found.done < len(found.rows):
        raise StoppedError(f"stopped; {done}. All is saved: reproduce again to continue")
    return found


def _expect_usable(out: str | Path, settings: Sequence[str], hours: float) -> None:
    """Refuse what would be ignored, or would fail only after a training."""
    if any(setting.partition("=")[0] == "seed" for setting in settings):
        raise HarnessError("a seed in --set; expected seeds of their own: use --seed")
    for sign, use in (
        (",", "a comma separates the models of a mixture"),
        (":", "a colon separates the kind of a model"),
    ):
        if sign in str(out):
            raise HarnessError(f"{out}: {use}; use an --out without one")
    if not hours >= 0:  # nor is NaN
        raise HarnessError(f"--budget {hours}; expected 0 or more")


def _measure_speeds(table: Table, progress: Progress) -> None:
    """A few seconds per training whose duration is not known yet."""
    trainings = {one.recipe: one for one in trainings_of(table.rows())}
    unknown = [one for one in trainings.values() if one.seconds_left is None]
    for number, one in enumerate(unknown):
        progress("speeds", number, len(unknown), one.recipe)
        table.measure_speed(one)
    if unknown:
        progress("speeds", len(unknown), len(unknown))


def _run(table: Table, seconds: float, lock: IO[bytes], progress: Progress) -> Outcome:
    written = -math.inf

    def show(outcome: Outcome, running: Collection[str], *, last: bool = False) -> None:
        nonlocal written
        if not last and time.monotonic() - written < PAGE_SECONDS:
            return
        found = Reproduction(table=table, rows=table.rows(), running=running, failed=outcome.failed)
        _write_page(found)
        for one in trainings_of(found.rows):
            if last or one.name in running:
                best = "" if one.best is None else f"valid {one.best:.2f}"
                progress(one.name, len(one.curve), one.config.epochs, best)
        progress("rows", found.done, len(found.rows))
        written = time.monotonic()

    steps = _steps(table)
    outcome = run_steps(steps, table.folder, workers=table.workers, seconds=seconds, lock=lock, on_tick=show)
    show(outcome, (), last=True)
    return outcome


def _steps(table: Table) -> list[Step]:
    """A training as soon as its row comes, and the row's measurement after its trainings."""
    steps, threads = dict[str, Step](), f"--threads {table.threads}".split()
    for row in table.rows():
        needs = [one for one in row.trainings if not one.done]
        for one in needs:
            model, preset = one.recipe.split("/")
            words = ["ps-models", *threads, "train", model, str(table.data)]
            words += ["--out", str(table.folder / one.name), "--preset", preset]
            words += [word for given in (*table.settings, f"seed={one.seed}") for word in ("--set", given)]
            steps.setdefault(one.name, Step(name=one.name, words=tuple(words)))
        if not row.done:
            words = ["lm-benchmarks", *threads, "run", row.specification(table.folder)]
            words += ["--data", str(table.data), "--results", str(table.results), "--seed", str(row.seed)]
            words += [
                word for split in (MEASURED if needs else row.unmeasured) for word in ("--split", split)
            ]
            name, wanted = row.measuring, frozenset(one.name for one in needs)
            steps[name] = Step(name=name, words=tuple(words), needs=wanted)
    return list(steps.values())


def _write_page(found: Reproduction) -> None:
    """Write how far each row is, the numbers so far beside the published ones, and curves."""
    table = found.table
    measured = {one.name for row in found.rows if row.results for one in row.trainings}
    begun = [one.name for one in trainings_of(found.rows) if one.curve]
    made = make_report(
        f"Reproduction of the table of {table.name}",
        table.read_results(),
        published=PUBLISHED,
        logs=[table.folder / name for name in begun if name not in measured],
    )
    first = {"title": "How far it is", "text": found.summary, "frame": found.frame}
    fresh = table.folder / f"{PAGE}.new"
    made = replace(made, first=first, refresh=REFRESH if found.running else 0)
    fresh.write_text(report_text(made, ".html"), encoding="utf-8")
    fresh.replace(table.folder / PAGE)
