"""Fidelity: how far lines are from what a reader of Wikipedia sees, in tokens found, lost and made up."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from wikitext_builder.article import Article
from wikitext_builder.tokenizer import tokenize
from wikitext_builder.vocabulary import UNK

MAX_PRODUCT = 4_000_000  # tokens of two parts times each other that are compared one by one

# What dropped templates and forgotten markup leave, looked for in the dataset's lines: the first ones in
# tokens, the others in the text before tokenization.
TOKEN_RESIDUE = {
    "( )": re.compile(r"\( \)"),
    "( ,": re.compile(r"\( ,"),
    "( ;": re.compile(r"\( ;"),
    ", ,": re.compile(r", ,"),
    ", .": re.compile(r", \.(?= |$)"),
}
TEXT_RESIDUE = {
    "|": re.compile(r"\|"),
    "''": re.compile(r"''"),
    "[[": re.compile(r"\[\[|\]\]"),
    "{{": re.compile(r"\{\{|\}\}"),
    "thumb": re.compile(r"\bthumb\b(?=\||$)|\|thumb"),
    "px": re.compile(r"\b\d+px\b"),
    "entity": re.compile(r"&(?:#\d+|#x[\da-fA-F]+|[A-Za-z]\w{1,30});"),
    "tag": re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?: [^<>]{0,200})?/?>"),
    "list marker": re.compile(r"^[*#:;]"),
    "File:": re.compile(r"\b(?:File|Image):"),
}
FORMULA = "<formula>"  # the one tag that is a token


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

    @property
    def score(self) -> Score:
        """Over the whole article."""
        return sum((part.score for part in self.parts), Score())


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
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, keys, right, autojunk=False).get_opcodes():
        if kind == "equal":
            count = sum(len(line.split()) for line in right[c:d])
            score = Score(matched=count, ours=count, theirs=count)
            parts.append(Part(ours=tuple(left[a:b]), theirs=tuple(right[c:d]), score=score))
        else:
            parts += _paired(left[a:b], keys[a:b], right[c:d])
    return Comparison(title=title, parts=tuple(parts))


def _as_unknown(known: set[str]) -> Callable[[str], str]:
    return lambda line: " ".join(token if token in known else UNK for token in line.split())


def _paired(left: Sequence[str], keys: Sequence[str], right: Sequence[str]) -> Iterator[Part]:
    """Parts of lines that are not equal: one to one where there are as many, else all together."""
    if len(left) == len(right):
        for ours, key, theirs in zip(left, keys, right, strict=True):
            score = token_score(key.split(), theirs.split())
            yield Part(ours=(ours,), theirs=(theirs,), score=score)
    else:
        score = token_score(" ".join(keys).split(), " ".join(right).split())
        yield Part(ours=tuple(left), theirs=tuple(right), score=score)


def token_score(ours: Sequence[str], theirs: Sequence[str]) -> Score:
    """The score of two sequences of tokens, in time that is bounded.

    Parts so long that each token cannot be looked for at each place are compared as if tokens that stand at
    more than one place in a hundred were not there, which counts a little too few.
    """
    long = len(ours) * len(theirs) > MAX_PRODUCT
    matcher = SequenceMatcher(None, ours, theirs, autojunk=long)
    matched = sum(block.size for block in matcher.get_matching_blocks())
    return Score(matched=matched, ours=len(ours), theirs=len(theirs))


def compare_articles(ours: Article, theirs: Article, *, language: str) -> Comparison:
    """Compare two extractions of one page, token by token."""
    left, right = tokenize(ours, language=language), tokenize(theirs, language=language)
    return compare(ours.title, left.lines, right.lines)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """What one pattern finds in many articles."""

    pattern: str
    count: int
    per_million: float  # tokens
    titles: tuple[str, ...]  # of the articles where it stands, in order
    lines: tuple[str, ...]  # the first of them


def residue(articles: Iterable[Article], *, language: str, examples: int = 5) -> list[Residue]:
    """Markup and holes that are left in plain articles, pattern by pattern.

    >>> article = Article(title="A", page_id=1, revision_id=1, timestamp="", lines=("It ( ) is ''b.",))
    >>> [(one.pattern, one.count) for one in residue([article], language="en") if one.count]
    [('( )', 1), ("''", 1)]
    """
    tokens = 0
    counts: Counter[str] = Counter()
    titles: dict[str, dict[str, None]] = {}
    lines: dict[str, list[str]] = {}
    for article in articles:
        tokenized = tokenize(article, language=language)
        tokens += sum(len(line.split()) for line in tokenized.lines)
        for line, parted in zip(article.lines, tokenized.lines, strict=True):
            for name, found in _residue_of(line, parted):
                counts[name] += found
                titles.setdefault(name, {})[article.title] = None
                lines.setdefault(name, []).append(line)
    return [
        Residue(
            pattern=name,
            count=counts[name],
            per_million=counts[name] / tokens * 1e6 if tokens else 0.0,
            titles=tuple(titles.get(name, ())),
            lines=tuple(lines.get(name, ())[:examples]),
        )
        for name in (*TOKEN_RESIDUE, *TEXT_RESIDUE)
    ]


def _residue_of(line: str, tokenized: str) -> Iterator[tuple[str, int]]:
    for name, pattern in TOKEN_RESIDUE.items():
        if found := len(pattern.findall(tokenized)):
            yield name, found
    for name, pattern in TEXT_RESIDUE.items():
        if found := sum(match != FORMULA for match in pattern.findall(line)):
            yield name, found
