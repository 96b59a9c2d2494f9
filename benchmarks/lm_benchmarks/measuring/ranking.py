"""Ranks models on the same text, by the pairwise differences that are significant after Holm's correction.

Among 45 pairs of equal models, two differences are significant by chance alone. So p-values are adjusted for
the number of pairs (Holm 1979): the probability that chance makes any difference significant is at most one
minus the level. A model's rank lies between one more than the number of significantly better models, and the
number of models that are not significantly worse; these intervals hold for all models at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from lm_benchmarks.choices import CONFIDENCE_LEVEL, MUST_AGREE, HarnessError
from lm_benchmarks.measuring.compare import (
    ModelDifference,
    compare_runs,
    expect_level,
    mean_number,
    metric_named,
)
from lm_benchmarks.measuring.select import (
    find_runs,
    identity_of,
    last_of_models,
    on_split,
    runs_of_models,
    why_unlike,
    with_distinct_models,
)
from lm_benchmarks.metrics import Metric
from lm_benchmarks.records import Result, read_results


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedModel:
    """A model among others, and the interval of its rank."""

    model: str
    value: float
    seeds: int  # runs, whose mean is the value
    best_rank: int  # 1 + the number of significantly better models
    worst_rank: int  # the number of models minus the significantly worse ones

    @property
    def ranks(self) -> str:
        """The interval of ranks, as a table shows it."""
        return (
            str(self.best_rank)
            if self.best_rank == self.worst_rank
            else f"{self.best_rank}-{self.worst_rank}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPair:
    """Two of the models, the one with the better number first."""

    first: int  # number in `Ranking.models`, from 1
    second: int
    difference: ModelDifference
    p: float | None  # two-sided: below 5 % exactly if zero is outside the 95 % interval
    p_adjusted: float | None  # by Holm, for the number of pairs
    is_significant: bool  # after the adjustment, and by more than rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Models by their number, the best first, and all pairs of them."""

    metric: str
    split: str
    level: float
    passages: int
    models: tuple[RankedModel, ...]
    pairs: tuple[ModelPair, ...]  # pairs with the best model first
    left_out: tuple[tuple[str, str], ...] = ()  # models, and why they are left out


def compare_all(
    results: str | Path,
    models: Collection[str] = (),
    *,
    data: str = "",
    split: str = "test",
    metric: str = "perplexity",
    level: float = CONFIDENCE_LEVEL,
    allow: Collection[str] = (),
) -> Ranking:
    """Compare all models of a file with each other.

    For example, `compare_all("results.jsonl").models[0].ranks`. Models that violate an invariant, or cannot
    be compared with most of the others, are left out, with the reason.

    Args:
        results: The file of JSON lines that `measure` wrote.
        models: Only these, named as for `compare`; none: all.
        data: As in `compare`.
        split: As in `compare`, like all that follow.
        metric: The smaller, the better.
        level: Confidence level of intervals, and of all pairs together.
        allow: Signature fields that may differ.

    Raises:
        HarnessError: Fewer than two models can be compared.
    """
    expect_level(level)
    path = Path(results)
    read = read_results(path)
    if models:
        chosen = [run for name in dict.fromkeys(models) for run in find_runs(read, name, split, path, data)]
    else:
        chosen = last_of_models(on_split(read, split, data), fields=MUST_AGREE)
    alike, left_out = _alike(chosen, metric, allow)
    if len(compared := with_distinct_models(runs_of_models(alike))) < 2:
        reasons = "".join(f". {name}: {reason}" for name, reason in left_out)
        raise HarnessError(
            f"{path}: {len(compared)} models on {split} to compare; expected two or more on the same data by"
            f" the same convention{reasons}"
        )
    return rank(compared, split=split, metric=metric, level=level, allow=allow, left_out=left_out)


