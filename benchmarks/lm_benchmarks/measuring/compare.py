"""How much two models differ, and whether chance explains it: a paired bootstrap over articles.

The articles of a test set are a sample. The bootstrap draws them again, with replacement, the same articles
for both models: this gives the differences that other test sets would have given (Efron 1979; paired over
texts as in Koehn 2004 for translations). It sums over articles before it divides, so that each draw is an
exact perplexity.

Runs of one recipe with other seeds are a sample too. Their number is the mean over runs, in nats per token.
Three runs are too few to be drawn again: such intervals held the truth in 86 of 100 trials. So each draw
moves the mean by Student's t for that many runs, on each side: 99 of 100 with three runs, 96 with ten.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lm_benchmarks.choices import EXACT, FEWEST, LEVEL, RESAMPLES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.likeness import expect_alike
from lm_benchmarks.measuring.select import find_runs
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records.result import Result, read_results

AT_ONCE: Final = 2**22  # numbers drawn at once: bounds memory
ROUNDING: Final = {"fp32": 1e-5, "tf32": 1e-4, "bf16": 1e-3}  # of a perplexity, by the precision


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDifference:
    """How the number of a second model differs from that of a first one, on the same text."""

    first_model: str
    second_model: str
    first_broken: tuple[str, ...]  # laws that the first model breaks
    second_broken: tuple[str, ...]
    metric: str
    first: float
    second: float
    interval: tuple[float, float] | None  # of second - first; None: too few passages, or too large draws
    better: float | None  # the fraction of draws in which the second number is lower
    passages: int
    level: float
    resamples: int
    seed: int
    rounding: float = 0.0  # what the arithmetic alone can change the numbers by
    first_runs: tuple[float, ...] = ()  # the number of each run, by seed
    second_runs: tuple[float, ...] = ()

    @property
    def difference(self) -> float:
        """Second minus first: if negative, the second model is better."""
        return self.second - self.first

    @property
    def alone(self) -> str:
        """The model with one run, if the other has several: the interval lacks the chance of its seed."""
        one, two = len(self.first_runs), len(self.second_runs)
        if one == two or min(one, two) != 1:
            return ""
        return self.first_model if one == 1 else self.second_model

    @property
    def is_clear(self) -> bool:
        """Returns True if zero is outside the interval, and the difference is more than rounding."""
        return (
            self.interval is not None
            and (self.interval[0] > 0 or self.interval[1] < 0)  # not so of NaN
            and not self.is_rounding
        )

    @property
    def is_rounding(self) -> bool:
        """Returns True if the arithmetic alone can make such a difference."""
        return abs(self.difference) <= self.rounding


def compare(
    results: str | Path,
    first: str,
    second: str,
    *,
    split: str = "test",
    metric: str = "perplexity",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
    allow: Collection[str] = (),
) -> ModelDifference:
    """Compare two models whose results are in a file.

    For example, `compare("results.jsonl", "kn-5", "runs/lstm").interval`.

    Args:
        results: The file of JSON lines that `measure` wrote.
        first: A model, by what it was called in `measure`, or by its name in tables or in signatures. Upper
            and lower case are the same. If a model has several results, fields of the signature in brackets
            choose: `kn-5[context=article]`. Else the last result counts, of each seed if there are several.
        second: The other model.
        split: `train`, `valid` or `test`.
        metric: A name in METRICS.
        level: Of the interval.
        resamples: Draws of the bootstrap.
        seed: Of the draws: the same seed gives the same interval.
        allow: Fields of signatures that may differ.

    Raises:
        HarnessError: A model is missing or its name fits several; or the results cannot be compared.
    """
    path = Path(results)
    read = read_results(path)
    one, other = (find_runs(read, name, split, path) for name in (first, second))
    return compare_runs(one, other, metric=metric, level=level, resamples=resamples, seed=seed, allow=allow)


def compare_results(first: Result, second: Result, **options: Any) -> ModelDifference:
    """Compare two results, as `compare_runs` of one run each."""
    return compare_runs([first], [second], **options)


def expect_draws(level: float, resamples: int, seed: int) -> None:
    """Check how an interval is to be drawn.

    Raises:
        HarnessError: It cannot be drawn so.
    """
    if not 0 < level < 1 or resamples < 1 or seed < 0:
        raise HarnessError(
            f"level {level}, {resamples} resamples, seed {seed}; expected a level between 0 and 1, 1"
            " resample or more, and a seed of 0 or more"
        )


def compare_runs(
    first: Sequence[Result],
    second: Sequence[Result],
    *,
    metric: str = "perplexity",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
    allow: Collection[str] = (),
) -> ModelDifference:
    """Compare two models, each by its runs with different seeds.

    Args:
        first: Results of the model that is the reference.
        second: Results of the model that may be better.
        metric: As in `compare`, like all that follow.
        level: As in `compare`.
        resamples: As in `compare`.
        seed: As in `compare`.
        allow: As in `compare`.

    Raises:
        HarnessError: They measure different things, or the counts that the metric needs are missing.
    """
    expect_draws(level, resamples, seed)
    for run in (*first[1:], *second):
        expect_alike(first[0], run, allow)
    counted = _metric(metric)
    if metric == "piece-perplexity" and len({_pieces(run) for run in (*first, *second)}) > 1:
        raise HarnessError(
            f"{first[0].model} and {second[0].model} predict other pieces of words, so their perplexities of"
            " pieces cannot be compared; choose --metric bits-per-byte"
        )
    each = [tuple(_value(run, metric) for run in runs) for runs in (first, second)]
    means = [mean_number(runs, counted) for runs in (first, second)]
    draws = _draws(first, second, counted, resamples, seed)
    return ModelDifference(
        first_model=first[0].model,
        second_model=second[0].model,
        first_broken=_broken(first),
        second_broken=_broken(second),
        metric=metric,
        first=means[0],
        second=means[1],
        interval=None if draws is None else interval_of(draws, level),
        better=None if draws is None else float((draws < 0).mean()),
        passages=len(first[0].articles),
        level=level,
        resamples=resamples,
        seed=seed,
        rounding=max(map(abs, means)) * max(_rounding(one, other) for one in first for other in second),
        first_runs=each[0],
        second_runs=each[1],
    )


def _draws(
    first: Sequence[Result], second: Sequence[Result], metric: Metric, resamples: int, seed: int
) -> npt.NDArray[np.float64] | None:
    """As `bootstrap_runs`; None if there are too few passages, or a draw is too large for a number."""
    if len(first[0].articles) < FEWEST:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        draws = bootstrap_runs(first, second, metric, resamples, seed)
    return draws if np.isfinite(draws).all() else None


def _pieces(result: Result) -> tuple[int, ...]:
    return tuple(one.pieces for one in result.articles)


def _broken(runs: Iterable[Result]) -> tuple[str, ...]:
    """The laws that any run breaks."""
    return tuple(dict.fromkeys(law for run in runs for law in run.broken))


def mean_number(runs: Sequence[Result], metric: Metric) -> float:
    """The metric of the mean nats per unit over runs; of a single run exactly its number."""
    if len(runs) == 1:
        return metric.of(runs[0].total) or 0.0
    quotients = np.array([metric.quotient(run.total) for run in runs], dtype=np.float64)
    return float(_numbers((quotients[:, 0] / quotients[:, 1]).mean(), metric))


def _rounding(first: Result, second: Result) -> float:
    """What the arithmetic alone can change a number by, as a fraction of it."""
    both = (first.signature, second.signature)
    exact = all(signature.get("dtype", "float32") in EXACT for signature in both)
    precisions = {signature.get("precision", "fp32") if exact else "bf16" for signature in both}
    return max(ROUNDING.get(precision, 0.0) for precision in precisions)


def _metric(name: str) -> Metric:
    if name not in METRICS:
        raise HarnessError(f"metric {name!r}; expected one of {', '.join(METRICS)}")
    return METRICS[name]


def _value(result: Result, metric: str) -> float:
    value = METRICS[metric].of(result.total)
    if value is None:
        raise HarnessError(f"{result.model}: {metric} was not counted; choose {_counted(result)}")
    if not math.isfinite(value):
        raise HarnessError(
            f"{result.model}: {metric} is too large for a number; choose --metric bits-per-byte"
        )
    return value


def _counted(result: Result) -> str:
    """The metrics that a result has, as options."""
    return " or ".join(f"--metric {name}" for name, metric in METRICS.items() if metric.of(result.total))


def bootstrap_runs(
    first: Sequence[Result], second: Sequence[Result], metric: Metric, resamples: int, seed: int
) -> npt.NDArray[np.float64]:
    """Second minus first, over draws of passages, the same for all runs, and of the mean of all seeds.

    Args:
        first: Runs of one model on the same passages.
        second: Runs of the other model on them.
        metric: What is compared.
        resamples: How many draws.
        seed: Of the draws.
    """
    one, other = (np.stack([_sums(run.articles, metric) for run in runs]) for runs in (first, second))
    return _differences(one, other, metric, resamples, seed, paired=True)


def _drawn_means(
    generator: np.random.Generator, drawn: npt.NDArray[np.int64], sums: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Nats per unit of a model over draws, from sums of its runs (runs, passages, 2)."""
    totals, runs = drawn @ sums, len(sums)
    means = (totals[..., 0] / totals[..., 1]).mean(axis=0)
    if runs > 1:
        whole = sums.sum(axis=1)
        spread = (whole[:, 0] / whole[:, 1]).std(ddof=1) / np.sqrt(runs)
        means += spread * generator.standard_t(runs - 1, size=len(drawn))
    return np.asarray(means)


