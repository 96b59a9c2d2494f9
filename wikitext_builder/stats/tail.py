"""The long tail: how often words occur, how their number grows, and what a vocabulary leaves out.

What each statistic is, and where it comes from, stands in `statistics.toml`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from scipy.stats import hypergeom

from wikitext_builder.stats.text import Places, Reals, Text, blocks

Curve = dict[float | str, float]
Measured = dict[str, Any]  # numbers, None for what cannot be measured, and curves

STRETCHES: Final = 20  # of a text, which a jackknife leaves out in turn
WINDOW: Final = 500  # words of a window of MATTR
DRAWS: Final = 42  # words of a sample of HD-D
SHORT: Final = 1000  # words: a shorter beginning of a text is not fitted
NEAREST: Final = -1 + 1e-6  # an offset that only the limit of the steps keeps above -1
MIN_COUNTS: Final = (1, 2, 3, 4, 5, 10, 20, 50, 100)
SIZES: Final = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
ROUND: Final = (1, 1.5, 2, 3, 5, 7)  # what points of a curve begin with


def spaced(last: int) -> list[int]:
    """Round numbers up to the last, about evenly spaced in the logarithm: those of any two texts agree.

    >>> spaced(20)
    [1, 2, 3, 5, 7, 10, 15, 20]
    """
    numbers = (int(lead * 10**power) for power in range(len(str(last))) for lead in ROUND)
    return sorted({number for number in numbers if number <= last})


def slope(x: Reals | Places, y: Reals | Places) -> tuple[float, float]:
    """The exponent and the factor of a power law, by least squares of the logarithms; at least two points."""
    exponent, logarithm = np.polyfit(np.log(x), np.log(y), 1)
    return float(exponent), math.exp(logarithm)


def absent(total: float, counts: Places, draws: int) -> Reals:
    """The chance that `draws` things, drawn without replacement, miss all `counts` marked ones of `total`."""
    return np.asarray(hypergeom.pmf(0, total, counts, draws))


@np.errstate(all="ignore")
def zipf_mandelbrot(frequencies: Places) -> Reals:
    """Exponent a and offset b of f ∝ 1 / (r + b)^a by maximum likelihood, by Fisher's scoring.

    Both are NaN where there is no maximum: counts that fall exponentially lead to infinity, equal ones to
    b = -1.
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
        if np.abs(step).max() < 1e-9 and b > NEAREST:
            return np.array([a, b])
    return np.array([np.nan, np.nan])


def jackknife(text: Text) -> Reals:
    """Half of the 95 % intervals of exponent and offset of a text's law; the text has three types or more.

    Words of a text depend on each other, so stretches of it are left out, not words.
    """
    size = max(1, math.ceil(len(text) / STRETCHES))
    fewer = []
    for part in blocks(len(text), size):
        counts = (text.counts - np.bincount(text.ids[part], minlength=len(text.words)))[1:]
        if counts.any():
            fewer.append(zipf_mandelbrot(np.sort(counts[counts > 0])[::-1]))
    return np.asarray(1.96 * np.sqrt((len(fewer) - 1) * np.var(fewer, axis=0)))


def zipf(text: Text) -> Measured:
    """Zipf–Mandelbrot of the types."""
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
    ranks = spaced(len(frequencies))
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
    """How many types occur once, twice, and so on."""
    types = np.bincount(text.frequencies, minlength=3) if len(text.frequencies) else np.zeros(3, np.int64)
    count = max(1, len(text.frequencies))
    return {
        "types": len(text.frequencies),
        "hapax": int(types[1]),
        "hapax_share": types[1] / count,
        "dis": int(types[2]),
        "dis_share": types[2] / count,
        "curve": {times: int(types[times]) for times in spaced(min(1000, len(types) - 1))},
    }


def heaps(text: Text) -> Measured:
    """How many types the first n words have."""
    first = np.flatnonzero(text.gaps == 0)
    points = np.array(spaced(len(text)))
    types = np.searchsorted(first, points)  # how many first places lie below n
    fitted = points >= SHORT
    law = slope(points[fitted], np.asarray(types[fitted], float)) if fitted.sum() > 2 else (None, None)
    curve: Curve = dict(zip(points.tolist(), types.tolist(), strict=True))
    return {"exponent": law[0], "factor": law[1], "curve": curve}


def diversity(text: Text) -> Measured:
    """Types per token at equal lengths: MATTR and HD-D."""
    counts = text.counts[text.counts > 0]
    total = len(text)
    seen, times = np.unique(counts, return_counts=True)
    hdd = float(times @ (1 - absent(total, seen, DRAWS)) / DRAWS) if total >= DRAWS else None
    return {"mattr": mattr(text, WINDOW), "hdd": hdd, "ttr": len(counts) / total}


def mattr(text: Text, window: int) -> float | None:
    """The mean over all windows of their types, divided by their words.

    A place is the first of its word in those windows that hold it, but not the place before it of the word.
    """
    total = len(text)
    if total < window:
        return None
    firsts = 0
    for part in blocks(total):
        places = np.arange(part.start, part.stop)
        gaps = text.gaps[part]
        before = np.where(gaps > 0, places - gaps, -1)
        lowest = np.maximum(before + 1, places - window + 1)
        highest = np.minimum(places, total - window)
        firsts += int(np.maximum(highest - np.maximum(lowest, 0) + 1, 0).sum())
    return firsts / (total - window + 1) / window


def out_of_vocabulary(text: Text) -> Measured:
    """The share of words that a vocabulary leaves out, by its least count in train and by its size."""
    reference = (text.train or text).counts.copy()
    reference[0] = 0
    own = text.counts
    by_count: Curve = {least: float(own[reference < least].sum() / len(text)) for least in MIN_COUNTS}
    types: Curve = {least: int((reference >= least).sum()) for least in MIN_COUNTS}
    order = np.argsort(-reference, kind="stable")
    known = np.cumsum(own[order])
    sizes = [size for size in SIZES if size < (reference > 0).sum()]
    by_size: Curve = {size: float(1 - known[size - 1] / len(text)) for size in sizes}
    return {"by_count": by_count, "types": types, "by_size": by_size}
