"""Results as tables: which are in one table, how rows are ordered and compared, and what a reader wants.

Groups of words have tables of their own: how well each model predicts them, with error bars.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from lm_benchmarks.choices import GROUPINGS, HarnessError
from lm_benchmarks.measuring.compare import compare_results
from lm_benchmarks.measuring.ranking import ranks_of
from lm_benchmarks.measuring.select import identity_of, why_unlike
from lm_benchmarks.records import Result, TokenGroup
from lm_benchmarks.reporting.formats import mark_best
from lm_benchmarks.reporting.published import TRAIN, Published, is_papers, is_trained_on, published_name
from lm_benchmarks.reporting.tables import BYTES, MAIN, PIECES, SAME, ReportRow, Shown, Table, value_of
from wikitext_builder.article import SPLITS
from wikitext_builder.charts import Bar, Chart, bar_chart


def tables_of(results: Iterable[Result], published: Sequence[Published] = ()) -> list[Table]:
    """A table per dataset and convention. If a model was measured twice, the last result counts.

    The best model comes first, those that do not compare last. Different versions of a split have
    separate tables.
    """
    results = list(results)
    files: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for result in results:
        files.setdefault(key_of(result), {}).setdefault(result.signature["split"], set()).add(result.data[1])
    found: dict[tuple[str, ...], dict[object, dict[str, Result]]] = {}
    for result in results:
        signature, key = result.signature, key_of(result)
        if max(map(len, files[key].values())) > 1:
            key = (signature["data"], *key[1:])
        models = found.setdefault(key, {})
        models.setdefault(identity_of(result), {})[signature["split"]] = result
    tables, seen = [], dict[str, dict[str, int]]()
    for key, models in found.items():
        table, name = _table(key, models, published), next(iter(next(iter(models.values())).values())).data[0]
        if key[0] != name:  # with a hash
            table = replace(table, version=seen.setdefault(name, {}).setdefault(key[0], len(seen[name]) + 1))
        tables.append(table)
    return tables


def arranged(
    tables: Sequence[Table], *, columns: Sequence[str] = (), sort: str = "", csv: bool = False
) -> tuple[Table, ...]:
    """The tables with the chosen columns, sorted by one of them in ascending order.

    Columns are named by table headings or CSV names. The beginning of a heading is enough: `perplexity` is
    that of all splits. Tables always have the column `model`. `-` before the column to sort by reverses the
    order. Rows without a value come after those with one, and those that do not compare last.
    """
    there = [table.keys if csv else table.heads for table in tables]
    every = dict.fromkeys(name for each in there for name in each)
    for name in (*columns, *([sort.removeprefix("-")] if sort else [])):
        if not _meant(name, every):
            raise HarnessError(f"no column {name!r}; there are: {'; '.join(every)}")
    wanted = [name for one in columns for name in _meant(one, every)]
    return tuple(
        replace(
            table,
            wanted=tuple(dict.fromkeys(("model", *wanted))) if wanted else (),
            rows=_sorted(table, each, sort),
        )
        for table, each in zip(tables, there, strict=True)
    )


def _meant(name: str, there: Iterable[str]) -> list[str]:
    """The columns that a name means: that one, or those whose names begin with it."""
    found = list(there)
    return [name] if name in found else [one for one in found if one.startswith(f"{name} ")]


def _sorted(table: Table, there: Mapping[str, Shown], sort: str) -> tuple[ReportRow, ...]:
    names = _meant(sort.removeprefix("-"), there) if sort else []
    if not names:
        return table.rows
    ranks: list[tuple[Any, ReportRow]] = [(table.rank(there[names[-1]], row), row) for row in table.rows]
    known = [pair for pair in ranks if pair[0] not in (None, "")]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    rows = [row for _, row in (*known, *(pair for pair in ranks if pair[0] in (None, "")))]
    return tuple(sorted(rows, key=lambda row: row.is_unfit))


def key_of(result: Result) -> tuple[str, ...]:
    """What results must share to be in one table."""
    return (result.data[0], *(result.signature[name] for name in SAME))


def _table(
    key: tuple[str, ...],
    models: Mapping[object, Mapping[str, Result]],
    published: Sequence[Published],
) -> Table:
    data, kind = key[0], dict(zip(SAME, key[1:], strict=True))
    papers = all(is_papers(result) for each in models.values() for result in each.values())
    known = {row.model: row for row in published if row.data == data and papers}
    metric = MAIN.get(kind["convention"], PIECES)
    rows = []
    for results in models.values():
        first = next(iter(results.values()))
        is_same = first.as_presets and is_trained_on(first, TRAIN.get(data, "?"))
        own = published_name(first.recipe, data) if is_same else ""
        rows.append(ReportRow(model=first.model, results=results, paper=known.get(own)))
    papers_of_rows = [row.paper for row in rows]
    rows += [ReportRow(model=row.model, paper=row) for row in known.values() if row not in papers_of_rows]
    found = {split for row in rows for split in (*row.results, *row.published)}
    splits = tuple(sorted(found, key=lambda split: (*SPLITS, split).index(split)))
    last = splits[-1]
    ordered = sorted(rows, key=lambda row: _order(row, last, metric))
    measured = [row.results[last] for row in ordered if last in row.results and metric != PIECES]
    ranks = dict(zip(map(id, measured), ranks_of(measured, metric), strict=True))
    ranked = [replace(row, ranks=ranks.get(id(row.results.get(last)), "")) for row in ordered]
    return Table(
        data=data,
        kind=kind,
        metric=metric,
        bytes_metric=BYTES.get(kind["convention"], "bits-per-file-byte"),
        splits=splits,
        rows=tuple(_with_difference(row, ranked, last, metric) for row in ranked),
    )


def _order(row: ReportRow, split: str, metric: str) -> tuple[bool, float, str]:
    """The best first; those that do not compare last."""
    value = value_of(row, split, metric)
    if value is None:
        value = row.published.get(split, math.inf)
    return row.is_unfit, value, row.model


def _with_difference(row: ReportRow, rows: Sequence[ReportRow], split: str, metric: str) -> ReportRow:
    honest = [other for other in rows if split in other.results and not other.is_unfit]
    if split not in row.results or not honest or metric == PIECES:
        return row
    best = min(honest, key=lambda other: value_of(other, split, metric) or math.inf)
    has_number = all(math.isfinite(value_of(one, split, metric) or math.inf) for one in (best, row))
    if not has_number or why_unlike(best.results[split], row.results[split]):
        return row
    if best is row:
        return replace(row, difference="best", above=0.0)
    found = compare_results(best.results[split], row.results[split], metric=metric)
    said, why = f"{found.difference:+,.2f}", ""
    if found.interval is None:
        why = f"{found.passages} passages: {found.no_interval}"
    else:
        said += f" [{found.interval[0]:+,.2f}, {found.interval[1]:+,.2f}]"
    return replace(row, difference=said, above=found.difference, no_interval=why)


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
        (row for row in grouped if not row.is_unfit),  # the numbers of the others mean nothing
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
