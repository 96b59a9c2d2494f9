"""Reads a split as an array of word ids, from which all statistics of a portrait are computed.

A file is read once. Lines only separate: unlike Table 1 of the paper, nothing here counts `<eos>`, so that
texts with one sentence per line can be compared with texts with one paragraph per line. Memory is about 8
bytes per word: its id, and the distance to its previous occurrence.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wikitext_builder.article import heading_level
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import UNK, read_token_lines
from wikitext_builder.errors import BuilderError

Ids = NDArray[np.int32]
Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
BLOCK_WORDS: Final = 2**18  # words that are processed at once: their arrays fit in a processor's cache


def blocks(length: int, size: int = BLOCK_WORDS) -> Iterator[slice]:
    """Yield consecutive slices of up to `size` that cover `length` positions."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


class WordCounts(NamedTuple):
    """The words of a text with their counts, by which two texts are compared."""

    words: list[str]  # by id
    counts: Integers


@dataclass(frozen=True, kw_only=True)
class Text:
    """The words of a split. `<unk>` has the id 0."""

    ids: Ids
    line_ends: Integers  # the number of words up to the end of each line
    words: list[str] = field(repr=False)  # by id; of all splits of the dataset
    train: Text | None = None  # None if this is train, or the dataset has none
    split: str = "train"

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def counts(self) -> Integers:
        """The count of each id."""
        counts = np.zeros(len(self.words), np.int64)
        for block in blocks(len(self), 2**22):
            counts += np.bincount(self.ids[block], minlength=len(counts))
        return counts

    @cached_property
    def frequencies(self) -> Integers:
        """The counts of all types except `<unk>`, in falling order."""
        return np.sort(self.counts[1:][self.counts[1:] > 0])[::-1]

    @cached_property
    def gaps(self) -> Ids:
        """The distance of each word to its previous occurrence; 0 for a first occurrence."""
        gaps = np.zeros(len(self), np.int32)
        last = np.full(len(self.words), -1, np.int64)
        for block in blocks(len(self)):
            ids, positions = self.ids[block], np.arange(block.start, block.stop)
            order = np.argsort(ids, kind="stable")
            ordered = ids[order]
            previous = last[ordered]
            repeated = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
            previous[repeated] = positions[order[repeated - 1]]
            gaps[block][order] = np.where(previous < 0, 0, positions[order] - previous)
            last[ids] = positions  # numpy keeps the last position of a word that occurs repeatedly
        return gaps

    @cached_property
    def lengths(self) -> Integers:
        """The number of words of each line."""
        return np.diff(self.line_ends, prepend=0)

    @cached_property
    def levels(self) -> NDArray[np.int8]:
        """The level of each line's heading; 0 for other lines."""
        levels = np.zeros(len(self.lengths), np.int8)
        if "=" in self.words:
            starts = self.line_ends - self.lengths
            candidates = np.flatnonzero(self.lengths > 2)
            is_marked = self.ids[starts[candidates]] == self.words.index("=")
            for line in candidates[is_marked].tolist():
                ids = self.ids[starts[line] : self.line_ends[line]].tolist()
                levels[line] = heading_level(" ".join([self.words[word_id] for word_id in ids]))
        return levels

    @cached_property
    def articles(self) -> Integers:
        """The line of each article's title: a heading of level 1 with a blank line on both sides."""
        is_title, is_blank = self.levels == 1, self.lengths == 0
        return np.flatnonzero(is_title[1:-1] & is_blank[:-2] & is_blank[2:]) + 1

    @cached_property
    def article_starts(self) -> Integers:
        """The position of each article's first word."""
        return (self.line_ends - self.lengths)[self.articles]

    @cached_property
    def paragraphs(self) -> Integers:
        """The lines that are neither blank nor headings."""
        return np.flatnonzero((self.lengths > 0) & (self.levels == 0))


def read_texts(dataset: Dataset, *, raw: bool = False) -> dict[str, Text]:
    """Read the splits of a dataset as ids, which are numbered in the order of first occurrence.

    With `raw`, reads the text before rare words became `<unk>`. Splits without words are left out.
    """
    ids: defaultdict[str, int] = defaultdict()
    ids.default_factory = ids.__len__
    ids[UNK] = 0
    arrays = dict[str, tuple[Any, Any]]()
    for split in dataset.files:
        path = dataset.file(split, raw=raw)
        text, ends = array("i"), array("q")
        for line in read_token_lines(path):
            text.extend(map(ids.__getitem__, line))
            ends.append(len(text))
        if text:
            arrays[split] = np.frombuffer(text, np.int32), np.frombuffer(ends, np.int64)
    if not arrays:
        raise BuilderError(f"{path}: no words; expected a text to measure")
    texts, train, words = dict[str, Text](), None, list(ids)
    for split, (word_ids, line_ends) in arrays.items():
        texts[split] = Text(ids=word_ids, line_ends=line_ends, words=words, train=train, split=split)
        train = texts.get("train")
    return texts
