"""matching_runs: which tokens of two texts correspond, in order, in time that stays bounded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

MAX_PRODUCT = 4_000_000  # our tokens times theirs, up to which each token is compared with each
ANCHOR = 4  # tokens in a row that align longer sequences


class Run(NamedTuple):
    """Neighbouring tokens that both texts have: where they begin in ours and in theirs, and how many."""

    ours: int
    theirs: int
    size: int

    def moved(self, ours: int, theirs: int) -> Run:
        """The run in texts that have this many tokens more in front."""
        return Run(self.ours + ours, self.theirs + theirs, self.size)


def matching_runs(ours: Sequence[str], theirs: Sequence[str], *, most: int = MAX_PRODUCT) -> list[Run]:
    """The runs of tokens that two sequences share, in order; each is as long as it can be.

    Sequences over `most` (the product of their lengths) are cut at runs of tokens that occur once in each;
    in pieces that are still over it, frequent tokens do not begin a run.

    >>> matching_runs("a b c d".split(), "a b x c d".split())
    [Run(ours=0, theirs=0, size=2), Run(ours=2, theirs=3, size=2)]
    """
    if len(ours) * len(theirs) <= most:
        return list(_joined(_matched(ours, theirs, skip_frequent=False)))
    return list(_joined(_matched_by_anchors(ours, theirs, most)))


def _matched_by_anchors(ours: Sequence[str], theirs: Sequence[str], most: int) -> Iterator[Run]:
    a = b = 0
    for c, d in [*anchors(ours, theirs), (len(ours), len(theirs))]:
        long = (c - a) * (d - b) > most
        for run in _matched(ours[a:c], theirs[b:d], skip_frequent=long):
            yield run.moved(a, b)
        a, b = c, d


def _matched(ours: Sequence[str], theirs: Sequence[str], *, skip_frequent: bool) -> list[Run]:
    if ours == theirs:
        return [Run(0, 0, len(ours))]
    if not ours or not theirs:
        return []
    matcher = SequenceMatcher(None, ours, theirs, autojunk=skip_frequent)
    return [Run(*block) for block in matcher.get_matching_blocks()]


def _joined(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs, with neighbours as one and without empty ones."""
    last = Run(0, 0, 0)
    for run in runs:
        if run[:2] == (last.ours + last.size, last.theirs + last.size):
            last = Run(last.ours, last.theirs, last.size + run.size)
            continue
        if last.size:
            yield last
        last = run
    if last.size:
        yield last


def anchors(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Places of runs of tokens that occur once in each: the longest chain that is in order in both."""
    left, right = _once(ours), _once(theirs)
    pairs = sorted((place, right[key]) for key, place in left.items() if key in right)
    ends: list[int] = []  # the smallest end of an ordered chain, by its length
    last: list[int] = []  # the index of the pair at that end
    before: list[int] = []  # for each pair, the index of the one before it in its chain
    found: list[tuple[int, int]] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [index]
        before.append(last[length - 1] if length else -1)
    index = last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _once(tokens: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The runs of tokens that occur once, with their places."""
    found: dict[tuple[str, ...], int] = {}
    for place, run in enumerate(zip(*(tokens[start:] for start in range(ANCHOR)), strict=False)):
        found[run] = -1 if run in found else place
    return {run: place for run, place in found.items() if place >= 0}
