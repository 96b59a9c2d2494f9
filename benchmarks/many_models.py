"""How often `compare --all` says something wrong, and whether `power` keeps its promise, by simulation.

    python benchmarks/many_models.py [RECORDS]

Families of models are drawn of which the truth is known, on the passages of `intervals.py`. Each model gains
or loses by passage on its own, by up to 0.1 nats per token (standard deviation), the skewed ones in the same
direction. A family is wrong if a difference is called sure that is not there, or has the other sign. If none
is, all intervals of ranks hold the true ranks.

A difference of the size that `power` calls detectable is then drawn, for each kind of pairs, and the code of
`compare` looks for it. Or passages are those of two models in the records, drawn with replacement: their
spread is that of the other split, and their difference is moved to the size that is detectable with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path

import intervals as sim
import numpy as np
from lm_benchmarks.measuring.chance import Numbers
from lm_benchmarks.measuring.compare import chance_of, sums_of_passages
from lm_benchmarks.measuring.power import KINDS, detectable, known_spreads, spread_of
from lm_benchmarks.measuring.ranking import holm
from lm_benchmarks.records import Result, read_results

FAMILIES = 1000  # per number: 5 % are known to 1.4 %, twice the standard error
SETS = 4000  # per number: 80 % are known to 1.3 %
SAME = 20  # sets in a row whose passages have the same lengths
SIZES = (5, 10)  # models of a family: 10 and 45 pairs
COUNTS = (8, 20, 60)  # passages
BETTER = 0.05  # nats per token, by which half of the models are better
WRONG = 0.05
EVERY = {  # also the second model, which is better, does much worse on a few passages
    **sim.POPULATIONS,
    "skewed the other way": sim.Population(0.75, lambda generator, count: -sim.skewed(generator, count)),
}


def passages(
    population: sim.Population, generator: np.random.Generator, count: int
) -> tuple[Numbers, Numbers]:
    """Lengths: in tokens, and standardized."""
    longer = generator.normal(size=count)
    return np.exp(8 + population.lengths * longer), longer


def gains(
    population: sim.Population, generator: np.random.Generator, tokens: Numbers, longer: Numbers
) -> Numbers:
    """Standardized effects of passages, whose mean over tokens is expected to be zero."""
    part, rest = population.by_length, (1 - population.by_length**2) ** 0.5
    by_length = part * (longer - longer @ tokens / tokens.sum())
    return np.asarray(by_length + rest * population.effect(generator, len(longer)))


def family(
    name: str, generator: np.random.Generator, count: int, models: int, better: float
) -> tuple[list[Numbers], list[float]]:
    """Sums of models on the same passages, and the mean nats of each. The first half of them is better."""
    population = sim.POPULATIONS[name]
    tokens, longer = passages(population, generator, count)
    noise = sim.OF_TOKENS / np.sqrt(tokens / sim.ALIKE)
    text = sim.LEVEL + sim.SPREAD * gains(population, generator, tokens, longer)
    text = text + noise * generator.normal(size=count)
    sums, means = [], []
    for one in range(models):
        mean = sim.LEVEL - better * (one < models // 2)
        own = sim.OF_GAINS * (one + 1) / models * gains(population, generator, tokens, longer)
        nats = text + mean - sim.LEVEL + own + noise / 5 * generator.normal(size=count)
        sums.append(np.stack([nats * tokens, tokens], axis=-1)[None])
        means.append(mean)
    return sums, means


def wrong(sums: Sequence[Numbers], means: Sequence[float]) -> tuple[bool, bool]:
    """Whether any difference that is called clear is wrong, without an adjustment and with Holm's."""
    ps, lies = [], []
    for one, other in combinations(range(len(sums)), 2):
        difference = sim.number(sums[other]) - sim.number(sums[one])
        ps.append(sim.p_of(chance_of([sums[one], sums[other]], sim.PPL)[0], difference))
        lies.append((means[other] - means[one]) * difference <= 0)
    unadjusted, adjusted = (
        any(p < WRONG and lie for p, lie in zip(some, lies, strict=True)) for some in (ps, holm(ps))
    )
    return unadjusted, adjusted


