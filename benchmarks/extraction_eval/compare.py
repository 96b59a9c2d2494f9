"""Compares our lines with reference lines: tokens and line breaks matched, lost and made up.

`ours` are lines of ours; `theirs` are the reference: rendered or official lines.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from wikitext_builder.dataset.vocabulary import UNK

MAX_PRODUCT = 4_000_000  # our tokens times theirs, up to which each token is compared with each
MAX_LINES = 1_000_000  # the same of lines
MAX_LINE_PAIRS = 250_000  # our lines times theirs, up to which similar lines are paired
ANCHOR = 4  # tokens in a row that align longer sequences


class Run(NamedTuple):
    """Neighbouring tokens that both texts have: where they begin in ours and in theirs, and how many."""

    ours: int
    theirs: int
    size: int

    def moved(self, ours: int, theirs: int) -> Run:
        """The run in texts that have this many tokens more in front."""
        return Run(self.ours + ours, self.theirs + theirs, self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The number of tokens, or of line breaks, of ours, of theirs, and of those that both have; additive."""

    matched: int = 0
    ours: int = 0
    theirs: int = 0

    def __add__(self, other: Score) -> Score:
        """The score of both texts together."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("matched", "ours", "theirs")}
        return Score(**sums)

    @property
    def precision(self) -> float:
        """The fraction of ours that also occur, in order, in theirs."""
        return self.matched / self.ours if self.ours else 1.0

    @property
    def recall(self) -> float:
        """The fraction of theirs that also occur, in order, in ours."""
        return self.matched / self.theirs if self.theirs else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.matched / (self.ours + self.theirs) if self.ours + self.theirs else 1.0

    @property
    def wrong(self) -> int:
        """The number of those lost and made up."""
        return self.ours + self.theirs - 2 * self.matched


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Neighbouring lines of ours, and the lines of theirs at the same place."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    score: Score  # of tokens
    breaks: Score  # of line breaks between the same tokens
    runs: tuple[Run, ...]  # the tokens that match

    @property
    def differs(self) -> bool:
        """Returns True if a token or a line break is lost or made up."""
        return self.score.wrong + self.breaks.wrong > 0

    def figures(self) -> dict[str, Any]:
        """The lines and the scores as JSON takes them."""
        return {name: value for name, value in asdict(self).items() if name != "runs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleComparison:
    """Two versions of an article, aligned line by line, in order."""

    title: str
    alignments: tuple[Alignment, ...]
    score: Score  # of the whole; a token may match one in a neighbouring alignment
    breaks: Score  # line breaks between two tokens that follow each other in both versions

    def figures(self) -> dict[str, Any]:
        """The title and the scores as JSON takes them."""
        score, breaks = self.score, self.breaks
        figures = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
        of_breaks = asdict(breaks) | {"precision": breaks.precision, "recall": breaks.recall}
        return {"title": self.title, **asdict(score), **figures, "breaks": of_breaks}


def compare(title: str, ours: Iterable[str], theirs: Iterable[str]) -> ArticleComparison:
    """Compare tokenized lines; `<unk>` in theirs matches any token that occurs nowhere in theirs.

    A rare type is `<unk>` everywhere, so a token that occurs in theirs cannot be the one behind an `<unk>`.

    >>> found = compare("A", ["= A =", "", "It is long ."], ["= A =", "", "It is <unk> long ."])
    >>> found.score.recall, found.score.precision
    (0.875, 1.0)
    """
    left, right = [line for line in ours if line], [line for line in theirs if line]
    known = {token for line in right for token in line.split()}
    keys = left
    if UNK in known:
        keys = [" ".join(one if one in known else UNK for one in line.split()) for line in left]
    alignments: list[Alignment] = []
    runs: list[Run] = []
    before, there = _token_counts(left), _token_counts(right)
    for same, a, b, c, d in _stretches(keys, right):
        together = _align(left[a:b], keys[a:b], right[c:d])
        found = [together] if same else list(_paired(left[a:b], keys[a:b], right[c:d]))
        alignments += found
        apart = sum(one.score.matched for one in found) > together.score.matched
        at, place = before[a], there[c]
        for one in found if apart else [together]:
            runs += [run.moved(at, place) for run in one.runs]
            at, place = at + one.score.ours, place + one.score.theirs
    score = Score(matched=sum(run.size for run in runs), ours=before[-1], theirs=there[-1])
    breaks = _break_score(left, right, runs)
    return ArticleComparison(title=title, alignments=tuple(alignments), score=score, breaks=breaks)


def _stretches(keys: Sequence[str], right: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Stretches of equal lines and of others, in order: whether they are equal, and where both lie."""
    a = c = 0
    for run in [*matching_runs(keys, right, most=MAX_LINES), Run(len(keys), len(right), 0)]:
        if (a, c) != (run.ours, run.theirs):
            yield False, a, run.ours, c, run.theirs
        a, c = run.ours + run.size, run.theirs + run.size
        if run.size:
            yield True, run.ours, a, run.theirs, c


def _token_counts(lines: Sequence[str]) -> list[int]:
    """The number of tokens before each line, and of all."""
    return [0, *accumulate(len(line.split()) for line in lines)]


def _break_score(ours: Sequence[str], theirs: Sequence[str], runs: Sequence[Run]) -> Score:
    """The line breaks of both sides inside of runs of tokens that match, and between runs that touch."""
    left, right = _token_counts(ours)[1:], _token_counts(theirs)[1:]
    score = Score()
    touching = [
        Run(after.ours - 1, after.theirs - 1, 2)
        for before, after in pairwise(runs)
        if after[:2] == before.moved(before.size, before.size)[:2]
    ]
    for run in [*runs, *touching]:
        here, there = _inside(left, run.ours, run.size), _inside(right, run.theirs, run.size)
        score += Score(matched=len(here & there), ours=len(here), theirs=len(there))
    return score


