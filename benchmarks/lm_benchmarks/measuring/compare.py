"""How much two models differ, and whether chance explains it: an interval by Student's t over articles.

The articles of a test set are a sample. The difference is that of the whole texts; its variance is estimated
by leaving out each article in turn, the same one for both models. Pairing by article is valid however much
tokens within an article depend on each other. Nats are summed over articles before they are divided: every
number is an exact perplexity.

Runs of one recipe with different seeds are a sample too. Their number is the mean over runs, in nats per
token, and each side adds the variance of its mean over seeds.

The jackknife leaves out each passage once. The numbers without it show how much the number would vary over
other passages (Tukey 1958; Efron and Stein 1981). Student's t gives the interval. Long passages weigh more:
a few can decide the variance. So its degrees of freedom follow from the lengths (Satterthwaite 1946,
as in Bell and McCaffrey 2002). They are the number of passages minus one if all are equally long, and near 1
if one is much longer than the others. Variances of passages and of seeds add up, each with its degrees of
freedom (Welch 1947). Nothing is random: the same results always give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from lm_benchmarks.choices import (
    CONFIDENCE_LEVEL,
    EXACT_DTYPES,
    MAX_PASSAGE_SHARE,
    MIN_PASSAGES,
    MUST_AGREE,
    HarnessError,
)
from lm_benchmarks.measuring.select import expect_alike, find_runs, last_of_models, with_distinct_models
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records import Result, read_results

Numbers = npt.NDArray[np.float64]

DEGREES_ROUNDING: Final = 1e-9  # 2.9999999999 degrees are 3


@dataclass(frozen=True, slots=True)
class Chance:
    """A variance, and its degrees of freedom."""

    variance: float
    degrees: float

    def interval(self, value: float, level: float) -> tuple[float, float]:
        """Return the confidence interval around a measured value."""
        width = float(stdtrit(self.degrees, (1 + level) / 2)) * math.sqrt(self.variance)
        return value - width, value + width

    def p_one_sided(self, value: float) -> float:
        """Return the probability that chance alone gives `value` or more (`value` or less if negative)."""
        if not self.variance:
            return 0.0 if value else 0.5
        return float(stdtr(self.degrees, -abs(value) / math.sqrt(self.variance)))


def expect_level(level: float) -> None:
    """Reject a confidence level that is not a fraction."""
    if not 0 < level < 1:
        raise HarnessError(f"level {level}; expected a number between 0 and 1")


def why_no_sample(counts: Numbers) -> str:
    """Return why passages of these lengths cannot give an interval; empty if they can."""
    if len(counts) < MIN_PASSAGES:
        return "too few for an interval"
    if (share := counts.max() / counts.sum()) > MAX_PASSAGE_SHARE:
        return f"one has {share:.0%} of the text, which is too much for an interval"
    return ""


def jackknife(without: Numbers, counts: Numbers) -> Chance:
    """Return the variance of a number, given the number without each passage and the passages' tokens."""
    count = len(without)
    variance = (count - 1) / count * ((without - without.mean()) ** 2).sum()
    return Chance(float(variance), degrees_of_freedom(counts))


def degrees_of_freedom(counts: Numbers) -> float:
    """Return the degrees of freedom of a jackknife's variance, if passages differ only in length.

    With the shares w of passages and the residuals e - sum(w e), the variance is that of a sum of squares
    with the matrix S = R (I - 1w' - w1' + w'w 11') R, R = diag(w / (1 - w)). Satterthwaite's number is
    trace(S)^2 / trace(S^2), here without the matrix, which has a million numbers for a thousand passages.
    """
    w = counts / counts.sum()
    r2, s = (w / (1 - w)) ** 2, (w**2).sum()
    p, q, m = r2.sum(), (r2 * w).sum(), (r2 * w**2).sum()
    of_square = (s * p) ** 2 + 2 * p * m - 4 * s * p * q + 2 * q**2 + (r2**2 * (1 + 2 * s - 4 * w)).sum()
    return float(_trace(w) ** 2 / of_square)


def expected_variance(counts: Numbers) -> float:
    """Return the jackknife's expected variance of a mean over tokens, if passages have variance 1.

    >>> expected_variance(np.array([7.0, 7.0, 7.0, 7.0]))
    0.25
    """
    return (len(counts) - 1) / len(counts) * _trace(counts / counts.sum())


