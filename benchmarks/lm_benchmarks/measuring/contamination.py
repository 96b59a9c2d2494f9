"""Has a model read the past? Compares its predictions of matched articles from before and after a date.

A model that has read some of the earlier articles predicts them better: later ones have more bits per byte.
Articles are paired by topic, quality and length; see `articles`. The interval is Student's t over the
articles of the pairs, each side by itself; see `chance`. Whole pairs would vary less than two independent
sets, because their articles are similar: that would give more false alarms.

The verdict is a permutation test: if the model has read none, chance decides which side each article of a
pair is on. Every article has the same weight, by the logarithm of its bits per byte. So a few articles that
were read decide it, although they widen the interval as much as they move it.

News is harder to predict for every model: new names, new events. So the difference of a reference model that
has read neither side is subtracted, on the same articles.

By month, the bits per byte of a model that has read the earlier articles show a step at its cutoff.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from lm_benchmarks.choices import FEWEST, LEVEL, RESAMPLES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.articles import (
    Dates,
    Matching,
    Measured,
    Month,
    Step,
    by_month,
    dates_of,
    find_step,
    match,
    months_of,
)
from lm_benchmarks.measuring.chance import ROUNDING, Numbers, expect_level
from lm_benchmarks.measuring.compare import chance_of_sides, sums_of_passages
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records import Result
from wikitext_builder.addresses import without_secrets
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.plain import ARTICLES
from wikitext_builder.pages.lock import ATTRIBUTION, read_attribution
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.tables import csv_text
from wikitext_builder.text_overlap.words import words_of

Pairs = Sequence[Sequence[Measured]]  # of two articles; or two sides, each of its articles
BLOCK: Final = 1000  # permutations at once
NOTHING: Final = 1e-9  # bits per byte, whose logarithm is a number
PER_WORD: Final = Metric(
    label="bits per word",
    numerator="bits of the whole text",
    denominator="words, <unk> and one <eos> per line",
    nats=("nats",),
    count=("tokens",),
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
class ArticleRow:
    """An article of one side: its dates, and how well it was predicted."""

    side: str  # before or after
    title: str
    created: str  # dates, ISO 8601 in UTC; empty if they are not known
    promoted: str
    revision: str
    partner: str  # the title of the article of the other side; empty: it has none
    tokens: int
    bytes: int  # UTF-8 of the plain text
    bits_per_byte: float
    reference_bits_per_byte: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """What the difference between earlier and later articles says about a model."""

    model: str
    reference: str  # the model whose difference is subtracted; empty: none
    differences: tuple[Difference, ...]  # bits per byte, bits per word
    chance: float  # how often before is as much easier if it is chance on which side each article is
    least: float  # bits per byte: the smallest difference that is found, if it is the same for all articles
    pairs: tuple[tuple[str, str], ...]  # titles of before and after
    articles: tuple[int, int]  # of before and after, matched or not
    matched_by: tuple[str, ...]  # words, length and, if they are known, categories and quality
    unmatched: tuple[Mapping[str, int], Mapping[str, int]]  # of before and after: see `match`
    rows: tuple[ArticleRow, ...]  # of before, then of after
    dated: str  # which date of an article `months` counts: created, promoted, revision; empty: none is known
    months: tuple[Month, ...]  # empty: dates are not known
    step: Step | None  # in the difference to the reference, if there is one; None: no larger than by chance
    level: float
    resamples: int
    seed: int

    @property
    def is_found(self) -> bool:
        """Return True if the earlier articles are easier for the model by more than chance explains."""
        return self.chance <= (1 - self.level) / 2

    @property
    def verdict(self) -> str:
        """What the permutations say, in a sentence."""
        compared = f"compared with {self.reference}, " if self.reference else ""
        if self.is_found:
            return (
                f"The model has probably read some of the earlier articles: {compared}they are easier for it"
                " than later ones like them, by more than chance explains."
            )
        return (
            f"No sign that the model has read the earlier articles: {compared}they are not easier for it than"
            f" later ones like them, by more than chance explains. {len(self.pairs)} pairs do not show a"
            f" difference below about {self.least:.2g} bits per byte."
        )


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
    """Compare a model's predictions of matched articles from before and after a date.

    Args:
        model: A trained model: a checkpoint, `transformers:…` or the like, see `measure`.
        before: A dataset of articles from before the date.
        after: A dataset of articles from after it, by the same selection.
        split: `train`, `valid` or `test` of both datasets.
        by: The date that assigns an article to a month: created, promoted or revision; empty: the first one
            known for all.
        reference: A model that has read neither; its difference is subtracted.
        level: Confidence level; chance alone makes half of the rest of verdicts find something.
        resamples: Permutations of articles over the sides and over months: how often chance does as much.
        seed: Of the permutations, and of models that draw random numbers.
        progress: Called with the number of tokens done.
        options: As in `measure`.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: The model cannot be measured or differs between the datasets, or too few articles pair.
    """
    expect_level(level)
    if resamples < 1 or seed < 0:
        raise HarnessError(
            f"{resamples} resamples, seed {seed}; expected 1 resample or more, and a seed of 0 or more"
        )
    sides = [load_dataset(Path(one)) for one in (before, after)]
    _expect_other_pages(sides, split)
    dates = [dates_of(side, split) for side in sides]
    dated, months_of_sides = months_of(dates, by)
    shared = sides, split, months_of_sides, progress, {**options, "seed": seed}
    own = _measured(model, *shared)
    matching = _matched(*own)
    models = [own, _measured(reference, *shared)] if reference else [own]
    every = [[*old, *new] for old, new in models]
    pairs = [[[old[one], new[other]] for one, other in matching.pairs] for old, new in models]
    drawn: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    chance, least = chance_of_easier(*pairs, **drawn)
    return Contamination(
        model=without_secrets(model),
        reference=without_secrets(reference),
        differences=tuple(
            difference_of(name, metric, *pairs, level=level)
            for name, metric in (("bits-per-byte", METRICS["bits-per-byte"]), ("bits-per-word", PER_WORD))
        ),
        chance=chance,
        least=least,
        pairs=tuple((one.title, other.title) for one, other in pairs[0]),
        articles=(len(own[0]), len(own[1])),
        matched_by=matching.by,
        unmatched=matching.unmatched,
        rows=tuple(_rows(models, dates, matching.pairs)),
        dated=dated,
        months=tuple(by_month(*every, level=level)),
        step=find_step(*every, **drawn),
        **drawn,
    )


def _expect_other_pages(sides: Sequence[Dataset], split: str) -> None:
    """Refuse a page on both sides: it would be its own partner, and is no later article."""
    if not all((side.path / ATTRIBUTION).is_file() for side in sides):
        return
    old, new = (
        {
            (one.url.partition("?")[0], one.page_id): one.title
            for one in read_attribution(side.path)
            if one.split == split
        }
        for side in sides
    )
    if both := [old[page] for page in old if page in new]:
        raise HarnessError(
            f"{len(both)} articles of {split} are on both sides, such as {both[0]}; build the later side"
            f" with --exclude dataset:{sides[0].path}"
        )


def _matched(before: Sequence[Measured], after: Sequence[Measured]) -> Matching:
    if len((found := match(before, after)).pairs) < FEWEST:
        why = said_unmatched(found.unmatched)
        raise HarnessError(
            f"{len(found.pairs)} pairs of articles (without a partner: {why}); expected {FEWEST} or more:"
            " use larger datasets"
        )
    return found


def _rows(
    models: Sequence[Pairs], dates: Sequence[Sequence[Dates]], pairs: Iterable[tuple[int, int]]
) -> Iterator[ArticleRow]:
    sides, *others = models
    partners: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for old, new in pairs:
        partners[0][old], partners[1][new] = sides[1][new].title, sides[0][old].title
    for side, name in enumerate(("before", "after")):
        for number, (one, known) in enumerate(zip(sides[side], dates[side], strict=True)):
            yield ArticleRow(
                side=name,
                title=one.title,
                **known,
                partner=partners[side].get(number, ""),
                tokens=one.sums.tokens,
                bytes=one.sums.text_bytes,
                bits_per_byte=one.bits_per_byte,
                reference_bits_per_byte=others[0][side][number].bits_per_byte if others else None,
            )


def contamination_csv(found: Contamination) -> str:
    """Return the articles of both sides as CSV, one row per article, with their dates."""
    return csv_text(map(asdict, found.rows))


def said_unmatched(unmatched: Sequence[Mapping[str, int]]) -> str:
    """Say how many earlier and later articles have no partner, and why."""
    sides = zip(("before", "after"), unmatched, strict=True)
    said = [
        f"{sum(reasons.values())} of {side}: {', '.join(f'{n} {why}' for why, n in sorted(reasons.items()))}"
        for side, reasons in sides
        if reasons
    ]
    return "; ".join(said) or "none"


def _measured(
    model: str,
    sides: Sequence[Dataset],
    split: str,
    months: Sequence[Sequence[str]],
    progress: Progress,
    options: Mapping[str, Any],
) -> list[list[Measured]]:
    """What the model makes of the articles of both sides, each without context."""
    shared = {"splits": split, "progress": progress, "groups": False, "context": "article", **options}
    results = [measure(model, side.path, **shared)[0] for side in sides]
    first, second = (one.signature for one in results)
    for name in ("model", "vocabulary") if first.get("words") == "closed" else ("model",):
        if first.get(name) != second.get(name):
            raise HarnessError(
                f"{model} is not the same on both sides"
                f" ({name}: {first.get(name)} and {second.get(name)}): it is estimated on a dataset's train."
                " Give a trained model, such as a checkpoint"
            )
    each = zip(sides, results, months, strict=True)
    return [measured_articles(side, split, result, of_side) for side, result, of_side in each]


def measured_articles(dataset: Dataset, split: str, result: Result, months: Sequence[str]) -> list[Measured]:
    """The articles of a split with what a model made of them, and what matching needs to know."""
    articles = list(dataset.articles(split))
    if len(articles) != len(result.articles) or not articles[0].title:
        raise HarnessError(f"{dataset.path}: {split} has no articles; expected the layout of WikiText")
    whole = (dataset.path / ARTICLES).is_dir()  # then quality and categories are known
    known = list(dataset.plain_articles(split)) if whole else [None] * len(articles)
    return [
        Measured(
            title=one.title,
            month=month,
            quality=plain.quality if plain else None,
            sums=sums,
            words=frozenset(words_of(" ".join(one.lines))),
            categories=frozenset(words_of(" ".join(plain.categories if plain else ()))),
        )
        for one, month, sums, plain in zip(articles, months, result.articles, known, strict=True)
    ]


def difference_of(
    name: str,
    metric: Metric,
    pairs: Pairs,
    control: Pairs | None = None,
    *,
    level: float = LEVEL,
) -> Difference:
    """After minus before of some pairs, with an interval; the difference of a reference is subtracted."""
    models = [pairs] if control is None else [pairs, control]
    sides = [[[pair[side].sums for pair in model] for model in models] for side in (0, 1)]
    values = [[metric.of(sum(articles, Sums())) or 0.0 for articles in side] for side in sides]
    before, after = (each[0] - sum(each[1:]) for each in values)
    sums = [[sums_of_passages(articles, metric)[None] for articles in side] for side in sides]
    chance, why = chance_of_sides(sums, metric)
    if chance is None:
        raise HarnessError(f"{len(pairs)} pairs of articles: {why}; use larger datasets")
    return Difference(
        metric=name,
        before=values[0][0],
        after=values[1][0],
        difference=after - before,
        interval=chance.interval(after - before, level),
    )


def chance_of_easier(
    pairs: Pairs,
    control: Pairs | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> tuple[float, float]:
    """How often random sides make the earlier articles as much easier.

    `control` are the same articles as the reference model predicts them; its logarithms are subtracted. The
    test is one-sided, at half of what `level` leaves. Returns the fraction of permutations; and the smallest
    difference in bits per byte that is less probable, if it is the same fraction of each article's bits.
    """
    bits = _logarithms(pairs) - (0 if control is None else _logarithms(control))  # (pairs, sides)
    every, found = bits.T.ravel(), bits[:, 1].mean() - bits[:, 0].mean()
    generator, drawn = np.random.default_rng(seed), list[Numbers]()
    for done in range(0, resamples, BLOCK):
        orders = generator.permuted(np.tile(every, (min(BLOCK, resamples - done), 1)), axis=1)
        drawn.append(orders[:, len(bits) :].mean(axis=1) - orders[:, : len(bits)].mean(axis=1))
    by_chance = np.concatenate(drawn)
    needed = float(np.quantile(by_chance, (1 + level) / 2))
    before = METRICS["bits-per-byte"].of(sum((one.sums for one, _ in pairs), Sums())) or 0.0
    as_much = int((by_chance >= found - ROUNDING).sum())
    return (as_much + 1) / (resamples + 1), before * float(np.expm1(needed))


def _logarithms(pairs: Pairs) -> Numbers:
    """Of the bits per byte, (pairs, sides)."""
    return np.log([[max(one.bits_per_byte, NOTHING) for one in pair] for pair in pairs])
