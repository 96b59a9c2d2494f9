"""Fidelity: how far lines are from what a reader of Wikipedia sees, in tokens found, lost and made up."""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from wikitext_builder.dataset.vocabulary import UNK

MAX_PRODUCT = 4_000_000  # tokens of two parts times each other that are compared one by one
MAX_LINE_PAIRS = 250_000  # lines of two parts times each other
ANCHOR = 4  # tokens that hold longer parts together


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Tokens of ours, of theirs, and those that both have in the same order; additive."""

    matched: int = 0
    ours: int = 0
    theirs: int = 0

    def __add__(self, other: Score) -> Score:
        """The score over both parts."""
        return Score(
            matched=self.matched + other.matched,
            ours=self.ours + other.ours,
            theirs=self.theirs + other.theirs,
        )

    @property
    def precision(self) -> float:
        """Share of our tokens that are theirs."""
        return self.matched / self.ours if self.ours else 1.0

    @property
    def recall(self) -> float:
        """Share of their tokens that are ours."""
        return self.matched / self.theirs if self.theirs else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.matched / (self.ours + self.theirs) if self.ours + self.theirs else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Neighbouring lines of ours and the lines of theirs that stand in their place."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    score: Score

    @property
    def wrong(self) -> int:
        """Tokens lost and made up."""
        return self.score.ours + self.score.theirs - 2 * self.score.matched


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two articles line by line, equal parts and others, in order."""

    title: str
    parts: tuple[Part, ...]
    score: Score  # of the whole: a token may stand in a part beside the one that is shown with it


def compare(title: str, ours: Iterable[str], theirs: Iterable[str]) -> Comparison:
    """Compare tokenized lines; `<unk>` in theirs stands for any token that they have nowhere.

    Rare types are `<unk>` at each place, so that no token of theirs can be hidden behind one.

    >>> found = compare("A", ["= A =", "", "It is long ."], ["= A =", "", "It is <unk> long ."])
    >>> found.score.recall, found.score.precision
    (0.875, 1.0)
    """
    left, right = [line for line in ours if line], [line for line in theirs if line]
    known = {token for line in right for token in line.split()}
    read = _as_unknown(known) if UNK in known else str
    keys = [read(line) for line in left]
    parts: list[Part] = []
    total = Score()
    for kind, a, b, c, d in SequenceMatcher(None, keys, right, autojunk=False).get_opcodes():
        if kind == "equal":
            count = sum(len(line.split()) for line in right[c:d])
            score = Score(matched=count, ours=count, theirs=count)
            parts.append(Part(ours=tuple(left[a:b]), theirs=tuple(right[c:d]), score=score))
        else:
            paired = list(_paired(left[a:b], keys[a:b], right[c:d]))
            parts += paired
            together = _part(left[a:b], keys[a:b], right[c:d]).score
            apart = sum((part.score for part in paired), Score())
            score = max(together, apart, key=lambda one: one.matched)
        total += score
    return Comparison(title=title, parts=tuple(parts), score=total)


def _as_unknown(known: set[str]) -> Callable[[str], str]:
    return lambda line: " ".join(token if token in known else UNK for token in line.split())


def _paired(left: Sequence[str], keys: Sequence[str], right: Sequence[str]) -> Iterator[Part]:
    """Parts of lines that are not equal: one to one where they are alike, what stands between together.

    Where neighbouring parts share more together than each alone (one side breaks a line), they are one.
    """
    last: tuple[int, int] | None = None  # where the part begins that is held back
    held = _part((), (), ())
    a = b = 0
    for c, d in _cuts(_alike(keys, right), len(left), len(right)):
        part = _part(left[a:c], keys[a:c], right[b:d])
        if last is not None:
            start, first = last
            both = _part(left[start:c], keys[start:c], right[first:d])
            if both.score.matched > held.score.matched + part.score.matched:
                held, a, b = both, c, d
                continue
            yield held
        last, held, a, b = (a, b), part, c, d
    if last is not None:
        yield held


def _cuts(pairs: Sequence[tuple[int, int]], left: int, right: int) -> Iterator[tuple[int, int]]:
    """Where parts end: before and after each pair of lines, and at the end."""
    a = b = 0
    for c, d in pairs:
        if (a, b) != (c, d):
            yield c, d
        a, b = c + 1, d + 1
        yield a, b
    if (a, b) != (left, right):
        yield left, right


