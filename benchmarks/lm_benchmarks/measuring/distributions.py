"""How much two models differ at each position of a text: whole distributions, not only sums.

At each position p is the distribution of the first model, the reference, and q that of the second. There are
the divergence KL(p || q), in nats; Δp, by how much more probable the second makes the right word; and whether
both think the same word best. Intervals are those of `chance`: each passage is left out, of both models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.choices import LEVEL
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.chance import Estimate, Numbers, expect_level, jackknife, why_no_sample
from lm_benchmarks.measuring.distribution_texts import ComparedText, Ints, read_pieces, read_words
from lm_benchmarks.measuring.models import make_inputs, open_model
from ps_models.evaluation.signature import Score
from wikitext_builder.addresses import without_secrets
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.tables import aligned, one_line

QUANTILES: Final = (0.01, 0.5, 0.99)  # of Δp
DELTA_HEADS: Final = ("1%", "median", "99%", "RMS")


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionGroup:
    """How two models differ at some positions."""

    by: str  # `all`, `frequency`, `position` or `article`
    label: str
    positions: int
    passages: int  # that have some of them
    divergence: Estimate  # KL(first || second), the mean, in nats
    same_best: Estimate  # share of positions at which both models think the same word best
    delta: Estimate  # Δp: probability of the right word by the second model minus that by the first, the mean
    delta_rms: Estimate  # square root of the mean of its squares
    delta_low: float  # the 1 % quantile of Δp
    delta_median: float
    delta_high: float  # the 99 % quantile
    first_nats: float  # the mean of -log p of the right word by the first model
    second_nats: float
    no_interval: str = ""  # why the passages give none

    def row(self) -> dict[str, object]:
        """The group as a CSV row; an interval is two columns."""
        found: dict[str, object] = {}
        for name, value in asdict(self).items():
            if isinstance(value, dict):
                low, high = value["interval"] or (None, None)
                found |= {name: value["value"], f"{name}_from": low, f"{name}_to": high}
            else:
                found[name] = value
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionDifference:
    """Two models on one text, compared by their distributions at each position."""

    first_model: str  # the reference: p of KL(p || q)
    second_model: str
    first: str  # what identifies it
    second: str
    data: str
    split: str
    unit: str  # `words` or `pieces`
    vocabulary: int  # how many of them
    passage: str  # what intervals draw from: `article`, `100-lines` or `window`
    window: int | None  # pieces per window; None: a model of words has carried context
    outside: tuple[float, float]  # mean probability of words outside the vocabulary, which is divided out
    level: float  # of intervals
    groups: tuple[DistributionGroup, ...]  # the first one is the whole text

    @property
    def whole(self) -> DistributionGroup:
        """All positions."""
        return self.groups[0]

    def text(self) -> str:
        """What the command prints: all groups except articles."""
        whole, per = self.whole, self.unit.removesuffix("s")
        perplexities = [Score(nats, 1).perplexity for nats in (whole.first_nats, whole.second_nats)]
        lines = [
            "KL(first || second) in nats; Δp of the right word, second minus first, in percentage points",
            f"  first   {one_line(self.first_model)}: perplexity {perplexities[0]:.4f} per {per}",
            f"  second  {one_line(self.second_model)}: perplexity {perplexities[1]:.4f} per {per}",
        ]
        if any(self.outside):
            shares = " and ".join(f"{100 * share:.2g}%" for share in self.outside)
            lines.append(
                f"  {shares} of the probability is of words outside an open vocabulary, and divided out"
            )
        shown = [group for group in self.groups if group.by != "article"]
        head = ["by", "", self.unit, "KL", "", "same best %", "", "Δp mean", "", *DELTA_HEADS]
        lines += aligned([head, *map(_cells, shown)], left=(0, 1))
        why = f": {whole.no_interval}" if whole.no_interval else ""
        over = f"{whole.passages} passages ({self.passage}){why}"
        lines.append(f"±: {100 * self.level:.4g}% interval by Student's t over {over}")
        return "\n".join(lines)

    def rows(self) -> list[dict[str, object]]:
        """One CSV row per group."""
        return [group.row() for group in self.groups]


def _cells(group: DistributionGroup) -> list[str]:
    cells = [group.by, group.label, f"{group.positions:,}"]
    for one, scale, form in (
        (group.divergence, 1, "{:.4f}"),
        (group.same_best, 100, "{:.2f}"),
        (group.delta, 100, "{:+.3f}"),
    ):
        half = scale * (one.interval[1] - one.value) if one.interval else None
        cells += [form.format(scale * one.value), "" if half is None else f"±{form.format(half).lstrip('+')}"]
    deltas = (group.delta_low, group.delta_median, group.delta_high)
    return [*cells, *(f"{100 * one:+.3f}" for one in deltas), f"{100 * group.delta_rms.value:.3f}"]


def compare_distributions(
    first: str,
    second: str,
    data: str | Path,
    *,
    split: str = "test",
    tokens: int | None = None,
    level: float = LEVEL,
    check: bool = True,
    progress: Progress = no_progress,
    **opening: Any,
) -> DistributionDifference:
    """Compare the distributions of two models at each position of a split.

    For example, `compare_distributions("kn-5", "runs/lstm", "wikitext-2").whole.divergence.value`.

    Args:
        first: Specification of the reference, as in `measure`.
        second: Specification of the other model, for KL(first || second).
        data: The dataset: a folder, or a file of tokens; subword models need raw files.
        split: `train`, `valid` or `test`.
        tokens: Only the first N tokens (for subword models, in whole windows); None: all.
        level: Confidence level.
        check: First check the invariants on the beginning of the text. That probabilities sum to one is
            always checked, at each position.
        progress: Called with the number of tokens done.
        opening: Options for loading the models, as in `measure`; `window` is also the window of subword
            models.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: A model is missing, violates an invariant, costs too much, or the two do not predict the
            same words or tokens.
    """
    expect_level(level)
    if tokens is not None and tokens < 1:
        raise HarnessError(f"--tokens {tokens}; expected 1 or more")
    inputs = make_inputs(data, split, **opening)
    pair = [open_model(one, inputs) for one in (first, second)]
    readers = [one.reader for one in pair if isinstance(one.reader, PieceModel)]
    if len(readers) == len(pair):
        read = read_pieces(pair, readers, inputs, split, tokens=tokens, check=check, progress=progress)
    else:
        read = read_words(pair, inputs, split, tokens=tokens, check=check, progress=progress)
    names = [one.name for one in pair]
    if names[0] == names[1]:
        names = [
            f"{one.name} ({without_secrets(asked)})" for one, asked in zip(pair, (first, second), strict=True)
        ]
    return DistributionDifference(
        first_model=names[0],
        second_model=names[1],
        first=pair[0].identity,
        second=pair[1].identity,
        split=split if inputs.dataset.layout != "file" else "file",
        level=level,
        groups=_groups(read, level),
        **read.fields,
    )


def _groups(read: ComparedText, level: float) -> tuple[DistributionGroup, ...]:
    every = np.zeros(len(read.passages), dtype=np.int64)
    groupings: Mapping[str, tuple[Ints, Mapping[int, str]]] = {"all": (every, {0: ""}), **read.groupings}
    return tuple(
        _group(by, labels[int(code)], read, codes == code, level)
        for by, (codes, labels) in groupings.items()
        for code in np.unique(codes)
    )


def _group(by: str, label: str, read: ComparedText, chosen: np.ndarray, level: float) -> DistributionGroup:
    divergence, first, second, same = read.values[:, chosen]
    delta = np.exp(second) - np.exp(first)
    _, passages = np.unique(read.passages[chosen], return_inverse=True)
    counts = np.bincount(passages).astype(np.float64)
    why = why_no_sample(counts)

    def estimate(values: Numbers, final: Callable[[Numbers], Numbers] = np.asarray) -> Estimate:
        sums = np.bincount(passages, weights=values)
        value = float(final(values.mean()))
        if why:
            return Estimate(value)
        without = final((sums.sum() - sums) / (len(values) - counts))
        return Estimate(value, jackknife(without, counts).interval(value, level))

    low, median, high = (float(one) for one in np.quantile(delta, QUANTILES))
    return DistributionGroup(
        by=by,
        label=label,
        positions=len(delta),
        passages=len(counts),
        divergence=estimate(divergence),
        same_best=estimate(same),
        delta=estimate(delta),
        delta_rms=estimate(delta**2, lambda mean: np.sqrt(np.maximum(mean, 0))),
        delta_low=low,
        delta_median=median,
        delta_high=high,
        first_nats=float(-first.mean()),
        second_nats=float(-second.mean()),
        no_interval=why,
    )
