"""How much of valid and test stands in train: exact and near duplicates, and n-grams in common.

An n-gram lies within a line; it is known by 64 bits, so that two different ones are taken for the same with a
chance of 2^-64 a pair. Those of valid and test are kept, sorted, with the articles that they are in; train is
read through once, article by article. Memory grows with valid and test and the number of articles of train,
time with all tokens.

13 words are the most that GPT-3's authors took for their report on overlap: Brown et al. (2020), arXiv
2005.14165, appendix C. A file without articles is read in blocks of 100 lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wikitext_builder.dataset.files import TITLE, read_articles, read_lines
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress

WORDS: Final = 13
BLOCK: Final = 100  # lines, where a file has no articles
NEAR: Final = 0.5  # of an article's n-grams are in one article of train: a near duplicate of it
FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a hash is lost; 2^64 / golden ratio

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleOverlap:
    """What of an article, or of a block of lines, stands in train."""

    split: str
    title: str
    ngrams: int  # different ones
    shared: int  # of them, those that stand in train
    lines: int  # of n words or more
    duplicate_lines: int  # of them, those that stand in train whole
    is_duplicate: bool  # an article of train has the same lines
    nearest: (
        str  # the title of the article of train with which it has most n-grams in common; "" if with none
    )
    nearest_shared: int  # n-grams that it has in common with it

    @property
    def share(self) -> float:
        """Of the different n-grams, those that stand in train; 0 where there are none."""
        return self.shared / self.ngrams if self.ngrams else 0.0

    @property
    def is_near_duplicate(self) -> bool:
        """Whether one article of train has at least half of the n-grams."""
        return self.ngrams > 0 and self.nearest_shared >= NEAR * self.ngrams


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOverlap:
    """The articles of a part together."""

    split: str
    articles: int
    duplicates: int
    near_duplicates: int  # duplicates among them
    lines: int
    duplicate_lines: int
    ngrams: int  # articles' different ones, added up
    shared: int


@dataclass(frozen=True, slots=True)
class _Article:
    """The hashes of an article: of all its lines together, of its long lines and of its different n-grams."""

    title: str
    whole: np.uint64
    lines: Hashes
    ngrams: Hashes


def find_overlap(
    dataset: Dataset,
    *,
    splits: Sequence[str] = ("valid", "test"),
    words: int = WORDS,
    without_unknown: bool = False,
    progress: Progress = no_progress,
) -> list[ArticleOverlap]:
    """The overlap of each article of valid and test with train.

    Args:
        dataset: Must have a train file.
        splits: The parts to look at.
        words: n, the length of n-grams and the least of lines that count.
        without_unknown: Leave out n-grams with an `<unk>`, which is any word: they may only look the same.
        progress: Told how many articles of train were read.

    Raises:
        BuilderError: A file is missing or not of the format, or n is below 1.
    """
    if words < 1:
        raise BuilderError(f"n-grams of {words} words; expected 1 or more")
    hasher = _Hasher(words, without_unknown)
    parts = [(split, hasher.article(*one)) for split in splits for one in _articles(dataset.file(split))]
    index = _Index([article for _, article in parts])
    for number, one in enumerate(_articles(dataset.file("train")), start=1):
        index.look_up(hasher.article(*one))
        progress("overlap", number, None, "articles of train")
    return [index.overlap(number, split, article) for number, (split, article) in enumerate(parts)]


def totals(overlaps: Iterable[ArticleOverlap]) -> list[SplitOverlap]:
    """The sums over the articles of each part, in order."""
    parts: dict[str, list[ArticleOverlap]] = {}
    for overlap in overlaps:
        parts.setdefault(overlap.split, []).append(overlap)
    return [
        SplitOverlap(
            split=split,
            articles=len(part),
            duplicates=sum(one.is_duplicate for one in part),
            near_duplicates=sum(one.is_near_duplicate for one in part),
            lines=sum(one.lines for one in part),
            duplicate_lines=sum(one.duplicate_lines for one in part),
            ngrams=sum(one.ngrams for one in part),
            shared=sum(one.shared for one in part),
        )
        for split, part in parts.items()
    ]


def _articles(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Titles and the lines below them; blocks of lines by their numbers where there are no articles."""
    first = list(islice(read_lines(path), 3))
    if len(first) == 3 and not first[0] and not first[2] and TITLE.fullmatch(first[1]):
        for article in read_articles(path):
            yield article[1].strip("= "), article[2:]
        return
    lines, begin = read_lines(path), 1
    while block := tuple(islice(lines, BLOCK)):
        yield f"lines {begin} to {begin + len(block) - 1}", block
        begin += len(block)


