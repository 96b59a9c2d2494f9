"""Measures the long tail: how often words occur, how their number grows, what a vocabulary leaves out.

`statistics.toml` has the definition of each statistic and its source.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from scipy.stats import hypergeom

from wikitext_builder.stats.text import Integers, Reals, Text, blocks

Curve = dict[float | str, float]
Measured = dict[str, Any]  # numbers, None if not measurable, and curves

JACKKNIFE_PARTS: Final = 20  # of a text, each of which is left out once
MATTR_WORDS: Final = 500  # of a window
HDD_WORDS: Final = 42  # of a sample
MIN_FITTED_WORDS: Final = 1000  # shorter beginnings of a text are not fitted
MIN_OFFSET: Final = -1 + 1e-6  # below it, only the limited steps keep the offset above -1
MIN_COUNTS: Final = (1, 2, 3, 4, 5, 10, 20, 50, 100)
SIZES: Final = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
LEADING_DIGITS: Final = (1, 1.5, 2, 3, 5, 7)  # of a curve's points


def round_numbers(last: int) -> list[int]:
    """Return round numbers up to `last`, about evenly spaced in the logarithm; those of two texts agree.

    >>> round_numbers(20)
    [1, 2, 3, 5, 7, 10, 15, 20]
    """
    numbers = (int(lead * 10**power) for power in range(len(str(last))) for lead in LEADING_DIGITS)
    return sorted({number for number in numbers if number <= last})


def fit_power_law(x: Reals | Integers, y: Reals | Integers) -> tuple[float, float]:
    """Fit the exponent and factor of a power law by least squares of the logarithms of two points or more."""
    exponent, logarithm = np.polyfit(np.log(x), np.log(y), 1)
    return float(exponent), math.exp(logarithm)


def chance_of_absence(total: float, counts: Integers, draws: int) -> Reals:
    """Return the chance that `draws` of `total` items without replacement miss all `counts` marked items."""
    return np.asarray(hypergeom.pmf(0, total, counts, draws))


@np.errstate(all="ignore")
def zipf_mandelbrot(frequencies: Integers) -> Reals:
    """Fit exponent a and offset b of f ∝ 1 / (r + b)^a by maximum likelihood, with Fisher's scoring.

    Both are NaN if the likelihood has no maximum: counts that fall exponentially lead to infinity, equal
    counts to b = -1.
    """
    ranks, total = np.arange(1, len(frequencies) + 1), frequencies.sum()
    a, b = 1.0, 1.0
    for _ in range(100):
        logs, inverse = np.log(ranks + b), 1 / (ranks + b)
        expected = np.exp(-a * logs)
        expected /= expected.sum()
        features = np.stack([-logs, -a * inverse])
        means = features @ expected
        gradient = features @ frequencies - total * means
        information = total * ((features * expected) @ features.T - np.outer(means, means))
        if not np.isfinite(information).all():
            break
        step, *_ = np.linalg.lstsq(information, gradient, rcond=None)
        step *= min(1.0, 0.9 * (b + 1) / max(abs(step[1]), 1e-300))  # b stays above -1
        a, b = a + step[0], b + step[1]
        if np.abs(step).max() < 1e-9 and b > MIN_OFFSET:
            return np.array([a, b])
    return np.array([np.nan, np.nan])


def jackknife(text: Text) -> Reals:
    """Return half the widths of the 95 % intervals of a text's exponent and offset, for three types or more.

    The words of a text depend on each other, so the jackknife leaves out contiguous parts, not words.
    """
    size = max(1, math.ceil(len(text) / JACKKNIFE_PARTS))
    fits = []
    for part in blocks(len(text), size):
        counts = (text.counts - np.bincount(text.ids[part], minlength=len(text.words)))[1:]
        if counts.any():
            fits.append(zipf_mandelbrot(np.sort(counts[counts > 0])[::-1]))
    return np.asarray(1.96 * np.sqrt((len(fits) - 1) * np.var(fits, axis=0)))


def zipf(text: Text) -> Measured:
    """Fit the law of Zipf and Mandelbrot to the counts of types."""
    frequencies = text.frequencies
    if len(frequencies) < 3:
        return {}
    a, b = zipf_mandelbrot(frequencies)
    if not math.isfinite(a):
        return {}
    a_half, b_half = jackknife(text)
    expected = (np.arange(1, len(frequencies) + 1) + b) ** -a
    expected *= frequencies.sum() / expected.sum()
    distance = np.abs(np.cumsum(frequencies - expected)).max() / frequencies.sum()
    ranks = round_numbers(len(frequencies))
    return {
        "exponent": a,
        "exponent_half": a_half,
        "offset": b,
        "offset_half": b_half,
        "distance": distance,
        "observed": {rank: float(frequencies[rank - 1]) for rank in ranks},
        "fitted": {rank: float(expected[rank - 1]) for rank in ranks},
    }


def spectrum(text: Text) -> Measured:
    """Count the types that occur once, twice, and so on."""
    types = np.bincount(text.frequencies, minlength=3) if len(text.frequencies) else np.zeros(3, np.int64)
    all_types = max(1, len(text.frequencies))
    return {
        "types": len(text.frequencies),
        "hapax": int(types[1]),
        "hapax_share": types[1] / all_types,
        "dis": int(types[2]),
        "dis_share": types[2] / all_types,
        "curve": {count: int(types[count]) for count in round_numbers(min(1000, len(types) - 1))},
    }


def heaps(text: Text) -> Measured:
    """Count the types of the first n words, and fit their growth."""
    first_occurrences = np.flatnonzero(text.gaps == 0)
    words = np.array(round_numbers(len(text)))
    types = np.searchsorted(first_occurrences, words)
    is_fitted = words >= MIN_FITTED_WORDS
    exponent, factor = (
        fit_power_law(words[is_fitted], np.asarray(types[is_fitted], float))
        if is_fitted.sum() > 2
        else (None, None)
    )
    curve: Curve = dict(zip(words.tolist(), types.tolist(), strict=True))
    return {"exponent": exponent, "factor": factor, "curve": curve}


def diversity(text: Text) -> Measured:
    """Measure types per token at equal lengths: MATTR and HD-D."""
    counts = text.counts[text.counts > 0]
    total = len(text)
    distinct_counts, types = np.unique(counts, return_counts=True)
    hdd = None
    if total >= HDD_WORDS:
        presence = 1 - chance_of_absence(total, distinct_counts, HDD_WORDS)
        hdd = float(types @ presence / HDD_WORDS)
    return {"mattr": mattr(text, MATTR_WORDS), "hdd": hdd, "ttr": len(counts) / total}


def mattr(text: Text, window: int) -> float | None:
    """Return the mean over all windows of their types, divided by their words.

    A position is the first of its word in the windows that contain it but not the word's previous position.
    """
    total = len(text)
    if total < window:
        return None
    firsts = 0
    for part in blocks(total):
        positions = np.arange(part.start, part.stop)
        gaps = text.gaps[part]
        previous = np.where(gaps > 0, positions - gaps, -1)
        first_window = np.maximum(previous + 1, positions - window + 1)
        last_window = np.minimum(positions, total - window)
        firsts += int(np.maximum(last_window - np.maximum(first_window, 0) + 1, 0).sum())
    return firsts / (total - window + 1) / window


def out_of_vocabulary(text: Text) -> Measured:
    """Measure the share of words that a vocabulary leaves out, by its minimum count and by its size."""
    reference = (text.train or text).counts.copy()
    reference[0] = 0
    by_count: Curve = {
        minimum: float(text.counts[reference < minimum].sum() / len(text)) for minimum in MIN_COUNTS
    }
    types: Curve = {minimum: int((reference >= minimum).sum()) for minimum in MIN_COUNTS}
    order = np.argsort(-reference, kind="stable")
    covered = np.cumsum(text.counts[order])
    sizes = [size for size in SIZES if size < (reference > 0).sum()]
    by_size: Curve = {size: float(1 - covered[size - 1] / len(text)) for size in sizes}
    return {"by_count": by_count, "types": types, "by_size": by_size}
