"""Passages of which the truth is known, drawn from populations made after the records in benchmarks/results.

A passage has a length, a level (how hard it is) and a gain (how much better the second model is there). Its
tokens hang together: they vary by 3 nats about its level, and five of them tell as much as one.

windows: equal passages as those of PTB (lengths vary by 10 %), normal levels and gains
skewed:  lengths of WikiText-2's articles (80 %); few passages gain much
heavy:   the same lengths; a kurtosis of 9, and levels and gains that correlate with the length by 0.3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from lm_benchmarks.measuring.compare import Chance, Numbers, chance_of
from lm_benchmarks.measuring.power import detectable
from lm_benchmarks.measuring.ranking import holm
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


def p_value(chance: Chance | None, difference: float) -> float:
    """Two-sided; 1 where it is over 5 %, which no adjustment changes."""
    if chance is None or difference**2 < 1.95**2 * chance.variance:  # no quantile of 95 % is less than 1.96
        return 1.0
    return 2 * chance.p_one_sided(difference)


def compared(models: Sequence[Numbers], truth: float = 0.0) -> tuple[float, float]:
    """By how much the second number exceeds the first more than in truth, and the p value of that."""
    error = number(models[1]) - number(models[0]) - truth
    return error, p_value(chance_of(models, PERPLEXITY)[0], error)


def pairs(
    name: str, count: int, runs: tuple[int, int], seeds: float, sets: int
) -> Iterator[tuple[list[Numbers], float]]:
    """Sums of two models on the same passages, and by how much their numbers differ in truth."""
    population, generator = POPULATIONS[name], np.random.default_rng(count)
    shift = population.by_length * population.lengths  # of the mean over tokens: long passages weigh more
    mean = LEVEL + SPREAD * shift
    truth = float(np.exp(mean + GAIN + OF_GAINS * shift) - np.exp(mean))
    for _ in range(sets):
        tokens, longer = population.passages(generator, count)
        level, gain = (population.effects(generator, longer) for _ in range(2))
        noise = generator.normal(size=(2, count)) * OF_TOKENS / np.sqrt(tokens / ALIKE)
        first = LEVEL + SPREAD * level + noise[0]
        models = []
        for nats, some in zip((first, first + GAIN + OF_GAINS * gain + noise[1] / 5), runs, strict=True):
            of_runs = nats + generator.normal(0, seeds, (some, 1))
            if some > 1:
                of_runs = of_runs + generator.normal(0, 0.01, (some, count))
            models.append(np.stack([of_runs * tokens, np.broadcast_to(tokens, of_runs.shape)], axis=-1))
        yield models, truth


def coverage(
    name: str, count: int, runs: tuple[int, int] = (1, 1), seeds: float = 0.0, sets: int = 1000
) -> float:
    """The fraction of sets whose interval of 95 % holds the truth."""
    drawn = pairs(name, count, runs, seeds, sets)
    return float(np.mean([compared(models, truth)[1] >= 1 - 0.95 for models, truth in drawn]))


def centred(
    population: Population, generator: np.random.Generator, tokens: Numbers, longer: Numbers
) -> Numbers:
    """Effects whose mean over tokens is expected to be zero."""
    moved = population.by_length * float(longer @ tokens / tokens.sum())
    return population.effects(generator, longer) - moved


def family(
    name: str, generator: np.random.Generator, count: int, models: int, better: float
) -> tuple[list[Numbers], list[float]]:
    """Sums of models on the same passages, and the mean nats of each. The first half of them is better."""
    population = POPULATIONS[name]
    tokens, longer = population.passages(generator, count)
    noise = OF_TOKENS / np.sqrt(tokens / ALIKE)
    text = SPREAD * centred(population, generator, tokens, longer) + noise * generator.normal(size=count)
    means = [LEVEL - better * (place < models // 2) for place in range(models)]
    sums = []
    for place, mean in enumerate(means, start=1):
        gains = OF_GAINS * place / models * centred(population, generator, tokens, longer)
        nats = text + mean + gains + noise / 5 * generator.normal(size=count)
        sums.append(np.stack([nats * tokens, tokens], axis=-1)[None])
    return sums, means


def wrong_families(name: str, count: int, models: int, better: float, families: int) -> tuple[float, float]:
    """The fraction of families with a wrong difference: without an adjustment, and with Holm's."""
    generator, wrong = np.random.default_rng(count), []
    for _ in range(families):
        sums, means = family(name, generator, count, models, better)
        ps, lies = [], []
        for first, second in combinations(range(models), 2):
            difference, p = compared([sums[first], sums[second]])
            ps.append(p)
            lies.append((means[second] - means[first]) * difference <= 0)
        wrong.append([any(p < 0.05 and lie for p, lie in zip(x, lies, strict=True)) for x in (ps, holm(ps))])
    unadjusted, adjusted = np.mean(wrong, axis=0)
    return float(unadjusted), float(adjusted)


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
