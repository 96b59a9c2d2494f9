"""Reproduces a published table: trains its rows, measures them once, and shows how far it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.reporting.published import PUBLISHED
from lm_benchmarks.reporting.report import make_report, report_text
from lm_benchmarks.reproducing.queue import FAILED, RUNNING, locked, run_commands
from lm_benchmarks.reproducing.table import Reproduction, expect_conditions, plan
from ps_models.training.loop import StoppedError
from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import cores

REFRESH: Final = 60  # seconds after which a browser reads the page again, while something runs


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
    """Train and measure the rows of a published table, and return how far each row is.

    Each model is trained and chosen by valid, and measured on valid and test once, at the end. What is done
    in the folder already is not done again: you can stop at any time, and the same call continues.

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
        dry_run: Only return the plan.
        progress: Receives the epochs of each training.

    Raises:
        BuilderError: There is no dataset, or it is damaged.
        HarnessError: A row failed (the others are done), or the folder has runs of other conditions.
        StoppedError: The user or `hours` stopped it.
    """
    _expect_usable(out, settings, hours)
    dataset = load_dataset(Path(data))
    made = Reproduction(
        table=table,
        data=Path(data),
        folder=Path(out),
        results=Path(out) / f"{table}.jsonl",
        words=len(dataset.vocabulary),
        hashes={split: file_sha256(dataset.file(split)) for split in SPLITS},
        planned=plan(table, size, names=rows, seeds=seeds),
        settings=tuple(settings),
        threads=threads or max(1, cores() // workers),
    )
    if dry_run:
        expect_conditions(made, keep=False)
    else:
        _run(made, workers, hours * 3600, progress)
    return made


def _expect_usable(out: str | Path, settings: Sequence[str], hours: float) -> None:
    """Refuse what would be ignored, or would fail only after a training."""
    if any(setting.partition("=")[0] == "seed" for setting in settings):
        raise HarnessError("a seed in --set; expected seeds of their own: use --seed")
    if {",", ":"} & set(str(out)):
        raise HarnessError(f"{out}: a comma or colon separates models; use an --out without one")
    if not hours >= 0:  # nor is NaN
        raise HarnessError(f"--budget {hours}; expected 0 or more")


def _run(made: Reproduction, workers: int, seconds: float, progress: Progress) -> None:
    """Train and measure what is left."""
    made.folder.mkdir(parents=True, exist_ok=True)
    with locked(made.folder / "queue.lock", progress) as lock:
        expect_conditions(made, keep=True)
        stopped = run_commands(
            lambda: dict(made.command(row) for row in made.rows if not row.done),
            made.states,
            made.folder,
            workers=workers,
            seconds=seconds,
            lock=lock,
            on_tick=partial(_show, made, progress),
        )
    done = f"{made.done} of {len(made.planned)} rows are done in {made.folder}"
    if failed := [f"{name}: {state}" for name, state in made.states.items() if state.startswith(FAILED)]:
        raise HarnessError("\n".join([f"{len(failed)} commands failed; {done}", *failed]))
    if stopped and made.done < len(made.planned):
        raise StoppedError(f"stopped; {done}. All is saved: reproduce again to continue")


def _show(made: Reproduction, progress: Progress) -> None:
    """Write a page: how far each row is, the numbers so far beside the published ones, and curves."""
    rows = made.rows
    running = {row.run: made.state(row) for row in rows if made.states.get(row.run) == RUNNING}
    note = "; ".join(f"{run} {state}" for run, state in running.items())
    progress("rows", made.done, len(rows), note)
    drawn = {row.run for row in rows if row.perplexity}
    logs = {row.run: made.folder / row.run for row in rows if row.epochs and row.run not in drawn}
    title = f"Reproduction of the table of {made.table}"
    report = make_report(title, made.read_results(), published=PUBLISHED, logs=list(logs.values()))
    first = {"title": "How far it is", "text": made.summary, "frame": made.frame}
    report = replace(report, first=first, refresh=REFRESH if RUNNING in made.states.values() else 0)
    blobs.write(str(made.folder / "report.html"), report_text(report, ".html").encode())
