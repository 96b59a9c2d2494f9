"""A table in a folder: the trainings and measurements of its rows, and how far they are.

All is read from the folder of the runs, so a killed queue loses nothing. Beside the runs and the results it
has two files of records: the conditions that all its runs have in common, and the speeds measured so far.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from msgspec.structs import asdict

import ps_models as pm
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import (
    Int63,
    Record,
    append_record,
    has_lines,
    of_line,
    portable,
    read_lines,
)
from lm_benchmarks.records.result import Result, read_results
from lm_benchmarks.records.trained import Epoch, losses_of, read_curve
from lm_benchmarks.reporting.published import (
    COUNTED,
    FILES,
    PUBLISHED,
    ROWS,
    TRAIN,
    TRAINED,
    PaperRow,
    published_on,
    trained_in,
)
from ps_models.configs import make_configs
from ps_models.data.dataset import read_stream
from ps_models.hyperparameters import TrainingConfig, finished
from ps_models.processor import given_threads
from ps_models.training.checkpoint import BEST, LAST, read_checkpoint
from ps_models.training.loop import RunLimits, StoppedError
from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import FILE
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.hashing import file_sha256

MEASURED: Final = ("valid", "test")
VALIDATION: Final = 0.4  # of the time of training on a token, estimated: a forward pass without gradients
SECONDS: Final = 8.0  # of updates that a speed is measured by; the first of them also warms up
CONDITIONS, SPEEDS = "conditions.jsonl", "speeds.jsonl"
R = TypeVar("R", bound=Record)


class Conditions(Record, frozen=True, kw_only=True):
    """The table, the dataset and the settings of a folder of runs."""

    table: str
    train: str  # SHA-256 of the file, as of valid and test
    valid: str
    test: str
    settings: str  # as `settings_text` writes them


class Speed(Record, frozen=True, kw_only=True):
    """The speed of a training, in tokens per second."""

    recipe: str
    settings: str  # as `settings_text` writes them
    threads: Int63
    tokens_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A model to train once, whatever the number of rows that need it, and how far it is."""

    recipe: str  # the model with its preset, as in records
    seed: int
    config: TrainingConfig = TrainingConfig()  # noqa: RUF009 - it is frozen
    curve: tuple[Epoch, ...] = ()
    done: bool = False
    tokens_per_second: float | None = None  # None: not measured yet
    seconds_left: float | None = None  # at most: patience can end it earlier; None: the speed is not known

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.recipe.replace('/', '-')}-seed{self.seed}"

    @property
    def best(self) -> float | None:
        """The best perplexity on valid so far."""
        return min((one.valid_perplexity for one in self.curve if one.valid_perplexity), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row to measure once what it needs is trained, and how far it is."""

    row: str  # the name in the table
    recipe: str
    seed: int
    trainings: tuple[Training, ...] = ()  # what must be trained first
    results: tuple[Result, ...] = ()  # the last one of each split that was measured

    @property
    def measuring(self) -> str:
        """The name of the step that measures it."""
        plain = "".join(letter if letter.isalnum() else "-" for letter in self.recipe)
        return f"measure-{plain}-seed{self.seed}"

    def specification(self, folder: Path) -> str:
        """The model for `measure`, whose trainings are in a folder.

        >>> new_row("", "mix:rnn-lda/small,kn-5+cache", seed=1).specification(Path("runs"))
        'mix:runs/rnn-lda-small-seed1,kn-5+cache'
        """
        folders = {one.recipe: str(folder / one.name) for one in self.trainings}
        return TRAINED.sub(lambda match: folders[match[0]], self.recipe)

    @property
    def perplexities(self) -> dict[str, float]:
        """What was measured, by split."""
        return {one.signature["split"]: one.total.score.perplexity for one in self.results}

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The splits to measure: those without a result, and those where the model broke a law."""
        kept = {one.signature["split"] for one in self.results if not one.broken}
        return tuple(split for split in MEASURED if split not in kept)

    @property
    def done(self) -> bool:
        """Returns True if all splits are measured, and the model kept the laws."""
        return not self.unmeasured


def new_row(name: str, recipe: str, seed: int) -> Row:
    """A row of which nothing is read yet."""
    trainings = tuple(Training(recipe=one, seed=seed) for one in trained_in(recipe))
    return Row(row=name, recipe=recipe, seed=seed, trainings=trainings)


def trainings_of(rows: Iterable[Row]) -> tuple[Training, ...]:
    """Each training once, in the order of the rows."""
    return tuple({one.name: one for row in rows for one in row.trainings}.values())


def plan(table: str, size: str, *, names: Sequence[str] = (), seeds: Sequence[int] = (1,)) -> tuple[Row, ...]:
    """The rows of a table that can be run, in its order.

    Names, of rows or of recipes, choose some, in this order; without names it has those published there or
    nowhere, and models that only count. What is not trained has one row, whatever the seeds.

    Raises:
        HarnessError: There is no such row, or it cannot be run at this size.
    """
    elsewhere = {row.model for row in PUBLISHED} - published_on(table).keys()
    chosen = [row for row in ROWS if row.name not in elsewhere or row.one_size]
    if names:
        every = [row for row in ROWS if row in chosen or row.small]
        chosen = [_paper_row(name, every, chosen, table, size) for name in names]
    return tuple(
        new_row(row.name, recipe, seed)
        for row in chosen
        for number, seed in enumerate(dict.fromkeys(seeds))
        if (recipe := row.recipe(table, size)) and (number == 0 or trained_in(recipe))
    )


def _paper_row(
    name: str, rows: Sequence[PaperRow], own: Sequence[PaperRow], table: str, size: str
) -> PaperRow:
    """The row of a name; an error offers those of the table, its `own`."""
    for row in rows:
        recipe = row.recipe(table, size)
        if recipe and name and (name == recipe or name.casefold() == row.name.casefold()):
            return row
    there = "".join(f"\n  {row.name}" for row in own if row.recipe(table, size))  # names have commas
    raise HarnessError(f"{name}: no such row of {table} with --size {size}; there are{there}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The sizes of a dataset, in tokens, and whether published numbers compare with it."""

    train: int
    valid: int
    vocabulary: int
    official: bool  # the files of which papers report numbers
    hashes: Mapping[str, str]  # sha256 of each split


def read_texts(table: str, data: Path) -> Texts:
    """Read the sizes of a dataset for a table.

    Raises:
        ToolkitError: It is a single file, or cannot be read.
    """
    dataset = load_dataset(data)
    if dataset.layout == FILE:
        raise HarnessError(f"{data}: a single file; expected a folder with train, valid and test")
    words = dataset.vocabulary
    sizes = {split: len(read_stream(dataset, split, words)) for split in ("train", "valid")}
    hashes = {split: file_sha256(dataset.file(split)) for split in SPLITS}
    official = {"train": TRAIN[table], **FILES[table]} == {name: one[:8] for name, one in hashes.items()}
    return Texts(**sizes, vocabulary=len(words), official=official, hashes=hashes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table in a folder: what is to be run, where, and how."""

    name: str
    data: Path
    folder: Path
    texts: Texts
    planned: tuple[Row, ...]
    settings: tuple[str, ...]
    workers: int
    threads: int

    @property
    def results(self) -> Path:
        """The file of the results; `rows` reads it too."""
        return self.folder / f"{self.name}.jsonl"

    def read_results(self) -> list[Result]:
        """The results so far."""
        return read_results(self.results) if has_lines(self.results) else []

    def rows(self) -> tuple[Row, ...]:
        """How far each row is, read from the folder.

        Raises:
            ToolkitError: A setting is wrong, or a file is not of its format.
        """
        key, measured = (settings_text(self.settings), self.threads), self.read_results()
        speeds = {
            one.recipe: one.tokens_per_second
            for one in _records(self.folder / SPEEDS, Speed, "a speed")
            if (one.settings, one.threads) == key
        }
        read = {one.name: self._read(one, speeds.get(one.recipe)) for one in trainings_of(self.planned)}
        rows = (
            replace(row, trainings=tuple(read[one.name] for one in row.trainings)) for row in self.planned
        )
        return tuple(replace(row, results=row_results(row, measured, self.texts.hashes)) for row in rows)

    def _read(self, one: Training, speed: float | None) -> Training:
        model, preset = one.recipe.split("/")
        config = make_configs(model, preset, self.settings, self.texts.vocabulary)[1]
        curve = read_curve(self.folder / one.name)
        done = (self.folder / one.name / BEST).exists() and finished(config, losses_of(curve))
        seconds, tokens = None, self.texts.train + VALIDATION * self.texts.valid  # of an epoch
        if curve:
            seconds = curve[-1].seconds / len(curve) * tokens / self.texts.train
        elif speed:
            seconds = tokens / speed
        left = 0.0 if done else None if seconds is None else seconds * (config.epochs - len(curve))
        known = replace(one, tokens_per_second=speed, seconds_left=left)
        return replace(known, config=config, curve=curve, done=done)

    def measure_speed(self, one: Training) -> None:
        """Train for some seconds, and keep the speed in the folder.

        Raises:
            ToolkitError: The model cannot be trained on this dataset.
            StoppedError: The user stopped it.
        """
        # Chunks at the start of the text have fewer tokens before them to read again, and take less time.
        short = math.ceil(one.config.lookback / one.config.stride)
        with given_threads(self.threads), TemporaryDirectory() as name:
            run, before = Path(name), (0, 0.0)
            if short:
                before = _trained(self, one, run, RunLimits(max_updates=short))
            after = _trained(self, one, run, RunLimits(max_seconds=SECONDS))
        tokens, seconds = before if after != before else (0, 0.0)  # equal: it has no more epochs
        record = Speed(
            recipe=one.recipe,
            settings=settings_text(self.settings),
            threads=self.threads,
            tokens_per_second=(after[0] - tokens) / max(after[1] - seconds, 1e-9),
        )
        append_record(self.folder / SPEEDS, record)


def _trained(table: Table, one: Training, run: Path, limits: RunLimits) -> tuple[int, float]:
    """Train until a limit stops it; returns all tokens and seconds of the run so far."""
    began, stopped = time.monotonic(), None
    model, preset = one.recipe.split("/")
    try:
        pm.train(model, table.data, run, preset=preset, settings=table.settings, limits=limits)
    except StoppedError as error:
        stopped = error
    position = (read_checkpoint(run / LAST, training=True).training or {})["position"]
    most = limits.max_updates
    ended = time.monotonic() - began >= SECONDS if most is None else position["update"] >= most
    if stopped and not ended:  # the user did
        raise stopped
    return len(position["losses"]) * table.texts.train + position["targets"], position["seconds"]


def row_results(row: Row, results: Iterable[Result], hashes: Mapping[str, str]) -> tuple[Result, ...]:
    """The last result of a row on each split.

    Its trainings are read: results of other runs have other curves. The folder of a run, whose name stands in
    its results, may have been moved. The hashes are those of the files of the dataset, by split.
    """
    wanted, curves = portable(row.specification(Path())), [one.curve for one in row.trainings]
    names = "|".join(re.escape(one.name) for one in row.trainings)
    folders = re.compile(rf"[^:,]*/(?=(?:{names})(?:,|$))") if names else re.compile("(?!)")
    found = {
        split: one
        for one in results
        if COUNTED.items() <= dict(one.signature).items()
        and folders.sub("", one.specification) == wanted
        and [each.curve for each in one.trained] == curves
        and one.data[1] == hashes.get(split := one.signature["split"], "")[:8]
    }
    return tuple(found[split] for split in SPLITS if split in found)


def settings_text(settings: Iterable[str]) -> str:
    """Settings in one line, whatever the order in which they were given; of a key the last one counts.

    >>> settings_text(["epochs=2", "decay=0.5", "epochs=3"])
    'decay=0.5 epochs=3'
    """
    parts = " ".join(settings).split()  # a value may have spaces
    return " ".join(sorted({one.partition("=")[0]: one for one in parts}.values()))


def expect_conditions(folder: Path, wanted: Conditions, *, keep: bool) -> None:
    """Refuse a folder whose runs have other conditions; with `keep`, note them if there are none yet.

    Raises:
        HarnessError: They differ, or the note is damaged.
    """
    known, now = _records(folder / CONDITIONS, Conditions, "conditions"), asdict(wanted)
    for found in map(asdict, known):
        found["settings"] = settings_text([found["settings"]])  # older versions kept the order
        if changes := [f"{name} {found[name]!r} → {now[name]!r}" for name in now if now[name] != found[name]]:
            raise HarnessError(
                f"{folder}: its runs are of other conditions ({', '.join(changes)}); reproduce with the same"
                " ones, or use another --out"
            )
    if keep and not known:
        append_record(folder / CONDITIONS, wanted)


def _records(path: Path, kind: type[R], what: str) -> list[R]:
    parse = partial(of_line, kind=kind, what=what)
    return read_lines(path, parse, writer="reproduce") if has_lines(path) else []
