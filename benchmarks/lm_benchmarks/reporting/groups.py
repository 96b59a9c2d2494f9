"""Groups of words in a report: how well models predict them, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from lm_benchmarks.choices import GROUPINGS
from lm_benchmarks.records.result import Result
from lm_benchmarks.reporting.charts import Bar, bar_chart
from lm_benchmarks.reporting.tables import Table

Parts = tuple[tuple[int, float], ...]
FEW: Final = 500  # tokens: groups of fewer are pale; nats of one token vary by about 3, so a mean by 0.13
LEAST_PARTS: Final = 5  # of a text with tokens of a group: from fewer there is no error bar
DRAWN: Final = 6  # models per chart: the number of colours


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """How models predict groups of words."""

    by: str
    about: str
    labels: tuple[str, ...]
    tokens: tuple[int, ...]
    nats: Mapping[str, tuple[float | None, ...]]  # per token, by model; None: the model has no such group
    best: str  # the model that the others are compared with
    parts: Mapping[str, tuple[Parts, ...]]  # see `TokenGroup.parts`; by model, as `nats`

    @property
    def differences(self) -> dict[str, list[Bar | None]]:
        """Nats per token above the best model, by model, with two standard errors where they are known."""
        base = list(zip(self.nats[self.best], self.parts[self.best], strict=True))
        found: dict[str, list[Bar | None]] = {}
        for name, row in self.nats.items():
            if name != self.best:
                own = zip(row, self.parts[name], strict=True)
                found[name] = [
                    None if a is None or b is None else Bar(a - b, two_errors(first, second))
                    for (a, first), (b, second) in zip(own, base, strict=True)
                ]
        return found

    @property
    def few(self) -> tuple[bool, ...]:
        """Whether a group has too few tokens to say much, by label."""
        return tuple(count < FEW for count in self.tokens)

    @property
    def classes(self) -> list[str]:
        """How a page shows each group."""
        return ["few" if one else "" for one in self.few]

    @property
    def legend(self) -> str:
        """What the numbers of the table are, and what its chart shows."""
        errors = any(bar and bar.error is not None for row in self.differences.values() for bar in row)
        return (
            f"{self.about[0].upper()}{self.about[1:]}. The numbers are nats per token; lower is better."
            + (f" The chart shows how many more than {self.best}." if self.differences else "")
            + (" Error bars: two standard errors, paired over parts of the text." if errors else "")
            + (f" Pale: fewer than {FEW:,} tokens." if any(self.few) else "")
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The table: mean nats per token, by model."""
        numbers = {
            name: ["" if value is None else f"{value:.4f}" for value in row]
            for name, row in self.nats.items()
        }
        return pd.DataFrame(
            {self.by: self.labels, "tokens": [f"{count:,}" for count in self.tokens], **numbers}, dtype=object
        )

    @property
    def chart(self) -> str:
        """Bars: how much worse the other models are than the best, per group; "" if there are no others."""
        return bar_chart(
            f"by {self.by}",
            self.labels,
            self.differences,
            y_label="nats per token above the best",
            pale=self.few,
        )


def two_errors(first: Parts, second: Parts) -> float | None:
    """Two standard errors of the difference between two means over the same tokens.

    The parts of the text are the units: the difference of each part varies around that of the whole, and the
    error of a ratio of sums follows (Cochran 1977, section 6.4). Words of one part may depend on each other.

    Returns:
        None if parts are unknown or of other tokens, if fewer than LEAST_PARTS of them have tokens, or if it
            is not finite.

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


def groupings_of(table: Table) -> tuple[Grouping, ...]:
    """The groups of words of a table's last split, of the models that have them; the best model first."""
    split = table.splits[-1]
    grouped = [row for row in table.rows if split in row.results and row.results[split].groups]
    rows = sorted(
        (row for row in grouped if not row.is_broken),  # the numbers of the others mean nothing
        key=lambda row: row.results[split].total.score.perplexity,
    )
    return tuple(
        grouping
        for by in GROUPINGS
        if (grouping := _grouping(by, {row.model: row.results[split] for row in rows[:DRAWN]})) is not None
    )


def _grouping(by: str, results: Mapping[str, Result]) -> Grouping | None:
    labels: dict[str, int] = {}
    for result in results.values():
        labels.update({group.label: group.tokens for group in result.groups if group.by == by})
    if not labels:
        return None
    nats, parts = {}, {}
    for name, result in results.items():
        own = {group.label: group for group in result.groups if group.by == by and group.tokens}
        nats[name] = tuple(own[label].nats / own[label].tokens if label in own else None for label in labels)
        parts[name] = tuple(own[label].parts if label in own else () for label in labels)
    return Grouping(
        by=by,
        about=GROUPINGS[by],
        labels=tuple(labels),
        tokens=tuple(labels.values()),
        nats=nats,
        best=next(iter(results)),
        parts=parts,
    )
