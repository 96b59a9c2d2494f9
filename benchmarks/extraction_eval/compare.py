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

MAX_PRODUCT = 4_000_000  # our tokens times theirs, up to which all pairs of tokens are compared
MAX_LINES = 1_000_000  # the same for lines
MAX_LINE_PAIRS = 250_000  # our lines times theirs, up to which similar lines are paired
ANCHOR_TOKENS = 4  # tokens in a row that align longer sequences


class Run(NamedTuple):
    """Consecutive tokens that both texts have: their starts in ours and in theirs, and their number."""

    ours: int
    theirs: int
    size: int

    def moved(self, ours: int, theirs: int) -> Run:
        """Return the run in texts that have this many more tokens in front."""
        return Run(self.ours + ours, self.theirs + theirs, self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The numbers of tokens, or line breaks, in ours, in theirs, and in both; additive."""

    matched: int = 0
    ours: int = 0
    theirs: int = 0

    def __add__(self, other: Score) -> Score:
        """Return the score of both texts together."""
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
        """The number of lost and made-up tokens or line breaks."""
        return self.ours + self.theirs - 2 * self.matched


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Consecutive lines of ours, and the lines of theirs at the same place."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    score: Score  # of tokens
    breaks: Score  # of line breaks between the same tokens
    runs: tuple[Run, ...]  # the tokens that match

    @property
    def differs(self) -> bool:
        """True if a token or a line break is lost or made up."""
        return self.score.wrong + self.breaks.wrong > 0

    def figures(self) -> dict[str, Any]:
        """Return the lines and the scores, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "runs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleComparison:
    """Two versions of an article, aligned line by line, in order."""

    title: str
    alignments: tuple[Alignment, ...]
    score: Score  # of the whole article; a token may match a token of a neighbouring alignment
    breaks: Score  # line breaks between two tokens that follow each other in both versions

    def figures(self) -> dict[str, Any]:
        """Return the title and the scores, for JSON."""
        score, breaks = self.score, self.breaks
        figures = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
        of_breaks = asdict(breaks) | {"precision": breaks.precision, "recall": breaks.recall}
        return {"title": self.title, **asdict(score), **figures, "breaks": of_breaks}


def compare(title: str, ours: Iterable[str], theirs: Iterable[str]) -> ArticleComparison:
    """Compare tokenized lines; `<unk>` in theirs matches any token that occurs nowhere in theirs.

    A rare type is `<unk>` everywhere, so a token that occurs in theirs cannot be the one behind an `<unk>`.

    >>> comparison = compare("A", ["= A =", "", "It is long ."], ["= A =", "", "It is <unk> long ."])
    >>> comparison.score.recall, comparison.score.precision
    (0.875, 1.0)
    """
    left, right = [line for line in ours if line], [line for line in theirs if line]
    their_tokens = {token for line in right for token in line.split()}
    keys = left
    if UNK in their_tokens:
        keys = [" ".join(token if token in their_tokens else UNK for token in line.split()) for line in left]
    alignments: list[Alignment] = []
    runs: list[Run] = []
    our_counts, their_counts = _token_counts(left), _token_counts(right)
    for is_equal, a, b, c, d in _stretches(keys, right):
        whole = _align(left[a:b], keys[a:b], right[c:d])
        parts = [whole] if is_equal else list(_paired(left[a:b], keys[a:b], right[c:d]))
        alignments += parts
        is_better_apart = sum(part.score.matched for part in parts) > whole.score.matched
        our_start, their_start = our_counts[a], their_counts[c]
        for part in parts if is_better_apart else [whole]:
            runs += [run.moved(our_start, their_start) for run in part.runs]
            our_start, their_start = our_start + part.score.ours, their_start + part.score.theirs
    score = Score(matched=sum(run.size for run in runs), ours=our_counts[-1], theirs=their_counts[-1])
    breaks = _break_score(left, right, runs)
    return ArticleComparison(title=title, alignments=tuple(alignments), score=score, breaks=breaks)


def _stretches(keys: Sequence[str], right: Sequence[str]) -> Iterator[tuple[bool, int, int, int, int]]:
    """Yield stretches of equal and of unequal lines, in order: True if equal, and their bounds in both."""
    a = c = 0
    for run in [*matching_runs(keys, right, max_product=MAX_LINES), Run(len(keys), len(right), 0)]:
        if (a, c) != (run.ours, run.theirs):
            yield False, a, run.ours, c, run.theirs
        a, c = run.ours + run.size, run.theirs + run.size
        if run.size:
            yield True, run.ours, a, run.theirs, c


def _token_counts(lines: Sequence[str]) -> list[int]:
    """Return the number of tokens before each line, and the total."""
    return [0, *accumulate(len(line.split()) for line in lines)]


def _break_score(ours: Sequence[str], theirs: Sequence[str], runs: Sequence[Run]) -> Score:
    """Score the line breaks of both sides inside matching runs of tokens, and between runs that touch."""
    left, right = _token_counts(ours)[1:], _token_counts(theirs)[1:]
    score = Score()
    touching = [
        Run(after.ours - 1, after.theirs - 1, 2)
        for before, after in pairwise(runs)
        if after[:2] == before.moved(before.size, before.size)[:2]
    ]
    for run in [*runs, *touching]:
        our_breaks, their_breaks = _inside(left, run.ours, run.size), _inside(right, run.theirs, run.size)
        score += Score(matched=len(our_breaks & their_breaks), ours=len(our_breaks), theirs=len(their_breaks))
    return score


def _inside(places: Sequence[int], start: int, size: int) -> set[int]:
    """Return the places between the tokens of a run, counted from its start."""
    inside = places[bisect_right(places, start) : bisect_left(places, start + size)]
    return {place - start for place in inside}


def _paired(left: Sequence[str], keys: Sequence[str], right: Sequence[str]) -> Iterator[Alignment]:
    """Align unequal lines: similar lines one to one, the lines between them together.

    Neighbours that match more together than apart are joined: one side breaks a line that the other does not.
    """
    held: tuple[int, int, Alignment] | None = None  # the last alignment, not yet yielded, and its start
    a = b = 0
    for c, d in _cuts(_similar(keys, right), len(left), len(right)):
        our_start, their_start, alignment = a, b, _align(left[a:c], keys[a:c], right[b:d])
        if held is not None:
            joined = _align(left[held[0] : c], keys[held[0] : c], right[held[1] : d])
            if joined.score.matched > held[2].score.matched + alignment.score.matched:
                our_start, their_start, alignment = held[0], held[1], joined
            else:
                yield held[2]
        held, a, b = (our_start, their_start, alignment), c, d
    if held is not None:
        yield held[2]


def _cuts(pairs: Sequence[tuple[int, int]], left: int, right: int) -> Iterator[tuple[int, int]]:
    """Yield where alignments end: before and after each pair of lines, and at the end."""
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
    """Return pairs of lines that share most of their types, in order, with the most shared types in all."""
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


def matching_runs(ours: Sequence[str], theirs: Sequence[str], *, max_product: int = MAX_PRODUCT) -> list[Run]:
    """Return the runs of tokens that two sequences share, in order, as long as possible.

    Sequences with a product of lengths over `max_product` are cut at runs of tokens that occur once in each;
    in pieces that are still over it, frequent tokens do not begin a run.

    >>> matching_runs("a b c d".split(), "a b x c d".split())
    [Run(ours=0, theirs=0, size=2), Run(ours=2, theirs=3, size=2)]
    """
    runs: list[Run] = []
    cuts = anchors(ours, theirs) if len(ours) * len(theirs) > max_product else []
    for (a, b), (c, d) in pairwise([(0, 0), *cuts, (len(ours), len(theirs))]):
        for run in _matched(ours[a:c], theirs[b:d], max_product):
            moved = run.moved(a, b)
            if runs and moved[:2] == runs[-1].moved(runs[-1].size, runs[-1].size)[:2]:
                last = runs.pop()
                moved = last._replace(size=last.size + run.size)
            runs += [moved] if moved.size else []
    return runs


def _matched(ours: Sequence[str], theirs: Sequence[str], max_product: int) -> list[Run]:
    if ours == theirs:
        return [Run(0, 0, len(ours))]
    if not ours or not theirs:
        return []
    matcher = SequenceMatcher(None, ours, theirs, autojunk=len(ours) * len(theirs) > max_product)
    return [Run(*block) for block in matcher.get_matching_blocks()]


def anchors(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Return places of runs of tokens that occur once in each: the longest chain in order in both."""
    left, right = _once(ours), _once(theirs)
    pairs = sorted((place, right[key]) for key, place in left.items() if key in right)
    ends: list[int] = []  # the smallest end of an ordered chain, by its length
    last: list[int] = []  # the index of the pair at that end
    before: list[int] = []  # for each pair, the index of the one before it in its chain
    chain: list[tuple[int, int]] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [index]
        before.append(last[length - 1] if length else -1)
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _once(tokens: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Return the runs of tokens that occur once, with their places."""
    places_of_runs: dict[tuple[str, ...], int] = {}
    for place, run in enumerate(zip(*(tokens[start:] for start in range(ANCHOR_TOKENS)), strict=False)):
        places_of_runs[run] = -1 if run in places_of_runs else place
    return {run: place for run, place in places_of_runs.items() if place >= 0}


def summarize(comparisons: Sequence[ArticleComparison]) -> dict[str, float]:
    """Return the figures over articles; all are 1 if there is no article."""
    values = sorted(article.score.f1 for article in comparisons) or [1.0]
    total = sum((article.score for article in comparisons), Score())
    breaks = sum((article.breaks for article in comparisons), Score())
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
    """Return the alignments with the most lost and made-up tokens and line breaks, with article titles."""
    wrong = [(article.title, part) for article in comparisons for part in article.alignments if part.differs]
    return sorted(wrong, key=lambda pair: (-pair[1].score.wrong, -pair[1].breaks.wrong, pair[0]))[:count]
