"""Collects results in tables: which share a table, how rows are ordered and compared, and chosen columns.

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
from lm_benchmarks.reporting.published import TRAIN, Published, is_as_papers, is_trained_on, published_name
from lm_benchmarks.reporting.tables import (
    BYTES_METRICS,
    MAIN_METRICS,
    PIECES_METRIC,
    SHARED_FIELDS,
    ReportRow,
    ShownColumn,
    Table,
    value_of,
)
from wikitext_builder.article import SPLITS
from wikitext_builder.charts import Bar, Chart, bar_chart


def tables_of(results: Iterable[Result], published: Sequence[Published] = ()) -> list[Table]:
    """Make a table per dataset and convention. If a model was measured twice, the last result counts.

    The best model comes first, those that are not comparable last. Different versions of a split have
    separate tables.
    """
    results = list(results)
    files: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for result in results:
        versions_of_splits = files.setdefault(table_key(result), {})
        versions_of_splits.setdefault(result.signature["split"], set()).add(result.data[1])
    results_of_tables: dict[tuple[str, ...], dict[object, dict[str, Result]]] = {}
    for result in results:
        signature, key = result.signature, table_key(result)
        if max(map(len, files[key].values())) > 1:
            key = (signature["data"], *key[1:])
        models = results_of_tables.setdefault(key, {})
        models.setdefault(identity_of(result), {})[signature["split"]] = result
    tables, numbers = [], dict[str, dict[str, int]]()
    for key, models in results_of_tables.items():
        table, name = _table(key, models, published), next(iter(next(iter(models.values())).values())).data[0]
        if key[0] != name:  # the key has a hash
            version = numbers.setdefault(name, {}).setdefault(key[0], len(numbers[name]) + 1)
            table = replace(table, version=version)
        tables.append(table)
    return tables


def arranged(
    tables: Sequence[Table], *, columns: Sequence[str] = (), sort: str = "", csv: bool = False
) -> tuple[Table, ...]:
    """Return the tables with the chosen columns, sorted by one of them in ascending order.

    Columns are named by table headings or CSV names. The beginning of a heading is enough: `perplexity` is
    that of all splits. Tables always have the column `model`. `-` before the column to sort by reverses the
    order. Rows without a value come after those with one, and those that are not comparable last.
    """
    columns_of_tables = [table.keys if csv else table.heads for table in tables]
    all_columns = dict.fromkeys(name for available in columns_of_tables for name in available)
    for name in (*columns, *([sort.removeprefix("-")] if sort else [])):
        if not _meant(name, all_columns):
            raise HarnessError(f"no column {name!r}; there are: {'; '.join(all_columns)}")
    chosen = [name for column in columns for name in _meant(column, all_columns)]
    return tuple(
        replace(
            table,
            columns=tuple(dict.fromkeys(("model", *chosen))) if chosen else (),
            rows=_sorted(table, available, sort),
        )
        for table, available in zip(tables, columns_of_tables, strict=True)
    )


def _meant(name: str, available: Iterable[str]) -> list[str]:
    """Return the columns that a name means: that one, or those whose names begin with it."""
    names = list(available)
    return [name] if name in names else [column for column in names if column.startswith(f"{name} ")]


def _sorted(table: Table, available: Mapping[str, ShownColumn], sort: str) -> tuple[ReportRow, ...]:
    names = _meant(sort.removeprefix("-"), available) if sort else []
    if not names:
        return table.rows
    ranks: list[tuple[Any, ReportRow]] = [(table.rank(available[names[-1]], row), row) for row in table.rows]
    with_value = [pair for pair in ranks if pair[0] not in (None, "")]
    with_value.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    rows = [row for _, row in (*with_value, *(pair for pair in ranks if pair[0] in (None, "")))]
    return tuple(sorted(rows, key=lambda row: row.is_unfit))


def table_key(result: Result) -> tuple[str, ...]:
    """Return what results must share to be in one table."""
    return (result.data[0], *(result.signature[name] for name in SHARED_FIELDS))


def _table(
    key: tuple[str, ...],
    models: Mapping[object, Mapping[str, Result]],
    published: Sequence[Published],
) -> Table:
    data, kind = key[0], dict(zip(SHARED_FIELDS, key[1:], strict=True))
    is_paper = all(is_as_papers(result) for results in models.values() for result in results.values())
    papers = {row.model: row for row in published if row.data == data and is_paper}
    metric = MAIN_METRICS.get(kind["convention"], PIECES_METRIC)
    rows = []
    for results in models.values():
        first = next(iter(results.values()))
        is_same = first.follows_presets and is_trained_on(first, TRAIN.get(data, "?"))
        paper_name = published_name(first.recipe, data) if is_same else ""
        rows.append(ReportRow(model=first.model, results=results, paper=papers.get(paper_name)))
    papers_of_rows = [row.paper for row in rows]
    rows += [ReportRow(model=row.model, paper=row) for row in papers.values() if row not in papers_of_rows]
    splits_of_rows = {split for row in rows for split in (*row.results, *row.published)}
    splits = tuple(sorted(splits_of_rows, key=lambda split: (*SPLITS, split).index(split)))
    last = splits[-1]
    ordered = sorted(rows, key=lambda row: _order(row, last, metric))
    measured = [row.results[last] for row in ordered if last in row.results and metric != PIECES_METRIC]
    ranks = dict(zip(map(id, measured), ranks_of(measured, metric), strict=True))
    ranked = [replace(row, ranks=ranks.get(id(row.results.get(last)), "")) for row in ordered]
    return Table(
        data=data,
        kind=kind,
        metric=metric,
        bytes_metric=BYTES_METRICS.get(kind["convention"], "bits-per-file-byte"),
        splits=splits,
        rows=tuple(_with_difference(row, ranked, last, metric) for row in ranked),
    )


def _order(row: ReportRow, split: str, metric: str) -> tuple[bool, float, str]:
    """Sort the best first, and those that are not comparable last."""
    value = value_of(row, split, metric)
    if value is None:
        value = row.published.get(split, math.inf)
    return row.is_unfit, value, row.model


def _with_difference(row: ReportRow, rows: Sequence[ReportRow], split: str, metric: str) -> ReportRow:
    comparable = [candidate for candidate in rows if split in candidate.results and not candidate.is_unfit]
    if split not in row.results or not comparable or metric == PIECES_METRIC:
        return row
    best = min(comparable, key=lambda candidate: value_of(candidate, split, metric) or math.inf)
    numbers = [value_of(candidate, split, metric) or math.inf for candidate in (best, row)]
    if not all(map(math.isfinite, numbers)) or why_unlike(best.results[split], row.results[split]):
        return row
    if best is row:
        return replace(row, difference="best", above=0.0)
    compared = compare_results(best.results[split], row.results[split], metric=metric)
    text, no_interval = f"{compared.difference:+,.2f}", ""
    if compared.interval is None:
        no_interval = f"{compared.passages} passages: {compared.no_interval}"
    else:
        text += f" [{compared.interval[0]:+,.2f}, {compared.interval[1]:+,.2f}]"
    return replace(row, difference=text, above=compared.difference, no_interval=no_interval)


MIN_DRAWN_TOKENS: Final = 500  # of a group; nats of a token vary by about 3, so a mean varies by 0.13
MIN_PARTS: Final = 5  # of a text with tokens of a group, for an error bar
MAX_DRAWN_MODELS: Final = 6  # per chart: the number of colours
Parts = Sequence[tuple[int, float]]  # see `TokenGroup.parts`


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """How models predict groups of words."""

    by: str
    tokens: Mapping[str, int]  # by label
    models: Mapping[str, Mapping[str, TokenGroup]]  # by name, then by label; the best model first

    @property
    def drawn(self) -> list[str]:
        """The labels of groups that have enough tokens for a chart."""
        return [label for label, is_small in zip(self.tokens, self.too_few, strict=True) if not is_small]

    @property
    def differences(self) -> dict[str, list[Bar | None]]:
        """By model: nats per token above the best in `drawn` groups, with two standard errors if known."""
        best, *other_models = self.models.values()
        return {
            name: [
                Bar(
                    _nats(model[label]) - _nats(best[label]),
                    two_errors(model[label].parts, best[label].parts),
                )
                if label in model and label in best
                else None
                for label in self.drawn
            ]
            for name, model in zip(list(self.models)[1:], other_models, strict=True)
        }

    @property
    def too_few(self) -> list[bool]:
        """By label: True if a group has too few tokens for a chart."""
        return [count < MIN_DRAWN_TOKENS for count in self.tokens.values()]

    @property
    def legend(self) -> str:
        """What the numbers of the table are, and what the chart shows."""
        about, best = GROUPINGS[self.by], next(iter(self.models))
        bars = [bar for row in self.differences.values() for bar in row if bar]
        errors = any(bar.error is not None for bar in bars)
        small = f" Groups of fewer than {MIN_DRAWN_TOKENS:,} tokens are not drawn."
        return (
            f"{about[0].upper()}{about[1:]}. The numbers are nats per token; lower is better."
            + (f" The chart shows nats per token above {best}, the best model." if bars else "")
            + (" Error bars: two standard errors, paired over parts of the text." if errors else "")
            + (small if any(self.too_few) else "")
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The table: mean nats per token, by model."""
        # A list, because a model can have the name of another column.
        heads = [self.by, "tokens", *self.models]
        cells = [
            [label, f"{count:,}", *(_nats_text(groups.get(label)) for groups in self.models.values())]
            for label, count in self.tokens.items()
        ]
        frame = pd.DataFrame(cells, columns=heads, dtype=object)
        for row, label in enumerate(self.tokens):
            nats = {(row, 2 + place): groups.get(label) for place, groups in enumerate(self.models.values())}
            mark_best(frame, {place: group and _nats(group) for place, group in nats.items()})
        return frame

    @property
    def chart(self) -> Chart:
        """Bars of how much worse other models are than the best, per group; "" if there is only one model."""
        best, title = next(iter(self.models)), f"nats per token above the best model, by {self.by}"
        label = "nats per token above the best"
        return bar_chart(title, self.drawn, self.differences, y_label=label, baseline=best)