def _trace(w: Numbers) -> float:
    """Return the trace of S in `degrees_of_freedom`."""
    return float(((w / (1 - w)) ** 2 * (1 - 2 * w + (w**2).sum())).sum())


def combined(parts: Sequence[Chance]) -> Chance:
    """Return the variance of a sum of independent parts.

    The degrees of freedom (Welch and Satterthwaite) are rounded down, as for printed tables: two seeds per
    model leave one or two, and intervals with a fraction more contain the truth too rarely.

    >>> combined([Chance(1.0, 4.0), Chance(2.0, 4.0)])
    Chance(variance=3.0, degrees=7.0)
    """
    if len(parts) == 1:
        return parts[0]
    variance = sum(part.variance for part in parts)
    if not 0 < variance < math.inf:
        return Chance(variance, min(part.degrees for part in parts))
    degrees = 1 / sum((part.variance / variance) ** 2 / part.degrees for part in parts)
    # At least the fraction, if it is below 1.
    return Chance(variance, max(min(degrees, 1.0), float(math.floor(degrees + DEGREES_ROUNDING))))


RELATIVE_ROUNDING: Final = {"fp32": 1e-5, "tf32": 1e-4, "bf16": 1e-3}  # of a perplexity, by precision


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDifference:
    """How a second model's number differs from the first model's, on the same text."""

    first_model: str
    second_model: str
    first_broken: tuple[str, ...]  # invariants that the first model violates
    second_broken: tuple[str, ...]
    metric: str
    first: float
    second: float
    interval: tuple[float, float] | None  # of second - first; None: see `no_interval`
    p_one_sided: float | None  # probability that chance gives this difference or more, with this sign
    degrees: float | None  # degrees of freedom of Student's t
    passages: int
    level: float
    no_interval: str  # why there is no interval
    rounding: float  # how much the arithmetic alone can change the numbers
    first_runs: tuple[float, ...]  # the number of each run, by seed
    second_runs: tuple[float, ...]

    @property
    def difference(self) -> float:
        """Second minus first; negative means that the second model is better."""
        return self.second - self.first

    @property
    def single_run_model(self) -> str:
        """The model with one run, if the other has several: the interval omits the variation of its seed."""
        first_count, second_count = len(self.first_runs), len(self.second_runs)
        if first_count == second_count or min(first_count, second_count) != 1:
            return ""
        return self.first_model if first_count == 1 else self.second_model

    @property
    def is_significant(self) -> bool:
        """True if zero is outside the interval, and the difference is more than rounding."""
        return (
            self.interval is not None
            and (self.interval[0] > 0 or self.interval[1] < 0)  # False for NaN
            and not self.is_rounding
        )

    @property
    def is_rounding(self) -> bool:
        """True if rounding alone can cause such a difference."""
        return abs(self.difference) <= self.rounding


