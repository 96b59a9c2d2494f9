"""How far a table is: read from the folder of its runs, so that a killed queue loses nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lm_benchmarks.records.lines import portable
from lm_benchmarks.records.result import Result
from lm_benchmarks.records.trained import Epoch, losses_of, read_curve
from lm_benchmarks.reporting.published import COUNTED
from lm_benchmarks.reproducing.plan import RowJob, Texts, TrainingJob
from ps_models.configs import make_configs
from ps_models.training.checkpoint import BEST
from ps_models.training.config import TrainingConfig, finished
from wikitext_builder.article import SPLITS

MEASURED: Final = ("valid", "test")
VALIDATION: Final = 0.4  # of the time of training on a token, estimated: a forward pass without gradients


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
    def trained(self) -> bool:
        """Returns True if it can be measured."""
        return all(one.done for one in self.trainings)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The splits to measure: those without a result, and those where the model broke a law."""
        kept = {one.signature["split"] for one in self.results if not one.broken}
        return tuple(split for split in MEASURED if split not in kept)

    @property
    def done(self) -> bool:
        """Returns True if all splits are measured, and the model kept the laws."""
        return not self.unmeasured

    @property
    def broken(self) -> tuple[str, ...]:
        """The laws that the model breaks."""
        return tuple(dict.fromkeys(law for one in self.results for law in one.broken))


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
    job: RowJob, trainings: Sequence[TrainingState], results: Iterable[Result], files: Mapping[str, str]
) -> tuple[Result, ...]:
    """The last result of a row on each split.

    Args:
        job: The row.
        trainings: What it needs. Results of other runs have other curves; the folder of a run, whose name
            stands in its results, may have been moved.
        results: To choose from, if they are counted as rows are.
        files: Of the dataset: the beginnings of the hashes, by split.
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
        and one.signature["data"].rpartition("+")[2] == files.get(split := one.signature["split"])
    }
    return tuple(found[split] for split in SPLITS if split in found)


def as_fields(state: RowState, texts: Texts) -> dict[str, object]:
    """A row's state for programs."""
    return {
        **asdict(state.job),
        "trainings": [
            {
                "name": one.job.name,
                "epochs": len(one.curve),
                "of_epochs": one.config.epochs,
                "tokens_per_second": one.tokens_per_second,
                "hours_left": None if (left := one.seconds_left(texts)) is None else left / 3600,
                "best_valid": one.best,
            }
            for one in state.trainings
        ],
        "perplexity": {one.signature["split"]: one.total.score.perplexity for one in state.results},
        "done": state.done,
    }