class _Hasher:
    """Hashes of words, each computed once."""

    def __init__(self, words: int, without_unknown: bool) -> None:
        self.words = words
        self.without_unknown = without_unknown
        self.known: dict[str, int] = {}

    def article(self, title: str, lines: Iterable[str]) -> _Article:
        hashed = [self._line(line) for line in lines if line]
        long = [line for line in hashed if len(line) >= self.words]
        ngrams = np.concatenate([self._ngrams(line) for line in long]) if long else np.zeros(0, np.uint64)
        return _Article(
            title,
            _joined(np.concatenate(hashed) if hashed else np.zeros(0, np.uint64)),
            np.array([_joined(line) for line in long], np.uint64),
            np.unique(ngrams),
        )

    def _line(self, line: str) -> Hashes:
        return np.array([self._word(word) for word in line.split()], np.uint64)

    def _word(self, word: str) -> int:
        found = self.known.get(word)
        if found is None:
            found = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
            self.known[word] = found
        return found

    def _ngrams(self, line: Hashes) -> Hashes:
        """A polynomial of the words' hashes, modulo 2^64, for each n-gram of a line."""
        count = len(line) - self.words + 1
        ngrams = np.zeros(count, np.uint64)
        for place in range(self.words):
            ngrams = ngrams * FACTOR + line[place : place + count]
        if self.without_unknown:
            unknown = np.cumsum(np.concatenate([[0], line == np.uint64(self._word(UNK))]))
            ngrams = ngrams[unknown[self.words :] == unknown[:count]]
        return ngrams


def _joined(words: Hashes) -> np.uint64:
    """One hash of some words in a row."""
    return np.uint64(int.from_bytes(blake2b(words.astype("<u8").tobytes(), digest_size=8).digest(), "little"))


class _Index:
    """The n-grams and lines of valid and test, and what of them was met in train so far."""

    def __init__(self, articles: Sequence[_Article]) -> None:
        self.wholes = {int(article.whole) for article in articles}
        self.duplicates: set[int] = set()
        self.ngrams, self.owners = _sorted([article.ngrams for article in articles])
        self.met = np.zeros(len(self.ngrams), bool)
        self.lines, self.line_owners = _sorted([article.lines for article in articles])
        self.lines_met = np.zeros(len(self.lines), bool)
        self.nearest = [("", 0)] * len(articles)

    def look_up(self, article: _Article) -> None:
        """Mark what an article of train has in common with others."""
        if int(article.whole) in self.wholes:
            self.duplicates.add(int(article.whole))
        self.lines_met[_places(self.lines, np.unique(article.lines))] = True
        places = _places(self.ngrams, article.ngrams)
        self.met[places] = True
        counts = np.bincount(self.owners[places], minlength=len(self.nearest))
        for number in np.flatnonzero(counts):
            if counts[number] > self.nearest[number][1]:
                self.nearest[number] = (article.title, int(counts[number]))

    def overlap(self, number: int, split: str, article: _Article) -> ArticleOverlap:
        """What was met of an article, by its number."""
        nearest, nearest_shared = self.nearest[number]
        return ArticleOverlap(
            split=split,
            title=article.title,
            ngrams=len(article.ngrams),
            shared=int(self.met[self.owners == number].sum()),
            lines=len(article.lines),
            duplicate_lines=int(self.lines_met[self.line_owners == number].sum()),
            is_duplicate=int(article.whole) in self.duplicates,
            nearest=nearest,
            nearest_shared=nearest_shared,
        )


def _sorted(groups: Sequence[Hashes]) -> tuple[Hashes, NDArray[np.int64]]:
    """All hashes, sorted, and the number of the group that each is of."""
    hashes = np.concatenate([np.zeros(0, np.uint64), *groups])
    owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    order = np.argsort(hashes, kind="stable")
    return hashes[order], owners[order]


def _places(table: Hashes, wanted: Hashes) -> NDArray[np.int64]:
    """Where hashes stand in a sorted table, all of their places; `wanted` has each once."""
    begins = np.searchsorted(table, wanted, "left")
    ends = np.searchsorted(table, wanted, "right")
    found = np.flatnonzero(ends > begins)
    runs = [np.arange(begins[one], ends[one]) for one in found]
    return np.concatenate([np.zeros(0, np.int64), *runs])
