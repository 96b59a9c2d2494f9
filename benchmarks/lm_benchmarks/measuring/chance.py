"""How much a number could change by chance: a jackknife over passages and over seeds, and Student's t.

The jackknife leaves out each passage once. The numbers without it say how much the number would vary over
other passages (Tukey 1958; Efron and Stein 1981). Student's t gives the interval. Long passages weigh more:
a few can decide the variance. So its degrees of freedom follow from the lengths (Satterthwaite 1946,
as in Bell and McCaffrey 2002). They are the number of passages less one if all are equally long, and near 1
if one is much longer than the others. Variances of passages and of seeds add up, each with its degrees of
freedom (Welch 1947). Nothing is drawn: the same results always give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from lm_benchmarks.choices import FEWEST, NEARLY_ALL
from lm_benchmarks.errors import HarnessError

Numbers = npt.NDArray[np.float64]

ROUNDING: Final = 1e-9  # of sums: 2.9999999999 degrees are 3


@dataclass(frozen=True, slots=True)
class Chance:
    """A variance, and the degrees of freedom with which it is known."""

    variance: float
    degrees: float

    def interval(self, value: float, level: float) -> tuple[float, float]:
        """Where the truth is, with a probability of `level`, if `value` was found."""
        width = float(stdtrit(self.degrees, (1 + level) / 2)) * math.sqrt(self.variance)
        return value - width, value + width

    def p_one_sided(self, value: float) -> float:
        """How probable chance alone gives `value` or more, or, if it is negative, `value` or less."""
        if not self.variance:
            return 0.0 if value else 0.5
        return float(stdtr(self.degrees, -abs(value) / math.sqrt(self.variance)))


def expect_level(level: float) -> None:
    """Refuse a level of an interval that is not a fraction."""
    if not 0 < level < 1:
        raise HarnessError(f"level {level}; expected one between 0 and 1")


def why_no_sample(counts: Numbers) -> str:
    """Say why passages of these lengths cannot show chance; empty if they can."""
    if len(counts) < FEWEST:
        return "too few for an interval"
    if (share := counts.max() / counts.sum()) > NEARLY_ALL:
        return f"one has {share:.0%} of the text, which is too much for an interval"
    return ""


def jackknife(without: Numbers, counts: Numbers) -> Chance:
    """The variance of a number, from the number without each passage, and how many tokens each has."""
    count = len(without)
    variance = (count - 1) / count * ((without - without.mean()) ** 2).sum()
    return Chance(float(variance), degrees_of_freedom(counts))


def degrees_of_freedom(counts: Numbers) -> float:
    """The degrees of freedom of a jackknife's variance, if passages vary alike but have different lengths.

    With the shares w of passages and the residuals e - sum(w e), the variance is that of a sum of squares
    with the matrix S = R (I - 1w' - w1' + w'w 11') R, R = diag(w / (1 - w)). Satterthwaite's number is
    trace(S)^2 / trace(S^2), here without the matrix, which has a million numbers for a thousand passages.
    """
    w = counts / counts.sum()
    r2, s = (w / (1 - w)) ** 2, (w**2).sum()
    p, q, m = r2.sum(), (r2 * w).sum(), (r2 * w**2).sum()
    of_square = (s * p) ** 2 + 2 * p * m - 4 * s * p * q + 2 * q**2 + (r2**2 * (1 + 2 * s - 4 * w)).sum()
    return float(_trace(w) ** 2 / of_square)


def expected_variance(counts: Numbers) -> float:
    """What the jackknife's variance of a mean over tokens is on average, if each passage varies by 1.

    >>> expected_variance(np.array([7.0, 7.0, 7.0, 7.0]))
    0.25
    """
    return (len(counts) - 1) / len(counts) * _trace(counts / counts.sum())


def _trace(w: Numbers) -> float:
    """Of S in `degrees_of_freedom`."""
    return float(((w / (1 - w)) ** 2 * (1 - 2 * w + (w**2).sum())).sum())


def combined(parts: Sequence[Chance]) -> Chance:
    """The chance of a sum of independent parts.

    The degrees of freedom (Welch and Satterthwaite) are rounded down, as for printed tables: two seeds of
    each model leave one or two, and intervals with a fraction more hold the truth too seldom.

    >>> combined([Chance(1.0, 4.0), Chance(2.0, 4.0)])
    Chance(variance=3.0, degrees=7.0)
    """
    if len(parts) == 1:
        return parts[0]
    variance = sum(part.variance for part in parts)
    if not 0 < variance < math.inf:
        return Chance(variance, min(part.degrees for part in parts))
    degrees = 1 / sum((part.variance / variance) ** 2 / part.degrees for part in parts)
    return Chance(variance, max(min(degrees, 1.0), float(math.floor(degrees + ROUNDING))))  # not to none
