"""Which differences a test set can show, before anything is measured.

The passages and their tokens are known beforehand. How evenly one model will be better than the other is not:
by how much their difference in nats per token varies from passage to passage. Pairs of models that were
measured already say how much it can: two seeds of one recipe differ evenly, a cache and a model without one
do not. So the answer is given for three kinds of pairs. What `compare` divides then has a noncentral t.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from lm_benchmarks.choices import ENOUGH, FEWEST, LEVEL, MOST, MUST_AGREE
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.chance import (
    NORMAL,
    Numbers,
    degrees_of_freedom,
    expect_level,
    expected_variance,
    jackknife,
    quantile,
    why_no_sample,
)
from lm_benchmarks.measuring.passages import read_passages, vocabulary_of
from lm_benchmarks.measuring.select import last_of_models, why_unlike
from lm_benchmarks.records import Result, read_results
from wikitext_builder.dataset.load import load as load_dataset

NEAR: Final = 0.1  # nats per token: pairs whose perplexities differ by about 10 % or less
KINDS: Final = {"alike": 0.1, "usual": 0.5, "unlike": 0.9}  # quantiles of the spread over pairs
HARDNESS: Final = 0.4  # nats per token: by how much passages differ for any one model, in the records
LARGEST: Final = 10.0  # nats per token: what is better by a factor of 22,000 needs no test
POINTS: Final = 1001  # of the sum over the variance that is found
ENDS: Final = 8.0  # standard deviations


class Spreads(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much the difference of two models varies over passages: standard deviations, nats per token."""

    source: str
    pairs: int
    tokens: int  # of a passage, the median
    alike: float
    usual: float
    unlike: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerOf:
    """What a test set can show of one kind of pairs."""

    kind: str  # alike, usual, unlike
    spread: float
    power: float  # how often the asked difference is found
    detectable: float | None  # in nats per token, with a power of 80 %; None: no difference at all
    passages_needed: int | None  # for the asked difference with this power; None: more than MOST


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
    spreads: Spreads
    kinds: tuple[PowerOf, ...]


def power(
    data: str | Path,
    *,
    difference: str | float,
    perplexity: float | None = None,
    results: Sequence[str | Path] = (),
    split: str = "test",
    level: float = LEVEL,
) -> Power:
    """Estimate how often `compare` would find a difference, and which one it finds in four of five cases.

    For example, `power("wikitext-2", difference="1%").kinds`.

    Args:
        data: The dataset. Its passages are counted; nothing is measured.
        difference: How much lower the better model's perplexity is: in percent, as `"1%"`, or in points.
        perplexity: Of the other model; needed for points.
        results: Results files to estimate from how unevenly models differ; none: this project's records.
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
    counts = np.array([len(one.text.tokens) for one in passages], float)
    if why := why_no_sample(counts):
        raise HarnessError(f"{dataset.path}: {split} has {len(counts)} passages: {why}")
    spreads = measured_spreads(map(Path, results)) if results else known_spreads()
    return Power(
        data=dataset.name,
        split=split,
        passages=len(counts),
        tokens=int(counts.sum()),
        degrees=degrees_of_freedom(counts),
        level=level,
        difference=nats,
        perplexity=perplexity,
        spreads=spreads,
        kinds=tuple(
            PowerOf(
                kind=kind,
                spread=(spread := getattr(spreads, kind)),
                power=power_of(nats, spread, counts, level),
                detectable=detectable(spread, counts, level),
                passages_needed=passages_needed(nats, spread, counts, level),
            )
            for kind in KINDS
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
    level: float = LEVEL,
    hardness: float = HARDNESS,
) -> float:
    """How often an interval is without zero, and on the right side of it.

    A difference of perplexities is larger on hard passages, even if that of nats is the same on all. `spread`
    is the standard deviation of the difference over passages, `hardness` that of one model's nats per token.
    """
    spread = math.hypot(spread, hardness * difference)
    weights = counts / counts.sum()
    truth = float((weights**2).sum()) ** 0.5  # the standard error, per spread
    degrees = min(degrees_of_freedom(counts), NORMAL)
    needed = quantile(level, degrees) * expected_variance(counts) ** 0.5 / truth
    half = ENDS / math.sqrt(2 * degrees)
    # Errors that the jackknife finds, by the true one.
    found = np.linspace(max(1 - half, 1e-9), 1 + half, POINTS)
    logs = (degrees - 1) * np.log(found) - degrees * found**2 / 2
    density = np.exp(logs - logs.max())
    above = [math.erfc(one) / 2 for one in (needed * found - difference / (spread * truth)) / math.sqrt(2)]
    return float(density @ np.array(above) / density.sum())


def detectable(spread: float, counts: Numbers, level: float = LEVEL, enough: float = ENOUGH) -> float | None:
    """The smallest difference in nats per token that is found with enough power; None: there is none."""
    low, high = 0.0, spread
    while power_of(high, spread, counts, level) < enough:
        low, high = high, 2 * high
        if low > LARGEST:
            return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle, spread, counts, level) >= enough else (middle, high)
    return high


def passages_needed(
    difference: float, spread: float, counts: Numbers, level: float = LEVEL, enough: float = ENOUGH
) -> int | None:
    """How many passages with such lengths find a difference with a power that is enough; None: over MOST."""

    def is_enough(number: int) -> bool:
        some = np.quantile(counts, (np.arange(number) + 0.5) / number)
        return power_of(difference, spread, some, level) >= enough

    low, high = FEWEST - 1, FEWEST
    while not is_enough(high):
        if high == MOST:
            return None
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


@cache
def known_spreads() -> Spreads:
    """Those of this project's records."""
    text = files("lm_benchmarks.measuring").joinpath("spreads.toml").read_bytes()
    return msgspec.toml.decode(text, type=Spreads)


def measured_spreads(paths: Iterable[Path]) -> Spreads:
    """Those of all pairs of results whose perplexities are near each other."""
    paths = list(paths)
    found, tokens = list[float](), list[float]()
    for path in paths:
        usable = (one for one in read_results(path) if one.total.tokens and not one.broken)
        for first, second in combinations(last_of_models(usable, fields=MUST_AGREE), 2):
            if (spread := spread_of(first, second)) is not None:
                found.append(spread)
                tokens.append(float(np.median([one.tokens for one in first.articles])))
    names = ", ".join(path.name for path in paths)
    if not found:
        raise HarnessError(
            f"{names}: no two models on the same text whose perplexities differ by 10 % or less, on {FEWEST}"
            " passages or more; without --results this project's own pairs count"
        )
    kinds: dict[str, Any] = {kind: float(np.quantile(found, part)) for kind, part in KINDS.items()}
    return Spreads(source=names, pairs=len(found), tokens=int(np.median(tokens)), **kinds)


def spread_of(first: Result, second: Result) -> float | None:
    """How much the difference of two results varies over passages; None: they are not near, or not alike."""
    counts = np.array([one.tokens for one in first.articles], float)
    if why_unlike(first, second) or why_no_sample(counts):
        return None
    nats = np.array([b.nats - a.nats for a, b in zip(first.articles, second.articles, strict=True)])
    if abs(nats.sum() / counts.sum()) > NEAR:
        return None
    without = (nats.sum() - nats) / (counts.sum() - counts)
    variance = jackknife(without, counts).variance
    return math.sqrt(variance / expected_variance(counts)) or None
