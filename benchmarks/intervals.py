"""How often the intervals of `compare` and `contamination` hold the truth, by simulation.

    python benchmarks/intervals.py [RECORDS]

Passages are drawn of which the truth is known, and the code of the commands makes an interval of 95 %. The
tables have the fraction of intervals that hold the truth. RECORDS is the folder of records, by default
`benchmarks/results`.

A passage has a length, a level (how hard it is) and a gain (how much better the second model is there). Its
tokens hang together: they vary by 3 nats about its level, and five of them tell as much as one that is
independent. The populations are made after the records in `benchmarks/results`, test and valid:

windows: equal passages as those of PTB (lengths vary by 10 %), normal levels and gains
skewed:  lengths of WikiText-2's articles (80 %); few passages gain much: skewness 1.4 (in half of the pairs
         of records 1.0 or less in size, in nine of ten 2.3 or less)
heavy:   the same lengths; a kurtosis of 9, and levels and gains that correlate by 0.3 with the logarithm of
         the length (in three of four pairs of records less)

Or passages are those of two models in the records, drawn with replacement: the truth is their difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import numpy as np
from lm_benchmarks.measuring.chance import Chance, Numbers
from lm_benchmarks.measuring.compare import chance_of, chance_of_sides, sums_of_passages
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import Result, read_results

SETS = 4000  # simulated sets per number: it is known to 0.7 %, twice the standard error
OF_RECORDS = 1000  # the same per pair of models
OF_SIDES = 12_000  # of two sets: 0.4 %
PAIRS = 21  # of models, per split of a dataset
DRAWS = 1000  # of the bootstrap, for comparison
COUNTS = (5, 8, 20, 60)  # passages
SEEDS = ((2, 2), (3, 3), (5, 5))  # of the two models
SPREADS = (0.001, 0.01, 0.03)  # of seeds, in nats per token
LEVEL, SPREAD, GAIN = 4.5, 0.3, -0.03  # nats per token: of the first model, over passages; second minus first
OF_GAINS, OF_TOKENS, ALIKE = 0.1, 3.0, 5  # spreads; tokens that tell as much as one
PPL = METRICS["perplexity"]
Models = Sequence[Numbers]


@dataclass(frozen=True)
class Population:
    """Where passages come from."""

    lengths: float  # standard deviation of the logarithm
    effect: Callable[[np.random.Generator, int], Numbers]  # standardized, of passages
    by_length: float = 0.0  # correlation of effects with the logarithm of the length


def skewed(generator: np.random.Generator, count: int) -> Numbers:
    """A gamma distribution of shape 2, its long tail below zero."""
    return (2 - generator.gamma(2, size=count)) / 2**0.5


POPULATIONS = {
    "windows": Population(0.1, lambda generator, count: generator.normal(size=count)),
    "skewed": Population(0.75, skewed),
    "heavy": Population(0.75, lambda generator, count: generator.standard_t(5, count) * 0.6**0.5, 0.3),
}


def drawn(
    population: Population,
    generator: np.random.Generator,
    count: int,
    runs: tuple[int, int] = (1, 1),
    seeds: float = 0.0,
) -> tuple[Models, float]:
    """Sums of two models on the same passages, (runs, passages, 2), and by how much their numbers differ."""
    longer = generator.normal(size=count)
    tokens = np.exp(8 + population.lengths * longer)
    part, rest = population.by_length, (1 - population.by_length**2) ** 0.5
    level, gain = (part * longer + rest * population.effect(generator, count) for _ in range(2))
    noise = generator.normal(size=(2, count)) * OF_TOKENS / np.sqrt(tokens / ALIKE)
    first = LEVEL + SPREAD * level + noise[0]
    second = first + GAIN + OF_GAINS * gain + noise[1] / 5
    models = []
    for nats, some in zip((first, second), runs, strict=True):
        moved = nats + generator.normal(0, seeds, (some, 1))
        if some > 1:
            moved = moved + generator.normal(0, 0.01, (some, count))
        models.append(np.stack([moved * tokens, np.broadcast_to(tokens, moved.shape)], axis=-1))
    shift = part * population.lengths  # of the mean over tokens: long passages have more of them
    one = LEVEL + SPREAD * shift
    return models, float(np.exp(one + GAIN + OF_GAINS * shift) - np.exp(one))


def number(sums: Numbers) -> float:
    """The perplexity of the mean over runs."""
    totals = sums.sum(axis=1)
    return float(np.exp((totals[:, 0] / totals[:, 1]).mean()))


def p_of(chance: Chance | None, difference: float) -> float:
    """Two-sided; 1 where it is over 5 %, which no adjustment changes."""
    if chance is None or difference**2 < 1.95**2 * chance.variance:  # no quantile of 95 % is less than 1.96
        return 1.0
    return 2 * chance.p_one_sided(difference)


def holds(chance: Chance | None, error: float) -> bool:
    """Whether an interval of 95 % around a number with this error holds the truth."""
    return chance is not None and p_of(chance, error) >= 1 - 0.95


def student(models: Models, truth: float, _generator: np.random.Generator) -> bool:
    """Whether the interval of `compare` holds the truth."""
    return holds(chance_of(models, PPL)[0], number(models[1]) - number(models[0]) - truth)


def percentile(models: Models, truth: float, generator: np.random.Generator) -> bool:
    """Whether the percentiles of a bootstrap over passages hold it, as in earlier versions; of one run."""
    count = models[0].shape[1]
    times = generator.multinomial(count, np.full(count, 1 / count), size=DRAWS)
    totals = [times @ sums[0] for sums in models]
    one, two = (np.exp(each[:, 0] / each[:, 1]) for each in totals)
    low, high = np.quantile(two - one, [0.025, 0.975])
    return bool(low <= truth <= high)


def covered(sets: Iterator[tuple[Models, float]], method: Callable[..., bool] = student) -> float:
    """The fraction of sets whose interval holds the truth."""
    generator = np.random.default_rng(2)
    return float(np.mean([method(models, truth, generator) for models, truth in sets]))


def simulated(name: str, count: int, *more: object, sets: int = SETS) -> Iterator[tuple[Models, float]]:
    """Sets of a population; the same every time."""
    generator = np.random.default_rng(count)
    for _ in range(sets):
        yield drawn(POPULATIONS[name], generator, count, *more)  # type: ignore[arg-type]


def unpaired(name: str, count: int, sets: int = OF_SIDES) -> float:
    """The same for two sets of other passages, as of `contamination`: the first model's and the second's."""
    generator = np.random.default_rng(count)
    hits = 0
    for _ in range(sets):
        (one, _), truth = drawn(POPULATIONS[name], generator, count)
        (_, other), _ = drawn(POPULATIONS[name], generator, count)
        hits += holds(chance_of_sides([[one], [other]], PPL)[0], number(other) - number(one) - truth)
    return hits / sets


def with_a_long_one(share: float, count: int) -> Iterator[tuple[Models, float]]:
    """Windows of which the first has a share of all tokens."""
    for models, truth in simulated("windows", count):
        for sums in models:
            longer = share / (1 - share) * sums[0, 1:, 1].sum() / sums[0, 0, 1]
            sums.setflags(write=True)
            sums[0, 0] *= longer
        yield models, truth


def of_records(path: Path, split: str, count: int) -> list[float]:
    """The fraction of each pair of models, of passages drawn with replacement from their records."""
    last = {result.model: result for result in read_results(path) if is_plain(result, split)}
    pairs = [
        [sums_of_passages(one.articles, PPL) for one in pair]
        for pair in combinations(last.values(), 2)
        if [a.tokens for a in pair[0].articles] == [b.tokens for b in pair[1].articles]
    ]
    generator = np.random.default_rng(count)
    chosen = [pairs[n] for n in sorted(generator.permutation(len(pairs))[:PAIRS])]

    def sets(pair: Sequence[Numbers]) -> Iterator[tuple[Models, float]]:
        truth = number(pair[1][None]) - number(pair[0][None])
        for _ in range(OF_RECORDS):
            some = generator.integers(len(pair[0]), size=count)
            yield [sums[some][None] for sums in pair], truth

    return [covered(sets(pair)) for pair in chosen]


def is_plain(result: Result, split: str) -> bool:
    """Returns True if a result is one of the paper's convention, with context across articles."""
    fields = result.signature
    return (fields["split"], fields.get("convention"), fields.get("context")) == (split, "paper", "carried")