def wrong_families(
    name: str, count: int, models: int, better: float = 0.0, families: int = FAMILIES
) -> tuple[float, float]:
    """The fraction of families with something wrong: without an adjustment, and with Holm's."""
    generator = np.random.default_rng(count)
    found = [wrong(*family(name, generator, count, models, better)) for _ in range(families)]
    unadjusted, adjusted = np.mean(found, axis=0)
    return float(unadjusted), float(adjusted)


def finds(first: Numbers, second: Numbers) -> bool:
    """Whether the interval of `compare` is below zero: the second model is better."""
    difference = sim.number(second) - sim.number(first)
    return difference < 0 and sim.p_of(chance_of([first, second], sim.PPL)[0], difference) < WRONG


def found(name: str, count: int, spread: float, sets: int = SETS) -> float:
    """How often a difference is found that is detectable on the lengths of its passages."""
    generator, population, hits = np.random.default_rng(count), EVERY[name], 0
    for done in range(sets):
        if done % SAME == 0:
            tokens, longer = passages(population, generator, count)
            size = detectable(spread, tokens) or 0.0
        nats = sim.LEVEL + sim.SPREAD * gains(population, generator, tokens, longer)
        better = nats - size + spread * gains(population, generator, tokens, longer)
        hits += finds(*(np.stack([one * tokens, tokens], axis=-1)[None] for one in (nats, better)))
    return hits / sets


def of_records(path: Path, split: str, other: str, sets: int = sim.OF_RECORDS) -> list[float]:
    """How often each pair's difference is found, if its spread on the other split makes it detectable."""
    models = [
        {one.model: one for one in read_results(path) if sim.is_plain(one, which)} for which in (split, other)
    ]
    pairs = [
        (pair, spread)
        for names in combinations([name for name in models[0] if name in models[1]], 2)
        if spread_of(*(pair := [models[0][name] for name in names]))
        and (spread := spread_of(*(models[1][name] for name in names)))
    ]
    generator = np.random.default_rng(len(pairs))
    some = sorted(generator.permutation(len(pairs))[: sim.PAIRS])
    chosen = [pairs[n] for n in some]
    return [float(np.mean(list(draws(pair, spread, generator, sets)))) for pair, spread in chosen]


def draws(pair: Sequence[Result], spread: float, generator: np.random.Generator, sets: int) -> Iterator[bool]:
    """Whether the difference is found, of passages drawn with replacement."""
    first, second = (sums_of_passages(one.articles, sim.PPL) for one in pair)
    tokens = first[:, 1]
    mean = (second[:, 0].sum() - first[:, 0].sum()) / tokens.sum()
    moved = second - np.stack([(mean + (detectable(spread, tokens) or 0.0)) * tokens, 0 * tokens], axis=-1)
    for _ in range(sets):
        some = generator.integers(len(first), size=len(first))
        yield finds(first[some][None], moved[some][None])


def main(records: Path = Path(__file__).parent / "results") -> None:
    """Print the tables."""
    families()
    powers(records)


def families() -> None:
    """Print how many families have something wrong."""
    for title, better, sizes in (
        ("All models are equal", 0.0, SIZES),
        ("Two of five models are better by 5 %", BETTER, SIZES[:1]),
    ):
        sim.head(f"{title}: families with something wrong", "passages from", "models", "p", *COUNTS)
        for name, models in product(sim.POPULATIONS, sizes):
            numbers = [wrong_families(name, k, models, better) for k in COUNTS]
            for which, label in enumerate(("unadjusted", "Holm")):
                sim.row(name, models, label, *(one[which] for one in numbers))


def powers(records: Path) -> None:
    """Print how often differences of the detectable size are found."""
    sim.head("Differences of the detectable size that are found", "passages from", "models", *COUNTS)
    for name, kind in product(EVERY, KINDS):
        sim.row(name, kind, *(found(name, k, getattr(known_spreads(), kind)) for k in COUNTS))
    sim.head("The same of pairs of records within 10 %", "records", "pairs", "mean", "lowest", "highest")
    for file, split, other in (
        ("ptb", "test", "valid"),
        ("ptb", "valid", "test"),
        ("wikitext-2", "test", "valid"),
    ):
        each = of_records(records / f"{file}.jsonl", split, other)
        sim.row(f"{file} {split}", len(each), float(np.mean(each)), min(each), max(each))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