def _part(ours: Sequence[str], keys: Sequence[str], theirs: Sequence[str]) -> Part:
    score = token_score(" ".join(keys).split(), " ".join(theirs).split())
    return Part(ours=tuple(ours), theirs=tuple(theirs), score=score)


def _alike(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of lines that share most of their types, in order, with the most types shared in all."""
    if len(left) * len(right) > MAX_LINE_PAIRS:
        return []
    ours, theirs = [set(line.split()) for line in left], [set(line.split()) for line in right]
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]  # of the lines from a and b on
    for a in reversed(range(len(left))):
        for b in reversed(range(len(right))):
            paired = best[a + 1][b + 1] + _shared(ours[a], theirs[b])
            best[a][b] = max(best[a + 1][b], best[a][b + 1], paired)
    pairs, a, b = [], 0, 0
    while a < len(left) and b < len(right):
        if best[a][b] == best[a + 1][b]:
            a += 1
        elif best[a][b] == best[a][b + 1]:
            b += 1
        else:
            pairs.append((a, b))
            a, b = a + 1, b + 1
    return pairs


def _shared(ours: set[str], theirs: set[str]) -> int:
    shared = len(ours & theirs)
    return shared if 10 * shared >= 6 * max(len(ours), len(theirs)) else 0


def token_score(ours: Sequence[str], theirs: Sequence[str]) -> Score:
    """The score of two sequences of tokens, in time that is bounded.

    Sequences so long that each token cannot be looked for at each place are cut where both have the same
    few tokens, which stand nowhere else; what is too long still counts too few.
    """
    if len(ours) * len(theirs) <= MAX_PRODUCT:
        matched = _matched(ours, theirs, skip_frequent=False)
        return Score(matched=matched, ours=len(ours), theirs=len(theirs))
    matched = a = b = 0
    for c, d in [*_anchors(ours, theirs), (len(ours), len(theirs))]:
        long = (c - a) * (d - b) > MAX_PRODUCT
        matched += _matched(ours[a:c], theirs[b:d], skip_frequent=long)
        a, b = c, d
    return Score(matched=matched, ours=len(ours), theirs=len(theirs))


def _matched(ours: Sequence[str], theirs: Sequence[str], *, skip_frequent: bool) -> int:
    if ours == theirs:
        return len(ours)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=skip_frequent)
    return sum(block.size for block in matcher.get_matching_blocks())


def _anchors(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Places where both have the same tokens that stand but once in each, the most that are in order."""
    left, right = _once(ours), _once(theirs)
    pairs = sorted((place, right[key]) for key, place in left.items() if key in right)
    ends: list[int] = []  # the least end of an ordered chain, by its length
    last: list[int] = []  # the index of the pair at that end
    before: list[int] = []  # of each pair, the index of the one before it in its chain
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
    """The runs of tokens that stand once, with their places."""
    found: dict[tuple[str, ...], int] = {}
    for place, run in enumerate(zip(*(tokens[start:] for start in range(ANCHOR)), strict=False)):
        found[run] = -1 if run in found else place
    return {run: place for run, place in found.items() if place >= 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Many comparisons in a few figures."""

    articles: int
    precision: float  # over all tokens
    recall: float
    f1: float
    median_f1: float  # of articles
    tenth_percentile_f1: float


def summary_of(comparisons: Sequence[Comparison]) -> Summary:
    """The figures over articles; those of no article are all 1."""
    scores = [one.score for one in comparisons]
    values = sorted(score.f1 for score in scores) or [1.0]
    total = sum(scores, Score())
    return Summary(
        articles=len(scores),
        precision=total.precision,
        recall=total.recall,
        f1=total.f1,
        median_f1=statistics.median(values),
        tenth_percentile_f1=values[max(0, -(-len(values) // 10) - 1)],  # nearest rank
    )


def worst(comparisons: Iterable[Comparison], count: int) -> list[tuple[str, Part]]:
    """The parts with the most tokens lost and made up, with the titles of their articles."""
    parts = [(one.title, part) for one in comparisons for part in one.parts if part.wrong]
    return sorted(parts, key=lambda pair: (-pair[1].wrong, pair[0]))[:count]
