"""compare: how far our lines are from reference lines, in tokens matched, lost and made up.

`ours` are lines of ours; `theirs` are the reference: rendered or official lines.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher

from wikitext_builder.dataset.vocabulary import UNK

MAX_PRODUCT = 4_000_000  # our tokens times theirs, up to which each token is compared with each
MAX_LINE_PAIRS = 250_000  # our lines times theirs
ANCHOR = 4  # tokens in a row that align longer sequences


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenScore:
    """The number of our tokens, of theirs, and of those that both have in the same order; additive."""

    matched: int = 0
    ours: int = 0
    theirs: int = 0

    def __add__(self, other: TokenScore) -> TokenScore:
        """The score of both texts together."""
        return TokenScore(
            matched=self.matched + other.matched,
            ours=self.ours + other.ours,
            theirs=self.theirs + other.theirs,
        )

    @property
    def precision(self) -> float:
        """The fraction of our tokens that also occur, in order, in theirs."""
        return self.matched / self.ours if self.ours else 1.0

    @property
    def recall(self) -> float:
        """The fraction of their tokens that also occur, in order, in ours."""
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
    score: TokenScore

    @property
    def wrong(self) -> int:
        """The number of tokens lost and made up."""
        return self.score.ours + self.score.theirs - 2 * self.score.matched


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleComparison:
    """Two versions of an article, aligned line by line, in order."""

    title: str
    alignments: tuple[Alignment, ...]
    score: TokenScore  # of the whole; a token may match one in a neighbouring alignment

    def figures(self) -> dict[str, str | float]:
        """The title and the score as JSON takes them."""
        score = self.score
        figures = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
        return {"title": self.title, **asdict(score), **figures}


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
    total = TokenScore()
    for kind, a, b, c, d in SequenceMatcher(None, keys, right, autojunk=False).get_opcodes():
        if kind == "equal":
            count = sum(len(line.split()) for line in right[c:d])
            score = TokenScore(matched=count, ours=count, theirs=count)
            alignments.append(Alignment(ours=tuple(left[a:b]), theirs=tuple(right[c:d]), score=score))
        else:
            paired = list(_paired(left[a:b], keys[a:b], right[c:d]))
            alignments += paired
            together = _align(left[a:b], keys[a:b], right[c:d]).score
            apart = sum((one.score for one in paired), TokenScore())
            score = max(together, apart, key=lambda one: one.matched)
        total += score
    return ArticleComparison(title=title, alignments=tuple(alignments), score=total)


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
    score = score_tokens(" ".join(keys).split(), " ".join(theirs).split())
    return Alignment(ours=tuple(ours), theirs=tuple(theirs), score=score)


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


def score_tokens(ours: Sequence[str], theirs: Sequence[str]) -> TokenScore:
    """The score of two sequences of tokens, in bounded time.

    Long sequences are cut at runs of tokens that occur once in each; pieces that are still too long get a
    score that is too low.
    """
    if len(ours) * len(theirs) <= MAX_PRODUCT:
        matched = _matched(ours, theirs, skip_frequent=False)
        return TokenScore(matched=matched, ours=len(ours), theirs=len(theirs))
    matched = a = b = 0
    for c, d in [*_anchors(ours, theirs), (len(ours), len(theirs))]:
        long = (c - a) * (d - b) > MAX_PRODUCT
        matched += _matched(ours[a:c], theirs[b:d], skip_frequent=long)
        a, b = c, d
    return TokenScore(matched=matched, ours=len(ours), theirs=len(theirs))


def _matched(ours: Sequence[str], theirs: Sequence[str], *, skip_frequent: bool) -> int:
    if ours == theirs:
        return len(ours)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=skip_frequent)
    return sum(block.size for block in matcher.get_matching_blocks())


def _anchors(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of many comparisons."""

    articles: int
    precision: float  # over all tokens
    recall: float
    f1: float
    median_f1: float  # of articles
    tenth_percentile_f1: float


def summarize(comparisons: Sequence[ArticleComparison]) -> Summary:
    """The figures over articles; all are 1 if there is no article."""
    scores = [one.score for one in comparisons]
    values = sorted(score.f1 for score in scores) or [1.0]
    total = sum(scores, TokenScore())
    return Summary(
        articles=len(scores),
        precision=total.precision,
        recall=total.recall,
        f1=total.f1,
        median_f1=statistics.median(values),
        tenth_percentile_f1=values[max(0, -(-len(values) // 10) - 1)],  # nearest rank
    )


def worst(comparisons: Iterable[ArticleComparison], count: int) -> list[tuple[str, Alignment]]:
    """The alignments with the most tokens lost and made up, with the titles of their articles."""
    found = [(one.title, part) for one in comparisons for part in one.alignments if part.wrong]
    return sorted(found, key=lambda pair: (-pair[1].wrong, pair[0]))[:count]
