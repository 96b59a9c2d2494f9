"""Long range: how far back a text helps to know a word, and how much of it was never read before.

What each statistic is, and where it comes from, stands in `statistics.toml`.
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
from wikitext_builder.stats.ngrams import Places as Positions
from wikitext_builder.stats.tail import Curve, Measured, absent, slope
from wikitext_builder.stats.text import Ids, Reals, Text, blocks

LENGTHS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)  # of a window, in words
DISTANCES: Final = (1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
FAR: Final = 10  # words: from here on mutual information is fitted; nearer is grammar
CLASSES: Final = 500  # the most frequent words, which mutual information tells apart; the others are one
SHUFFLES, SEED = 3, 1
CHANCE: Final = 0.01  # how often the value of a shuffled text counts as more than noise
MOST: Final = 2**24  # words of which mutual information is measured
OFTEN: Final = 10  # occurrences of a word, at least, of which burstiness is measured
BANDS: Final = (10, 30, 100, 300, 1000, 3000, 10_000)
RARE_BANDS: Final = (0, 1, 3, 5, 10, 30, 100, 300, 1000)  # least counts in train
RARE: Final = 10  # a word that train has less often is rare
PREFIXES: Final = tuple(2**power for power in range(14, 24))  # characters that are compressed
LEVEL: Final = 12  # of zstd: twice as fast as 19, and 3 % longer
COMPARED: Final = 2**20  # characters: rates of texts are compared there
NGRAMS: Final = range(1, 11)


def recurrence(text: Text) -> Measured:
    """Whether a word is among the last L ones, in the text, in shuffled text and in a unigram model."""
    lengths = [length for length in LENGTHS if length < len(text)]
    at_distance = np.zeros(LENGTHS[-1] + 2, np.int64)
    for part in blocks(len(text)):
        gaps = text.gaps[part][text.ids[part] != 0]
        at_distance += np.bincount(np.minimum(gaps, LENGTHS[-1] + 1), minlength=len(at_distance))
    asked = int(at_distance.sum())
    if not asked or not lengths:
        return {}
    found = np.cumsum(at_distance[1:]) / asked
    counts, types = np.unique(text.frequencies, return_counts=True)
    weights = counts * types / asked
    chance = counts / len(text)
    return {
        "text": {length: float(found[length - 1]) for length in lengths},
        "shuffled": {
            length: float(weights @ (1 - absent(len(text) - 1, counts - 1, length))) for length in lengths
        },
        "unigram": {length: float(weights @ (1 - (1 - chance) ** length)) for length in lengths},
    }


def information(first: Ids, second: Ids, classes: int) -> float:
    """The mutual information of two rows of classes, in bits, from their counts."""
    joint = np.zeros(classes**2, np.int64)
    for part in blocks(len(first)):
        joint += np.bincount(first[part].astype(np.int64) * classes + second[part], minlength=classes**2)
    shares = joint.reshape(classes, classes) / len(first)
    both = np.outer(shares.sum(1), shares.sum(0))
    here = shares > 0
    return float((shares[here] * np.log2(shares[here] / both[here])).sum())


def mutual_information(text: Text) -> Measured:
    """Mutual information of words at a distance, less that of shuffled words, and its power law.

    A shuffled text shows what as many pairs give by chance. The variance over shuffles is pooled over all
    distances; with it, Student's t says what one more shuffled text would exceed in 1 % of cases (the
    prediction interval of a normal sample). A value that is not above this is NaN: it is within the noise.
    """
    order = np.argsort(-text.counts, kind="stable")
    classes = np.full(len(text.words), CLASSES, np.int32)
    classes[order[:CLASSES]] = np.arange(min(CLASSES, len(order)))
    row = classes[text.ids[:MOST]]
    distances = [distance for distance in DISTANCES if distance * 10 <= len(row)]
    if not distances:
        return {}
    random = np.random.default_rng(SEED)
    permutations = (random.permutation(row) for _ in range(SHUFFLES))
    shuffled = np.array([information_at(distances, permuted) for permuted in permutations])
    bias, spread = shuffled.mean(axis=0), float(np.sqrt(shuffled.var(axis=0, ddof=1).mean()))
    degrees = len(distances) * (SHUFFLES - 1)
    noise = float(stdtrit(degrees, 1 - CHANCE)) * spread * (1 + 1 / SHUFFLES) ** 0.5
    bits = np.array(information_at(distances, row)) - bias
    points = list(zip(distances, np.where(bits > noise, bits, np.nan).tolist(), strict=True))
    far = [point for point in points if point[0] >= FAR]
    clear = list(
        takewhile(lambda point: point[1] > 0, far)
    )  # noise chooses which of the later ones are large
    exponent = -slope(*np.array(clear).T)[0] if len(clear) > 2 else math.nan
    curve: Curve = dict(points)
    return {
        "at_1": curve[1],
        "at_100": curve.get(100),
        "exponent": exponent,
        "bias": float(bias[0]),
        "curve": curve,
    }


def information_at(distances: Collection[int], row: Ids) -> list[float]:
    """The mutual information of classes at each distance, in bits."""
    return [information(row[:-distance], row[distance:], CLASSES + 1) for distance in distances]


def burstiness(text: Text) -> Measured:
    """Goh and Barabási's B of the distances of a word's occurrences, corrected for their number."""
    sums, squares, numbers = (np.zeros(len(text.words)) for _ in range(3))
    for part in blocks(len(text), 2**22):
        gaps, ids = text.gaps[part].astype(float), text.ids[part]
        for total, weights in ((sums, gaps), (squares, gaps**2), (numbers, (gaps > 0).astype(float))):
            total += np.bincount(ids, weights, len(total))
    often = np.flatnonzero(text.counts >= OFTEN)
    often = often[often > 0]
    if not len(often):
        return {}
    mean = sums[often] / numbers[often]
    ratio = np.sqrt(np.maximum(squares[often] / numbers[often] - mean**2, 0)) / mean
    found = corrected_burstiness(ratio, numbers[often])
    bands = np.searchsorted(BANDS, text.counts[often], "right") - 1
    curve: Curve = {
        least: float(found[bands == band].mean()) for band, least in enumerate(BANDS) if (bands == band).any()
    }
    return {"mean": float(found.mean()), "by_count": curve}


def corrected_burstiness(ratio: Reals, intervals: Reals) -> Reals:
    """B of a coefficient of variation of `intervals` intervals: 0 for random ones, whatever their number."""
    up, down = np.sqrt(intervals + 1), np.sqrt(intervals - 1)
    return np.asarray((up * ratio - down) / ((up - 2) * ratio + down))


def entropy_rate(text: Text) -> Measured:
    """What the second half of each beginning costs a compressor that has read the first half."""
    some = [text.words[one] for one in text.ids[: PREFIXES[-1]].tolist()]
    characters = " ".join(some)[: PREFIXES[-1]]
    compressor = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(LEVEL, window_log=27)
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
    return {"rate": curve.get(COMPARED), "curve": curve}


def hashes(text: Text, lengths: Collection[int]) -> Iterator[tuple[int, dict[int, Hashes]]]:
    """Blocks of the hashes of all n-grams of some lengths: where a block begins, and its hashes by n."""
    for part in blocks(len(text)):
        some = text.ids[part.start : part.stop + max(lengths) - 1]
        sums = prefix_sums(some.astype(np.uint64) + np.uint64(1))
        yield part.start, {n: all_ngrams(sums, n)[: part.stop - part.start] for n in lengths}


def unseen_ngrams(text: Text) -> Measured:
    """The share of n-grams that do not occur in train."""
    if text.train is None:
        return {}
    own: dict[int, list[Hashes]] = {n: [] for n in NGRAMS}
    for _, found in hashes(text, NGRAMS):
        for n, some in found.items():
            own[n].append(some)
    tables, places = dict[int, HashTable](), dict[int, Positions]()
    for n, parts in own.items():
        keys, places[n] = np.unique(np.concatenate(parts), return_inverse=True)
        if len(keys):
            tables[n] = HashTable(keys)
    for _, found in hashes(text.train, NGRAMS):
        for n, table in tables.items():
            table.met[table.look_up(found[n])[1]] = True
    return {"curve": {n: float(1 - table.met[places[n]].mean()) for n, table in tables.items()}}


def recurring_rare(text: Text) -> Measured:
    """The share of words that occurred earlier in their article, by their count in train."""
    if not len(text.article_starts):
        return {}
    reference = (text.train or text).counts
    again, all_words = (np.zeros(len(text.words), np.int64) for _ in range(2))
    for part in blocks(len(text)):
        places, ids, gaps = np.arange(part.start, part.stop), text.ids[part], text.gaps[part]
        article = np.searchsorted(text.article_starts, places, "right") - 1
        same = (gaps > 0) & (places - gaps >= text.article_starts[np.maximum(article, 0)]) & (article >= 0)
        again += np.bincount(ids[same], minlength=len(again))
        all_words += np.bincount(ids, minlength=len(again))
    bands = np.searchsorted(RARE_BANDS, reference, "right") - 1
    bands[0] = -1  # `<unk>` is many words
    curve = dict[float | str, float]()
    for band, least in enumerate(RARE_BANDS):
        if total := int(all_words[bands == band].sum()):
            curve[least] = int(again[bands == band].sum()) / total
    rare = (reference < RARE) & (np.arange(len(reference)) > 0)
    total = int(all_words[rare].sum())
    return {
        "rare": int(again[rare].sum()) / total if total else None,
        "rare_words": total / len(text),
        "by_count": curve,
    }
