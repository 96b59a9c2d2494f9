"""Which differences a test set can show, before anything is measured.

The passages and their tokens are known beforehand. How evenly one model will be better than the other is not:
by how much their difference in nats per token varies from passage to passage. Pairs of models that were
measured already say how much it can: two seeds of one recipe differ evenly, a cache and a model without one
do not. So the answer is given for three kinds of pairs. What `compare` divides then has a noncentral t.
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
"""By how much the difference of two models varies over passages, in nats per token: standard deviations.

A tenth, a half and nine tenths of 320 pairs of models vary less: those of the records of Penn Treebank and
WikiText-2 whose perplexities differ by 10 % or less. Their passages have 2,181 tokens (the median).
"""

HARDNESS: Final = 0.4  # nats per token: by how much passages differ for any one model, in the records
LARGEST: Final = 10.0  # nats per token: what is better by a factor of 22,000 needs no test


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerOf:
    """What a test set can show of one kind of pairs."""

    kind: str  # a name in SPREADS
    spread: float
    power: float  # how often the asked difference is found
    detectable: float | None  # in nats per token, with a power of 80 %; None: no difference at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What a test set can show."""

    data: str
    split: str
    passages: int
    tokens: int
    degrees: float  # of freedom of Student's t: few if there are few passages, or a few long ones
    level: float
    difference: float  # as asked, in nats per token
    perplexity: float | None  # of the model that is not as good; None: only fractions of it are known
    kinds: tuple[PowerOf, ...]


def power(
    data: str | Path,
    *,
    difference: str | float,
    perplexity: float | None = None,
    split: str = "test",
    level: float = CONFIDENCE_LEVEL,
) -> Power:
    """Estimate how often `compare` would find a difference, and which one it finds in four of five cases.

    For example, `power("wikitext-2", difference="1%").kinds`.

    Args:
        data: The dataset. Its passages are counted; nothing is measured.
        difference: How much lower the better model's perplexity is: in percent, as `"1%"`, or in points.
        perplexity: Of the other model; needed for points.
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
    if why := why_no_sample(counts):
        raise HarnessError(f"{dataset.path}: {split} has {len(counts)} passages: {why}")
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
            PowerOf(
                kind=kind,
                spread=spread,
                power=power_of(nats, spread, counts, level),
                detectable=detectable(spread, counts, level),
            )
            for kind, spread in SPREADS.items()
        ),
    )


def nats_of(difference: str | float, perplexity: float | None = None) -> float:
    """A difference in nats per token.

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
    """How often an interval is without zero, and on the right side of it.

    A difference of perplexities is larger on hard passages, even if that of nats is the same on all. `spread`
    is the standard deviation of the difference over passages, `hardness` that of one model's nats per token.
    """
    spread = math.hypot(spread, hardness * difference)
    weights = counts / counts.sum()
    truth = float((weights**2).sum()) ** 0.5  # the standard error, per spread
    degrees = degrees_of_freedom(counts)
    needed = stdtrit(degrees, (1 + level) / 2) * expected_variance(counts) ** 0.5 / truth
    return float(1 - nctdtr(degrees, difference / (spread * truth), needed))


def detectable(
    spread: float, counts: Numbers, level: float = CONFIDENCE_LEVEL, enough: float = TARGET_POWER
) -> float | None:
    """The smallest difference in nats per token that is found with enough power; None: there is none."""
    if power_of(LARGEST, spread, counts, level) < enough:
        return None
    return float(brentq(lambda nats: power_of(nats, spread, counts, level) - enough, 0.0, LARGEST))
