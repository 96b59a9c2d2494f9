"""Whether two models differ by more than chance: a paired bootstrap over articles.

The articles of a test set are a sample. Drawn again with replacement, the same articles for both models, they
give the differences that other test sets would have given (Efron 1979; paired over texts as Koehn 2004 does
for translations). Sums over articles are drawn, not means, so that each draw is an exact perplexity.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lm_benchmarks.metrics import METRICS, Metric
from lm_benchmarks.records.result import Result
from wikitext_builder.errors import BuilderError

RESAMPLES: Final = 10_000
AT_ONCE: Final = 2**22  # numbers drawn at once: bounds memory
FEWEST: Final = 5  # passages below which no interval is given: there are too few different draws

MUST_AGREE: Final = {  # field of a signature: why numbers that differ in it are of different things
    "data": "other data",
    "split": "another part of the data",
    "convention": "another convention of what is counted",
    "passage": "another unit",
    "text": "another form of the text",
    "vocabulary": "another vocabulary: the fewer its words, the more are <unk> and easy",
    "eos": "another treatment of line ends",
    "context": "another context before each article",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a second model differs from a first one on the same text, with what chance may do."""

    metric: str
    first: float
    second: float
    interval: tuple[float, float] | None  # of second - first; None: too few passages to tell
    better: float | None  # the share of draws in which the second number is the lower one
    passages: int
    level: float
    resamples: int
    seed: int

    @property
    def difference(self) -> float:
        """Second minus first: negative, the second is better."""
        return self.second - self.first

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


def why_unlike(first: Result, second: Result, allowed: Collection[str] = ()) -> list[str]:
    """Why two results cannot be compared, a reason each; empty if they can be."""
    reasons = []
    for field, why in MUST_AGREE.items():
        one, other = (result.signature.get(field, "-") for result in (first, second))
        if one != other and field not in allowed:
            reasons.append(f"{why} ({field}: {one} and {other})")
    counts = [[(a.tokens, a.page_words) for a in result.articles] for result in (first, second)]
    if not reasons and not allowed and counts[0] != counts[1]:
        reasons.append(f"other tokens were scored ({first.total.tokens} and {second.total.tokens})")
    return reasons


def compare(
    first: Result,
    second: Result,
    *,
    metric: str = "perplexity",
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 1,
    allowed: Collection[str] = (),
) -> Comparison:
    """How the second result differs from the first.

    Args:
        first: The one to be better than.
        second: The one that may be.
        metric: A name in METRICS.
        level: Of the interval.
        resamples: Draws of the bootstrap.
        seed: Of the draws: the same seed, the same interval.
        allowed: Fields of signatures that may differ.

    Raises:
        BuilderError: They are of unlike data, or were not counted as the metric needs.
    """
    if reasons := why_unlike(first, second, allowed):
        raise BuilderError(
            f"{first.model} and {second.model} cannot be compared: {'; '.join(reasons)}. Measure both on the"
            " same data with the same options"
        )
    if len(first.articles) != len(second.articles):
        raise BuilderError(
            f"{first.model} and {second.model} have {len(first.articles)} and {len(second.articles)}"
            " passages; expected the same ones"
        )
    counted = _metric(metric)
    values = [counted.of(result.total) for result in (first, second)]
    for result, value in zip((first, second), values, strict=True):
        if value is None:
            raise BuilderError(f"{result.model}: {metric} was not counted; choose another metric")
    draws = _draws(first, second, counted, resamples, seed)
    return Comparison(
        metric=metric,
        first=values[0] or 0.0,
        second=values[1] or 0.0,
        interval=None if draws is None else _interval(draws, level),
        better=None if draws is None else float((draws < 0).mean()),
        passages=len(first.articles),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def _metric(name: str) -> Metric:
    if name not in METRICS:
        raise BuilderError(f"metric {name!r}; expected one of {', '.join(METRICS)}")
    return METRICS[name]


def _draws(
    first: Result, second: Result, metric: Metric, resamples: int, seed: int
) -> npt.NDArray[np.float64] | None:
    """Differences of the metric over draws of passages."""
    passages = len(first.articles)
    if passages < FEWEST:
        return None
    sums = [_sums(result, metric) for result in (first, second)]
    generator = np.random.Generator(np.random.PCG64(seed))
    differences = []
    at_once = max(1, AT_ONCE // passages)
    for begin in range(0, resamples, at_once):
        count = min(at_once, resamples - begin)
        drawn = generator.multinomial(passages, np.full(passages, 1 / passages), size=count)
        differences.append(_values(drawn @ sums[1], metric) - _values(drawn @ sums[0], metric))
    return np.concatenate(differences)


def _sums(result: Result, metric: Metric) -> npt.NDArray[np.float64]:
    return np.array([metric.parts(article) for article in result.articles], dtype=np.float64)


def _values(sums: npt.NDArray[np.float64], metric: Metric) -> npt.NDArray[Any]:
    quotients = sums[:, 0] / sums[:, 1]
    return quotients / np.log(2) if metric.bits else np.exp(quotients)


def _interval(draws: npt.NDArray[np.float64], level: float) -> tuple[float, float]:
    """The middle share of the draws (percentile interval)."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
