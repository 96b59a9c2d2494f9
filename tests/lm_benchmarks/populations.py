"""Passages of which the truth is known, drawn from populations made after the records in benchmarks/results.

A passage has a length, a level (how hard it is) and a gain (how much better the second model is there). Its
tokens hang together: they vary by 3 nats about its level, and five of them tell as much as one.

windows: equal passages as those of PTB (lengths vary by 10 %), normal levels and gains
skewed:  lengths of WikiText-2's articles (80 %); few passages gain much
heavy:   the same lengths; a kurtosis of 9, and levels and gains that correlate with the length by 0.3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from lm_benchmarks.measuring.compare import Numbers, chance_of
from lm_benchmarks.measuring.power import detectable
from lm_benchmarks.metrics import METRICS

LEVEL, SPREAD, GAIN = 4.5, 0.3, -0.03  # nats per token: of the first model, over passages; second minus first
OF_GAINS, OF_TOKENS, ALIKE = 0.1, 3.0, 5  # spreads; tokens that tell as much as one
SAME = 20  # sets in a row whose passages have the same lengths
PERPLEXITY = METRICS["perplexity"]


@dataclass(frozen=True)
class Population:
    """Where passages come from."""

    lengths: float  # standard deviation of the logarithm
    effect: Callable[[np.random.Generator, int], Numbers]  # standardized, of passages
    by_length: float = 0.0  # correlation of effects with the logarithm of the length

    def passages(self, generator: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
        """Lengths: in tokens, and standardized."""
        longer = generator.normal(size=count)
        return np.exp(8 + self.lengths * longer), longer

    def effects(self, generator: np.random.Generator, longer: Numbers) -> Numbers:
        """Standardized effects, some of them of the length."""
        part, rest = self.by_length, (1 - self.by_length**2) ** 0.5
        return np.asarray(part * longer + rest * self.effect(generator, len(longer)))


POPULATIONS = {
    "windows": Population(0.1, lambda generator, count: generator.normal(size=count)),
    "skewed": Population(0.75, lambda generator, count: (2 - generator.gamma(2, size=count)) / 2**0.5),
    "heavy": Population(0.75, lambda generator, count: generator.standard_t(5, count) * 0.6**0.5, 0.3),
}


def number(sums: Numbers) -> float:
    """The perplexity of the mean over runs, of sums (runs, passages, 2)."""
    totals = sums.sum(axis=1)
    return float(np.exp((totals[:, 0] / totals[:, 1]).mean()))


def compared(models: Sequence[Numbers], truth: float = 0.0) -> tuple[float, float]:
    """By how much the second number exceeds the first more than in truth, and the two-sided p of that.

    It is 1 where it is over 5 %.
    """
    error = number(models[1]) - number(models[0]) - truth
    chance, _ = chance_of(models, PERPLEXITY)
    if chance is None or error**2 < 1.95**2 * chance.variance:  # no quantile of 95 % is less than 1.96
        return error, 1.0
    return error, 2 * chance.p_one_sided(error)


def coverage(name: str, count: int, runs: int = 1, seeds: float = 0.0, sets: int = 1000) -> float:
    """The fraction of sets of two models' sums whose interval of 95 % holds the truth."""
    population, generator = POPULATIONS[name], np.random.default_rng(count)
    shift = population.by_length * population.lengths  # of the mean over tokens: long passages weigh more
    mean = LEVEL + SPREAD * shift
    truth = float(np.exp(mean + GAIN + OF_GAINS * shift) - np.exp(mean))
    held = list[bool]()
    for _ in range(sets):
        tokens, longer = population.passages(generator, count)
        level, gain = (population.effects(generator, longer) for _ in range(2))
        noise = generator.normal(size=(2, count)) * OF_TOKENS / np.sqrt(tokens / ALIKE)
        first = LEVEL + SPREAD * level + noise[0]
        models = []
        for nats in (first, first + GAIN + OF_GAINS * gain + noise[1] / 5):
            of_runs = nats + generator.normal(0, seeds, (runs, 1))
            if runs > 1:
                of_runs = of_runs + generator.normal(0, 0.01, (runs, count))
            models.append(np.stack([of_runs * tokens, np.broadcast_to(tokens, of_runs.shape)], axis=-1))
        held.append(compared(models, truth)[1] >= 1 - 0.95)
    return float(np.mean(held))


def centred(
    population: Population, generator: np.random.Generator, tokens: Numbers, longer: Numbers
) -> Numbers:
    """Effects whose mean over tokens is expected to be zero."""
    moved = population.by_length * float(longer @ tokens / tokens.sum())
    return population.effects(generator, longer) - moved


def found(name: str, count: int, spread: float, sets: int) -> float:
    """How often a difference is found that `power` calls detectable on the lengths of its passages."""
    population, generator = POPULATIONS[name], np.random.default_rng(count)
    hits = list[bool]()
    for done in range(sets):
        if done % SAME == 0:
            tokens, longer = population.passages(generator, count)
            size = detectable(spread, tokens) or 0.0
        first = LEVEL + SPREAD * centred(population, generator, tokens, longer)
        second = first - size + spread * centred(population, generator, tokens, longer)
        difference, p = compared([np.stack([x * tokens, tokens], axis=-1)[None] for x in (first, second)])
        hits.append(difference < 0 and p < 0.05)
    return float(np.mean(hits))