def row(*cells: object) -> None:
    """Print a row of a table."""
    texts = (f"{cell:.1%}".replace("%", " %") if isinstance(cell, float) else str(cell) for cell in cells)
    sys.stdout.write(f"| {' | '.join(texts)} |\n")
    sys.stdout.flush()


def head(title: str, *cells: object) -> None:
    """Print a title and the head of a table."""
    sys.stdout.write(f"\n## {title}\n\n")
    row(*cells)
    row(*["---"] * len(cells))


def main(records: Path = Path(__file__).parent / "results") -> None:
    """Print the tables."""
    head("Two models, one run each", "passages from", "interval", *COUNTS)
    for name, method in product(POPULATIONS, (percentile, student)):
        sets = SETS if method is student else SETS // 2
        row(name, method.__name__, *(covered(simulated(name, k, sets=sets), method) for k in COUNTS))
    head("Several seeds of each model", "passages from", "seeds", "spread of seeds", *COUNTS)
    for name, seeds, spread in product(POPULATIONS, SEEDS, SPREADS):
        numbers = (covered(simulated(name, k, seeds, spread)) for k in COUNTS)
        row(name, f"{seeds[0]} and {seeds[1]}", str(spread), *numbers)
    head("Two sets of other passages", "passages from", *COUNTS)
    for name in POPULATIONS:
        row(name, *(unpaired(name, k) for k in COUNTS))
    head("Windows, one of them with a share of the text", "share", *COUNTS)
    for share in (0.5, 0.75, 0.89):
        row(share, *(covered(with_a_long_one(share, k)) for k in COUNTS))
    head("Passages of records: the mean over pairs of models, and the lowest pair", "records", *COUNTS)
    for file, split in product(("ptb", "wikitext-2"), ("test", "valid")):
        each = [of_records(records / f"{file}.jsonl", split, k) for k in COUNTS]
        row(f"{file} {split}", *(f"{100 * np.mean(found):.1f}, {100 * min(found):.1f} %" for found in each))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
