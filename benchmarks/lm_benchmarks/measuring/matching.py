"""Pairs of articles that are alike in topic, quality and length: one of before a date, and one of after it.

The topic is in the words of an article and in those of its categories, weighted by how rare they are. The
quality is Featured, Good or neither, and both articles of a pair have the same; their lengths differ by at
most a factor of two. Categories and quality come from `articles/` of a dataset; if a side does not have them,
the others decide alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from lm_benchmarks.metrics import METRICS, Sums

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
    """Pair articles that are alike, the most alike first, each used once.

    An article has no partner if the other side has none of its quality (`quality`), if none of these is
    nearly as long (`length`), or if others took all of them (`taken`).
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
