"""How much two models differ, and whether chance explains it: an interval by Student's t over articles.

The articles of a test set are a sample. The difference is that of the whole texts; how much it varies is
estimated without each article in turn, the same one for both models. So both are paired by article, whatever
depends on another within it. Nats are summed over articles before they are divided: each number is an exact
perplexity.

Runs of one recipe with other seeds are a sample too. Their number is the mean over runs, in nats per token,
and each side adds the variance of its mean over seeds.

The jackknife leaves out each passage once. The numbers without it say how much the number would vary over
other passages (Tukey 1958; Efron and Stein 1981). Student's t gives the interval. Long passages weigh more:
a few can decide the variance. So its degrees of freedom follow from the lengths (Satterthwaite 1946,
as in Bell and McCaffrey 2002). They are the number of passages less one if all are equally long, and near 1
if one is much longer than the others. Variances of passages and of seeds add up, each with its degrees of
freedom (Welch 1947). Nothing is drawn: the same results always give the same interval.
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
    EXACT,
    MAX_PASSAGE_SHARE,
    MIN_PASSAGES,
    MUST_AGREE,
    HarnessError,
)
from lm_benchmarks.measuring.select import expect_alike, find_runs, last_of_models, with_distinct_models
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records import Result, read_results

Numbers = npt.NDArray[np.float64]

SUM_ROUNDING: Final = 1e-9  # of sums: 2.9999999999 degrees are 3


@dataclass(frozen=True, slots=True)
class Chance:
    """A variance, and the degrees of freedom with which it is known."""

    variance: float
    degrees: float

    def interval(self, value: float, level: float) -> tuple[float, float]:
        """Where the truth is, with a probability of `level`, if `value` was found."""
        width = float(stdtrit(self.degrees, (1 + level) / 2)) * math.sqrt(self.variance)
        return value - width, value + width

    def p_one_sided(self, value: float) -> float:
        """How probable chance alone gives `value` or more, or, if it is negative, `value` or less."""
        if not self.variance:
            return 0.0 if value else 0.5
        return float(stdtr(self.degrees, -abs(value) / math.sqrt(self.variance)))


def expect_level(level: float) -> None:
    """Refuse a level of an interval that is not a fraction."""
    if not 0 < level < 1:
        raise HarnessError(f"level {level}; expected one between 0 and 1")


def why_no_sample(counts: Numbers) -> str:
    """Say why passages of these lengths cannot show chance; empty if they can."""
    if len(counts) < MIN_PASSAGES:
        return "too few for an interval"
    if (share := counts.max() / counts.sum()) > MAX_PASSAGE_SHARE:
        return f"one has {share:.0%} of the text, which is too much for an interval"
    return ""


def jackknife(without: Numbers, counts: Numbers) -> Chance:
    """The variance of a number, from the number without each passage, and how many tokens each has."""
    count = len(without)
    variance = (count - 1) / count * ((without - without.mean()) ** 2).sum()
    return Chance(float(variance), degrees_of_freedom(counts))


def degrees_of_freedom(counts: Numbers) -> float:
    """The degrees of freedom of a jackknife's variance, if passages vary alike but have different lengths.

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
    """What the jackknife's variance of a mean over tokens is on average, if each passage varies by 1.

    >>> expected_variance(np.array([7.0, 7.0, 7.0, 7.0]))
    0.25
    """
    return (len(counts) - 1) / len(counts) * _trace(counts / counts.sum())


def _trace(w: Numbers) -> float:
    """Of S in `degrees_of_freedom`."""
    return float(((w / (1 - w)) ** 2 * (1 - 2 * w + (w**2).sum())).sum())


def combined(parts: Sequence[Chance]) -> Chance:
    """The chance of a sum of independent parts.

    The degrees of freedom (Welch and Satterthwaite) are rounded down, as for printed tables: two seeds of
    each model leave one or two, and intervals with a fraction more hold the truth too seldom.

    >>> combined([Chance(1.0, 4.0), Chance(2.0, 4.0)])
    Chance(variance=3.0, degrees=7.0)
    """
    if len(parts) == 1:
        return parts[0]
    variance = sum(part.variance for part in parts)
    if not 0 < variance < math.inf:
        return Chance(variance, min(part.degrees for part in parts))
    degrees = 1 / sum((part.variance / variance) ** 2 / part.degrees for part in parts)
    return Chance(variance, max(min(degrees, 1.0), float(math.floor(degrees + SUM_ROUNDING))))  # not to none


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
    level: float = CONFIDENCE_LEVEL,
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
    for run in last_of_models(one, fields=MUST_AGREE):
        if len(last_of_models([run, *other], fields=MUST_AGREE)) == len(other):
            raise HarnessError(
                f"{path}: {first} and {second} are one model, {run.signature['model']}; expected two models"
            )
    return compare_runs(*with_distinct_models([one, other]), metric=metric, level=level, allow=allow)


def compare_results(first: Result, second: Result, **options: Any) -> ModelDifference:
    """Compare two results, as `compare_runs` of one run each."""
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
