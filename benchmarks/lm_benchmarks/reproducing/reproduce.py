"""Reproduces a published table: trains its rows, measures them once, and shows how far it is."""

from __future__ import annotations

import fcntl
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.records.lines import has_lines
from lm_benchmarks.records.result import read_results
from lm_benchmarks.reporting.published import FILES, TRAIN
from lm_benchmarks.reproducing.conditions import Conditions, expect_conditions, settings_text
from lm_benchmarks.reproducing.page import HEAD, line, summary, write_page
from lm_benchmarks.reproducing.plan import RowJob, Texts, TrainingJob, plan
from lm_benchmarks.reproducing.queue import Outcome, Step, run_steps
from lm_benchmarks.reproducing.speed import known_speeds, measure_speed
from lm_benchmarks.reproducing.state import (
    MEASURED,
    RowState,
    TrainingState,
    as_fields,
    row_results,
    training_state,
    trainings_of,
)
from ps_models.data.dataset import read_stream
from ps_models.training.loop import StoppedError
from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import FILE
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.processes import cores

PAGE: Final = "report.html"
PAGE_SECONDS: Final = 30.0  # between two versions of the page
LOCK: Final = "queue.lock"
LOCK_SECONDS: Final = 120.0  # for the children of a killed queue: they save and stop


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table in a folder: what is to be run, where, and how."""

    name: str
    data: Path
    folder: Path
    texts: Texts
    rows: tuple[RowJob, ...]
    settings: tuple[str, ...]
    workers: int
    threads: int

    @property
    def results(self) -> Path:
        """The file of the results; `rows` reads it too."""
        return self.folder / f"{self.name}.jsonl"

    @property
    def trainings(self) -> tuple[TrainingJob, ...]:
        """Each training once, in the order of the rows."""
        return tuple(dict.fromkeys(job for row in self.rows for job in row.trainings))

    @property
    def conditions(self) -> Conditions:
        """What all runs of the folder have in common."""
        return Conditions(table=self.name, settings=settings_text(self.settings), **self.texts.hashes)

    def states(self) -> tuple[RowState, ...]:
        """How far each row is, read from the folder."""
        speeds = known_speeds(self.folder, self.settings, self.threads)
        results = read_results(self.results) if has_lines(self.results) else []
        states = {
            job: training_state(
                job, self.folder, self.settings, self.texts.vocabulary, speeds.get(job.recipe)
            )
            for job in self.trainings
        }
        rows = {row: tuple(states[job] for job in row.trainings) for row in self.rows}
        return tuple(
            RowState(job=row, trainings=needs, results=row_results(row, needs, results, self.texts.files))
            for row, needs in rows.items()
        )


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """How far the reproduction of a table is."""

    table: Table
    rows: tuple[RowState, ...]

    @property
    def summary(self) -> str:
        """How many rows are done, and the time that is left."""
        return summary(self.rows, self.table.texts)

    def lines(self) -> list[tuple[str, ...]]:
        """The headings, then the cells of each row, as on the page."""
        return [HEAD] + [line(row, self.table.name, self.table.texts) for row in self.rows]

    def fields(self) -> dict[str, object]:
        """For programs."""
        texts = self.table.texts
        return {"table": self.table.name, "rows": [as_fields(row, texts) for row in self.rows]}


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
        texts=_texts(table, Path(data)),
        rows=plan(table, size, names=rows, seeds=seeds),
        settings=tuple(settings),
        workers=workers,
        threads=threads or max(1, cores() // workers),
    )
    with _locked(folder / LOCK, progress) as lock:
        expect_conditions(folder, made.conditions, keep=not dry_run)
        _measure_speeds(made, progress)
        outcome = Outcome() if dry_run else _run(made, hours * 3600, lock, progress)
    found = Reproduction(table=made, rows=made.states())
    _raise_unfinished(found, outcome)
    return found


def _expect_usable(out: str | Path, settings: Sequence[str], hours: float) -> None:
    """Refuse what would be ignored, or would fail only after a training."""
    if any(setting.partition("=")[0] == "seed" for setting in settings):
        raise HarnessError("a seed in --set; expected seeds of their own: use --seed")
    if "," in str(out):
        raise HarnessError(f"{out}: a comma separates the models of a mixture; use an --out without one")
    if ":" in str(out):
        raise HarnessError(f"{out}: a colon separates the kind of a model; use an --out without one")
    if not hours >= 0:  # nor is NaN
        raise HarnessError(f"--budget {hours}; expected 0 or more")


def _texts(table: str, data: Path) -> Texts:
    dataset = load_dataset(data)
    if dataset.layout == FILE:
        raise HarnessError(f"{data}: a single file; expected a folder with train, valid and test")
    words = dataset.vocabulary
    sizes = {split: len(read_stream(dataset, split, words)) for split in ("train", "valid")}
    hashes = {split: file_sha256(dataset.file(split)) for split in SPLITS}
    return Texts(**sizes, vocabulary=len(words), official=_are_official(table, hashes), hashes=hashes)


def _are_official(table: str, hashes: Mapping[str, str]) -> bool:
    return all(
        hashes[split].startswith(start) for split, start in {"train": TRAIN[table], **FILES[table]}.items()
    )


def _measure_speeds(table: Table, progress: Progress) -> None:
    """A few seconds per training whose duration is not known yet."""
    trainings = {one.job.recipe: one for one in trainings_of(table.states())}
    unknown = [one for one in trainings.values() if one.seconds_left(table.texts) is None]
    for number, one in enumerate(unknown):
        progress("speeds", number, len(unknown), one.job.recipe)
        measure_speed(one, table.data, table.folder, table.settings, table.texts, table.threads)
    if unknown:
        progress("speeds", len(unknown), len(unknown))


def _run(table: Table, seconds: float, lock: IO[bytes], progress: Progress) -> Outcome:
    written = -math.inf

    def show(outcome: Outcome, running: Sequence[str]) -> None:
        nonlocal written
        if time.monotonic() - written < PAGE_SECONDS:
            return
        states = table.states()
        write_page(table.folder / PAGE, table.name, states, table.texts, running, outcome.failed)
        _report(states, running, progress)
        written = time.monotonic()

    outcome = run_steps(
        _steps(table),
        table.folder,
        workers=table.workers,
        seconds=seconds,
        lock=lock,
        on_tick=show,
    )
    states = table.states()
    write_page(table.folder / PAGE, table.name, states, table.texts, (), outcome.failed)
    _report(states, [one.job.name for one in trainings_of(states)], progress)
    return outcome


def _steps(table: Table) -> list[Step]:
    """A training as soon as its row comes, and the row's measurement after its trainings."""
    steps: dict[str, Step] = {}
    for row in table.states():
        needs = [one for one in row.trainings if not one.done]
        for one in needs:
            steps.setdefault(one.job.name, _training_step(table, one))
        if not row.done:
            splits = MEASURED if needs else row.unmeasured
            step = _measuring_step(table, row.job, splits, frozenset(one.job.name for one in needs))
            steps[step.name] = step
    return list(steps.values())


