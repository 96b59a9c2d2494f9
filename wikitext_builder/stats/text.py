"""A split as an array of ids, from which all statistics of a portrait are computed.

A file is read once. Lines are boundaries and no words: unlike Table 1 of the paper, nothing here counts
`<eos>`, so that texts with one sentence per line can be compared with texts with one paragraph per line.
Memory is about 8 bytes per word: the ids, and how far back each word occurred before.
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
Places = NDArray[np.int64]
Reals = NDArray[np.float64]
BLOCK: Final = 2**18  # words of which arrays are made at once: they stay in a processor's cache


def blocks(length: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover so many places, one after the other."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


class Words(NamedTuple):
    """What two texts are compared by."""

    words: list[str]  # by id
    counts: Places


@dataclass(frozen=True, kw_only=True)
class Text:
    """The words of a split. `<unk>` has the id 0."""

    ids: Ids
    line_ends: Places  # how many words there are up to the end of each line
    words: list[str] = field(repr=False)  # by id; those of all splits of a dataset
    train: Text | None = None  # None: this is train, or there is none
    split: str = "train"

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def counts(self) -> Places:
        """How often each id occurs."""
        counts = np.zeros(len(self.words), np.int64)
        for part in blocks(len(self), 2**22):
            counts += np.bincount(self.ids[part], minlength=len(counts))
        return counts

    @cached_property
    def frequencies(self) -> Places:
        """How often each type but `<unk>` occurs, the most frequent first."""
        return np.sort(self.counts[1:][self.counts[1:] > 0])[::-1]

    @cached_property
    def gaps(self) -> Ids:
        """How many words before each place the same word occurred; 0: it did not."""
        gaps = np.zeros(len(self), np.int32)
        last = np.full(len(self.words), -1, np.int64)
        for part in blocks(len(self)):
            ids, places = self.ids[part], np.arange(part.start, part.stop)
            order = np.argsort(ids, kind="stable")
            ordered = ids[order]
            before = last[ordered]
            same = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
            before[same] = places[order[same - 1]]
            gaps[part][order] = np.where(before < 0, 0, places[order] - before)
            last[ids] = places  # of a word that is here several times, the last place
        return gaps

    @cached_property
    def lengths(self) -> Places:
        """The words of each line."""
        return np.diff(self.line_ends, prepend=0)

    @cached_property
    def levels(self) -> NDArray[np.int8]:
        """The level of each line's heading; 0 for other lines."""
        levels = np.zeros(len(self.lengths), np.int8)
        if "=" in self.words:
            starts = self.line_ends - self.lengths
            long = np.flatnonzero(self.lengths > 2)
            marked = self.ids[starts[long]] == self.words.index("=")
            for line in long[marked].tolist():
                ids = self.ids[starts[line] : self.line_ends[line]].tolist()
                levels[line] = heading_level(" ".join([self.words[one] for one in ids]))
        return levels

    @cached_property
    def articles(self) -> Places:
        """The line of each article's title: of level 1, with a blank line on both sides."""
        title, blank = self.levels == 1, self.lengths == 0
        return np.flatnonzero(title[1:-1] & blank[:-2] & blank[2:]) + 1

    @cached_property
    def article_starts(self) -> Places:
        """The first word of each article."""
        return (self.line_ends - self.lengths)[self.articles]

    @cached_property
    def paragraphs(self) -> Places:
        """The lines that are neither blank nor headings."""
        return np.flatnonzero((self.lengths > 0) & (self.levels == 0))


def read_texts(dataset: Dataset, *, raw: bool = False) -> dict[str, Text]:
    """The splits of a dataset as ids, which are numbered in the order in which words first occur.

    `raw` is the text before rare words became `<unk>`. Splits without words are left out.
    """
    ids: defaultdict[str, int] = defaultdict()
    ids.default_factory = ids.__len__
    ids[UNK] = 0
    read = dict[str, tuple[Any, Any]]()
    for split in dataset.files:
        path = dataset.file(split, raw=raw)
        text, ends = array("i"), array("q")
        for line in read_token_lines(path):
            text.extend(map(ids.__getitem__, line))
            ends.append(len(text))
        if text:
            read[split] = np.frombuffer(text, np.int32), np.frombuffer(ends, np.int64)
    if not read:
        raise BuilderError(f"{path}: no words; expected a text to measure")
    texts, train, words = dict[str, Text](), None, list(ids)
    for split, (found, line_ends) in read.items():
        texts[split] = Text(ids=found, line_ends=line_ends, words=words, train=train, split=split)
        train = texts.get("train")
    return texts
