"""Measures long range: how far back a text helps to predict a word, and how much of it train does not have.

`statistics.toml` has the definition of each statistic and its source.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Final

import numpy as np
import zstandard
from scipy.special import stdtrit

from wikitext_builder.stats.ngrams import Hashes, HashTable, all_ngrams, prefix_sums
from wikitext_builder.stats.tail import Curve, Measured, chance_of_absence, fit_power_law
from wikitext_builder.stats.text import Ids, Integers, Reals, Text, blocks

WINDOW_LENGTHS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)  # in words
DISTANCES: Final = (1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
MIN_FITTED_DISTANCE: Final = 10  # words: at shorter distances, mutual information is mostly grammar
FREQUENT_WORDS: Final = 500  # that mutual information tells apart; all other words are one class
SHUFFLES, SEED = 3, 1
FALSE_POSITIVES: Final = 0.01  # the share of shuffled texts whose value counts as more than noise
MAX_INFORMATION_WORDS: Final = 2**24  # of which mutual information is measured
MIN_OCCURRENCES: Final = 10  # of a word whose burstiness is measured
COUNT_BANDS: Final = (10, 30, 100, 300, 1000, 3000, 10_000)  # minimum counts
TRAIN_COUNT_BANDS: Final = (0, 1, 3, 5, 10, 30, 100, 300, 1000)  # minimum counts in train
MIN_COMMON_COUNT: Final = 10  # in train; other words are rare
PREFIXES: Final = tuple(2**power for power in range(14, 24))  # characters that are compressed
ZSTANDARD_LEVEL: Final = 12  # twice as fast as 19, and 3 % longer
COMPARED_CHARACTERS: Final = 2**20  # the prefix at which rates of texts are compared
NGRAM_LENGTHS: Final = range(1, 11)


def recurrence(text: Text) -> Measured:
    """Measure how often a word is among the last L words, also in shuffled text and in a unigram model."""
    lengths = [length for length in WINDOW_LENGTHS if length < len(text)]
    at_distance = np.zeros(WINDOW_LENGTHS[-1] + 2, np.int64)
    for block in blocks(len(text)):
        gaps = text.gaps[block][text.ids[block] != 0]
        at_distance += np.bincount(np.minimum(gaps, WINDOW_LENGTHS[-1] + 1), minlength=len(at_distance))
    words = int(at_distance.sum())
    if not words or not lengths:
        return {}
    recurring = np.cumsum(at_distance[1:]) / words
    counts, types = np.unique(text.frequencies, return_counts=True)
    weights = counts * types / words
    frequency = counts / len(text)
    shuffled: Curve = {}
    for length in lengths:
        shuffled[length] = float(weights @ (1 - chance_of_absence(len(text) - 1, counts - 1, length)))
    return {
        "text": {length: float(recurring[length - 1]) for length in lengths},
        "shuffled": shuffled,
        "unigram": {length: float(weights @ (1 - (1 - frequency) ** length)) for length in lengths},
    }


def information(first: Ids, second: Ids, classes: int) -> float:
    """Return the mutual information of two rows of classes, in bits, from their counts."""
    joint = np.zeros(classes**2, np.int64)
    for block in blocks(len(first)):
        joint += np.bincount(first[block].astype(np.int64) * classes + second[block], minlength=classes**2)
    shares = joint.reshape(classes, classes) / len(first)
    independent = np.outer(shares.sum(1), shares.sum(0))
    occurs = shares > 0
    return float((shares[occurs] * np.log2(shares[occurs] / independent[occurs])).sum())


def mutual_information(text: Text) -> Measured:
    """Measure mutual information of words at a distance, minus that of shuffled words, and fit a power law.

    A shuffled text shows what as many pairs give by chance. The variance over shuffles is pooled over all
    distances; with it, Student's t gives the value that a further shuffled text would exceed in 1 % of cases
    (the prediction interval of a normal sample). A value that is not above it is within the noise, and NaN.
    """
    order = np.argsort(-text.counts, kind="stable")
    classes = np.full(len(text.words), FREQUENT_WORDS, np.int32)
    classes[order[:FREQUENT_WORDS]] = np.arange(min(FREQUENT_WORDS, len(order)))
    row = classes[text.ids[:MAX_INFORMATION_WORDS]]
    distances = [distance for distance in DISTANCES if distance * 10 <= len(row)]
    if not distances:
        return {}
    random = np.random.default_rng(SEED)
    permutations = (random.permutation(row) for _ in range(SHUFFLES))
    shuffled = np.array([information_at(distances, permuted) for permuted in permutations])
    bias, spread = shuffled.mean(axis=0), float(np.sqrt(shuffled.var(axis=0, ddof=1).mean()))
    degrees = len(distances) * (SHUFFLES - 1)
    noise = float(stdtrit(degrees, 1 - FALSE_POSITIVES)) * spread * (1 + 1 / SHUFFLES) ** 0.5
    bits = np.array(information_at(distances, row)) - bias
    points = list(zip(distances, np.where(bits > noise, bits, np.nan).tolist(), strict=True))
    far = (point for point in points if point[0] >= MIN_FITTED_DISTANCE)
    # Up to the first point within the noise: beyond, noise decides which points are large.
    fitted = list(takewhile(lambda point: point[1] > 0, far))
    exponent = -fit_power_law(*np.array(fitted).T)[0] if len(fitted) > 2 else math.nan
    curve: Curve = dict(points)
    return {
        "at_1": curve[1],
        "at_100": curve.get(100),
        "exponent": exponent,
        "bias": float(bias[0]),
        "curve": curve,
    }


def information_at(distances: Collection[int], row: Ids) -> list[float]:
    """Return the mutual information of classes at each distance, in bits."""
    return [information(row[:-distance], row[distance:], FREQUENT_WORDS + 1) for distance in distances]


def burstiness(text: Text) -> Measured:
    """Measure Goh and Barabási's B of the distances of a word's occurrences, corrected for their number."""
    sums, squares, intervals = (np.zeros(len(text.words)) for _ in range(3))
    for block in blocks(len(text), 2**22):
        gaps, ids = text.gaps[block].astype(float), text.ids[block]
        for total, weights in ((sums, gaps), (squares, gaps**2), (intervals, (gaps > 0).astype(float))):
            total += np.bincount(ids, weights, len(total))
    frequent = np.flatnonzero(text.counts >= MIN_OCCURRENCES)
    frequent = frequent[frequent > 0]
    if not len(frequent):
        return {}
    mean = sums[frequent] / intervals[frequent]
    variation = np.sqrt(np.maximum(squares[frequent] / intervals[frequent] - mean**2, 0)) / mean
    values = corrected_burstiness(variation, intervals[frequent])
    bands = np.searchsorted(COUNT_BANDS, text.counts[frequent], "right") - 1
    curve: Curve = {}
    for band, minimum in enumerate(COUNT_BANDS):
        if (bands == band).any():
            curve[minimum] = float(values[bands == band].mean())
    return {"mean": float(values.mean()), "by_count": curve}


def corrected_burstiness(variation: Reals, intervals: Reals) -> Reals:
    """Return B from a coefficient of variation: 0 for random intervals, whatever their number."""
    up, down = np.sqrt(intervals + 1), np.sqrt(intervals - 1)
    return np.asarray((up * variation - down) / ((up - 2) * variation + down))


def entropy_rate(text: Text) -> Measured:
    """Measure what the second half of each prefix costs a compressor that has read the first half."""
    words = [text.words[word_id] for word_id in text.ids[: PREFIXES[-1]].tolist()]
    characters = " ".join(words)[: PREFIXES[-1]]
    compressor = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(ZSTANDARD_LEVEL, window_log=27)
    )
    sizes = {
        size: len(compressor.compress(characters[:size].encode()))
        for size in PREFIXES
        if size <= len(characters)
    }
    curve: Curve = {
        size: 8 * (sizes[size] - sizes[size // 2]) / (size - size // 2)
        for size in sizes
        if size // 2 in sizes
    }
    return {"rate": curve.get(COMPARED_CHARACTERS), "curve": curve}


def hashes(text: Text, lengths: Collection[int]) -> Iterator[tuple[int, dict[int, Hashes]]]:
    """Yield the start of each block of a text, and the hashes of the n-grams that begin in it, by n."""
    for block in blocks(len(text)):
        ids = text.ids[block.start : block.stop + max(lengths) - 1]
        sums = prefix_sums(ids.astype(np.uint64) + np.uint64(1))
        yield block.start, {n: all_ngrams(sums, n)[: block.stop - block.start] for n in lengths}


def unseen_ngrams(text: Text) -> Measured:
    """Measure the share of n-grams that do not occur in train."""
    if text.train is None:
        return {}
    in_blocks: dict[int, list[Hashes]] = {n: [] for n in NGRAM_LENGTHS}
    for _, by_length in hashes(text, NGRAM_LENGTHS):
        for n, block_hashes in by_length.items():
            in_blocks[n].append(block_hashes)
    tables, key_numbers = dict[int, HashTable](), dict[int, Integers]()
    for n, parts in in_blocks.items():
        keys, key_numbers[n] = np.unique(np.concatenate(parts), return_inverse=True)
        if len(keys):
            tables[n] = HashTable(keys)
    for _, by_length in hashes(text.train, NGRAM_LENGTHS):
        for n, table in tables.items():
            table.is_met[table.look_up(by_length[n])[1]] = True
    return {"curve": {n: float(1 - table.is_met[key_numbers[n]].mean()) for n, table in tables.items()}}


def recurring_rare(text: Text) -> Measured:
    """Measure the share of words that occurred earlier in their article, by their count in train."""
    if not len(text.article_starts):
        return {}
    train_counts = (text.train or text).counts
    recurring = np.zeros(len(text.words), np.int64)  # occurrences of each word with an earlier one
    for block in blocks(len(text)):
        positions, ids, gaps = np.arange(block.start, block.stop), text.ids[block], text.gaps[block]
        article = np.searchsorted(text.article_starts, positions, "right") - 1
        article_start = text.article_starts[np.maximum(article, 0)]
        in_same_article = (gaps > 0) & (positions - gaps >= article_start) & (article >= 0)
        recurring += np.bincount(ids[in_same_article], minlength=len(recurring))
    bands = np.searchsorted(TRAIN_COUNT_BANDS, train_counts, "right") - 1
    bands[0] = -1  # `<unk>` stands for many words
    curve: Curve = {}
    for band, minimum in enumerate(TRAIN_COUNT_BANDS):
        if total := int(text.counts[bands == band].sum()):
            curve[minimum] = int(recurring[bands == band].sum()) / total
    is_rare = (train_counts < MIN_COMMON_COUNT) & (np.arange(len(train_counts)) > 0)
    total = int(text.counts[is_rare].sum())
    return {
        "rare": int(recurring[is_rare].sum()) / total if total else None,
        "rare_words": total / len(text),
        "by_count": curve,
    }
