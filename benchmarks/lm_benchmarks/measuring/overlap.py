"""How much of valid and test is also in train: exact and near duplicates, and shared n-grams.

An n-gram lies within a line. It is known by 64 bits: two different ones are taken for the same with a chance
of 2^-64 per pair. The n-grams of valid and test are kept, sorted, with the articles that they are in; train
is read once, article by article. Memory grows with valid and test and with the number of articles of train,
time with all tokens.

A file without articles is read in blocks of 100 lines.
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

from lm_benchmarks.choices import NGRAM_WORDS
from lm_benchmarks.errors import HarnessError
from wikitext_builder.dataset.files import TITLE, read_articles, read_lines
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.progress import Progress, no_progress

BLOCK: Final = 100  # lines, if a file has no articles
NEAR: Final = 0.5  # a near duplicate has this fraction of its n-grams in one article of train
FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a hash is lost; 2^64 / golden ratio

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleOverlap:
    """What of an article, or of a block of lines, is also in train."""

    split: str
    title: str
    ngrams: int  # different n-grams
    shared: int  # of these, in train too
    lines: int  # of n words or more
    duplicate_lines: int  # of these, in train too
    is_duplicate: bool  # an article of train has the same lines
    nearest: str  # title of the article of train that shares most n-grams; "" if none shares any
    nearest_shared: int  # n-grams that the two share

    @property
    def share(self) -> float:
        """The fraction of the different n-grams that are also in train; 0 if there are none."""
        return self.shared / self.ngrams if self.ngrams else 0.0

    @property
    def is_near_duplicate(self) -> bool:
        """Returns True if one article of train has at least half of the n-grams."""
        return self.ngrams > 0 and self.nearest_shared >= NEAR * self.ngrams


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOverlap:
    """The sums over the articles of a split."""

    split: str
    articles: int
    duplicates: int
    near_duplicates: int  # duplicates among them
    lines: int
    duplicate_lines: int
    ngrams: int  # the different n-grams of each article, added up
    shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """What of a dataset's valid and test is also in its train."""

    words: int  # n, the length of the n-grams
    splits: tuple[SplitOverlap, ...]
    articles: tuple[ArticleOverlap, ...]


@dataclass(frozen=True, slots=True)
class _Article:
    """The hashes of an article: of the whole, of its long lines and of its different n-grams."""

    title: str
    whole: np.uint64
    lines: Hashes
    ngrams: Hashes


def overlap(
    data: str | Path,
    *,
    splits: Sequence[str] | None = None,
    words: int = NGRAM_WORDS,
    without_unknown: bool = False,
    progress: Progress = no_progress,
) -> Overlap:
    """Find how much of valid and test is also in train.

    For example, `overlap("wikitext-2").splits[0].duplicates`.

    Args:
        data: The dataset: a folder with a train file.
        splits: The splits to look at; None: valid and test, if they are there.
        words: n, the length of the n-grams, and the shortest lines that count.
        without_unknown: Leave out n-grams with `<unk>`. It stands for any word: two of them may only look the
            same.
        progress: Receives the number of articles of train read.

    Raises:
        ToolkitError: A file is missing or not of the format, or n is below 1.
    """
    dataset = load_dataset(Path(data))
    wanted = [name for name in ("valid", "test") if name in dataset.files] if splits is None else splits
    found = find_overlap(
        dataset, splits=wanted, words=words, without_unknown=without_unknown, progress=progress
    )
    return Overlap(words=words, splits=tuple(totals(found)), articles=tuple(found))


def find_overlap(
    dataset: Dataset,
    *,
    splits: Sequence[str] = ("valid", "test"),
    words: int = NGRAM_WORDS,
    without_unknown: bool = False,
    progress: Progress = no_progress,
) -> list[ArticleOverlap]:
    """The overlap of each article of some splits with train; see `overlap`.

    Raises:
        ToolkitError: A file is missing or not of the format, or n is below 1.
    """
    if words < 1:
        raise HarnessError(f"n-grams of {words} words; expected 1 or more")
    hasher = _Hasher(words, without_unknown)
    looked_at = [(split, hasher.article(*one)) for split in splits for one in _articles(dataset.file(split))]
    index = _Index([article for _, article in looked_at])
    for number, one in enumerate(_articles(dataset.file("train")), start=1):
        index.look_up(hasher.article(*one))
        progress("overlap", number, None, "of train")
    return [index.overlap(number, split, article) for number, (split, article) in enumerate(looked_at)]


def totals(overlaps: Iterable[ArticleOverlap]) -> list[SplitOverlap]:
    """The sums over the articles of each split, in order."""
    by_split: dict[str, list[ArticleOverlap]] = {}
    for one in overlaps:
        by_split.setdefault(one.split, []).append(one)
    return [
        SplitOverlap(
            split=split,
            articles=len(articles),
            duplicates=sum(one.is_duplicate for one in articles),
            near_duplicates=sum(one.is_near_duplicate for one in articles),
            lines=sum(one.lines for one in articles),
            duplicate_lines=sum(one.duplicate_lines for one in articles),
            ngrams=sum(one.ngrams for one in articles),
            shared=sum(one.shared for one in articles),
        )
        for split, articles in by_split.items()
    ]


def _articles(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Titles and the lines below them; without articles, blocks of lines by their numbers."""
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
    """One hash of a sequence of words."""
    return np.uint64(int.from_bytes(blake2b(words.astype("<u8").tobytes(), digest_size=8).digest(), "little"))


class _Index:
    """The n-grams and lines of valid and test, and which of them are in train so far."""

    def __init__(self, articles: Sequence[_Article]) -> None:
        self.wholes = {int(article.whole) for article in articles}
        self.duplicates: set[int] = set()
        self.ngrams, self.owners = _sorted([article.ngrams for article in articles])
        self.met = np.zeros(len(self.ngrams), bool)
        self.lines, self.line_owners = _sorted([article.lines for article in articles])
        self.lines_met = np.zeros(len(self.lines), bool)
        self.nearest = [("", 0)] * len(articles)

    def look_up(self, article: _Article) -> None:
        """Mark what an article of train shares with valid and test."""
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
        """What of an article is in train, by its number."""
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
    """All hashes, sorted, and for each the number of its group."""
    hashes = np.concatenate([np.zeros(0, np.uint64), *groups])
    owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    order = np.argsort(hashes, kind="stable")
    return hashes[order], owners[order]


def _places(table: Hashes, wanted: Hashes) -> NDArray[np.int64]:
    """All positions of some hashes in a sorted table; `wanted` has each hash once."""
    begins = np.searchsorted(table, wanted, "left")
    ends = np.searchsorted(table, wanted, "right")
    found = np.flatnonzero(ends > begins)
    runs = [np.arange(begins[one], ends[one]) for one in found]
    return np.concatenate([np.zeros(0, np.int64), *runs])
