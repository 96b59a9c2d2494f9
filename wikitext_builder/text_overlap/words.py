"""Words as they are compared, and their hashes of 64 bits, computed by numpy a megabyte at a time.

A word is a run of letters, marks and digits of any script, in lower case; everything else separates. So the
tokens `1 @,@ 500` and the text `1,500` are the same two words, and `don 't` and `don’t` too. An ideograph or
a kana is a word by itself. Text is first normalised to NFKC.

A hash is a polynomial of the bytes of a word, or of the hashes of n words, modulo 2^64, and then mixed. It is
computed from prefix sums, because a factor that is odd has an inverse modulo 2^64. Two different n-grams are
taken for the same with a chance of about 2^-64 per pair.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from wikitext_builder.tokens.tokenizer import MANY_MARKS, sort_marks

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

BOUNDARY: Final = "\x01"  # between two texts: a word that no text has
LINE_END: Final = "\x02"  # another one
BLOCK: Final = 2**20  # words whose n-grams are computed at once
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
