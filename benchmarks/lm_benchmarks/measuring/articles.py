"""Earlier and later articles: similar pairs, and a model's bits per byte by month.

The topic of an article is in its words and those of its categories, weighted by how rare they are. Both
articles of a pair have the same quality (Featured, Good or neither); their lengths differ by at most a factor
of two. Categories and quality come from `articles/` of a dataset, and are ignored if a side lacks them.

A month's interval is Student's t over its articles; see `chance`. A step is one level before a month and a
higher one from it on, as for a model that has read only earlier text.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from lm_benchmarks.choices import DATES, LEVEL, RESAMPLES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.chance import Estimate, Numbers
from lm_benchmarks.measuring.compare import chance_of
from lm_benchmarks.metrics import METRICS, Sums
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.pages.lock import ATTRIBUTION, LOCK, read_attribution, read_lock

Distances = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.bool_]
LENGTH_WEIGHT: Final = 0.2  # of a factor of two in length; a topic without a word in common is 1
LENGTH_FACTOR: Final = 2.0  # two articles of a pair differ by at most that


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An article, what it is about and how good, and how the model predicts it."""

    title: str
    month: str = ""  # such as 2024-05; empty if it is not known
    quality: str | None = None  # featured, good or, for neither, empty; None: not known
    sums: Sums
    words: frozenset[str] = field(repr=False)
    categories: frozenset[str] = field(default=frozenset(), repr=False)  # the words of their names

    @property
    def bits_per_byte(self) -> float:
        """The bits of the article per byte of its plain text."""
        return METRICS["bits-per-byte"].of(self.sums) or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Which articles were paired, by what, and why others were not."""

    pairs: tuple[tuple[int, int], ...]  # numbers of articles of before and after
    by: tuple[str, ...]  # words, length and, if they are known, categories and quality
    unmatched: tuple[Mapping[str, int], Mapping[str, int]]  # of before and after: reason and articles


def match(before: Sequence[Measured], after: Sequence[Measured]) -> Matching:
    """Pair similar articles, the most similar first, each used once.

    An article has no partner if the other side has none of its quality (`quality`), none of these has a
    similar length (`length`), or all of them are already paired (`taken`).
    """
    distance, same, near = compared(before, after)
    pairs = pairs_of(np.where(same & near, distance, np.inf))
    unmatched: list[Mapping[str, int]] = []
    for side, articles in enumerate((before, after)):
        used = {pair[side] for pair in pairs}
        of_quality, of_length = (np.any(matrix, axis=1 - side) for matrix in (same, same & near))
        unmatched.append(
            Counter(
                "quality" if not of_quality[n] else "length" if not of_length[n] else "taken"
                for n in range(len(articles))
                if n not in used
            )
        )
    known = {"categories": _knows_categories(before, after), "quality": _knows_quality(before, after)}
    by = ("words", *(name for name, is_known in known.items() if is_known), "length")
    return Matching(pairs=tuple(pairs), by=by, unmatched=(unmatched[0], unmatched[1]))


def compared(before: Sequence[Measured], after: Sequence[Measured]) -> tuple[Distances, Pairs, Pairs]:
    """How unlike articles are, which have the same quality, and which are nearly as long, (before, after).

    The distance is one minus the cosine of their words, or of the mean of this one and of that of the words
    of their categories, plus a part for each factor of two between their lengths.
    """
    alike = cosines([one.words for one in before], [one.words for one in after])
    if _knows_categories(before, after):
        alike = (alike + cosines([one.categories for one in before], [one.categories for one in after])) / 2
    same = np.ones(alike.shape, bool)
    if _knows_quality(before, after):
        same = np.array([[one.quality == other.quality for other in after] for one in before], bool)
    old, new = (np.array([max(1, one.sums.text_bytes) for one in side], float) for side in (before, after))
    near = (old[:, None] <= LENGTH_FACTOR * new) & (new <= LENGTH_FACTOR * old[:, None])
    return 1 - alike + LENGTH_WEIGHT * np.abs(np.log2(old)[:, None] - np.log2(new)), same, near


def _knows_quality(*sides: Sequence[Measured]) -> bool:
    return all(one.quality is not None for side in sides for one in side)


def _knows_categories(*sides: Sequence[Measured]) -> bool:
    return all(any(one.categories for one in side) for side in sides)


def cosines(before: Sequence[Iterable[str]], after: Sequence[Iterable[str]]) -> Distances:
    """The cosine of each set of words with each other one, weighted by inverse frequency, (before, after)."""
    every = [*before, *after]
    places: dict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(every):
        for word in words:
            places[word].append(number)
    alike, norms = np.zeros((len(before), len(after))), np.zeros(len(every))
    for numbers in places.values():
        weight = np.log(len(every) / len(numbers)) ** 2
        norms[numbers] += weight
        some = np.array(numbers)
        old, new = some[some < len(before)], some[some >= len(before)] - len(before)
        alike[np.ix_(old, new)] += weight
    norms = np.sqrt(np.maximum(norms, 1e-9))
    return np.asarray(alike / norms[: len(before), None] / norms[None, len(before) :])


def pairs_of(distance: Distances) -> list[tuple[int, int]]:
    """The nearest pairs of a matrix, (before, after): the nearest first; each row and column is used once.

    Infinite distances make no pair.
    """
    pairs, used_before, used_after = list[tuple[int, int]](), set[int](), set[int]()
    for flat in np.argsort(distance, axis=None, kind="stable"):
        pair = divmod(int(flat), distance.shape[1])
        if not np.isfinite(distance[pair]):
            break
        if pair[0] not in used_before and pair[1] not in used_after:
            pairs.append(pair)
            used_before.add(pair[0])
            used_after.add(pair[1])
    return pairs


MONTH: Final = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")
BLOCK: Final = 200  # permutations at once
Dates = dict[str, str]  # of an article, by the names in DATES; empty if it is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The articles of a month."""

    month: str  # such as 2024-05
    articles: int
    model: Estimate
    reference: Estimate | None = None
    difference: Estimate | None = None  # the model minus the reference

    @property
    def shown(self) -> Estimate:
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
    """The month of a date, such as 2016-04; empty if unknown."""
    return date[:7] if MONTH.match(date) else ""


