"""Has a model read the past? Compares its predictions of similar articles from before and after a date.

A model that has read some of the earlier articles predicts them better: later ones have more bits per byte.
Each earlier article is paired with a later one about the same topic and of about the same length: the topic
is in its words, weighted by how rare they are.

The verdict is a permutation test: if the model has read none, chance decides which side each article is on.
Every article has the same weight, by the logarithm of its bits per byte, so a few articles that the model has
memorized are enough to decide it.

News is harder to predict for every model: new names, new events. So the difference of a reference model that
has read neither side is subtracted, on the same articles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.linalg import norm
from scipy.stats import permutation_test

from lm_benchmarks.choices import CONFIDENCE_LEVEL, MIN_PASSAGES, PERMUTATIONS, HarnessError
from lm_benchmarks.measuring.compare import Numbers, expect_level
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.metrics import METRICS, Sums
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.errors import without_secrets
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.store.lock import ATTRIBUTION, read_attribution

BATCH_PERMUTATIONS: Final = 1000  # in memory at once
MIN_BITS: Final = 1e-9  # per byte, so that the logarithm is finite
LENGTH_WEIGHT: Final = 0.2  # distance per factor of two in length; it is 1 for topics without a common word
LENGTH_FACTOR: Final = 2.0  # between the lengths of two articles of a pair, at most
FORBIDDEN_DISTANCE: Final = 1e6  # larger than any sum of the distances of pairs
ROUNDING: Final = 1e-9
LOGARITHM_DIGITS: Final = 9  # more would tell apart what only rounding separates


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredArticle:
    """An article, its words, and how a model predicted it."""

    title: str
    sums: Sums
    words: frozenset[str] = field(repr=False)

    @property
    def bits_per_byte(self) -> float:
        """The bits of the article per byte of its plain text."""
        return METRICS["bits-per-byte"].of(self.sums) or 0.0


Pair = tuple[ScoredArticle, ScoredArticle]  # before, after


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """What the difference between earlier and later articles says about a model."""

    model: str
    reference: str  # the model whose bits are subtracted; empty: none
    before: float  # bits per byte of the paired articles, minus those of the reference
    after: float
    chance: float  # p-value: how often random sides make `before` easier by at least as much
    detectable: float  # bits per byte: the smallest difference found, if it is the same for all articles
    pairs: tuple[tuple[str, str], ...]  # titles: before, after
    articles: tuple[int, int]  # before, after; paired or not
    level: float
    resamples: int

    @property
    def difference(self) -> float:
        """Bits per byte, after minus before."""
        return self.after - self.before

    @property
    def is_found(self) -> bool:
        """True if the earlier articles are easier for the model by more than chance explains."""
        return self.chance <= (1 - self.level) / 2

    @property
    def verdict(self) -> str:
        """The result of the permutation test, in a sentence."""
        compared = f"compared with {self.reference}, " if self.reference else ""
        if self.is_found:
            return (
                f"The model has probably read some of the earlier articles: {compared}they are easier for it"
                " than later ones like them, by more than chance explains."
            )
        return (
            f"No sign that the model has read the earlier articles: {compared}they are not easier for it than"
            f" later ones like them, by more than chance explains. {len(self.pairs)} pairs do not show a"
            f" difference below about {self.detectable:.2g} bits per byte."
        )


def contamination(
    model: str,
    *,
    before: str | Path,
    after: str | Path,
    split: str = "test",
    reference: str = "",
    level: float = CONFIDENCE_LEVEL,
    resamples: int = PERMUTATIONS,
    seed: int = 1,
    progress: Progress = no_progress,
    **options: Any,
) -> Contamination:
    """Compare a model's predictions of paired articles from before and after a date.

    Args:
        model: A trained model: a checkpoint, `transformers:…` or the like, see `measure`.
        before: A dataset of articles from before the date.
        after: A dataset of articles from after it, by the same selection.
        split: `train`, `valid` or `test` of both datasets.
        reference: A model that has read neither; its difference is subtracted.
        level: Confidence level; chance alone gives a finding in half of the remaining fraction of tests.
        resamples: Number of permutations of articles between the sides.
        seed: Seed of the permutations, and of models that draw random numbers.
        progress: Called with the number of tokens done.
        options: As in `measure`.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: The model cannot be measured or differs between the datasets, or too few articles pair.
    """
    expect_level(level)
    sides = [load_dataset(Path(path)) for path in (before, after)]
    _expect_other_pages(sides, split)
    shared = sides, split, progress, {**options, "seed": seed}
    earlier, later = _scored(model, *shared)
    index_pairs = nearest_pairs(earlier, later)
    if len(index_pairs) < MIN_PASSAGES:
        raise HarnessError(
            f"{len(index_pairs)} pairs of articles of about the same length; expected {MIN_PASSAGES} or more:"
            " use larger datasets"
        )
    pairs = [(earlier[old], later[new]) for old, new in index_pairs]
    reference_pairs = list[Pair]()
    if reference:
        of_reference = _scored(reference, *shared)
        reference_pairs = [(of_reference[0][old], of_reference[1][new]) for old, new in index_pairs]
    bits = [_bits_per_byte(pairs, side) - _bits_per_byte(reference_pairs, side) for side in (0, 1)]
    chance, detectable = chance_of_easier(pairs, reference_pairs, level=level, resamples=resamples, seed=seed)
    return Contamination(
        model=without_secrets(model),
        reference=without_secrets(reference),
        before=bits[0],
        after=bits[1],
        chance=chance,
        detectable=detectable,
        pairs=tuple((old.title, new.title) for old, new in pairs),
        articles=(len(earlier), len(later)),
        level=level,
        resamples=resamples,
    )


def _expect_other_pages(sides: Sequence[Dataset], split: str) -> None:
    """Reject a page that is on both sides: it is not a later article, and would be its own partner."""
    if not all((side.path / ATTRIBUTION).is_file() for side in sides):
        return
    old, new = (
        {
            (row.url.partition("?")[0], row.page_id): row.title
            for row in read_attribution(side.path)
            if row.split == split
        }
        for side in sides
    )
    if shared_titles := [old[page] for page in old if page in new]:
        raise HarnessError(
            f"{len(shared_titles)} articles of {split} are on both sides, such as {shared_titles[0]}; build"
            f" the later side with --exclude dataset:{sides[0].path}"
        )


def _scored(
    model: str, sides: Sequence[Dataset], split: str, progress: Progress, options: Mapping[str, Any]
) -> list[list[ScoredArticle]]:
    """Score the articles of both sides, each without context."""
    shared = {"splits": split, "progress": progress, "groups": False, "context": "article", **options}
    results = [measure(model, side.path, **shared)[0] for side in sides]
    first, second = (result.signature for result in results)
    for name in ("model", "vocabulary") if first.get("words") == "closed" else ("model",):
        if first.get(name) != second.get(name):
            raise HarnessError(
                f"{model} is not the same on both sides"
                f" ({name}: {first.get(name)} and {second.get(name)}): it is estimated on a dataset's train."
                " Give a trained model, such as a checkpoint"
            )
    scored = list[list[ScoredArticle]]()
    for side, result in zip(sides, results, strict=True):
        articles = list(side.articles(split))
        if len(articles) != len(result.articles) or not articles[0].title:
            raise HarnessError(f"{side.path}: {split} has no articles; expected the layout of WikiText")
        words = [frozenset(" ".join(article.lines).casefold().split()) for article in articles]
        rows = zip(articles, result.articles, words, strict=True)
        scored.append(
            [
                ScoredArticle(title=article.title, sums=sums, words=row_words)
                for article, sums, row_words in rows
            ]
        )
    return scored


def _bits_per_byte(pairs: Sequence[Pair], side: int) -> float:
    """Return the bits per byte of all articles of a side; 0 without pairs."""
    return METRICS["bits-per-byte"].of(sum((pair[side].sums for pair in pairs), Sums())) or 0.0


def nearest_pairs(before: Sequence[ScoredArticle], after: Sequence[ScoredArticle]) -> list[tuple[int, int]]:
    """Pair as many articles as possible, each used once, so that the sum of distances is the least.

    The distance is one minus the cosine of their words, plus LENGTH_WEIGHT per factor of two in length. Two
    articles are not paired if one is more than LENGTH_FACTOR times as long as the other.
    """
    alike = cosines([article.words for article in before], [article.words for article in after])
    old, new = (np.log2([max(1, article.sums.text_bytes) for article in side]) for side in (before, after))
    factors = np.abs(old[:, None] - new)
    near = factors <= np.log2(LENGTH_FACTOR) + ROUNDING
    distance = 1 - alike + LENGTH_WEIGHT * factors
    rows, columns = linear_sum_assignment(np.where(near, distance, FORBIDDEN_DISTANCE))
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if near[row, column]]


def cosines(before: Sequence[frozenset[str]], after: Sequence[frozenset[str]]) -> Numbers:
    """Return the cosines of sets of words, weighted by inverse frequency, (before, after)."""
    sets = [*before, *after]
    counts = Counter(word for words in sets for word in words)
    numbers = {word: number for number, word in enumerate(counts)}
    weights = np.log(len(sets) / np.array(list(counts.values())))
    rows = np.repeat(np.arange(len(sets)), [len(words) for words in sets])
    columns = np.array([numbers[word] for words in sets for word in words], int)
    weighted = csr_array((weights[columns], (rows, columns)), shape=(len(sets), len(numbers)))
    norms = np.maximum(norm(weighted, axis=1), ROUNDING)
    alike = (weighted[: len(before)] @ weighted[len(before) :].T).toarray()
    return np.asarray(alike / norms[: len(before), None] / norms[None, len(before) :])


def chance_of_easier(
    pairs: Sequence[Pair],
    reference_pairs: Sequence[Pair] = (),
    *,
    level: float = CONFIDENCE_LEVEL,
    resamples: int = PERMUTATIONS,
    seed: int = 1,
) -> tuple[float, float]:
    """Return how often random sides make the earlier articles as much easier, and what would be found.

    `reference_pairs` are the same articles as the reference model predicts them; its logarithms are
    subtracted. The test is one-sided, at half of what `level` leaves. Returns the fraction of permutations;
    and the smallest difference in bits per byte that would be found, if it is the same fraction of each
    article's bits.
    """
    sides = _logarithms(pairs) - (_logarithms(reference_pairs) if reference_pairs else 0)
    sides = sides.round(LOGARITHM_DIGITS)
    test = permutation_test(
        tuple(sides),
        lambda old, new, axis: new.mean(axis=axis) - old.mean(axis=axis),
        vectorized=True,
        alternative="greater",
        n_resamples=resamples,
        batch=BATCH_PERMUTATIONS,
        rng=seed,
    )
    needed = float(np.quantile(test.null_distribution, (1 + level) / 2))
    return float(test.pvalue), _bits_per_byte(pairs, 0) * float(np.expm1(needed))


def _logarithms(pairs: Sequence[Pair]) -> Numbers:
    """Return the logarithms of bits per byte, (sides, pairs)."""
    return np.log([[max(article.bits_per_byte, MIN_BITS) for article in pair] for pair in pairs]).T