def _alike(
    results: Iterable[Result], metric: str, allow: Collection[str]
) -> tuple[list[Result], list[tuple[str, str]]]:
    """Return the largest set of comparable results; and the other models, each with the reason."""
    chosen_metric, left_out = metric_named(metric), list[tuple[Result, str]]()
    groups: list[list[Result]] = []
    for result in results:
        if result.broken:
            left_out.append((result, f"violates {', '.join(result.broken)}: its number is meaningless"))
        elif (value := chosen_metric.of(result.total)) is None or not math.isfinite(value):
            left_out.append((result, f"{metric} was not counted, or is too large to represent"))
        elif fitting := [group for group in groups if not why_unlike(group[0], result, allow)]:
            fitting[0].append(result)
        else:
            groups.append([result])
    # Of equally large groups, the last one.
    largest = max(reversed(groups), key=lambda group: len(runs_of_models(group)), default=[])
    for result in (result for group in groups if group is not largest for result in group):
        left_out.append((result, "; ".join(why_unlike(largest[0], result, allow))))
    compared = {identity_of(result) for result in largest}  # by another of their results
    last = {identity_of(result): (result.model, reason) for result, reason in left_out}
    return largest, [entry for identity, entry in last.items() if identity not in compared]


def rank(
    models: Sequence[Sequence[Result]],
    *,
    split: str = "test",
    metric: str = "perplexity",
    level: float = CONFIDENCE_LEVEL,
    allow: Collection[str] = (),
    left_out: Iterable[tuple[str, str]] = (),
) -> Ranking:
    """Rank models that can be compared, each by its runs."""
    chosen_metric = metric_named(metric)
    ordered = _best_first(models, chosen_metric)
    index_pairs = list(combinations(range(len(ordered)), 2))
    differences = [
        compare_runs(ordered[first], ordered[second], metric=metric, level=level, allow=allow)
        for first, second in index_pairs
    ]
    one_sided = [difference.p_one_sided for difference in differences]
    ps = [None if p is None else min(1.0, 2 * p) for p in one_sided]
    adjusted = holm([1.0 if p is None else p for p in ps])
    pairs = tuple(
        ModelPair(
            first=first + 1,
            second=second + 1,
            difference=difference,
            p=p,
            p_adjusted=None if p is None else all_at_once,
            is_significant=all_at_once < 1 - level and not difference.is_rounding,
        )
        for (first, second), difference, p, all_at_once in zip(
            index_pairs, differences, ps, adjusted, strict=True
        )
    )
    better = Counter(pair.second for pair in pairs if pair.is_significant)
    worse = Counter(pair.first for pair in pairs if pair.is_significant)
    return Ranking(
        metric=metric,
        split=split,
        level=level,
        passages=len(ordered[0][0].articles),
        models=tuple(
            RankedModel(
                model=runs[0].model,
                value=mean_number(runs, chosen_metric),
                seeds=len(runs),
                best_rank=1 + better[place],
                worst_rank=len(ordered) - worse[place],
            )
            for place, runs in enumerate(ordered, start=1)
        ),
        pairs=pairs,
        left_out=tuple(left_out),
    )


def _best_first(models: Iterable[Sequence[Result]], metric: Metric) -> list[Sequence[Result]]:
    return sorted(models, key=lambda runs: (mean_number(runs, metric), runs[0].model))


def ranks_of(
    results: Sequence[Result], metric: str = "perplexity", level: float = CONFIDENCE_LEVEL
) -> list[str]:
    """Return the interval of ranks of each result, in their order.

    Empty if a result is not comparable with most others, or if the passages are too few for any interval.
    """
    alike, _ = _alike(results, metric, ())
    ordered = _best_first([[result] for result in alike], metric_named(metric))
    ranking = rank(ordered, metric=metric, level=level) if len(ordered) > 1 else None
    if ranking is None or all(pair.p is None for pair in ranking.pairs):
        return [""] * len(results)
    ranks = {id(runs[0]): model.ranks for runs, model in zip(ordered, ranking.models, strict=True)}
    return [ranks.get(id(result), "") for result in results]


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979): the smallest times n, the next times n - 1, and so on.

    >>> holm([0.03, 0.01, 0.04])
    [0.06, 0.03, 0.06]
    """
    adjusted, largest = [0.0] * len(ps), 0.0
    for position, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - position) * ps[index]))
        adjusted[index] = largest
    return adjusted
