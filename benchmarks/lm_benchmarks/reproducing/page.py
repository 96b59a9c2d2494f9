"""The page of a table: how far each row is, the numbers so far beside the published ones, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pandas as pd

from lm_benchmarks.records.lines import has_lines
from lm_benchmarks.records.result import read_results
from lm_benchmarks.reporting.published import PUBLISHED
from lm_benchmarks.reporting.report import Section, make_report, page
from lm_benchmarks.reporting.tables import decimals
from lm_benchmarks.reproducing.plan import Texts
from lm_benchmarks.reproducing.state import MEASURED, RowState, TrainingState, trainings_of

REFRESH: Final = 60  # seconds
HEAD: Final = ("row", "model", "state", "hours left", "tokens/s", *MEASURED, "published")


def write_page(
    path: Path,
    table: str,
    states: Sequence[RowState],
    texts: Texts,
    running: Sequence[str],
    failed: Mapping[str, str],
) -> None:
    """Write the page; a browser that shows it reads it again every minute while something runs.

    Raises:
        ToolkitError: A record or a log is not of the format.
    """
    results = path.with_name(f"{table}.jsonl")
    measured = {job.name for row in states if row.results for job in row.job.trainings}
    begun = [one.job for one in trainings_of(states) if one.curve and one.job.name not in measured]
    made = make_report(
        f"Reproduction of the table of {table}",
        read_results(results) if has_lines(results) else [],
        published=PUBLISHED,
        logs=[path.parent / job.name for job in begun],
    )
    section = Section(
        title="How far it is",
        text=summary(states, texts),
        frame=pd.DataFrame(
            [line(row, table, texts, running, failed) for row in states], columns=list(HEAD), dtype=object
        ),
    )
    text = page(replace(made, first=section, refresh=REFRESH if running else 0))
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def summary(states: Sequence[RowState], texts: Texts) -> str:
    """How many rows are done, and the time that is left."""
    known = [one.seconds_left(texts) for one in trainings_of(states)]
    hours = sum(seconds or 0.0 for seconds in known) / 3600
    unknown = sum(seconds is None for seconds in known)
    more = f", and {unknown} whose speed is not measured" if unknown else ""
    files = "" if texts.official else " These are not the official files: published numbers do not compare."
    return (
        f"{sum(row.done for row in states)} of {len(states)} rows are done. The trainings that are left take"
        f" about {hours:,.1f} hours of one process{more}; patience can end some earlier.{files}"
    )


def line(
    row: RowState,
    table: str,
    texts: Texts,
    running: Sequence[str] = (),
    failed: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """The cells of a row, in the order of HEAD."""
    found = {one.signature["split"]: one.total.score.perplexity for one in row.results}
    paper = next((one for one in PUBLISHED if one.data == table and one.model == row.job.row), None)
    said = paper.perplexities if paper and texts.official else {}
    left = [one.seconds_left(texts) for one in row.trainings]
    hours = "unknown" if None in left else f"{sum(seconds or 0.0 for seconds in left) / 3600:.1f}"
    speeds = [f"{one.tokens_per_second:,.0f}" for one in row.trainings if one.tokens_per_second]
    seed = f", seed {row.job.seed}" if row.trainings else ""
    return (
        row.job.row,
        row.job.recipe + seed,
        _state(row, running, failed),
        hours,
        ", ".join(speeds),
        *(f"{found[split]:,.2f}" if split in found else "" for split in MEASURED),
        " / ".join(decimals(said.get(split)) or "–" for split in MEASURED) if said else "",
    )


def _state(row: RowState, running: Sequence[str], failed: Mapping[str, str]) -> str:
    if row.done:
        return "done"
    for step in (*(one.job.name for one in row.trainings), row.job.measuring):
        if step in failed:
            return f"failed: {failed[step]}"
    if row.broken:
        return f"breaks: {', '.join(row.broken)}"
    if row.trained and row.trainings:
        return "trained, not measured"
    parts = [_training(one, runs=one.job.name in running) for one in row.trainings if not one.done]
    return "; ".join(parts) or "waits"


def _training(one: TrainingState, *, runs: bool) -> str:
    best = "" if one.best is None else f", valid {one.best:.2f} so far"
    epochs = f"{len(one.curve)} of {one.config.epochs} epochs{best}"
    if runs:
        return f"training: {epochs}"
    return f"stopped: {epochs}" if one.curve else "waits"
