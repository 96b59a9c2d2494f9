"""Many models on the same text: each pair is compared; what is sure of all pairs at once gives their ranks.

Of 45 pairs of equal models two are "clear" by chance alone. So p-values are adjusted for the number of pairs
(Holm 1979): the probability that chance makes any of the differences sure is at most one minus the level.
A model's rank lies between one more than the number of models that are surely better, and the number of
models that are not surely worse; these intervals hold for all models at once.
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
    """A model among others, and which ranks it can have."""

    model: str
    value: float
    seeds: int  # runs that the value is the mean of
    best_rank: int  # 1 + the number of models that are surely better
    worst_rank: int  # the number of models less those that are surely worse

    @property
    def ranks(self) -> str:
        """The interval, as a table shows it."""
        return (
            str(self.best_rank)
            if self.best_rank == self.worst_rank
            else f"{self.best_rank}-{self.worst_rank}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPair:
    """Two of the models, the first one with the better number."""

    first: int  # places in `Ranking.models`, from 1
    second: int
    difference: ModelDifference
    p: float | None  # two-sided: below 5 % exactly if zero is outside the interval of 95 %
    p_adjusted: float | None  # by Holm, for the number of pairs
    is_sure: bool  # with all pairs at once, and by more than rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Models by their number, the best first, and all pairs of them."""

    metric: str
    split: str
    level: float
    passages: int
    models: tuple[RankedModel, ...]
    pairs: tuple[ModelPair, ...]  # those of the best model first
    left_out: tuple[tuple[str, str], ...] = ()  # models, and why they are not compared


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
    if len(every := with_distinct_models(runs_of_models(alike))) < 2:
        said = "".join(f". {name}: {why}" for name, why in left_out)
        raise HarnessError(
            f"{path}: {len(every)} models on {split} to compare; expected two or more on the same data by the"
            f" same convention{said}"
        )
    return rank(every, split=split, metric=metric, level=level, allow=allow, left_out=left_out)


def _alike(
    results: Iterable[Result], metric: str, allow: Collection[str]
) -> tuple[list[Result], list[tuple[str, str]]]:
    """The largest set of results that compare with each other; and the others, each with the reason."""
    counted, left_out = metric_named(metric), list[tuple[Result, str]]()
    groups: list[list[Result]] = []
    for one in results:
        if one.broken:
            left_out.append((one, f"violates {', '.join(one.broken)}: its number is meaningless"))
        elif (value := counted.of(one.total)) is None or not math.isfinite(value):
            left_out.append((one, f"{metric} was not counted, or is too large to represent"))
        elif fitting := [group for group in groups if not why_unlike(group[0], one, allow)]:
            fitting[0].append(one)
        else:
            groups.append([one])
    # Of equals the last one.
    largest = max(reversed(groups), key=lambda group: len(runs_of_models(group)), default=[])
    for one in (one for group in groups if group is not largest for one in group):
        left_out.append((one, "; ".join(why_unlike(largest[0], one, allow))))
    kept = {identity_of(one) for one in largest}  # by another of their results
    last = {identity_of(one): (one.model, why) for one, why in left_out}
    return largest, [named for identity, named in last.items() if identity not in kept]


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
    counted = metric_named(metric)
    ordered = _best_first(models, counted)
    places = list(combinations(range(len(ordered)), 2))
    found = [
        compare_runs(ordered[one], ordered[other], metric=metric, level=level, allow=allow)
        for one, other in places
    ]
    ps = [None if one.p_one_sided is None else min(1.0, 2 * one.p_one_sided) for one in found]
    adjusted = holm([1.0 if p is None else p for p in ps])
    pairs = tuple(
        ModelPair(
            first=one + 1,
            second=other + 1,
            difference=difference,
            p=p,
            p_adjusted=None if p is None else all_at_once,
            is_sure=all_at_once < 1 - level and not difference.is_rounding,
        )
        for (one, other), difference, p, all_at_once in zip(places, found, ps, adjusted, strict=True)
    )
    better = Counter(pair.second for pair in pairs if pair.is_sure)  # how many are surely better than each
    worse = Counter(pair.first for pair in pairs if pair.is_sure)
    return Ranking(
        metric=metric,
        split=split,
        level=level,
        passages=len(ordered[0][0].articles),
        models=tuple(
            RankedModel(
                model=runs[0].model,
                value=mean_number(runs, counted),
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
    """The interval of ranks of each result, in their order.

    Empty if it does not compare with most others, or if the passages are too few for any interval.
    """
    alike, _ = _alike(results, metric, ())
    ordered = _best_first([[one] for one in alike], metric_named(metric))
    found = rank(ordered, metric=metric, level=level) if len(ordered) > 1 else None
    if found is None or all(pair.p is None for pair in found.pairs):
        return [""] * len(results)
    ranks = {id(runs[0]): one.ranks for runs, one in zip(ordered, found.models, strict=True)}
    return [ranks.get(id(one), "") for one in results]


def holm(ps: Sequence[float]) -> list[float]:
    """p-values adjusted for their number (Holm 1979): the smallest times n, the next times n - 1, and so on.

    >>> holm([0.03, 0.01, 0.04])
    [0.06, 0.03, 0.06]
    """
    found, largest = [0.0] * len(ps), 0.0
    for place, number in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - place) * ps[number]))
        found[number] = largest
    return found
