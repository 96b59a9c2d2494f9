"""How far a table is: read from the folder of its runs, so that a killed queue loses nothing.

Beside the runs and the results, the folder has two files of records: the conditions that all its runs have in
common, and the speeds that were measured.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from msgspec.structs import asdict

import ps_models as pm
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import Int63, Record
from lm_benchmarks.records.lines import append_record, has_lines, of_line, portable, read_lines
from lm_benchmarks.records.result import Result
from lm_benchmarks.records.trained import Epoch, losses_of, read_curve
from lm_benchmarks.reporting.published import COUNTED
from lm_benchmarks.reproducing.plan import RowJob, Texts, TrainingJob
from ps_models.configs import make_configs
from ps_models.processor import given_threads
from ps_models.training.checkpoint import BEST, LAST, read_checkpoint
from ps_models.training.config import TrainingConfig, finished
from ps_models.training.loop import RunLimits, StoppedError
from wikitext_builder.article import SPLITS

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
class TrainingState:
    """How far a training is."""

    job: TrainingJob
    config: TrainingConfig
    curve: tuple[Epoch, ...]
    done: bool
    tokens_per_second: float | None  # None: not measured yet

    @property
    def best(self) -> float | None:
        """The best perplexity on valid so far."""
        return min((one.valid_perplexity for one in self.curve if one.valid_perplexity), default=None)

    def seconds_left(self, texts: Texts) -> float | None:
        """Seconds until the end, at most: patience can end it earlier. None if the speed is not known."""
        if self.done:
            return 0.0
        epochs = self.config.epochs - len(self.curve)
        if self.curve:
            an_epoch = self.curve[-1].seconds / len(self.curve)
            return epochs * an_epoch * (1 + VALIDATION * texts.valid / texts.train)
        if not self.tokens_per_second:
            return None
        return epochs * (texts.train + VALIDATION * texts.valid) / self.tokens_per_second


@dataclass(frozen=True, slots=True, kw_only=True)
class RowState:
    """How far a row is."""

    job: RowJob
    trainings: tuple[TrainingState, ...]
    results: tuple[Result, ...]  # the last one of each split that was measured

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The splits to measure: those without a result, and those where the model broke a law."""
        kept = {one.signature["split"] for one in self.results if not one.broken}
        return tuple(split for split in MEASURED if split not in kept)

    @property
    def done(self) -> bool:
        """Returns True if all splits are measured, and the model kept the laws."""
        return not self.unmeasured


def training_state(
    job: TrainingJob, folder: Path, settings: Sequence[str], vocabulary: int, speed: float | None
) -> TrainingState:
    """Read how far a training is.

    Raises:
        ToolkitError: A setting or the log is wrong.
    """
    config: TrainingConfig = make_configs(job.model, job.preset, settings, vocabulary)[1]
    curve = read_curve(folder / job.name)
    done = (folder / job.name / BEST).exists() and finished(config, losses_of(curve))
    return TrainingState(job=job, config=config, curve=curve, done=done, tokens_per_second=speed)


def trainings_of(states: Iterable[RowState]) -> tuple[TrainingState, ...]:
    """Each training once, in the order of the rows."""
    return tuple({one.job: one for row in states for one in row.trainings}.values())


def row_results(
    job: RowJob, trainings: Sequence[TrainingState], results: Iterable[Result], hashes: Mapping[str, str]
) -> tuple[Result, ...]:
    """The last result of a row on each split.

    Args:
        job: The row.
        trainings: What it needs. Results of other runs have other curves; the folder of a run, whose name
            stands in its results, may have been moved.
        results: To choose from, if they are counted as rows are.
        hashes: Of the files of the dataset, by split.
    """
    wanted, curves = portable(job.specification(Path())), [one.curve for one in trainings]
    names = "|".join(re.escape(one.job.name) for one in trainings)
    folders = re.compile(rf"[^:,]*/(?=(?:{names})(?:,|$))") if names else re.compile("(?!)")
    found = {
        split: one
        for one in results
        if COUNTED.items() <= dict(one.signature).items()
        and folders.sub("", one.specification) == wanted
        and [each.curve for each in one.trained] == curves
        and one.signature["data"].rpartition("+")[2] == hashes.get(split := one.signature["split"], "")[:8]
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


def known_speeds(folder: Path, settings: Sequence[str], threads: int) -> dict[str, float]:
    """The speeds that were measured before, by recipe.

    Raises:
        HarnessError: The file is not of the format.
    """
    key, found = (settings_text(settings), threads), _records(folder / SPEEDS, Speed, "a speed")
    return {one.recipe: one.tokens_per_second for one in found if (one.settings, one.threads) == key}


def _records(path: Path, kind: type[R], what: str) -> list[R]:
    parse = partial(of_line, kind=kind, what=what)
    return read_lines(path, parse, writer="reproduce") if has_lines(path) else []


def measure_speed(
    one: TrainingState, data: Path, folder: Path, settings: Sequence[str], texts: Texts, threads: int
) -> None:
    """Train for some seconds, and keep the speed in the folder.

    Raises:
        ToolkitError: The model cannot be trained on this dataset.
        StoppedError: The user stopped it.
    """
    # Chunks at the start of the text have fewer tokens before them to read again, and take less time.
    short = math.ceil(one.config.lookback / one.config.stride)
    with given_threads(threads), TemporaryDirectory() as name:
        run, before = Path(name), (0, 0.0)
        if short:
            before = _trained(one.job, data, run, settings, texts, RunLimits(max_updates=short))
        after = _trained(one.job, data, run, settings, texts, RunLimits(max_seconds=SECONDS))
    tokens, seconds = before if after != before else (0, 0.0)  # equal: it has no more epochs
    speed = (after[0] - tokens) / max(after[1] - seconds, 1e-9)
    kept = settings_text(settings)
    record = Speed(recipe=one.job.recipe, settings=kept, threads=threads, tokens_per_second=speed)
    append_record(folder / SPEEDS, record)


def _trained(
    job: TrainingJob, data: Path, run: Path, settings: Sequence[str], texts: Texts, limits: RunLimits
) -> tuple[int, float]:
    """Train until a limit stops it; returns all tokens and seconds of the run so far."""
    began, stopped = time.monotonic(), None
    try:
        pm.train(job.model, data, run, preset=job.preset, settings=settings, limits=limits)
    except StoppedError as error:
        stopped = error
    position = (read_checkpoint(run / LAST, training=True).training or {})["position"]
    most = limits.max_updates
    ended = time.monotonic() - began >= SECONDS if most is None else position["update"] >= most
    if stopped and not ended:  # the user did
        raise stopped
    return len(position["losses"]) * texts.train + position["targets"], position["seconds"]
