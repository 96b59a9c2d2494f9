"""Reproduces a published table: trains its rows, measures them once, and shows how far it is.

All is read from the folder of the runs, so a killed queue loses nothing. Beside the runs and the results it
has one file: the conditions that all its runs have in common.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import pandas as pd

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import Record, append_record, has_lines, of_line, read_lines
from lm_benchmarks.records import Result, known_results, losses_of, read_curve
from lm_benchmarks.reporting.formats import WORDS, text_table
from lm_benchmarks.reporting.published import COUNTED, FILES, PUBLISHED, ROWS, TRAIN, TRAINED, published_on
from lm_benchmarks.reporting.report import make_report, report_text, write_text
from lm_benchmarks.reproducing.queue import DONE, FAILED, RUNNING, locked, run_commands
from ps_models.configs import make_configs
from ps_models.hyperparameters import finished
from ps_models.training.checkpoint import BEST
from ps_models.training.loop import StoppedError
from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.processes import cores

MEASURED: Final = ("valid", "test")
MOST_HOURS: Final = 1e6  # more is no estimate
Planned = tuple[str, str, int]  # the name of a row in its table, recipe, seed


class Conditions(Record, frozen=True, kw_only=True):
    """The table, the dataset and the settings of a folder of runs."""

    table: str
    train: str  # SHA-256 of the file, as of valid and test
    valid: str
    test: str
    settings: str  # as `settings_text` writes them


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """How far a row is: its model is trained once, whatever the number of rows of it, and then measured."""

    row: str  # the name in the table
    recipe: str
    seed: int
    run: str  # the folder of the training; "": it only counts
    epochs: int
    of_epochs: int  # at most: patience can end it earlier
    best_valid: float | None  # perplexity
    hours_left: float | None  # of updates, at the speed so far; None: before the first epoch
    perplexity: Mapping[str, float]  # by split
    trained: bool
    done: bool


def run_of(recipe: str, seed: int) -> str:
    """The folder of the training that a recipe needs; "" if it only counts."""
    return "".join(f"{one.replace('/', '-')}-seed{seed}" for one in TRAINED.findall(recipe))


def plan(table: str, size: str, *, names: Sequence[str] = (), seeds: Sequence[int] = (1,)) -> list[Planned]:
    """The rows of a table that can be run, in its order.

    Names, of rows or of recipes, choose some, in this order; without names it has those published there or
    nowhere, and models that only count. What is not trained has one row, whatever the seeds.
    """
    elsewhere = {row.model for row in PUBLISHED} - published_on(table).keys()
    there = [row for row in ROWS if row.recipe(table, size)]
    own = [row for row in there if row.name not in elsewhere or row.one_size]
    known = [row for row in there if row in own or row.small]
    named = {key: row for row in reversed(known) for key in (row.recipe(table, size), row.name.casefold())}
    for name in names:
        if name.casefold() not in named:
            offered = "".join(f"\n  {row.name}" for row in own)  # names have commas
            raise HarnessError(f"{name}: no such row of {table} with --size {size}; there are{offered}")
    chosen = [named[name.casefold()] for name in names] or own
    found = [(row.name, row.recipe(table, size), one) for row in chosen for one in dict.fromkeys(seeds)]
    return [one for one in dict.fromkeys(found) if one[2] == seeds[0] or run_of(*one[1:])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A table in a folder: what is to be run there, and how far it is."""

    table: str
    data: Path
    folder: Path
    results: Path  # in it; `rows` reads it too
    words: int  # of the vocabulary
    hashes: Mapping[str, str]  # SHA-256 of the files of the dataset, by split
    planned: Sequence[Planned]
    settings: Sequence[str]
    threads: int  # of each process
    states: dict[str, str] = field(default_factory=dict)  # of commands of this queue, by name

    @property
    def official(self) -> bool:
        """Returns True if the dataset has the files of which papers report numbers."""
        wanted = {"train": TRAIN[self.table], **FILES[self.table]}
        return wanted == {split: one[:8] for split, one in self.hashes.items()}

    @property
    def done(self) -> int:
        """The number of rows that are done."""
        return sum(row.done for row in self.rows)

    @property
    def rows(self) -> list[Row]:
        """How far each row is, read from the folder now."""
        results = known_results(self.results)
        return [self._row(*one, results) for one in self.planned]

    def _row(self, name: str, recipe: str, seed: int, results: Iterable[Result]) -> Row:
        run, epochs, trained = run_of(recipe, seed), 0, True
        curve = read_curve(self.folder / run)
        if run:
            model, preset = TRAINED.findall(recipe)[0].split("/")
            config = make_configs(model, preset, self.settings, self.words)[1]
            epochs = config.epochs
            trained = (self.folder / run / BEST).exists() and finished(config, losses_of(curve))
        hours = curve[-1].seconds / len(curve) * (epochs - len(curve)) / 3600 if curve else None
        found = {
            split: one.total.score.perplexity
            for one in results
            if trained
            and not one.broken  # such a result is measured again
            and COUNTED.items() <= dict(one.signature).items()
            and re.sub("[^:,]*/", "", one.specification) == TRAINED.sub(run, recipe)  # wherever it was
            and [each.curve for each in one.trained] == [curve] * bool(run)  # else it is of another run
            and self.hashes.get(split := one.signature["split"], "")[:8] == one.data[1]
        }
        return Row(
            row=name,
            recipe=recipe,
            seed=seed,
            run=run,
            epochs=len(curve),
            of_epochs=epochs,
            best_valid=min((one.valid_perplexity for one in curve if one.valid_perplexity), default=None),
            hours_left=0.0 if trained else hours,
            perplexity={split: found[split] for split in MEASURED if split in found},
            trained=trained,
            done=found.keys() >= set(MEASURED),
        )

    def command(self, row: Row) -> tuple[str, list[str]]:
        """The command that a row waits for, with its name: to train, or to measure what is trained."""
        threads, data, run = ("--threads", str(self.threads)), str(self.data), str(self.folder / row.run)
        if not row.trained:
            model, preset = TRAINED.findall(row.recipe)[0].split("/")
            words = ["ps-models", *threads, "train", model, data, "--preset", preset, "--out", run]
            return row.run, [*words, *(f"--set={one}" for one in (*self.settings, f"seed={row.seed}"))]
        name = f"measure-{re.sub('[^a-z0-9]', '-', row.recipe)}-seed{row.seed}"
        words = ["lm-benchmarks", *threads, "run", TRAINED.sub(lambda _: run, row.recipe), "--data", data]
        words += ["--results", str(self.results), "--seed", str(row.seed)]
        return name, [*words, *(f"--split={split}" for split in MEASURED)]

    def state(self, row: Row) -> str:
        """What a row waits for, or that it is done."""
        state = self.states.get(self.command(row)[0], "")
        if row.done or state.startswith(FAILED):
            return DONE if row.done else state
        if row.trained:
            return "trained, not measured" if row.run else "waits"
        best = "" if row.best_valid is None else f", valid {row.best_valid:.2f} so far"
        how = "training" if state == RUNNING else "stopped" if row.epochs else "waits"
        return f"{how}: {row.epochs} of {row.of_epochs} epochs{best}"

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        papers = published_on(self.table) if self.official else {}
        lines = [
            {
                "row": row.row,
                "model": row.recipe + (f", seed {row.seed}" if row.run else ""),
                "state": self.state(row),
                "time left": _time(row.hours_left),
                "valid / test": " / ".join(f"{one:,.2f}" for one in row.perplexity.values()),
                "published": papers[row.row].both if row.row in papers else "",
            }
            for row in self.rows
        ]
        frame = pd.DataFrame(lines, dtype=object)
        frame.attrs[WORDS] = ["model", "state"]
        return frame

    @property
    def summary(self) -> str:
        """How many rows are done."""
        unlike = " These are not the official files: published numbers do not compare."
        return f"{self.done} of {len(self.planned)} rows are done.{'' if self.official else unlike}"

    @property
    def text(self) -> str:
        """The rows and the summary, for a terminal."""
        return text_table(self.frame) + self.summary

    def fields(self) -> dict[str, object]:
        """For programs, as JSON has it: an infinite number is None."""
        return {"table": self.table, "rows": msgspec.json.decode(msgspec.json.encode(self.rows))}


