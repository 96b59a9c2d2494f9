"""Which differences a test set can show, before anything is measured.

The passages and their tokens are known beforehand. How evenly one model will be better than the other is not:
how much their difference in nats per token varies from passage to passage. Records of measured pairs show how
much it can: two seeds of one recipe differ evenly, a model with a cache and one without do not. So the answer
is given for three kinds of pairs. The statistic of `compare` then has a noncentral t distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import nctdtr, stdtrit

from lm_benchmarks.choices import CONFIDENCE_LEVEL, TARGET_POWER, HarnessError
from lm_benchmarks.measuring.compare import (
    Numbers,
    degrees_of_freedom,
    expect_level,
    expected_variance,
    why_no_sample,
)
from lm_benchmarks.measuring.passages import read_passages, vocabulary_of
from wikitext_builder.dataset.load import load as load_dataset

SPREADS: Final = {"alike": 0.0211, "usual": 0.0456, "unlike": 0.113}
"""Standard deviations of the difference of two models over passages, in nats per token.

A tenth, a half and nine tenths of 320 pairs of models vary less: pairs in the records of Penn Treebank and
WikiText-2 whose perplexities differ by 10 % or less. Their passages have 2,181 tokens (the median).
"""

HARDNESS: Final = 0.4  # nats per token: how much passages differ for a model, in the records
MAX_DIFFERENCE: Final = 10.0  # nats per token: a factor of 22,000, which needs no test


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPower:
    """What a test set can show about a kind of pairs."""

    kind: str  # a name in SPREADS
    spread: float
    power: float  # how often the given difference is significant
    detectable: float | None  # nats per token, with a power of 80 %; None: no difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What a test set can show."""

    data: str
    split: str
    passages: int
    tokens: int
    degrees: float  # of freedom of Student's t; low if there are few passages, or a few long ones
    level: float
    difference: float  # the given one, in nats per token
    perplexity: float | None  # of the worse model; None: only fractions of it are known
    kinds: tuple[PairPower, ...]


def power(
    data: str | Path,
    *,
    difference: str | float,
    perplexity: float | None = None,
    split: str = "test",
    level: float = CONFIDENCE_LEVEL,
) -> Power:
    """Estimate how often `compare` finds a difference, and which difference it finds in four of five cases.

    For example, `power("wikitext-2", difference="1%").kinds`.

    Args:
        data: The dataset. Its passages are counted; no model is measured.
        difference: How much lower the better model's perplexity is: in percent, as `"1%"`, or in points.
        perplexity: The other model's; needed for points.
        split: `train`, `valid` or `test`.
        level: Confidence level.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: The split has too few passages, or the difference is zero.
    """
    expect_level(level)
    nats = nats_of(difference, perplexity)
    dataset = load_dataset(Path(data))
    _, passages = read_passages(dataset, split, vocabulary_of(dataset, split))
    counts = np.array([len(passage.text.tokens) for passage in passages], float)
    if reason := why_no_sample(counts):
        raise HarnessError(f"{dataset.path}: {split} has {len(counts)} passages: {reason}")
    return Power(
        data=dataset.name,
        split=split,
        passages=len(counts),
        tokens=int(counts.sum()),
        degrees=degrees_of_freedom(counts),
        level=level,
        difference=nats,
        perplexity=perplexity,
        kinds=tuple(
            PairPower(
                kind=kind,
                spread=spread,
                power=power_of(nats, spread, counts, level),
                detectable=detectable(spread, counts, level),
            )
            for kind, spread in SPREADS.items()
        ),
    )


def nats_of(difference: str | float, perplexity: float | None = None) -> float:
    """Convert a difference to nats per token.

    >>> round(nats_of("50%"), 4), round(nats_of(32, 64), 4)
    (0.6931, 0.6931)
    """
    text = str(difference).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not text.endswith("%"):
        if perplexity is None:
            raise HarnessError(
                f"difference {text}: points need the --perplexity that they are subtracted from; or give"
                " percent, such as 1%"
            )
        number *= 100 / perplexity
    if not 0 < number < 100:
        raise HarnessError(
            f"difference {text}; expected percent between 0% and 100%, or points between 0 and the perplexity"
        )
    return -math.log1p(-number / 100)


def power_of(
    difference: float,
    spread: float,
    counts: Numbers,
    level: float = CONFIDENCE_LEVEL,
    hardness: float = HARDNESS,
) -> float:
    """Return how often an interval excludes zero and is on the right side of it.

    A difference of perplexities is larger on hard passages, even if that of nats is the same on all. `spread`
    is the standard deviation of the difference over passages, `hardness` that of one model's nats per token.
    """
    spread = math.hypot(spread, hardness * difference)
    weights = counts / counts.sum()
    standard_error = float((weights**2).sum()) ** 0.5
    degrees = degrees_of_freedom(counts)
    critical = stdtrit(degrees, (1 + level) / 2) * expected_variance(counts) ** 0.5 / standard_error
    return float(1 - nctdtr(degrees, difference / (spread * standard_error), critical))


def detectable(
    spread: float, counts: Numbers, level: float = CONFIDENCE_LEVEL, target: float = TARGET_POWER
) -> float | None:
    """Return the smallest difference in nats per token with enough power; None: there is none."""
    if power_of(MAX_DIFFERENCE, spread, counts, level) < target:
        return None
    return float(brentq(lambda nats: power_of(nats, spread, counts, level) - target, 0.0, MAX_DIFFERENCE))