def bootstrap(
    first: Sequence[Sums],
    second: Sequence[Sums],
    metric: Metric,
    resamples: int,
    seed: int,
    *,
    paired: bool = True,
) -> npt.NDArray[np.float64]:
    """Second minus first, over draws of passages.

    Args:
        first: Passages.
        second: As many, in the order of their pairs.
        metric: What is compared.
        resamples: How many draws.
        seed: Of the draws.
        paired: The same draws on both sides, because these are the same passages; else each side has its own.
    """
    one, other = (_sums(passages, metric)[None] for passages in (first, second))
    return _differences(one, other, metric, resamples, seed, paired=paired)


def _differences(
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    metric: Metric,
    resamples: int,
    seed: int,
    *,
    paired: bool,
) -> npt.NDArray[np.float64]:
    """Second minus first over draws, from sums (runs, passages, 2)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    differences = []
    at_once = max(1, AT_ONCE // (first.shape[1] * max(len(first), len(second))))
    for begin in range(0, resamples, at_once):
        count = min(at_once, resamples - begin)
        drawn = _drawn(generator, first.shape[1], count)
        other = drawn if paired else _drawn(generator, second.shape[1], count)
        one, two = _drawn_means(generator, drawn, first), _drawn_means(generator, other, second)
        differences.append(_numbers(two, metric) - _numbers(one, metric))
    return np.concatenate(differences)


def _drawn(generator: np.random.Generator, passages: int, count: int) -> npt.NDArray[np.int64]:
    """How often each passage is in each of some draws with replacement, (draws, passages)."""
    return generator.multinomial(passages, np.full(passages, 1 / passages), size=count)


def _sums(passages: Sequence[Sums], metric: Metric) -> npt.NDArray[np.float64]:
    return np.array([metric.quotient(one) for one in passages], dtype=np.float64)


def _numbers(quotients: npt.NDArray[np.float64], metric: Metric) -> npt.NDArray[Any]:
    """The metric of nats per unit."""
    return quotients / np.log(2) if metric.bits else np.exp(quotients)


def interval_of(draws: npt.NDArray[np.float64], level: float) -> tuple[float, float]:
    """The middle fraction of the draws (percentile interval)."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
