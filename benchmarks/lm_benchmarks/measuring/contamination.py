"""Has a model read the past? The same model on matched articles of before and after a date.

A model that has read some of the articles of before predicts them better: its bits per byte of the articles
of after are higher. Each article of after is paired with one of before that is like it in topic (the words
that both have, weighted by how rare they are) and in length; take both sides by the same selection, so that
their quality is alike. The interval is a bootstrap over the articles of the pairs, each side by itself. Draws
of whole pairs differ less than two sets do, because pairs are alike: that would give more false alarms.

News is harder to predict for every model: new names, new events. A reference model that has read neither side
takes that into account. The difference of the reference on the same pairs is then subtracted, draw by draw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lm_benchmarks.choices import LEVEL, RESAMPLES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.compare import FEWEST, bootstrap, interval_of
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records.result import Result
from wikitext_builder.dataset.attribution import ATTRIBUTION, read_attribution
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.newness.words import words_of
from wikitext_builder.progress import Progress, no_progress

PER_WORD: Final = Metric(
    label="bits per word",
    numerator="bits of the whole text",
    denominator="words, <unk> and one <eos> per line",
    quotient=lambda sums: (sums.nats, sums.tokens),
    bits=True,
)
LENGTH_WEIGHT: Final = (
    0.2  # of a factor of two in length, against a topic without a word in common, which is 1
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An article, and how the model predicts it."""

    title: str
    month: str  # of its revision, such as 2024-05; empty if it is not known
    sums: Sums
    words: frozenset[str] = field(repr=False)

    @property
    def bits_per_byte(self) -> float:
        """The bits of the article per byte of its plain text."""
        return METRICS["bits-per-byte"].of(self.sums) or 0.0


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
    months: tuple[tuple[str, int, float], ...]  # month, articles, bits per byte; empty: dates are not known
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
        reference: A model that has read neither; its difference is subtracted.
        level: Of the intervals.
        resamples: Draws of the bootstrap.
        seed: Of the draws, and of models that draw random numbers.
        progress: Receives the number of tokens done.
        options: See `MeasureOptions`.

    Raises:
        HarnessError: The model cannot be measured, or is not the same on both datasets; or there are too few
            articles.
    """
    sides = [load_dataset(Path(one)) for one in (before, after)]
    options = {**options, "seed": seed}
    old, new = _measured(model, sides, split, progress, options)
    pairs = match(old, new)
    if len(pairs) < FEWEST:
        raise HarnessError(f"{len(pairs)} pairs of articles; expected {FEWEST} or more: take larger datasets")
    others = _measured(reference, sides, split, progress, options) if reference else None
    months = by_month([*old, *new])
    chosen = [[side[number] for number, side in zip(pair, (old, new), strict=True)] for pair in pairs]
    control = others and [[side[n] for n, side in zip(pair, others, strict=True)] for pair in pairs]
    return Contamination(
        model=model,
        reference=reference,
        differences=tuple(
            difference_of(name, metric, chosen, control, level=level, resamples=resamples, seed=seed)
            for name, metric in (("bits-per-byte", METRICS["bits-per-byte"]), ("bits-per-word", PER_WORD))
        ),
        pairs=tuple((one.title, other.title) for one, other in chosen),
        articles=(len(old), len(new)),
        months=tuple(months),
        step=largest_step(months),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def _measured(
    model: str, sides: Sequence[Dataset], split: str, progress: Progress, options: Mapping[str, Any]
) -> list[list[Measured]]:
    """The articles of both sides, each scored without context."""
    results = [
        measure(
            model, side.path, splits=split, progress=progress, groups=False, context="article", **options
        )[0]
        for side in sides
    ]
    _expect_same_model(model, results)
    return [_articles(side, split, result) for side, result in zip(sides, results, strict=True)]


def _expect_same_model(model: str, results: Sequence[Result]) -> None:
    first, second = (one.signature for one in results)
    for name in ("model", "vocabulary") if first.get("words") == "closed" else ("model",):
        if first.get(name) != second.get(name):
            raise HarnessError(
                f"{model} is not the same on both sides ({name}: {first.get(name)} and {second.get(name)}):"
                " it is made from a dataset's train. Give a model that is trained already, as a checkpoint"
            )


def _articles(dataset: Dataset, split: str, result: Result) -> list[Measured]:
    articles = list(dataset.articles(split))
    if len(articles) != len(result.articles) or not articles[0].title:
        raise HarnessError(f"{dataset.path}: {split} has no articles; expected the layout of WikiText")
    rows = read_attribution(dataset.path) if (dataset.path / ATTRIBUTION).is_file() else iter(())
    months = [one.timestamp[:7] for one in rows if one.split == split] or [""] * len(articles)
    return [
        Measured(title=one.title, month=month, sums=sums, words=frozenset(words_of(" ".join(one.lines))))
        for one, month, sums in zip(articles, months, result.articles, strict=True)
    ]


def match(before: Sequence[Measured], after: Sequence[Measured]) -> list[tuple[int, int]]:
    """Pairs of an article of before and one of after that are alike, the most alike first, each used once."""
    return pairs_of(distances(before, after))


def distances(before: Sequence[Measured], after: Sequence[Measured]) -> npt.NDArray[np.float64]:
    """How unlike each article of before is to each one of after, (before, after).

    It is one minus the cosine of their words, weighted by inverse document frequency, plus a part for each
    factor of two between their lengths.
    """
    articles = [*before, *after]
    documents: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(articles):
        for word in one.words:
            documents[word].append(number)
    likeness = np.zeros((len(before), len(after)))
    norms = np.zeros(len(articles))
    for numbers in documents.values():
        weight = np.log(len(articles) / len(numbers)) ** 2
        norms[numbers] += weight
        some = np.array(numbers)
        old, new = some[some < len(before)], some[some >= len(before)] - len(before)
        likeness[np.ix_(old, new)] += weight
    norms = np.sqrt(np.maximum(norms, 1e-9))
    cosine = likeness / norms[: len(before), None] / norms[None, len(before) :]
    sizes = np.log2([max(1, one.sums.text_bytes) for one in articles])
    lengths = np.abs(sizes[: len(before), None] - sizes[None, len(before) :])
    return np.asarray(1 - cosine + LENGTH_WEIGHT * lengths)


def pairs_of(distance: npt.NDArray[np.float64]) -> list[tuple[int, int]]:
    """The nearest pairs of a matrix, (before, after): the nearest first; each row and column is used once."""
    pairs, used_before, used_after = list[tuple[int, int]](), set[int](), set[int]()
    for flat in np.argsort(distance, axis=None, kind="stable"):
        pair = divmod(int(flat), distance.shape[1])
        if pair[0] not in used_before and pair[1] not in used_after:
            pairs.append(pair)
            used_before.add(pair[0])
            used_after.add(pair[1])
    return pairs


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


def by_month(articles: Sequence[Measured]) -> list[tuple[str, int, float]]:
    """Month, number of articles and their bits per byte, in order; articles without a date are left out."""
    months: dict[str, list[Sums]] = defaultdict(list)
    for one in articles:
        if one.month:
            months[one.month].append(one.sums)
    metric = METRICS["bits-per-byte"]
    return [(month, len(s), metric.of(sum(s, Sums())) or 0.0) for month, s in sorted(months.items())]


def largest_step(months: Sequence[tuple[str, int, float]]) -> tuple[str, float] | None:
    """Where one level before and another after fit the months best (least squares, weighted by articles)."""
    best: tuple[float, str, float] | None = None
    for at in range(1, len(months)):
        parts = [np.array([row[1:] for row in part], float) for part in (months[:at], months[at:])]
        means = [float(np.average(part[:, 1], weights=part[:, 0])) for part in parts]
        error = sum(float((p[:, 0] * (p[:, 1] - m) ** 2).sum()) for p, m in zip(parts, means, strict=True))
        if best is None or error < best[0]:
            best = (error, months[at][0], means[1] - means[0])
    return best and best[1:]
