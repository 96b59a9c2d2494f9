"""Groups of words in a report: how well each model predicts them, with error bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from lm_benchmarks.choices import GROUPINGS
from lm_benchmarks.records import TokenGroup
from lm_benchmarks.reporting.formats import mark_best
from lm_benchmarks.reporting.tables import Table
from wikitext_builder.charts import Bar, Chart, bar_chart

FEW: Final = 500  # tokens: groups of fewer are not drawn; nats of one token vary by about 3, a mean by 0.13
LEAST_PARTS: Final = 5  # of a text with tokens of a group: from fewer there is no error bar
DRAWN: Final = 6  # models per chart: the number of colours
Parts = Sequence[tuple[int, float]]  # see `TokenGroup.parts`


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """How models predict groups of words."""

    by: str
    tokens: Mapping[str, int]  # by label
    models: Mapping[str, Mapping[str, TokenGroup]]  # the groups by label; the best model first

    @property
    def drawn(self) -> list[str]:
        """The labels of groups that have enough tokens to say something."""
        return [label for label, few in zip(self.tokens, self.few, strict=True) if not few]

    @property
    def differences(self) -> dict[str, list[Bar | None]]:
        """By model: nats per token above the best in `drawn` groups, with two standard errors if known."""
        best, *others = self.models.values()
        return {
            name: [
                Bar(_nats(own[label]) - _nats(best[label]), two_errors(own[label].parts, best[label].parts))
                if label in own and label in best
                else None
                for label in self.drawn
            ]
            for name, own in zip(list(self.models)[1:], others, strict=True)
        }

    @property
    def few(self) -> list[bool]:
        """Whether a group has too few tokens to say much, by label."""
        return [count < FEW for count in self.tokens.values()]

    @property
    def legend(self) -> str:
        """What the numbers of the table are, and what its chart shows."""
        about, best = GROUPINGS[self.by], next(iter(self.models))
        bars = [bar for row in self.differences.values() for bar in row if bar]
        errors = any(bar.error is not None for bar in bars)
        return (
            f"{about[0].upper()}{about[1:]}. The numbers are nats per token; lower is better."
            + (f" The chart shows nats per token above {best}, the best model." if bars else "")
            + (" Error bars: two standard errors, paired over parts of the text." if errors else "")
            + (f" Groups of fewer than {FEW:,} tokens say little and are not drawn." if any(self.few) else "")
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The table: mean nats per token, by model."""
        heads = [self.by, "tokens", *self.models]  # a model can be called by the name of another column
        cells = [
            [label, f"{count:,}", *(_shown(own.get(label)) for own in self.models.values())]
            for label, count in self.tokens.items()
        ]
        frame = pd.DataFrame(cells, columns=heads, dtype=object)
        for row, label in enumerate(self.tokens):
            nats = {(row, 2 + place): own.get(label) for place, own in enumerate(self.models.values())}
            mark_best(frame, {place: one and _nats(one) for place, one in nats.items()})
        return frame

    @property
    def chart(self) -> Chart:
        """Bars: how much worse the other models are than the best, per group; "" without others."""
        best, title = next(iter(self.models)), f"nats per token above the best model, by {self.by}"
        label = "nats per token above the best"
        return bar_chart(title, self.drawn, self.differences, y_label=label, baseline=best)


def groupings_of(table: Table) -> list[Grouping]:
    """The groups of words of a table's last split, of the models that have them; the best model first."""
    split = table.splits[-1]
    grouped = [row for row in table.rows if split in row.results and row.results[split].groups]
    rows = sorted(
        (row for row in grouped if not row.is_broken),  # the numbers of the others mean nothing
        key=lambda row: row.results[split].total.score.perplexity,
    )
    found = []
    for by in GROUPINGS:
        shown = ((row.model, row.results[split].groups) for row in rows[:DRAWN])
        every = {name: [one for one in groups if one.by == by] for name, groups in shown}
        tokens = {group.label: group.tokens for groups in every.values() for group in groups}
        models = {name: {one.label: one for one in groups if one.tokens} for name, groups in every.items()}
        if tokens:
            found.append(Grouping(by=by, tokens=tokens, models=models))
    return found


def _shown(group: TokenGroup | None) -> str:
    return f"{_nats(group):.4f}" if group else ""


def _nats(group: TokenGroup) -> float:
    return group.nats / group.tokens


def two_errors(first: Parts, second: Parts) -> float | None:
    """Two standard errors of the difference between two means over the same tokens.

    The parts of the text are the units: the difference of each part varies around that of the whole, and the
    error of a ratio of sums follows (Cochran 1977, section 6.4). Words of one part may depend on each other.
    None if parts are unknown or of other tokens, if fewer than LEAST_PARTS of them have tokens, or if it is
    not finite.

    >>> round(two_errors(((10, 30.0),) * 5, ((10, 10.0), (10, 20.0)) * 2 + ((10, 15.0),)), 3)
    0.447
    """
    (tokens, a), (others, b) = (np.array(one, dtype=float).reshape(-1, 2).T for one in (first, second))
    if not np.array_equal(tokens, others) or (used := np.count_nonzero(tokens)) < LEAST_PARTS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (a - b) - (a - b).sum() / tokens.sum() * tokens
        found = 2 * math.sqrt((spread @ spread) * used / (used - 1)) / tokens.sum()
    return float(found) if math.isfinite(found) else None
