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
LENGTH_WEIGHT: Final = (
    0.2  # of a factor of two in length, against a topic without a word in common, which is 1
)
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
    same, near = same_quality(before, after), near_length(before, after)
    pairs = pairs_of(np.where(same & near, distances(before, after), np.inf))
    used = [{pair[side] for pair in pairs} for side in (0, 1)]
    reasons: list[Mapping[str, int]] = []
    for side, axis in ((before, 1), (after, 0)):
        of_quality = np.asarray(same.any(axis=axis))
        of_length = np.asarray((same & near).any(axis=axis))
        reasons.append(
            Counter(
                "quality" if not of_quality[n] else "length" if not of_length[n] else "taken"
                for n in range(len(side))
                if n not in used[1 - axis]
            )
        )
    known = {"categories": _known_categories(before, after), "quality": _known_quality(before, after)}
    by = ("words", *(name for name, is_known in known.items() if is_known), "length")
    return Matching(pairs=tuple(pairs), by=by, unmatched=(reasons[0], reasons[1]))


def _known_quality(*sides: Sequence[Measured]) -> bool:
    return all(one.quality is not None for side in sides for one in side)


def _known_categories(*sides: Sequence[Measured]) -> bool:
    return all(any(one.categories for one in side) for side in sides)


def same_quality(before: Sequence[Measured], after: Sequence[Measured]) -> npt.NDArray[np.bool_]:
    """Which articles of before and after have the same quality, (before, after); all, if it is not known."""
    if not _known_quality(before, after):
        return np.ones((len(before), len(after)), bool)
    old, new = (np.array([one.quality for one in side], dtype=object) for side in (before, after))
    return np.asarray(old[:, None] == new[None, :], bool)


def near_length(before: Sequence[Measured], after: Sequence[Measured]) -> npt.NDArray[np.bool_]:
    """Which articles of before and after are nearly as long as each other, (before, after)."""
    old, new = _lengths(before)[:, None], _lengths(after)[None, :]
    return np.asarray((old <= LENGTH_FACTOR * new) & (new <= LENGTH_FACTOR * old))


def _lengths(side: Sequence[Measured]) -> npt.NDArray[np.float64]:
    return np.array([max(1, one.sums.text_bytes) for one in side], float)


def distances(before: Sequence[Measured], after: Sequence[Measured]) -> Distances:
    """How unlike each article of before is to each one of after, (before, after).

    It is one minus the cosine of their words, or of the mean of this one and of that of the words of their
    categories, plus a part for each factor of two between their lengths.
    """
    alike = cosines([one.words for one in before], [one.words for one in after])
    if _known_categories(before, after):
        alike = (alike + cosines([one.categories for one in before], [one.categories for one in after])) / 2
    lengths = np.abs(np.log2(_lengths(before))[:, None] - np.log2(_lengths(after))[None, :])
    return np.asarray(1 - alike + LENGTH_WEIGHT * lengths)


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