def groupings_of(table: Table) -> list[Grouping]:
    """Return the groups of words of a table's last split, of the models that have them, best model first."""
    split = table.splits[-1]
    grouped = [row for row in table.rows if split in row.results and row.results[split].groups]
    rows = sorted(
        (row for row in grouped if not row.is_unfit),
        key=lambda row: row.results[split].total.score.perplexity,
    )
    groupings = []
    for by in GROUPINGS:
        drawn_rows = ((row.model, row.results[split].groups) for row in rows[:MAX_DRAWN_MODELS])
        by_model = {name: [group for group in groups if group.by == by] for name, groups in drawn_rows}
        tokens = {group.label: group.tokens for groups in by_model.values() for group in groups}
        models = {
            name: {group.label: group for group in groups if group.tokens}
            for name, groups in by_model.items()
        }
        if tokens:
            groupings.append(Grouping(by=by, tokens=tokens, models=models))
    return groupings


def _nats_text(group: TokenGroup | None) -> str:
    return f"{_nats(group):.4f}" if group else ""


def _nats(group: TokenGroup) -> float:
    return group.nats / group.tokens


def two_errors(first: Parts, second: Parts) -> float | None:
    """Return two standard errors of the difference between two means over the same tokens.

    The parts of the text are the units: the difference of each part varies around that of the whole, and the
    error of a ratio of sums follows (Cochran 1977, section 6.4). Words of a part may depend on each other.
    None if parts are unknown or have different tokens, if fewer than MIN_PARTS have tokens, or if the error
    is not finite.

    >>> round(two_errors(((10, 30.0),) * 5, ((10, 10.0), (10, 20.0)) * 2 + ((10, 15.0),)), 3)
    0.447
    """
    (tokens, a), (b_tokens, b) = (np.array(side, dtype=float).reshape(-1, 2).T for side in (first, second))
    count = np.count_nonzero(tokens)
    if not np.array_equal(tokens, b_tokens) or count < MIN_PARTS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (a - b) - (a - b).sum() / tokens.sum() * tokens
        error = math.sqrt((spread @ spread) * count / (count - 1)) / tokens.sum()
    return float(2 * error) if math.isfinite(error) else None