def _sums(articles: Iterable[Measured]) -> Numbers:
    """The nats and the bytes of articles, (articles, 2)."""
    return np.array([(one.sums.nats, max(one.sums.text_bytes, 1)) for one in articles], float)


def _bits_per_byte(sums: Numbers) -> Numbers:
    return np.asarray(sums[..., 0] / math.log(2) / sums[..., 1])


def by_month(
    articles: Sequence[Measured], reference: Sequence[Measured] | None = None, *, level: float = LEVEL
) -> list[Month]:
    """The months of some articles, in order; articles without a date are left out.

    `reference` are the same articles as another model predicts them.
    """
    counts, kinds = _sorted(articles, reference)
    found, start = [], 0
    for month, count in counts.items():
        parts = [sums[start : start + count] for sums in kinds]
        levels = [_level([part], level) for part in parts]
        levels += [_level(parts, level)] if reference is not None else []
        names = ("model", "reference", "difference")
        found.append(Month(month=month, articles=count, **dict(zip(names, levels, strict=False))))
        start += count
    return found


def _sorted(
    articles: Sequence[Measured], reference: Sequence[Measured] | None
) -> tuple[dict[str, int], list[Numbers]]:
    """The number of articles of each month, and their sums by each model, both in the order of months."""
    order = sorted((n for n, one in enumerate(articles) if one.month), key=lambda n: articles[n].month)
    models = [articles] if reference is None else [articles, reference]
    return Counter(articles[n].month for n in order), [_sums(one[n] for n in order) for one in models]


def _level(models: Sequence[Numbers], level: float) -> Estimate:
    """Of one model, or the difference of two, by the sums of some articles."""
    value = float(np.subtract.reduce([_bits_per_byte(sums.sum(axis=0)) for sums in models]))
    chance, _ = chance_of([sums[None] for sums in models], METRICS["bits-per-byte"])
    return Estimate(value, None if chance is None else chance.interval(value, level))


def find_step(
    articles: Sequence[Measured],
    reference: Sequence[Measured] | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 1,
) -> Step | None:
    """Find the month at which a lower level and then a higher one fit best: least squares by articles.

    Some month always fits best. None if there is no step: chance alone, articles in a random order, makes one
    as large in more than 1 - `level` of all cases. With a `reference`, the same articles as another model
    predicts them, the step is in the difference.
    """
    counts, kinds = _sorted(articles, reference)
    if len(counts) < 2:
        return None
    names, weights = list(counts), np.array(list(counts.values()), float)
    starts = [0, *weights.cumsum()[:-1].astype(int)]

    def gains(order: npt.NDArray[np.int64]) -> tuple[Numbers, Numbers, Numbers]:
        levels = [_bits_per_byte(np.add.reduceat(sums[order], starts, axis=-2)) for sums in kinds]
        sums = (np.subtract.reduce(levels) * weights).cumsum(-1)
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
