"""compare: how far our lines are from reference lines, in tokens and line breaks matched, lost and made up.

`ours` are lines of ours; `theirs` are the reference: rendered or official lines.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from extraction_eval.matching import Run, matching_runs
from wikitext_builder.dataset.vocabulary import UNK

MAX_LINES = 1_000_000  # our lines times theirs, up to which each is compared with each
MAX_LINE_PAIRS = 250_000  # our lines times theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The number of tokens, or of line breaks, of ours, of theirs, and of those that both have; additive."""

    matched: int = 0
    ours: int = 0
    theirs: int = 0

    def __add__(self, other: Score) -> Score:
        """The score of both texts together."""
        return Score(
            matched=self.matched + other.matched,
            ours=self.ours + other.ours,
            theirs=self.theirs + other.theirs,
        )

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Neighbouring lines of ours, and the lines of theirs at the same place."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    score: Score  # of tokens
    breaks: Score  # of line breaks between the same tokens
    runs: tuple[Run, ...]  # the tokens that match

    @property
    def wrong(self) -> int:
        """The number of tokens lost and made up."""
        return self.score.ours + self.score.theirs - 2 * self.score.matched

    @property
    def wrong_breaks(self) -> int:
        """The number of line breaks lost and made up."""
        return self.breaks.ours + self.breaks.theirs - 2 * self.breaks.matched

    def figures(self) -> dict[str, Any]:
        """The lines and the scores as JSON takes them."""
        scores = {"score": asdict(self.score), "breaks": asdict(self.breaks)}
        return {"ours": self.ours, "theirs": self.theirs, **scores}


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
    read = _as_unknown(known) if UNK in known else str
    keys = [read(line) for line in left]
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


def _break_score(ours: Sequence[str], theirs: Sequence[str], runs: Iterable[Run]) -> Score:
    """The line breaks of both sides inside of runs of tokens that match."""
    left, right = _token_counts(ours)[1:], _token_counts(theirs)[1:]
    score = Score()
    for run in _touching(runs):
        here, there = _inside(left, run.ours, run.size), _inside(right, run.theirs, run.size)
        score += Score(matched=len(here & there), ours=len(here), theirs=len(there))
    return score


def _touching(runs: Iterable[Run]) -> Iterator[Run]:
    """The runs, and between two that touch on both sides their last and first token."""
    last = Run(0, 0, 0)
    for run in runs:
        if last.size and run[:2] == (last.ours + last.size, last.theirs + last.size):
            yield Run(run.ours - 1, run.theirs - 1, 2)
        yield run
        last = run


def _inside(places: Sequence[int], start: int, size: int) -> set[int]:
    """The places between the tokens of a run, counted from its start."""
    return {one - start for one in places[bisect_right(places, start) : bisect_left(places, start + size)]}


def _as_unknown(known: set[str]) -> Callable[[str], str]:
    return lambda line: " ".join(token if token in known else UNK for token in line.split())


def _paired(left: Sequence[str], keys: Sequence[str], right: Sequence[str]) -> Iterator[Alignment]:
    """Aligns unequal lines: similar lines one to one, the lines between them together.

    Neighbours that match more together than apart are joined: one side breaks a line that the other does not.
    """
    last: tuple[int, int] | None = None  # where the alignment begins that is held back
    held = _align((), (), ())
    a = b = 0
    for c, d in _cuts(_similar(keys, right), len(left), len(right)):
        found = _align(left[a:c], keys[a:c], right[b:d])
        if last is not None:
            start, first = last
            both = _align(left[start:c], keys[start:c], right[first:d])
            if both.score.matched > held.score.matched + found.score.matched:
                held, a, b = both, c, d
                continue
            yield held
        last, held, a, b = (a, b), found, c, d
    if last is not None:
        yield held


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
    return Alignment(
        ours=tuple(ours),
        theirs=tuple(theirs),
        score=score,
        breaks=_break_score(ours, theirs, runs),
        runs=tuple(runs),
    )


def _similar(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of lines that share most of their types, in order; the pairs that share the most types in all."""
    if len(left) * len(right) > MAX_LINE_PAIRS:
        return []
    ours, theirs = [set(line.split()) for line in left], [set(line.split()) for line in right]
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]  # for the lines from a and b on
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of many comparisons."""

    articles: int
    precision: float  # over all tokens
    recall: float
    f1: float
    median_f1: float  # of articles
    tenth_percentile_f1: float
    break_precision: float  # of line breaks between the same tokens, over all articles
    break_recall: float


def summarize(comparisons: Sequence[ArticleComparison]) -> Summary:
    """The figures over articles; all are 1 if there is no article."""
    scores = [one.score for one in comparisons]
    values = sorted(score.f1 for score in scores) or [1.0]
    total = sum(scores, Score())
    breaks = sum((one.breaks for one in comparisons), Score())
    return Summary(
        articles=len(scores),
        precision=total.precision,
        recall=total.recall,
        f1=total.f1,
        median_f1=statistics.median(values),
        tenth_percentile_f1=values[max(0, -(-len(values) // 10) - 1)],  # nearest rank
        break_precision=breaks.precision,
        break_recall=breaks.recall,
    )


def worst(comparisons: Iterable[ArticleComparison], count: int) -> list[tuple[str, Alignment]]:
    """The alignments with the most tokens and line breaks lost and made up, with their articles' titles."""
    found = [(one.title, part) for one in comparisons for part in one.alignments]
    wrong = [(title, part) for title, part in found if part.wrong or part.wrong_breaks]
    return sorted(wrong, key=lambda pair: (-pair[1].wrong, -pair[1].wrong_breaks, pair[0]))[:count]