def _training_step(table: Table, one: TrainingState) -> Step:
    job = one.job
    words = ["ps-models", "--threads", str(table.threads), "train", job.model, str(table.data)]
    words += ["--out", str(table.folder / job.name), "--preset", job.preset]
    for setting in (*table.settings, f"seed={job.seed}"):
        words += ["--set", setting]
    return Step(name=job.name, words=tuple(words))


def _measuring_step(table: Table, job: RowJob, splits: Sequence[str], needs: frozenset[str]) -> Step:
    words = ["lm-benchmarks", "--threads", str(table.threads), "run", job.specification(table.folder)]
    words += ["--data", str(table.data), "--results", str(table.results), "--seed", str(job.seed)]
    for split in splits:
        words += ["--split", split]
    return Step(name=job.measuring, words=tuple(words), needs=needs)


def _report(states: Sequence[RowState], shown: Sequence[str], progress: Progress) -> None:
    for one in trainings_of(states):
        if one.job.name in shown:
            best = "" if one.best is None else f"valid {one.best:.2f}"
            progress(one.job.name, len(one.curve), one.config.epochs, best)
    progress("rows", sum(row.done for row in states), len(states))


def _raise_unfinished(found: Reproduction, outcome: Outcome) -> None:
    count = sum(row.done for row in found.rows)
    done = f"{count} of {len(found.rows)} rows are done in {found.table.folder}"
    if outcome.failed:
        failed = "\n".join(f"{name}: {why}" for name, why in outcome.failed.items())
        raise HarnessError(f"{len(outcome.failed)} steps failed; {done}\n{failed}")
    if outcome.stopped and count < len(found.rows):
        raise StoppedError(f"stopped; {done}. All is saved: reproduce again to continue")


@contextmanager
def _locked(path: Path, progress: Progress) -> Iterator[IO[bytes]]:
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