def _time(hours: float | None) -> str:
    return "unknown" if hours is None or hours > MOST_HOURS else str(timedelta(seconds=round(3600 * hours)))


def settings_text(settings: Iterable[str]) -> str:
    """Settings in one line, whatever the order in which they were given; of a key the last one counts.

    >>> settings_text(["epochs=2", "decay=0.5", "epochs=3"])
    'decay=0.5 epochs=3'
    """
    parts = " ".join(settings).split()  # a value may have spaces
    return " ".join(sorted({one.partition("=")[0]: one for one in parts}.values()))


def expect_conditions(table: Reproduction, *, keep: bool) -> None:
    """Refuse a folder whose runs have other conditions; with `keep`, note them if there are none yet."""
    wanted = Conditions(table=table.table, settings=settings_text(table.settings), **table.hashes)
    path, now = table.folder / "conditions.jsonl", msgspec.structs.asdict(wanted)
    parse = partial(of_line, kind=Conditions, what="conditions")
    known = read_lines(path, parse, writer="reproduce") if has_lines(path) else []
    for found in map(msgspec.structs.asdict, known):
        found["settings"] = settings_text([found["settings"]])  # older versions kept the order
        if changes := [f"{name} {found[name]!r} → {now[name]!r}" for name in now if now[name] != found[name]]:
            what = f"{table.folder}: its runs are of other conditions ({', '.join(changes)})"
            raise HarnessError(f"{what}; reproduce with the same ones, or use another --out")
    if not known and (page := table.folder / PAGE).exists():
        raise HarnessError(f"{page}: is not of this command, which would replace it; use another --out")
    if keep and not known:
        append_record(path, wanted)


