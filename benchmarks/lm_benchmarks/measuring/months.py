"""Articles by month: their dates, a model's bits per byte in each month, and where these change their level.

A month's interval is Student's t over its articles; see `chance`. A step is one level before a month and a
higher one from it on, as of a model that has read only what is before. Some month always fits best, so a
step is reported only if it is larger than the best one of nearly all permutations of the articles over the
months.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lm_benchmarks.choices import DATES, LEVEL, RESAMPLES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.chance import Numbers
from lm_benchmarks.measuring.compare import chance_of
from lm_benchmarks.measuring.matching import Measured
from lm_benchmarks.metrics import METRICS
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.pages.lock import ATTRIBUTION, LOCK, read_attribution, read_lock

MONTH: Final = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")
BLOCK: Final = 200  # permutations at once
Dates = dict[str, str]  # of an article, by the names in DATES; empty if it is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Bits per byte of some articles, or a difference of them, with its interval."""

    value: float
    interval: tuple[float, float] | None  # None: too few articles, or one has nearly all bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The articles of a month."""

    month: str  # such as 2024-05
    articles: int
    model: Level
    reference: Level | None = None
    difference: Level | None = None  # the model minus the reference

    @property
    def shown(self) -> Level:
        """What a step is looked for in: the difference, if there is a reference."""
        return self.difference or self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where the level changes: one before this month, another from it on."""

    month: str
    last: str  # the month before it that has articles: it can be years earlier
    before: float
    after: float
    chance: float  # the fraction of permutations with a step as large

    @property
    def rise(self) -> float:
        """How much higher the second level is."""
        return self.after - self.before


def dates_of(dataset: Dataset, split: str) -> list[Dates]:
    """The dates of each article of a split that the dataset's files give."""
    if not (dataset.path / ATTRIBUTION).is_file():
        return [dict.fromkeys(DATES, "") for _ in dataset.articles(split)]
    locked = {}
    if dataset.manifest and (dataset.path / LOCK).is_file():
        language = dataset.manifest.recipe.language
        locked = {one.revision_id: one for one in read_lock(dataset.path / LOCK, language=language)}
    rows = []
    for one in read_attribution(dataset.path):
        if one.split == split:
            known = locked.get(one.revision_id)
            dates = (known.created, known.promoted) if known else ("", "")
            rows.append(dict(zip(DATES, (*dates, one.timestamp), strict=True)))
    if (count := sum(1 for _ in dataset.articles(split))) != len(rows):
        raise HarnessError(
            f"{dataset.path}: {ATTRIBUTION} has {len(rows)} articles of {split}, and the dataset {count};"
            " see `wikitext-builder verify`"
        )
    return rows


def months_of(dates: Sequence[Sequence[Dates]], by: str = "") -> tuple[str, list[list[str]]]:
    """By which date months are counted, and the month of each article of some datasets.

    It is the date `by`, one of `DATES`, or without it the first one that is known for all articles.
    """
    if by and by not in DATES:
        raise HarnessError(f"--by {by}: expected {', '.join(DATES)}")
    chosen = by or next(
        (name for name in DATES if all(_month(one[name]) for rows in dates for one in rows)), ""
    )
    if by and not any(_month(one[by]) for rows in dates for one in rows):
        raise HarnessError(f"--by {by}: no article has this date; {LOCK} and {ATTRIBUTION} have the dates")
    return chosen, [[_month(one.get(chosen, "")) for one in rows] for rows in dates]


def _month(date: str) -> str:
    """The month of a date, such as 2016-04; empty if it is not known."""
    return date[:7] if MONTH.match(date) else ""


