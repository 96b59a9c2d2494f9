"""Words as they are compared, hashes of their n-grams, and which n-grams of a dataset other text has.

A word is a run of letters, marks and digits of any script, in lower case; everything else separates. So the
tokens `1 @,@ 500` and the text `1,500` are the same two words, and `don 't` and `don’t` too. An ideograph or
a kana is a word by itself. Text is first normalised to NFKC.

A hash of 64 bits is a polynomial of the bytes of a word, or of the hashes of n words, modulo 2^64, and then
mixed; numpy computes them a megabyte at a time from prefix sums, because a factor that is odd has an inverse
modulo 2^64. Two different n-grams are taken for the same with a chance of about 2^-64 per pair.

The dataset is indexed, and other text streams past it. All memory is of the dataset's size, about 150 bytes
per word. A word of the other text costs a look into a table of bits, and a binary search if it may begin an
n-gram of the dataset.
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
from wikitext_builder.tokens.tokenizer import MANY_MARKS, sort_marks

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

BOUNDARY: Final = "\x01"  # between two texts: a word that no text has
LINE_END: Final = "\x02"  # another one
BLOCK: Final = 2**20  # words whose n-grams are computed at once
LINES: Final = 200  # paragraphs that are hashed at once
CELLS: Final = 4  # of a table of bits per n-gram, at least: three of four words need no binary search
BASE: Final = 0x9E3779B97F4A7C15  # odd; 2^64 divided by the golden ratio
INVERSE: Final = pow(BASE, -1, 2**64)
# What separates beyond ASCII; a character that the tables of `regex` do not know yet is taken for a letter.
SEPARATORS: Final = regex.compile(r"[^\x00-\x7f\p{L}\p{M}\p{N}\p{Cn}\p{Co}\p{Cs}]")
WORD: Final = re.compile(r"[\x01\x02]|[\u3000-\u9fff]|(?:[0-9a-z]|[^\x00-\x7f\u3000-\u9fff])+")  # normalised
_KEPT: Final = {*range(ord("0"), ord("9") + 1), *range(ord("a"), ord("z") + 1), *range(0x80, 0x100), 1, 2}
_TABLE: Final = bytes(byte if byte in _KEPT else 0 for byte in bytes(range(256)).lower())


def words_of(text: str) -> list[str]:
    """The words of a text, normalized for comparison.

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
    """The hash of each of `words_of`, in order."""
    data = np.frombuffer(_normalised(text).encode("utf-8", "surrogatepass").translate(_TABLE), np.uint8)
    marks, wide = (data == 1) | (data == 2), (data >= 0xE3) & (data <= 0xE9)  # wide: U+3000 to U+9FFF
    inside = np.zeros(len(data) + 2, bool)
    np.not_equal(data, 0, out=inside[1:-1])
    begins = inside[1:] & ~inside[:-1]
    for width, single in ((1, marks), (3, wide)):
        places = np.flatnonzero(single)
        begins[places] = True
        begins[places + width] = inside[places + width + 1]
    starts = np.flatnonzero(begins)
    ends = np.flatnonzero(inside[1:-1] & (~inside[2:] | begins[1:])) + 1
    sums = prefix_sums(data)
    return _mixed((sums[ends] - sums[starts]) * _powers(INVERSE, len(data) + 1)[starts])


def prefix_sums(values: NDArray[np.unsignedinteger]) -> Hashes:
    """Sums from which `ngrams_at` takes the hash of any n-gram of some words, and `word_hashes` a word's."""
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values * _powers(BASE, len(values)), out=sums[1:])
    return sums


def ngrams_at(sums: Hashes, places: Places, length: int | Places) -> Hashes:
    """The hashes of the n-grams of `length` words, or of a length each, that begin at some places."""
    return _mixed((sums[places + length] - sums[places]) * _powers(INVERSE, len(sums))[places])


def ngrams(words: Hashes, length: int) -> Hashes:
    """The hashes of all n-grams of `length` words, in order; in blocks, which bound the memory."""
    blocks = (words[at : at + BLOCK + length - 1] for at in range(0, len(words) - length + 1, BLOCK))
    return np.concatenate([np.zeros(0, np.uint64), *(all_ngrams(prefix_sums(one), length) for one in blocks)])


def all_ngrams(sums: Hashes, length: int) -> Hashes:
    """The hashes of all n-grams of `length` words, in order, from prefix sums."""
    count = max(0, len(sums) - length)
    return _mixed((sums[length : length + count] - sums[:count]) * _powers(INVERSE, len(sums))[:count])


def _powers(base: int, count: int) -> Hashes:
    return _table_of_powers(base, max(count - 1, 1).bit_length())[:count]


@lru_cache(maxsize=8)
def _table_of_powers(base: int, bits: int) -> Hashes:
    powers = np.full(2**bits, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _mixed(hashes: Hashes) -> Hashes:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014): each bit depends on all bits."""
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)
    return hashes


BOUNDARY_HASH: Final = word_hashes(BOUNDARY)[0]
LINE_END_HASH: Final = word_hashes(LINE_END)[0]


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
