"""Finds the n-grams that a dataset shares with other text, by hashes of normalised words.

A word is a run of letters, marks and digits of any script, in lower case; everything else separates. So the
tokens `1 @,@ 500` and the text `1,500` are the same two words, and so are `don 't` and `don’t`. An ideograph
or a kana is a word by itself. Text is first normalised to NFKC.

A hash of 64 bits is a polynomial of the bytes of a word, or of the hashes of n words, modulo 2^64, and then
mixed; numpy computes the hashes of a megabyte at once from prefix sums, because odd numbers have an inverse
modulo 2^64. Two different n-grams have the same hash with a chance of about 2^-64.

The dataset is indexed, and the other text is streamed. Memory depends only on the dataset's size: about 150
bytes per word. A word of the other text costs a look-up in a table of bits, and a binary search if it may
begin an n-gram of the dataset.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.stats.text import Integers
from wikitext_builder.tokens.tokenizer import MANY_MARKS, sort_marks

Hashes = NDArray[np.uint64]

BOUNDARY: Final = "\x01"  # separates texts: a word that no text has
LINE_END: Final = "\x02"  # likewise
BLOCK_WORDS: Final = 2**20  # words whose n-grams are computed at once
BLOCK_PARAGRAPHS: Final = 200  # paragraphs that are hashed at once
CELLS_PER_KEY: Final = 4  # of the table of bits, at least: three of four words need no binary search
BASE: Final = 0x9E3779B97F4A7C15  # odd; 2^64 divided by the golden ratio
INVERSE: Final = pow(BASE, -1, 2**64)
# Separators beyond ASCII; characters that `regex` does not know yet count as letters.
SEPARATORS: Final = regex.compile(r"[^\x00-\x7f\p{L}\p{M}\p{N}\p{Cn}\p{Co}\p{Cs}]")
WORD: Final = re.compile(r"[\x01\x02]|[\u3000-\u9fff]|(?:[0-9a-z]|[^\x00-\x7f\u3000-\u9fff])+")  # normalised
_LETTERS: Final = {*range(ord("0"), ord("9") + 1), *range(ord("a"), ord("z") + 1), *range(0x80, 0x100), 1, 2}
_BYTE_TABLE: Final = bytes(byte if byte in _LETTERS else 0 for byte in bytes(range(256)).lower())


def words_of(text: str) -> list[str]:
    """Return the words of a text, normalised for comparison.

    >>> words_of("It 's 1 @,@ 500 km² – don’t !"), words_of("東京 is")
    (['it', 's', '1', '500', 'km2', 'don', 't'], ['東', '京', 'is'])
    """
    return WORD.findall(_normalised(text))


def _normalised(text: str) -> str:
    text = text.lower()
    if text.isascii():
        return text
    return SEPARATORS.sub(" ", unicodedata.normalize("NFKC", MANY_MARKS.sub(sort_marks, text)).lower())


def word_hashes(text: str) -> Hashes:
    """Return the hash of each of `words_of` in order."""
    data = np.frombuffer(_normalised(text).encode("utf-8", "surrogatepass").translate(_BYTE_TABLE), np.uint8)
    is_mark = (data == 1) | (data == 2)
    is_wide = (data >= 0xE3) & (data <= 0xE9)  # the first byte of U+3000 to U+9FFF
    in_word = np.zeros(len(data) + 2, bool)
    np.not_equal(data, 0, out=in_word[1:-1])
    is_start = in_word[1:] & ~in_word[:-1]
    for width, is_single in ((1, is_mark), (3, is_wide)):  # characters that are words by themselves
        positions = np.flatnonzero(is_single)
        is_start[positions] = True
        is_start[positions + width] = in_word[positions + width + 1]
    starts = np.flatnonzero(is_start)
    ends = np.flatnonzero(in_word[1:-1] & (~in_word[2:] | is_start[1:])) + 1
    sums = prefix_sums(data)
    return _mix((sums[ends] - sums[starts]) * _powers(INVERSE, len(data) + 1)[starts])


def prefix_sums(values: NDArray[np.unsignedinteger]) -> Hashes:
    """Return the sums from which `ngrams_at` takes hashes of n-grams, and `word_hashes` hashes of words."""
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values * _powers(BASE, len(values)), out=sums[1:])
    return sums


def ngrams_at(sums: Hashes, starts: Integers, length: int | Integers) -> Hashes:
    """Return the hashes of the n-grams that begin at `starts`, of one length or of a length per start."""
    return _mix((sums[starts + length] - sums[starts]) * _powers(INVERSE, len(sums))[starts])


def ngrams(words: Hashes, length: int) -> Hashes:
    """Return the hashes of all n-grams of `length` words in order; blocks bound the memory."""
    starts = range(0, len(words) - length + 1, BLOCK_WORDS)
    blocks = (words[start : start + BLOCK_WORDS + length - 1] for start in starts)
    hashes = (all_ngrams(prefix_sums(block), length) for block in blocks)
    return np.concatenate([np.zeros(0, np.uint64), *hashes])


def all_ngrams(sums: Hashes, length: int) -> Hashes:
    """Return the hashes of all n-grams of `length` words in order, from prefix sums."""
    count = max(0, len(sums) - length)
    return _mix((sums[length : length + count] - sums[:count]) * _powers(INVERSE, len(sums))[:count])


def _powers(base: int, count: int) -> Hashes:
    return _table_of_powers(base, max(count - 1, 1).bit_length())[:count]


@lru_cache(maxsize=8)
def _table_of_powers(base: int, bits: int) -> Hashes:
    powers = np.full(2**bits, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _mix(hashes: Hashes) -> Hashes:
    """Apply the finalizer of SplitMix64 (Steele, Lea and Flood 2014): each bit depends on all bits."""
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)
    return hashes


BOUNDARY_HASH: Final = word_hashes(BOUNDARY)[0]
LINE_END_HASH: Final = word_hashes(LINE_END)[0]


class HashTable:
    """Sorted distinct hashes as keys, each with a flag that it was met."""

    def __init__(self, keys: Hashes) -> None:
        self.keys = keys
        self.is_met = np.zeros(len(keys), bool)
        bits = max(10, (CELLS_PER_KEY * len(keys)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._may_be_key = np.zeros(2**bits, bool)
        self._may_be_key[self._cells(keys)] = True

    def _cells(self, hashes: Hashes) -> Integers:
        return (hashes >> self._shift).view(np.int64)

    def look_up(self, hashes: Hashes) -> tuple[Integers, Integers]:
        """Find the hashes that are keys: return their positions, and the numbers of their keys."""
        candidates = np.flatnonzero(self._may_be_key[self._cells(hashes)])
        values = hashes[candidates]
        numbers = np.searchsorted(self.keys, values)
        numbers[numbers == len(self.keys)] = 0
        is_key = self.keys[numbers] == values if len(candidates) else np.zeros(0, bool)
        return candidates[is_key], numbers[is_key]


class ParagraphIndex:
    """Indexes the n-grams of paragraphs, except those that contain `<unk>`."""

    def __init__(self, paragraphs: Sequence[str], lengths: Iterable[int]) -> None:
        self.lengths = tuple(sorted(set(lengths)))
        self._hashes, ends = _hash_paragraphs(paragraphs)
        self.words = np.diff(ends)  # per paragraph
        self._paragraph = np.repeat(np.arange(len(paragraphs), dtype=np.int32), self.words)  # of each word
        self._tables = dict[int, HashTable]()
        self._key_numbers = dict[int, Integers]()  # by length: the key of each n-gram
        for length in self.lengths:
            hashes = ngrams(self._hashes, length)[self._starts(length)]
            keys, self._key_numbers[length] = np.unique(hashes, return_inverse=True)
            self._tables[length] = HashTable(keys)

    def _starts(self, length: int) -> Integers:
        """Return where the n-grams of a length begin that lie within a paragraph and have no `<unk>`."""
        count = len(self._hashes) - length + 1
        if count <= 0:
            return np.zeros(0, np.int64)
        unknown = np.cumsum(np.append(0, self._hashes == BOUNDARY_HASH), dtype=np.int32)
        has_no_unknown = unknown[:count] == unknown[length:]
        return np.flatnonzero(has_no_unknown & (self._paragraph[:count] == self._paragraph[length - 1 :]))

    def look_up(self, document: Iterable[str]) -> None:
        """Mark the n-grams that a document has; its pieces end between words."""
        words = np.zeros(0, np.uint64)
        for piece in document:
            words = np.concatenate([words, word_hashes(piece)])
            self._look_up(words)
            words = words[max(0, len(words) - self.lengths[-1] + 1) :]  # n-grams may end in the next piece

    def _look_up(self, words: Hashes) -> None:
        shortest, *longer = self.lengths
        sums = prefix_sums(words)
        positions, numbers = self._tables[shortest].look_up(all_ngrams(sums, shortest))
        self._tables[shortest].is_met[numbers] = True
        for length in longer:  # a longer n-gram can only match where the shortest matches
            table, starts = self._tables[length], positions[positions + length <= len(words)]
            table.is_met[table.look_up(ngrams_at(sums, starts, length))[1]] = True

    def counts(self, length: int) -> tuple[Integers, Integers]:
        """Return how many n-grams of a length each paragraph has, and how many of them the other text has."""
        paragraphs = self._paragraph[self._starts(length)]
        is_met = self._tables[length].is_met[self._key_numbers[length]]
        ngrams = np.bincount(paragraphs, minlength=len(self.words))
        shared = np.bincount(paragraphs[is_met], minlength=len(self.words))
        return ngrams, shared


def _hash_paragraphs(paragraphs: Sequence[str]) -> tuple[Hashes, Integers]:
    """Return the hashes of all words, `<unk>` as `BOUNDARY`, with 0 and the end of each paragraph."""
    hashes, ends, hashed_words = [np.zeros(0, np.uint64)], [np.zeros(1, np.int64)], 0
    for start in range(0, len(paragraphs), BLOCK_PARAGRAPHS):
        lines = (
            line.replace(BOUNDARY, " ").replace(LINE_END, " ").replace(UNK, BOUNDARY)
            for line in paragraphs[start : start + BLOCK_PARAGRAPHS]
        )
        words = word_hashes("".join(f"{line}{LINE_END}" for line in lines))
        is_end = words == LINE_END_HASH
        hashes.append(words[~is_end])
        ends.append(np.flatnonzero(is_end) - np.arange(is_end.sum()) + hashed_words)
        hashed_words += len(hashes[-1])
    return np.concatenate(hashes), np.concatenate(ends)