@dataclass(frozen=True, slots=True)
class _Bits:
    """The bits and the bytes of articles, in the order of their months, by one model."""

    bits: Numbers
    bytes: Numbers

    @classmethod
    def of(cls, articles: Sequence[Measured]) -> _Bits:
        sums = [one.sums for one in articles]
        return cls(
            np.array([one.nats for one in sums]) / math.log(2),
            np.array([float(max(one.text_bytes, 1)) for one in sums]),
        )

    def levels(self, starts: Sequence[int], order: npt.NDArray[np.int64]) -> Numbers:
        """Bits per byte of each month, (permutations, months), of articles in other orders."""
        bits, size = (np.add.reduceat(one[order], starts, axis=-1) for one in (self.bits, self.bytes))
        return np.asarray(bits / size, dtype=np.float64)

    def part(self, start: int, end: int) -> tuple[float, Numbers]:
        """Bits per byte of some articles, and the nats and bytes of each, (1, articles, 2)."""
        bits, size = self.bits[start:end], self.bytes[start:end]
        return float(bits.sum() / size.sum()), np.stack([bits * math.log(2), size], axis=-1)[None]


def by_month(
    articles: Sequence[Measured], reference: Sequence[Measured] | None = None, *, level: float = LEVEL
) -> list[Month]:
    """The months of some articles, in order; articles without a date are left out.

    `reference` are the same articles as another model predicts them.
    """
    counts, kinds = _sorted(articles, reference)
    found, start = [], 0
    for month, count in counts.items():
        parts = [one.part(start, start + count) for one in kinds]
        levels = [_level(value, [sums], level) for value, sums in parts]
        if reference is not None:
            (one, sums), (other, others) = parts
            levels.append(_level(one - other, [sums, others], level))
        names = ("model", "reference", "difference")
        found.append(Month(month=month, articles=count, **dict(zip(names, levels, strict=False))))
        start += count
    return found


def _sorted(
    articles: Sequence[Measured], reference: Sequence[Measured] | None
) -> tuple[dict[str, int], list[_Bits]]:
    """The number of articles of each month, and their bits by each model, both in the order of months."""
    order = sorted((n for n, one in enumerate(articles) if one.month), key=lambda n: articles[n].month)
    models = [articles] if reference is None else [articles, reference]
    return Counter(articles[n].month for n in order), [_Bits.of([one[n] for n in order]) for one in models]


def _level(value: float, models: Sequence[Numbers], level: float) -> Level:
    chance, _ = chance_of(models, METRICS["bits-per-byte"])
    return Level(value=value, interval=None if chance is None else chance.interval(value, level))


def find_step(
    articles: Sequence[Measured],
    reference: Sequence[Measured] | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> Step | None:
    """Where one level before and a higher one after fit the months best: least squares by articles.

    None if there is no step: chance alone, articles in a random order, makes one as large in more than
    1 - `level` of all cases. With a `reference`, which are the same articles as another model predicts them,
    the step is in the difference.
    """
    counts, kinds = _sorted(articles, reference)
    if len(counts) < 2:
        return None
    names, weights = list(counts), np.array(list(counts.values()), float)
    starts = [0, *weights.cumsum()[:-1].astype(int)]

    def gains(order: npt.NDArray[np.int64]) -> tuple[Numbers, Numbers, Numbers]:
        levels = kinds[0].levels(starts, order)
        if len(kinds) > 1:
            levels = levels - kinds[1].levels(starts, order)
        sums = (levels * weights).cumsum(-1)
        left = weights.cumsum()[:-1]
        right = weights.sum() - left
        before, after = sums[..., :-1] / left, (sums[..., -1:] - sums[..., :-1]) / right
        rise = np.maximum(after - before, 0.0)
        return before, after, rise**2 * left * right  # n times what the squares lose

    here = np.arange(int(weights.sum()))
    before, after, found = gains(here)
    at, generator, as_large = int(found.argmax()), np.random.default_rng(seed), 0
    for done in range(0, resamples, BLOCK):
        orders = generator.permuted(np.tile(here, (min(BLOCK, resamples - done), 1)), axis=1)
        as_large += int((gains(orders)[2].max(-1) >= found[at] * (1 - 1e-12)).sum())
    chance = (as_large + 1) / (resamples + 1)
    if found[at] == 0 or chance > 1 - level:
        return None
    return Step(
        month=names[at + 1],
        last=names[at],
        before=float(before[at]),
        after=float(after[at]),
        chance=chance,
    )