def _inside(places: Sequence[int], start: int, size: int) -> set[int]:
    """The places between the tokens of a run, counted from its start."""
    return {one - start for one in places[bisect_right(places, start) : bisect_left(places, start + size)]}


def _paired(left: Sequence[str], keys: Sequence[str], right: Sequence[str]) -> Iterator[Alignment]:
    """Aligns unequal lines: similar lines one to one, the lines between them together.

    Neighbours that match more together than apart are joined: one side breaks a line that the other does not.
    """
    held: tuple[int, int, Alignment] | None = None  # where the alignment begins that is held back
    a = b = 0
    for c, d in _cuts(_similar(keys, right), len(left), len(right)):
        start, first, found = a, b, _align(left[a:c], keys[a:c], right[b:d])
        if held is not None:
            both = _align(left[held[0] : c], keys[held[0] : c], right[held[1] : d])
            if both.score.matched > held[2].score.matched + found.score.matched:
                start, first, found = held[0], held[1], both
            else:
                yield held[2]
        held, a, b = (start, first, found), c, d
    if held is not None:
        yield held[2]


def _cuts(pairs: Sequence[tuple[int, int]], left: int, right: int) -> Iterator[tuple[int, int]]:
    """Where alignments end: before and after each pair of lines, and at the end."""
    a = b = 0
    for c, d in pairs:
        if (a, b) != (c, d):
            yield c, d
        a, b = c + 1, d + 1
        yield a, b
    if (a, b) != (left, right):
        yield left, right


def _align(ours: Sequence[str], keys: Sequence[str], theirs: Sequence[str]) -> Alignment:
    left, right = " ".join(keys).split(), " ".join(theirs).split()
    runs = matching_runs(left, right)
    score = Score(matched=sum(run.size for run in runs), ours=len(left), theirs=len(right))
    breaks = _break_score(ours, theirs, runs)
    return Alignment(ours=tuple(ours), theirs=tuple(theirs), score=score, breaks=breaks, runs=tuple(runs))


def _similar(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of lines that share most of their types, in order; the pairs that share the most types in all."""
    if len(left) * len(right) > MAX_LINE_PAIRS:
        return []
    ours, theirs = [set(line.split()) for line in left], [set(line.split()) for line in right]
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]  # for the lines from a and b on
    for a in reversed(range(len(left))):
        for b in reversed(range(len(right))):
            shared = len(ours[a] & theirs[b])
            is_similar = 10 * shared >= 6 * max(len(ours[a]), len(theirs[b]))
            best[a][b] = max(best[a + 1][b], best[a][b + 1], best[a + 1][b + 1] + shared * is_similar)
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


def matching_runs(ours: Sequence[str], theirs: Sequence[str], *, most: int = MAX_PRODUCT) -> list[Run]:
    """The runs of tokens that two sequences share, in order; each is as long as it can be.

    Sequences over `most` (the product of their lengths) are cut at runs of tokens that occur once in each;
    in pieces that are still over it, frequent tokens do not begin a run.

    >>> matching_runs("a b c d".split(), "a b x c d".split())
    [Run(ours=0, theirs=0, size=2), Run(ours=2, theirs=3, size=2)]
    """
    found: list[Run] = []
    cuts = anchors(ours, theirs) if len(ours) * len(theirs) > most else []
    for (a, b), (c, d) in pairwise([(0, 0), *cuts, (len(ours), len(theirs))]):
        for run in _matched(ours[a:c], theirs[b:d], most):
            moved = run.moved(a, b)
            if found and moved[:2] == found[-1].moved(found[-1].size, found[-1].size)[:2]:
                last = found.pop()
                moved = last._replace(size=last.size + run.size)
            found += [moved] if moved.size else []
    return found


def _matched(ours: Sequence[str], theirs: Sequence[str], most: int) -> list[Run]:
    if ours == theirs:
        return [Run(0, 0, len(ours))]
    if not ours or not theirs:
        return []
    matcher = SequenceMatcher(None, ours, theirs, autojunk=len(ours) * len(theirs) > most)
    return [Run(*block) for block in matcher.get_matching_blocks()]


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


def summarize(comparisons: Sequence[ArticleComparison]) -> dict[str, float]:
    """The figures over articles; all are 1 if there is no article."""
    values = sorted(one.score.f1 for one in comparisons) or [1.0]
    total = sum((one.score for one in comparisons), Score())
    breaks = sum((one.breaks for one in comparisons), Score())
    return {
        "articles": len(comparisons),
        "precision": total.precision,  # over all tokens
        "recall": total.recall,
        "f1": total.f1,
        "median_f1": statistics.median(values),  # of articles
        "tenth_percentile_f1": values[max(0, -(-len(values) // 10) - 1)],  # nearest rank
        "break_precision": breaks.precision,  # of line breaks between the same tokens, over all articles
        "break_recall": breaks.recall,
    }


def worst(comparisons: Iterable[ArticleComparison], count: int) -> list[tuple[str, Alignment]]:
    """The alignments with the most tokens and line breaks lost and made up, with their articles' titles."""
    wrong = [(one.title, part) for one in comparisons for part in one.alignments if part.differs]
    return sorted(wrong, key=lambda pair: (-pair[1].score.wrong, -pair[1].breaks.wrong, pair[0]))[:count]
