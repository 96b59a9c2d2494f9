"""Has a model read the past? The same model on matched articles of before and after a date.

A model that has read some of the articles of before predicts them better: its bits per byte of the articles
of after are higher. Articles are compared in pairs that are alike in topic, quality and length; see
`matching`. The interval is a bootstrap over the articles of the pairs, each side by itself. Draws of whole
pairs differ less than two sets do, because pairs are alike: that would give more false alarms.

News is harder to predict for every model: new names, new events. A reference model that has read neither side
takes that into account. The difference of the reference on the same pairs is then subtracted, draw by draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lm_benchmarks.choices import FEWEST, LEVEL, RESAMPLES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.compare import bootstrap, expect_draws, interval_of
from lm_benchmarks.measuring.matching import Matching, Measured, match
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.measuring.months import Month, by_month, largest_step, months_of
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records.result import Result
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.plain import ARTICLES
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.text_overlap.words import words_of

PER_WORD: Final = Metric(
    label="bits per word",
    numerator="bits of the whole text",
    denominator="words, <unk> and one <eos> per line",
    quotient=lambda sums: (sums.nats, sums.tokens),
    bits=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """After minus before, of the matched articles."""

    metric: str
    before: float
    after: float
    difference: float  # without that of the reference, if there is one
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """What the difference between before and after says about a model."""

    model: str
    reference: str  # the model whose difference is subtracted; empty: none
    differences: tuple[Difference, ...]  # bits per byte, bits per word
    pairs: tuple[tuple[str, str], ...]  # titles of before and after
    articles: tuple[int, int]  # of before and after, matched or not
    matched_by: tuple[str, ...]  # words, length and, if they are known, categories and quality
    unmatched: tuple[Mapping[str, int], Mapping[str, int]]  # of before and after: see `match`
    dated: str  # which date of an article `months` counts: created, promoted, revision; empty: none is known
    months: tuple[Month, ...]  # empty: dates are not known
    step: tuple[str, float] | None  # the first month after the largest step, and by how much it rises
    level: float
    resamples: int
    seed: int

    @property
    def is_found(self) -> bool:
        """Returns True if the articles of before are clearly easier for the model, by bits per byte."""
        return self.differences[0].interval[0] > 0


def contamination(
    model: str,
    *,
    before: str | Path,
    after: str | Path,
    split: str = "test",
    by: str = "",
    reference: str = "",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
    progress: Progress = no_progress,
    **options: Any,
) -> Contamination:
    """Compare a model's predictions of matched articles of before and after a date.

    Args:
        model: A model that is trained already: a checkpoint, `transformers:…` or the like, see `measure`.
        before: A dataset of articles that stood there before the date.
        after: A dataset of articles that came after it, by the same selection.
        split: Of both datasets.
        by: The date whose month counts: created, promoted or revision; empty: the first one known for all.
        reference: A model that has read neither; its difference is subtracted.
        level: Of the intervals.
        resamples: Draws of the bootstrap.
        seed: Of the draws, and of models that draw random numbers.
        progress: Receives the number of tokens done.
        options: As those of `measure`.

    Raises:
        HarnessError: The model cannot be measured or differs between the datasets, or too few articles pair.
    """
    expect_draws(level, resamples, seed)
    sides = [load_dataset(Path(one)) for one in (before, after)]
    dated, months_of_sides = months_of(sides, split, by)
    shared = sides, split, months_of_sides, progress, {**options, "seed": seed}
    old, new = _measured(model, *shared)
    matching = _matching(old, new)
    others = _measured(reference, *shared) if reference else None
    months = by_month([*old, *new])
    chosen = [[old[one], new[other]] for one, other in matching.pairs]
    control = others and [[others[0][one], others[1][other]] for one, other in matching.pairs]
    return Contamination(
        model=model,
        reference=reference,
        differences=tuple(
            difference_of(name, metric, chosen, control, level=level, resamples=resamples, seed=seed)
            for name, metric in (("bits-per-byte", METRICS["bits-per-byte"]), ("bits-per-word", PER_WORD))
        ),
        pairs=tuple((one.title, other.title) for one, other in chosen),
        articles=(len(old), len(new)),
        matched_by=matching.by,
        unmatched=matching.unmatched,
        dated=dated,
        months=tuple(months),
        step=largest_step(months),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def said_unmatched(unmatched: Sequence[Mapping[str, int]]) -> str:
    """How many articles of before and of after have no partner, and why."""
    sides = zip(("before", "after"), unmatched, strict=True)
    said = [
        f"{sum(reasons.values())} of {side}: {', '.join(f'{n} {why}' for why, n in sorted(reasons.items()))}"
        for side, reasons in sides
        if reasons
    ]
    return "; ".join(said) or "none"


def _matching(before: Sequence[Measured], after: Sequence[Measured]) -> Matching:
    found = match(before, after)
    if len(found.pairs) < FEWEST:
        why = said_unmatched(found.unmatched)
        raise HarnessError(
            f"{len(found.pairs)} pairs of articles (without a partner: {why}); expected {FEWEST} or more:"
            " take larger datasets"
        )
    return found


def _measured(
    model: str,
    sides: Sequence[Dataset],
    split: str,
    months: Sequence[Sequence[str]],
    progress: Progress,
    options: Mapping[str, Any],
) -> list[list[Measured]]:
    """What the model makes of the articles of both sides, each without context."""
    results = [
        measure(
            model, side.path, splits=split, progress=progress, groups=False, context="article", **options
        )[0]
        for side in sides
    ]
    _expect_same_model(model, results)
    return [_articles(*one) for one in zip(sides, [split] * len(sides), months, results, strict=True)]


def _expect_same_model(model: str, results: Sequence[Result]) -> None:
    first, second = (one.signature for one in results)
    for name in ("model", "vocabulary") if first.get("words") == "closed" else ("model",):
        if first.get(name) != second.get(name):
            raise HarnessError(
                f"{model} is not the same on both sides ({name}: {first.get(name)} and {second.get(name)}):"
                " it is made from a dataset's train. Give a model that is trained already, as a checkpoint"
            )


def _articles(dataset: Dataset, split: str, months: Sequence[str], result: Result) -> list[Measured]:
    articles = list(dataset.articles(split))
    if len(articles) != len(result.articles) or not articles[0].title:
        raise HarnessError(f"{dataset.path}: {split} has no articles; expected the layout of WikiText")
    return [
        Measured(
            title=one.title,
            month=month,
            quality=quality,
            sums=sums,
            words=frozenset(words_of(" ".join(one.lines))),
            categories=categories,
        )
        for one, month, sums, (quality, categories) in zip(
            articles, months, result.articles, _described(dataset, split, len(articles)), strict=True
        )
    ]


def _described(dataset: Dataset, split: str, count: int) -> Iterator[tuple[str | None, frozenset[str]]]:
    """The quality of each article and the words of its categories, if the dataset has whole articles."""
    if not (dataset.path / ARTICLES).is_dir():
        yield from [(None, frozenset())] * count
        return
    for one in dataset.plain_articles(split):
        yield one.quality, frozenset(words_of(" ".join(one.categories)))


Pairs = Sequence[Sequence[Measured]]


def difference_of(
    name: str,
    metric: Metric,
    pairs: Pairs,
    control: Pairs | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> Difference:
    """After minus before of some pairs, with an interval.

    Args:
        name: Of the metric, for the result.
        metric: What is compared.
        pairs: An article of before and one of after.
        control: The same articles as the reference model predicts them; its difference is subtracted.
        level: Of the interval.
        resamples: Draws of the bootstrap.
        seed: Of the draws: the same articles are drawn for both models.
    """
    draws: npt.NDArray[np.float64] = np.zeros(resamples)
    total, values = 0.0, list[float]()
    for sign, model in ((1, pairs), (-1, control)):
        if model is None:
            continue
        old, new = ([pair[side].sums for pair in model] for side in (0, 1))
        both = [metric.of(sum(side, Sums())) or 0.0 for side in (old, new)]
        values += both
        total += sign * (both[1] - both[0])
        draws = draws + sign * bootstrap(old, new, metric, resamples, seed, paired=False)
    return Difference(
        metric=name, before=values[0], after=values[1], difference=total, interval=interval_of(draws, level)
    )
