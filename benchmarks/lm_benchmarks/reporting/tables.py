"""Tables of results, and of a model's numbers by convention, in any format."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pandas as pd

from lm_benchmarks.choices import CONVENTIONS, PAPER
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.measuring.compare import compare_results
from lm_benchmarks.measuring.likeness import why_unlike
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.record_versions import one_line
from lm_benchmarks.records.result import Result, warnings_of
from lm_benchmarks.reporting.formats import Column, csv_table, exact, records, render, shown
from lm_benchmarks.reporting.published import (
    TRAIN,
    Published,
    decimals,
    is_papers,
    is_trained_on,
    note,
    published_name,
)
from wikitext_builder.article import SPLITS

if TYPE_CHECKING:
    from lm_benchmarks.measuring.measure import ByConvention

SAME: Final = ("convention", "text", "context", "vocabulary")  # of signatures: one in all rows of a table
MAIN: Final = {CONVENTIONS[PAPER]: "perplexity", CONVENTIONS["lm-eval"]: "lm-eval-word-perplexity"}
WINDOWS: Final = {one.signature: one for one in REGISTRY.values() if one.signature not in MAIN}
BYTES: Final = {CONVENTIONS[PAPER]: "bits-per-byte", CONVENTIONS["lm-eval"]: "lm-eval-bits-per-byte"}
PIECES: Final = "piece-perplexity"  # of all other conventions: those of windows


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A row of a report: a model, measured or published."""

    model: str
    results: Mapping[str, Result] = field(default_factory=dict)  # by split
    paper: Published | None = None
    difference: str = ""  # from the best model of the table, with its interval

    @property
    def published(self) -> Mapping[str, float]:
        """The published numbers, by split."""
        return self.paper.perplexities if self.paper else {}

    @property
    def parameters(self) -> str:
        """How many parameters the model has: as counted, or as published."""
        counts = {result.parameters for result in self.results.values()}
        if len(counts) == 1 and (count := counts.pop()) is not None:
            return f"{count:,}"
        return self.paper.parameters if self.paper else ""

    @property
    def laws(self) -> str:
        """Which laws the model breaks; or `kept`, or `not tried`.

        The words of an open vocabulary sum to less than one: its perplexity per word is an upper bound.
        """
        tried = [result for result in self.results.values() if result.checks is not None]
        broken = sorted({law for result in tried for law in result.broken})
        if broken:
            return f"BROKEN: {', '.join(broken)}"
        if not self.results:
            return ""
        opened = any(result.signature.get("words") == "open" for result in self.results.values())
        return ("kept" if tried else "not tried") + ("; open vocabulary" if opened else "")

    @property
    def is_broken(self) -> bool:
        """Returns True if the model breaks a law, so that its number means nothing."""
        return any(result.broken for result in self.results.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Results that can be compared: one dataset, one convention, one vocabulary."""

    data: str
    kind: Mapping[str, str]  # fields of signatures that all results share
    metric: str
    bytes_metric: str
    splits: tuple[str, ...]
    rows: tuple[ReportRow, ...]

    @property
    def names(self) -> dict[str, str]:
        """What the columns are called."""
        windows = self.kind["convention"] in WINDOWS
        return {
            "metric": self.metric,
            "label": "number" if windows else METRICS[self.metric].label,
            "bytes_metric": self.bytes_metric,
            "bytes_label": METRICS[self.bytes_metric].label,
        }

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as a reader sees them: a row per model."""
        columns = []
        for column in COLUMNS:
            each = "{split}" in column.head and not column.last
            for split in self.splits if each else self.splits[-1:]:
                if column.there is None or column.there(self):
                    head = column.head.format(split=split, **self.names)
                    show = partial(self._cell, column, split)
                    columns.append(replace(column, head=head, value=show, show=show))
        return shown(columns, self.rows)

    def _cell(self, column: ReportColumn, split: str, row: ReportRow) -> str:
        return column.cell(Cell(table=self, row=row, split=split))

    @property
    def numbers(self) -> pd.DataFrame:
        """The numbers, not rounded: a row per model and split, measured or published."""
        cells = [
            Cell(table=self, row=row, split=split)
            for row in self.rows
            for split in self.splits
            if split in row.results or split in row.published
        ]
        return exact([replace(each, key=each.key.format(**self.names)) for each in COLUMNS], cells)

    @property
    def notes(self) -> list[str]:
        """The sources of published numbers, and what the numbers do not show."""
        return [
            note(row.model, row.paper.source, row.paper.note)
            for row in self.rows
            if row.paper and (row.paper.source or row.paper.note)
        ] + warnings_of(one for row in self.rows for one in row.results.values())

    @property
    def caption(self) -> str:
        """What the numbers are, and what divides them."""
        metric, bits = METRICS[self.metric], METRICS[self.bytes_metric]
        what = f"{metric.label} = exp({metric.numerator} / {metric.denominator})"
        if own := WINDOWS.get(self.kind["convention"]):
            what = f"the number of {own.name}. Scored: {own.scored}; divided by {own.normaliser}"
        what += f"; {bits.label} = {bits.numerator} / {bits.denominator}"
        return f"{self.data}: {what}. All rows: {', '.join(map(' '.join, self.kind.items()))}."


def tables_of(results: Iterable[Result], published: Sequence[Published] = ()) -> list[Table]:
    """A table per dataset and convention. If a model was measured twice, the last result counts.

    Models that break laws come last. If there are several versions of a split, each has a table of its own.
    """
    results = list(results)
    files: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for result in results:
        files.setdefault(key_of(result), {}).setdefault(result.signature["split"], set()).add(result.data[1])
    found: dict[tuple[str, ...], dict[tuple[str, str], dict[str, Result]]] = {}
    for result in results:
        signature, key = result.signature, key_of(result)
        if max(map(len, files[key].values())) > 1:
            key = (signature["data"], *key[1:])
        models = found.setdefault(key, {})
        models.setdefault((result.model, signature["model"]), {})[signature["split"]] = result
    return [_table(key, models, published) for key, models in found.items()]


def key_of(result: Result) -> tuple[str, ...]:
    """What results must share to be in one table."""
    return (result.data[0], *(result.signature[name] for name in SAME))


def _table(
    key: tuple[str, ...],
    models: Mapping[tuple[str, str], Mapping[str, Result]],
    published: Sequence[Published],
) -> Table:
    data, kind = key[0], dict(zip(SAME, key[1:], strict=True))
    papers = all(is_papers(result) for each in models.values() for result in each.values())
    known = {row.model: row for row in published if row.data == data and papers}
    metric = MAIN.get(kind["convention"], PIECES)
    rows = []
    for (name, _), results in models.items():
        first = next(iter(results.values()))
        is_same = first.as_presets and is_trained_on(first, TRAIN.get(data, "?"))
        own = published_name(first.recipe, data) if is_same else ""
        rows.append(ReportRow(model=name, results=results, paper=known.get(own)))
    measured = [row.paper for row in rows]
    rows += [ReportRow(model=row.model, paper=row) for row in known.values() if row not in measured]
    found = {split for row in rows for split in (*row.results, *row.published)}
    splits = tuple(sorted(found, key=lambda split: (*SPLITS, split).index(split)))
    last = splits[-1]
    ordered = sorted(rows, key=lambda row: _order(row, last, metric))
    return Table(
        data=data,
        kind=kind,
        metric=metric,
        bytes_metric=BYTES.get(kind["convention"], "bits-per-file-byte"),
        splits=splits,
        rows=tuple(_with_difference(row, ordered, last, metric) for row in ordered),
    )


def value_of(row: ReportRow, split: str, metric: str) -> float | None:
    """A measured number of a row; for a convention of windows, the tool's own in place of its perplexity."""
    result = row.results.get(split)
    if result is None:
        return None
    if metric == PIECES and result.signature["convention"] in WINDOWS:
        return result.number
    return METRICS[metric].of(result.total)


def _order(row: ReportRow, split: str, metric: str) -> tuple[bool, float, str]:
    """The worst first, as in the paper; models that break laws at the end."""
    value = value_of(row, split, metric)
    if value is None:
        value = row.published.get(split, float("inf"))
    return row.is_broken, -value, row.model


def _with_difference(row: ReportRow, rows: Sequence[ReportRow], split: str, metric: str) -> ReportRow:
    honest = [other for other in rows if split in other.results and not other.is_broken]
    if split not in row.results or not honest or metric == PIECES:
        return row
    best = min(honest, key=lambda other: value_of(other, split, metric) or math.inf)
    has_number = all(math.isfinite(value_of(one, split, metric) or math.inf) for one in (best, row))
    if not has_number or why_unlike(best.results[split], row.results[split]):
        return row
    if best is row:
        return replace(row, difference="best")
    found = compare_results(best.results[split], row.results[split], metric=metric)
    interval = "" if found.interval is None else f" [{found.interval[0]:+.2f}, {found.interval[1]:+.2f}]"
    return replace(row, difference=f"{found.difference:+.2f}{interval}")


def _fixed(value: float | None, form: str, none: str = "") -> str:
    return none if value is None else format(value, form)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A place in a table: a row, on one of the splits."""

    table: Table
    row: ReportRow
    split: str

    @property
    def result(self) -> Result | None:
        """What was measured."""
        return self.row.results.get(self.split)

    def metric(self, name: str) -> float | None:
        """A number of the result, by the name of its metric."""
        return None if self.result is None else METRICS[name].of(self.result.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportColumn(Column):
    """A column whose rows are the `Cell`s of a table. Its `key` and `head` can hold names of `Table.names`.

    If `{split}` is in its head, tables show it for each split.
    """

    last: bool = False  # tables show it for the last split alone
    there: Callable[[Table], bool] | None = None  # whether tables show it; None: always


COLUMNS: Final[tuple[ReportColumn, ...]] = (
    ReportColumn(key="data", value=lambda cell: cell.table.data),
    ReportColumn(key="convention", value=lambda cell: cell.table.kind["convention"]),
    ReportColumn(key="text", value=lambda cell: cell.table.kind["text"]),
    ReportColumn(key="context", value=lambda cell: cell.table.kind["context"]),
    ReportColumn(key="vocabulary", value=lambda cell: cell.table.kind["vocabulary"]),
    ReportColumn(key="split", value=lambda cell: cell.split),
    ReportColumn(key="model", head="model", value=lambda cell: cell.row.model),
    ReportColumn(
        key="parameters",
        head="parameters",
        value=lambda cell: cell.result and cell.result.parameters,
        show=lambda cell: cell.row.parameters,
    ),
    ReportColumn(
        key="published",
        head="published {split}",
        value=lambda cell: cell.row.published.get(cell.split),
        show=lambda cell: decimals(cell.row.published.get(cell.split)),
        there=lambda table: any(row.published for row in table.rows),
    ),
    ReportColumn(key="number", value=lambda cell: cell.result and cell.result.number),
    ReportColumn(
        key="{metric}",
        head="{label} {split}",
        value=lambda cell: cell.metric(cell.table.metric),
        show=lambda cell: _fixed(value_of(cell.row, cell.split, cell.table.metric), ",.2f"),
    ),
    ReportColumn(
        head="difference from the best, {split} [95 %]",
        value=lambda cell: cell.row.difference,
        last=True,
        there=lambda table: table.metric != PIECES,  # pieces of two tokenizers are not one unit
    ),
    ReportColumn(
        key="{bytes_metric}",
        head="{bytes_label} {split}",
        value=lambda cell: cell.metric(cell.table.bytes_metric),
        show=lambda cell: _fixed(cell.metric(cell.table.bytes_metric), ".4f"),
        last=True,
    ),
    ReportColumn(key="laws", head="laws", value=lambda cell: cell.row.laws, words=True),
    ReportColumn(key="source", value=lambda cell: cell.row.paper and cell.row.paper.source),
    ReportColumn(key="signature", value=lambda cell: cell.result and str(cell.result.signature)),
)
"""The columns of reports: each entry is a column of the tables in all formats, and a field of the CSV."""


def _number_of(one: ByConvention) -> str:
    return _fixed(one.number, ",.4f", "–") + " BROKEN" * bool(_broken(one))


def _window(one: ByConvention) -> str:
    rule, window = one.convention, "" if one.result is None else one.result.signature.get("windows", "")
    differs = window and rule.window is not None and window != str(rule.window)
    return f"{window} (the rule: {rule.window})" if differs else window


CONVENTION_COLUMNS: Final = (
    Column(key="convention", head="convention", value=lambda one: one.convention.name),
    Column(key="number", head="number", value=lambda one: one.number, show=_number_of),
    Column(
        key="bits_per_byte",
        head="bits per byte",
        value=lambda one: one.bits_per_byte,
        show=lambda one: _fixed(one.bits_per_byte, ".4f", "–"),
    ),
    Column(head="window", value=_window, words=True),
    Column(key="scored", head="what is scored", value=lambda one: one.convention.scored, words=True),
    Column(key="context", head="context", value=lambda one: one.convention.context, words=True),
    Column(key="normaliser", head="divided by", value=lambda one: one.convention.normaliser, words=True),
    Column(key="preparation", head="text", value=lambda one: one.convention.preparation, words=True),
    Column(key="source", value=lambda one: one.convention.source),
    Column(key="proof", value=lambda one: one.convention.proof),
    Column(
        key="known",
        head="known numbers",
        value=lambda one: list(one.convention.known),
        show=lambda one: "; ".join(one.convention.known),
        words=True,
    ),
    Column(key="signature", value=lambda one: str(one.result.signature) if one.result else None),
    Column(key="broken", value=lambda one: one.result.broken if one.result else ()),
    Column(key="why", value=lambda one: one.why),
)


def write_conventions(found: Sequence[ByConvention], form: str) -> str:
    """The table as `text`, `markdown`, `csv`, `latex`, `html` (a page that loads nothing) or `json`."""
    values = exact(CONVENTION_COLUMNS, found)
    if form == "json":
        return json.dumps(records(values), ensure_ascii=False) + "\n"
    if form == "csv":
        return csv_table(values.assign(known=values["known"].map("; ".join)))
    frame, made = shown(CONVENTION_COLUMNS, found), [one.result for one in found if one.result]
    # There is no number, or it means nothing: a stored result says which laws the model breaks.
    reasons = [(one.convention.name, why) for one in found for why in (one.why, _broken(one)) if why]
    reasons += [(one.convention.name, warning) for one in found for warning in _warnings(one)]
    return render(
        f"conventions.{form}",
        title=f"{made[0].model} by convention" if made else "Perplexity by convention",
        refresh=0,
        frame=frame,
        narrow=frame.iloc[:, :4],  # what fits a terminal
        reasons=[one_line(f"{name}: {why}") for name, why in reasons],
        signatures=[str(result.signature) for result in made],
    )


def _broken(one: ByConvention) -> str:
    checks = (one.result and one.result.checks) or {}
    return "; ".join(f"BREAKS {law}: {what}" for law, what in checks.items() if what)


def _warnings(one: ByConvention) -> list[str]:
    return warnings_of([one.result]) if one.result else []
