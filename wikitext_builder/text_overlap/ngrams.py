"""The n-grams of a dataset, past which other text streams: which of them the other text has.

All memory is of the dataset's size, about 150 bytes per word. A word of the other text costs a look into a
table of bits, and a binary search if it may begin an n-gram of the dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.text_overlap.words import (
    BOUNDARY,
    BOUNDARY_HASH,
    LINE_END,
    LINE_END_HASH,
    Hashes,
    Places,
    all_ngrams,
    ngrams,
    ngrams_at,
    prefix_sums,
    word_hashes,
)

LINES: Final = 200  # paragraphs that are hashed at once
CELLS: Final = 4  # of a table of bits per n-gram, at least: three of four words need no binary search


class HashTable:
    """Different hashes in order, and which of them were met."""

    def __init__(self, keys: Hashes) -> None:
        self.keys = keys
        self.met = np.zeros(len(keys), bool)
        bits = max(10, (CELLS * len(keys)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._maybe = np.zeros(2**bits, bool)
        self._maybe[self._cells(keys)] = True

    def _cells(self, hashes: Hashes) -> Places:
        return (hashes >> self._shift).view(np.int64)

    def look_up(self, hashes: Hashes) -> tuple[Places, Places]:
        """Which of some hashes are keys: their places, and the numbers of their keys."""
        asked = np.flatnonzero(self._maybe[self._cells(hashes)])
        wanted = hashes[asked]
        numbers = np.searchsorted(self.keys, wanted)
        numbers[numbers == len(self.keys)] = 0
        is_key = self.keys[numbers] == wanted if len(asked) else np.zeros(0, bool)
        return asked[is_key], numbers[is_key]


class ParagraphIndex:
    """The n-grams of some paragraphs. Those that contain `<unk>` do not count."""

    def __init__(self, paragraphs: Sequence[str], lengths: Iterable[int]) -> None:
        self.lengths = tuple(sorted(set(lengths)))
        self._words, ends = _hashed(paragraphs)
        self.words = np.diff(ends)  # per paragraph
        self._paragraph = np.repeat(np.arange(len(paragraphs), dtype=np.int32), self.words)  # of each word
        self._tables = dict[int, HashTable]()
        self._keys = dict[int, Places]()  # by length: the key of each n-gram
        for length in self.lengths:
            hashes = ngrams(self._words, length)[self._places(length)]
            keys, self._keys[length] = np.unique(hashes, return_inverse=True)
            self._tables[length] = HashTable(keys)

    def _places(self, length: int) -> Places:
        """Where the n-grams of a length begin: those that lie within a paragraph and have no `<unk>`."""
        last = len(self._words) - length + 1
        if last <= 0:
            return np.zeros(0, np.int64)
        unknown = np.cumsum(np.append(0, self._words == BOUNDARY_HASH), dtype=np.int32)
        is_known = unknown[:last] == unknown[length:]
        return np.flatnonzero(is_known & (self._paragraph[:last] == self._paragraph[length - 1 :]))

    def look_up(self, document: Iterable[str]) -> None:
        """Look up the n-grams of a document, whose pieces end between words."""
        words = np.zeros(0, np.uint64)
        for piece in document:
            words = np.concatenate([words, word_hashes(piece)])
            self._look_up(words)
            words = words[max(0, len(words) - self.lengths[-1] + 1) :]  # n-grams may end in the next piece

    def _look_up(self, words: Hashes) -> None:
        shortest, *longer = self.lengths
        sums = prefix_sums(words)
        places, numbers = self._tables[shortest].look_up(all_ngrams(sums, shortest))
        self._tables[shortest].met[numbers] = True
        for length in longer:  # only where the shortest one is known
            begins = places[places + length <= len(words)]
            self._tables[length].met[self._tables[length].look_up(ngrams_at(sums, begins, length))[1]] = True

    def counts(self, length: int) -> tuple[Places, Places]:
        """How many n-grams of a length each paragraph has, and how many of them the other text has."""
        paragraphs = self._paragraph[self._places(length)]
        is_met = self._tables[length].met[self._keys[length]]
        ngrams, shared = (
            np.bincount(which, minlength=len(self.words)) for which in (paragraphs, paragraphs[is_met])
        )
        return ngrams, shared


def _hashed(paragraphs: Sequence[str]) -> tuple[Hashes, Places]:
    """The words of all paragraphs, and where each begins, and the last one ends; `<unk>` is `BOUNDARY`."""
    hashes, ends, done = [np.zeros(0, np.uint64)], [np.zeros(1, np.int64)], 0
    for start in range(0, len(paragraphs), LINES):
        lines = (
            line.replace(BOUNDARY, " ").replace(LINE_END, " ").replace(UNK, BOUNDARY)
            for line in paragraphs[start : start + LINES]
        )
        words = word_hashes("".join(f"{line}{LINE_END}" for line in lines))
        is_end = words == LINE_END_HASH
        hashes.append(words[~is_end])
        ends.append(np.flatnonzero(is_end) - np.arange(is_end.sum()) + done)
        done += len(hashes[-1])
    return np.concatenate(hashes), np.concatenate(ends)