PAGE: Final = "report.html"
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
    """Train and measure the rows of a published table, and return the progress of each row.

    Each model is trained and chosen on valid, and measured on valid and test once, at the end. Work that is
    done in the folder is not repeated: stop at any time, and the same call continues.

    Args:
        table: `ptb` or `wikitext-2`.
        data: The dataset; only numbers on the official files compare with published ones.
        out: The folder for runs, records and the page.
        size: `own`, `full` or `small`: see SIZES.
        rows: Only these rows, by name or by recipe; empty: all.
        seeds: Training seeds.
        settings: `key=value` for all trainings, such as `precision=bf16`.
        workers: Concurrent trainings, one process each.
        threads: Threads of each process; None: the processor's cores divided by the workers.
        hours: Stop after this time; the same call continues.
        dry_run: Only return the plan.
        progress: Called with the epochs of each training.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: A row failed (the others are done), or the folder has runs with other conditions.
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
        raise HarnessError("seed in --set; use --seed for seeds")
    if {",", ":"} & set(str(out)):
        raise HarnessError(f"{out}: a comma or colon separates models; use an --out without one")
    if not hours >= 0:  # nor is NaN
        raise HarnessError(f"--budget {hours}; expected 0 or more")


def _run(made: Reproduction, workers: int, seconds: float, progress: Progress) -> None:
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
        raise StoppedError(f"stopped; {done}. Everything is saved: run the same command to resume")


def _show(made: Reproduction, progress: Progress) -> None:
    """Write a page: how far each row is, the numbers so far beside the published ones, and curves."""
    rows = made.rows
    running = {row.run: made.state(row) for row in rows if made.states.get(row.run) == RUNNING}
    note = "; ".join(f"{run} {state}" for run, state in running.items())
    progress("rows", made.done, len(rows), note)
    drawn = {row.run for row in rows if row.perplexity}
    logs = {row.run: made.folder / row.run for row in rows if row.epochs and row.run not in drawn}
    title = f"Reproduction of the table of {made.table}"
    report = make_report(title, known_results(made.results), published=PUBLISHED, logs=list(logs.values()))
    first = {"title": "How far it is", "text": made.summary, "frame": made.frame}
    report = replace(report, first=first, refresh=REFRESH if RUNNING in made.states.values() else 0)
    write_text(made.folder / PAGE, report_text(report, ".html"))
