"""How much two models differ, and whether chance explains it: an interval by Student's t over articles.

The articles of a test set are a sample. The difference is that of the whole texts; how much it varies is
estimated without each article in turn, the same one for both models. So both are paired by article, whatever
depends on another within it. Nats are summed over articles before they are divided: each number is an exact
perplexity.

Runs of one recipe with other seeds are a sample too. Their number is the mean over runs, in nats per token,
and each side adds the variance of its mean over seeds; see `chance`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from lm_benchmarks.choices import EXACT, LEVEL
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.chance import Chance, Numbers, combined, expect_level, jackknife, why_no_sample
from lm_benchmarks.measuring.select import expect_alike, find_runs
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records import Result, read_results

ROUNDING: Final = {"fp32": 1e-5, "tf32": 1e-4, "bf16": 1e-3}  # of a perplexity, by the precision


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDifference:
    """How a second model's number differs from the first one's, on the same text."""

    first_model: str
    second_model: str
    first_broken: tuple[str, ...]  # laws that the first model breaks
    second_broken: tuple[str, ...]
    metric: str
    first: float
    second: float
    interval: tuple[float, float] | None  # of second - first; None: see `no_interval`
    p_one_sided: float | None  # how probable chance alone gives this difference, or more of the same sign
    degrees: float | None  # degrees of freedom of Student's t
    passages: int
    level: float
    no_interval: str  # why the passages give none
    rounding: float  # what the arithmetic alone can change the numbers by
    first_runs: tuple[float, ...]  # the number of each run, by seed
    second_runs: tuple[float, ...]

    @property
    def difference(self) -> float:
        """Second minus first; negative means that the second model is better."""
        return self.second - self.first

    @property
    def alone(self) -> str:
        """The model with one run, if the other has several: the interval lacks the variation of its seed."""
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
        """Return True if rounding alone can make such a difference."""
        return abs(self.difference) <= self.rounding


def compare(
    results: str | Path,
    first: str,
    second: str,
    *,
    data: str = "",
    split: str = "test",
    metric: str = "perplexity",
    level: float = LEVEL,
    allow: Collection[str] = (),
) -> ModelDifference:
    """Compare two models whose results are in a file.

    For example, `compare("results.jsonl", "kn-5", "runs/lstm").interval`.

    Args:
        results: The file of JSON lines that `measure` wrote.
        first: A model, by its name in `measure`, in tables or in signatures, or by the beginning of one that
            fits no other model. Of several results of a model, the last one counts (of each seed).
        second: The other model.
        data: Name of the dataset; empty: any.
        split: `train`, `valid` or `test`.
        metric: A name in METRICS.
        level: Confidence level.
        allow: Signature fields that may differ.

    Raises:
        HarnessError: A model is missing or its name fits several; or the results cannot be compared.
    """
    path = Path(results)
    read = read_results(path)
    one, other = (find_runs(read, name, split, path, data) for name in (first, second))
    return compare_runs(one, other, metric=metric, level=level, allow=allow)


def compare_results(first: Result, second: Result, **options: Any) -> ModelDifference:
    """Compare two results, as `compare_runs` of one run each."""
    return compare_runs([first], [second], **options)


def compare_runs(
    first: Sequence[Result],
    second: Sequence[Result],
    *,
    metric: str = "perplexity",
    level: float = LEVEL,
    allow: Collection[str] = (),
) -> ModelDifference:
    """Compare two models, each by its runs with different seeds; see `compare`."""
    expect_level(level)
    for run in (*first[1:], *second):
        expect_alike(first[0], run, allow)
    counted = metric_named(metric)
    if metric == "piece-perplexity" and len({_pieces(run) for run in (*first, *second)}) > 1:
        raise HarnessError(
            f"{first[0].model} and {second[0].model} have different tokenizers, so their perplexities per"
            " token cannot be compared; choose --metric bits-per-byte"
        )
    each = [tuple(_value(run, metric) for run in runs) for runs in (first, second)]
    means = [mean_number(runs, counted) for runs in (first, second)]
    difference = means[1] - means[0]
    sums = [np.stack([sums_of_passages(run.articles, counted) for run in runs]) for runs in (first, second)]
    chance, none = chance_of(sums, counted)
    return ModelDifference(
        first_model=first[0].model,
        second_model=second[0].model,
        first_broken=_broken(first),
        second_broken=_broken(second),
        metric=metric,
        first=means[0],
        second=means[1],
        interval=None if chance is None else chance.interval(difference, level),
        p_one_sided=None if chance is None else chance.p_one_sided(difference),
        degrees=None if chance is None else chance.degrees,
        passages=len(first[0].articles),
        level=level,
        no_interval=none,
        rounding=max(map(abs, means)) * max(_rounding(one, other) for one in first for other in second),
        first_runs=each[0],
        second_runs=each[1],
    )


def _pieces(result: Result) -> tuple[int, ...]:
    return tuple(one.pieces for one in result.articles)


def _broken(runs: Iterable[Result]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(law for run in runs for law in run.broken))


def mean_number(runs: Sequence[Result], metric: Metric) -> float:
    """The metric of the mean nats per unit over runs; of a single run exactly its number."""
    if len(runs) == 1:
        return metric.of(runs[0].total) or 0.0
    quotients = np.array([metric.quotient(run.total) for run in runs])
    return float(_numbers((quotients[:, 0] / quotients[:, 1]).mean(), metric))


def _rounding(first: Result, second: Result) -> float:
    """What the arithmetic alone can change a number by, as a fraction of it."""
    both = (first.signature, second.signature)
    exact = all(signature.get("dtype", "float32") in EXACT for signature in both)
    precisions = {signature.get("precision", "fp32") if exact else "bf16" for signature in both}
    return max(ROUNDING.get(precision, 0.0) for precision in precisions)


def metric_named(name: str) -> Metric:
    """A metric by its name; another name is refused."""
    if name not in METRICS:
        raise HarnessError(f"metric {name!r}; expected one of {', '.join(METRICS)}")
    return METRICS[name]


def _value(result: Result, metric: str) -> float:
    value = METRICS[metric].of(result.total)
    if value is None:
        raise HarnessError(f"{result.model}: {metric} was not counted; choose {_counted(result)}")
    if not math.isfinite(value):
        raise HarnessError(
            f"{result.model}: {metric} is too large to represent; choose --metric bits-per-byte"
        )
    return value


def _counted(result: Result) -> str:
    """The metrics that a result has, as options."""
    return " or ".join(f"--metric {name}" for name, metric in METRICS.items() if metric.of(result.total))


def chance_of(models: Sequence[Numbers], metric: Metric) -> tuple[Chance | None, str]:
    """What chance adds to the number of a model, or to the difference of two on the same passages.

    Of each model there are the sums of its runs, (runs, passages, 2), as `sums_of_passages` gives
    them. Returns the chance of passages and of seeds; or None and why it is not known.
    """
    counts = sum(sums[..., 1].mean(axis=0) for sums in models)
    if why := why_no_sample(np.asarray(counts)):
        return None, why
    with np.errstate(over="ignore", invalid="ignore"):
        left = [sums.sum(axis=1, keepdims=True) - sums for sums in models]
        without = [_numbers(_quotients(one).mean(axis=0), metric) for one in left]
        parts = [jackknife(np.subtract.reduce(without), np.asarray(counts))]
        for runs in (_quotients(sums.sum(axis=1)) for sums in models):
            if len(runs) > 1:
                others = _numbers((runs.sum() - runs) / (len(runs) - 1), metric)
                parts.append(jackknife(others, np.ones(len(runs))))
    found = combined(parts)
    return (found, "") if math.isfinite(found.variance) else (None, "numbers too large for an interval")


def sums_of_passages(passages: Sequence[Sums], metric: Metric) -> Numbers:
    """Nats and what divides them, (passages, 2)."""
    return np.array([metric.quotient(one) for one in passages])


def _quotients(sums: Numbers) -> Numbers:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _numbers(quotients: Numbers, metric: Metric) -> Numbers:
    """The metric of nats per unit."""
    with np.errstate(over="ignore"):  # infinite, as `Score.perplexity`
        return np.asarray(quotients / np.log(2) if metric.bits else np.exp(quotients))