def compare(
    results: str | Path,
    first: str,
    second: str,
    *,
    data: str = "",
    split: str = "test",
    metric: str = "perplexity",
    level: float = CONFIDENCE_LEVEL,
    allow: Collection[str] = (),
) -> ModelDifference:
    """Compare two models whose results are in a file.

    For example, `compare("results.jsonl", "kn-5", "runs/lstm").interval`.

    Args:
        results: The file of JSON lines that `measure` wrote.
        first: A model, by its name in `measure`, in tables or in signatures, or by a prefix of such a name
            that fits no other model. If a model has several results, the last one counts (of each seed).
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
    first_runs, second_runs = (find_runs(read, name, split, path, data) for name in (first, second))
    for run in last_of_models(first_runs, fields=MUST_AGREE):
        if len(last_of_models([run, *second_runs], fields=MUST_AGREE)) == len(second_runs):
            raise HarnessError(
                f"{path}: {first} and {second} are one model, {run.signature['model']}; expected two models"
            )
    return compare_runs(
        *with_distinct_models([first_runs, second_runs]), metric=metric, level=level, allow=allow
    )


def compare_results(first: Result, second: Result, **options: Any) -> ModelDifference:
    """Compare two results, as `compare_runs` does with one run per model."""
    return compare_runs([first], [second], **options)


def compare_runs(
    first: Sequence[Result],
    second: Sequence[Result],
    *,
    metric: str = "perplexity",
    level: float = CONFIDENCE_LEVEL,
    allow: Collection[str] = (),
) -> ModelDifference:
    """Compare two models, each by its runs with different seeds; see `compare`."""
    expect_level(level)
    for run in (*first[1:], *second):
        expect_alike(first[0], run, allow)
    chosen = metric_named(metric)
    if metric == "piece-perplexity" and len({_pieces(run) for run in (*first, *second)}) > 1:
        raise HarnessError(
            f"{first[0].model} and {second[0].model} have different tokenizers, so their perplexities per"
            " token cannot be compared; choose --metric bits-per-byte"
        )
    values = [tuple(_value(run, metric) for run in runs) for runs in (first, second)]
    means = [mean_number(runs, chosen) for runs in (first, second)]
    difference = means[1] - means[0]
    sums = [np.stack([sums_of_passages(run.articles, chosen) for run in runs]) for runs in (first, second)]
    chance, no_interval = chance_of(sums, chosen)
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
        no_interval=no_interval,
        rounding=max(map(abs, means))
        * max(_rounding(first_run, second_run) for first_run in first for second_run in second),
        first_runs=values[0],
        second_runs=values[1],
    )


def _pieces(result: Result) -> tuple[int, ...]:
    return tuple(passage.pieces for passage in result.articles)


def _broken(runs: Iterable[Result]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(invariant for run in runs for invariant in run.broken))


def mean_number(runs: Sequence[Result], metric: Metric) -> float:
    """Return the metric of the mean nats per unit over runs; for a single run, exactly its number."""
    if len(runs) == 1:
        return metric.of(runs[0].total) or 0.0
    quotients = np.array([metric.quotient(run.total) for run in runs])
    return float(_numbers((quotients[:, 0] / quotients[:, 1]).mean(), metric))


def _rounding(first: Result, second: Result) -> float:
    """Return how much the arithmetic alone can change a number, as a fraction of it."""
    signatures = (first.signature, second.signature)
    exact = all(signature.get("dtype", "float32") in EXACT_DTYPES for signature in signatures)
    precisions = {signature.get("precision", "fp32") if exact else "bf16" for signature in signatures}
    return max(RELATIVE_ROUNDING.get(precision, 0.0) for precision in precisions)


def metric_named(name: str) -> Metric:
    """Return a metric by its name; reject unknown names."""
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
    """Return the metrics that a result has, as options."""
    return " or ".join(f"--metric {name}" for name, metric in METRICS.items() if metric.of(result.total))


def chance_of(models: Sequence[Numbers], metric: Metric) -> tuple[Chance | None, str]:
    """Return the variance of a model's number, or of the difference of two models on the same passages.

    `models` has the sums of the runs of each model, (runs, passages, 2), as `sums_of_passages` returns them.
    The variance includes passages and seeds. If it is unknown, returns None and the reason.
    """
    counts = sum(sums[..., 1].mean(axis=0) for sums in models)
    if reason := why_no_sample(np.asarray(counts)):
        return None, reason
    with np.errstate(over="ignore", invalid="ignore"):
        sums_without = [sums.sum(axis=1, keepdims=True) - sums for sums in models]
        numbers_without = [_numbers(_quotients(left_sums).mean(axis=0), metric) for left_sums in sums_without]
        parts = [jackknife(np.subtract.reduce(numbers_without), np.asarray(counts))]
        for runs in (_quotients(sums.sum(axis=1)) for sums in models):
            if len(runs) > 1:
                means_without = _numbers((runs.sum() - runs) / (len(runs) - 1), metric)
                parts.append(jackknife(means_without, np.ones(len(runs))))
    chance = combined(parts)
    return (chance, "") if math.isfinite(chance.variance) else (None, "numbers too large for an interval")


def sums_of_passages(passages: Sequence[Sums], metric: Metric) -> Numbers:
    """Return nats and their divisors, (passages, 2)."""
    return np.array([metric.quotient(passage) for passage in passages])


def _quotients(sums: Numbers) -> Numbers:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _numbers(quotients: Numbers, metric: Metric) -> Numbers:
    """Return the metric of nats per unit."""
    with np.errstate(over="ignore"):  # infinite, as `Score.perplexity`
        return np.asarray(quotients / np.log(2) if metric.bits else np.exp(quotients))
