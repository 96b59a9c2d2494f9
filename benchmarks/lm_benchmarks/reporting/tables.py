"""Tables of results: their rows and columns, the best values, and costs of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pandas as pd

from lm_benchmarks.choices import NORMALIZES, PAPER
from lm_benchmarks.conventions.rules import CONVENTIONS, REGISTRY
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import Result, Trained, warnings_of
from lm_benchmarks.reporting.formats import HOVER_TEXTS, Column, exact, fixed, framed, mark_best
from lm_benchmarks.reporting.published import Published, decimals, note
from wikitext_builder.dataset.vocabulary import UNK

SHARED_FIELDS: Final = ("convention", "text", "context", "vocabulary")  # of signatures, within a table
MAIN_METRICS: Final = {CONVENTIONS[PAPER]: "perplexity", CONVENTIONS["lm-eval"]: "lm-eval-word-perplexity"}
WINDOW_CONVENTIONS: Final = {
    tool.signature: tool for tool in REGISTRY.values() if tool.signature not in MAIN_METRICS
}
BYTES_METRICS: Final = {CONVENTIONS[PAPER]: "bits-per-byte", CONVENTIONS["lm-eval"]: "lm-eval-bits-per-byte"}
RANKS_NOTE: Final = "Rank: an interval; all pairs of models are compared at once (Holm, 95 %)."
PIECES_METRIC: Final = "piece-perplexity"  # of WINDOW_CONVENTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A row of a report: a model, measured or published."""

    model: str
    results: Mapping[str, Result] = field(default_factory=dict)  # by split
    paper: Published | None = None
    difference: str = ""  # from the best model of the table, with its interval
    above: float | None = None  # the difference as a number
    no_interval: str = ""  # why there is no interval
    ranks: str = ""  # interval of ranks in the table, such as 2-4; see `ranks_of`

    @property
    def published(self) -> Mapping[str, float]:
        """The published numbers, by split."""
        return self.paper.perplexities if self.paper else {}

    @property
    def count(self) -> int | None:
        """The number of parameters; None: unknown, or different between splits."""
        counts = {result.parameters for result in self.results.values()}
        return counts.pop() if len(counts) == 1 else None

    @property
    def parameters(self) -> str:
        """The number of parameters as text: as counted, or as published."""
        if self.count is not None:
            return f"{self.count:,}"
        return self.paper.parameters if self.paper else ""

    @property
    def invariants(self) -> str:
        """The invariants that the model violates; or `kept`, or `not tried`.

        Marks follow. The words of an open vocabulary have less than one as the sum of their probabilities, so
        its perplexity per word is an upper bound.
        """
        tried = [result for result in self.results.values() if result.checks is not None]
        broken = sorted({invariant for result in tried for invariant in result.broken})
        if broken:
            return f"BROKEN: {', '.join(broken)}"
        if not self.results:
            return ""
        marks = dict.fromkeys(mark for result in self.results.values() for mark in _marks(result))
        return "; ".join(["kept" if tried else "not tried", *marks])

    @property
    def is_unfit(self) -> bool:
        """True if the number is not comparable: an invariant is violated, or characters are lost."""
        return any(result.broken or result.is_lossy for result in self.results.values())


def _marks(result: Result) -> Iterator[str]:
    """Yield what a reader must know about the words of a result."""
    if result.is_lossy:
        yield "LOSES CHARACTERS"
    if result.signature.get("words") == "open":
        yield "open vocabulary"
    if (kind := result.signature.get(NORMALIZES, "no")) != "no":
        yield f"normalizes {kind}"
    if result.missing:
        yield f"{result.missing.words:,} words as {UNK}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Results that can be compared: one dataset, one convention, one vocabulary."""

    data: str
    kind: Mapping[str, str]  # fields of signatures that all results share
    metric: str
    bytes_metric: str
    splits: tuple[str, ...]
    rows: tuple[ReportRow, ...]
    version: int = 0  # of the dataset's files, if a split has several
    columns: tuple[str, ...] = ()  # names of columns to show; (): the default ones

    @property
    def title(self) -> str:
        """The name of the data, without hashes."""
        return f"{self.data.rpartition('+')[0]}, version {self.version}" if self.version else self.data

    @property
    def names(self) -> dict[str, str]:
        """The parts of column names that depend on the table."""
        windows = self.kind["convention"] in WINDOW_CONVENTIONS
        return {
            "metric": self.metric,
            "label": "number" if windows else METRICS[self.metric].label,
            "bytes_metric": self.bytes_metric,
            "bytes_label": METRICS[self.bytes_metric].label,
            "interval": " [95 %]" if any("[" in row.difference for row in self.rows) else "",
        }

    @property
    def heads(self) -> dict[str, ShownColumn]:
        """The columns that tables can show, by heading."""
        heads = {}
        for column in COLUMNS:
            is_per_split = "{split}" in column.head and not column.last
            for split in self.splits if is_per_split else self.splits[-1:]:
                if column.head and (column.applies is None or column.applies(self)):
                    heads[column.head.format(split=split, **self.names)] = column, split
        return heads

    @property
    def keys(self) -> dict[str, ShownColumn]:
        """The columns that CSV can have, by name."""
        return {entry.key.format(**self.names): (entry, self.splits[-1]) for entry in COLUMNS if entry.key}

    def rank(self, shown_column: ShownColumn, row: ReportRow) -> object:
        """Return what a column sorts a row by; None: nothing."""
        column, split = shown_column
        return (column.rank or column.value)(Cell(table=self, row=row, split=split))

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as a reader sees them: a row per model, with the best of each column marked."""
        heads = shown_columns(self.columns, self.heads)
        cells = [
            [column.cell(Cell(table=self, row=row, split=split)) for column, split in heads.values()]
            for row in self.rows
        ]
        frame = framed(cells, {head: column.words for head, (column, _) in heads.items()})
        frame.attrs[HOVER_TEXTS] = {}
        for index, shown_column in enumerate(heads.values()):
            ranks = {(line, index): self.rank(shown_column, row) for line, row in enumerate(self.rows)}
            exact_values = {place: str(rank) for place, rank in ranks.items() if isinstance(rank, float)}
            frame.attrs[HOVER_TEXTS] |= exact_values
            if shown_column[0].best(self):
                fit = {place: rank for place, rank in ranks.items() if not self.rows[place[0]].is_unfit}
                mark_best(frame, fit)
        return frame

    @property
    def numbers(self) -> pd.DataFrame:
        """The numbers, not rounded: a row per model and split, measured or published."""
        cells = [
            Cell(table=self, row=row, split=split)
            for row in self.rows
            for split in self.splits
            if split in row.results or split in row.published
        ]
        keys = shown_columns(self.columns, self.keys)
        return exact([replace(column, key=key) for key, (column, _) in keys.items()], cells)

    @property
    def notes(self) -> list[str]:
        """The sources of published numbers, and caveats."""
        return [
            note(row.model, row.paper.source, row.paper.note)
            for row in self.rows
            if row.paper and (row.paper.source or row.paper.note)
        ] + [
            *([RANKS_NOTE] if any(row.ranks for row in self.rows) else []),
            *dict.fromkeys(f"No interval: {row.no_interval}." for row in self.rows if row.no_interval),
            *warnings_of(result for row in self.rows for result in row.results.values()),
        ]

    @property
    def caption(self) -> str:
        """What the numbers are, and what divides them, as a paper says it below a table."""
        metric, bits = METRICS[self.metric], METRICS[self.bytes_metric]
        caption = (
            f"{metric.label[0].upper()}{metric.label[1:]}: exp({metric.numerator} / {metric.denominator})"
        )
        if convention := WINDOW_CONVENTIONS.get(self.kind["convention"]):
            caption = f"Number of {convention.name}. Scored: {convention.scored};"
            caption += f" divided by {convention.normaliser}"
        if any(head.startswith(bits.label) for head in shown_columns(self.columns, self.heads)):
            caption += f"; {bits.label}: {bits.numerator} / {bits.denominator}"
        kind = {**self.kind, "vocabulary": _vocabulary_text(self.kind["vocabulary"])}
        *first, last = (f"{name} ({value})" for name, value in kind.items())
        return f"Language models on {self.title}. {caption}. All rows share {', '.join(first)} and {last}."


def shown_columns(names: Sequence[str], available: Mapping[str, ShownColumn]) -> dict[str, ShownColumn]:
    """Return the named columns, in that order; without names, the default ones."""
    default = [name for name, (column, _) in available.items() if not column.extra]
    return {name: available[name] for name in names or default if name in available}


def _vocabulary_text(value: str) -> str:
    """Return the vocabulary of a signature, without its hash."""
    size, _, hashed = value.partition("+")
    return f"{int(size):,} words" if hashed and re.fullmatch("[0-9]{1,18}", size) else value


def value_of(row: ReportRow, split: str, metric: str) -> float | None:
    """Return a measured number of a row; for a convention of windows, the tool's number instead."""
    result = row.results.get(split)
    if result is None:
        return None
    if metric == PIECES_METRIC and result.signature["convention"] in WINDOW_CONVENTIONS:
        return result.number
    return METRICS[metric].of(result.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A place in a table: a row, on one of the splits."""

    table: Table
    row: ReportRow
    split: str

    @property
    def result(self) -> Result | None:
        """The measurement; None: this split was not measured."""
        return self.row.results.get(self.split)

    def metric(self, name: str) -> float | None:
        """Return a number of the result, by the name of its metric."""
        return self.cost(lambda result: METRICS[name].of(result.total))

    def cost(self, number: Callable[[Result], float | None]) -> float | None:
        """Return another number of the result, such as its cost."""
        return None if self.result is None else number(self.result)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportColumn(Column):
    """A column whose rows are the `Cell`s of a table. Its `key` and `head` can hold names of `Table.names`.

    If `{split}` is in its head, tables have it for each split.
    """

    last: bool = False  # True: tables have it for the last split alone
    applies: Callable[[Table], bool] | None = None  # True: tables can show it; None: always
    extra: bool = False  # True: tables and CSV have it only if it is named
    best: Callable[[Table], bool] = lambda _: False  # True: the lowest value is the best, and bold
    rank: Callable[[Cell], object] | None = None  # what rows are sorted by; None: the value


ShownColumn = tuple[ReportColumn, str]  # a column and its split


# What a number cost: training and speed, from its record; None if the record does not say it.
CPU_THREADS: Final = re.compile(
    r"cpu \([^()]*, (\d{1,9}) threads\)$"
)  # as `ps_models.devices.device_name` writes it
CPU, GPU = "core", "GPU"


def core_hours(result: Result) -> float | None:
    """Return CPU hours of all trainings up to their checkpoints, only of updates, times the threads.

    Seconds are not recorded by session: if their threads differ, the largest number counts. None if
    nothing was trained there, or if the seconds or the device of a training are unknown.
    """
    return _training_hours(result, CPU)


def gpu_hours(result: Result) -> float | None:
    """Return the same for GPUs; a run in several processes counts once, because records have no more."""
    return _training_hours(result, GPU)


def _training_hours(result: Result, unit: str) -> float | None:
    units = [(run, unit_hours(run)) for run in result.trained]
    if any(cost is None or run.seconds is None for run, cost in units):
        return None
    return (
        sum(run.seconds * cost[1] for run, cost in units if run.seconds and cost and cost[0] == unit) or None
    )


def unit_hours(training: Trained) -> tuple[str, float] | None:
    """Return what a second of a training costs: CPU or GPU, and the number of hours; None: unknown."""
    if not training.sessions:
        return None
    threads = [CPU_THREADS.search(session) for session in training.sessions]
    if all(threads):
        return CPU, max(int(match[1]) for match in threads if match) / 3600
    return None if any(threads) or "not recorded" in training.sessions else (GPU, 1 / 3600)


def tokens_per_second(result: Result) -> float | None:
    """Return tokens, or pieces if tokens are not counted, per second of measuring without checks."""
    count = result.total.tokens or result.total.pieces
    return count / result.seconds if result.seconds and count else None


def _cost(
    key: str, head: str, number: Callable[[Result], float | None], form: str, *, last: bool = False
) -> ReportColumn:
    """Make a column of a cost, which tables have only if it is named."""
    return ReportColumn(
        key=key,
        head=head,
        value=lambda cell: cell.cost(number),
        show=lambda cell: fixed(cell.cost(number), form),
        last=last,
        extra=True,
    )


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
        rank=lambda cell: cell.row.count,
    ),
    ReportColumn(
        key="published",
        head="published {split}",
        value=lambda cell: cell.row.published.get(cell.split),
        show=lambda cell: decimals(cell.row.published.get(cell.split)),
        applies=lambda table: any(row.published for row in table.rows),
        best=lambda _: True,
    ),
    ReportColumn(key="number", value=lambda cell: cell.result and cell.result.number),
    ReportColumn(
        key="{metric}",
        head="{label} {split}",
        value=lambda cell: cell.metric(cell.table.metric),
        show=lambda cell: fixed(value_of(cell.row, cell.split, cell.table.metric), ",.2f"),
        best=lambda table: table.metric != PIECES_METRIC,
        rank=lambda cell: value_of(cell.row, cell.split, cell.table.metric),
    ),
    ReportColumn(
        head="difference from the best on {split}{interval}",
        value=lambda cell: cell.row.difference,
        rank=lambda cell: cell.row.above,
        last=True,
        applies=lambda table: table.metric != PIECES_METRIC,  # pieces of two tokenizers are not one unit
    ),
    ReportColumn(
        key="rank",
        head="rank on {split}",
        value=lambda cell: cell.row.ranks if cell.split == cell.table.splits[-1] else "",
        rank=lambda cell: [int(rank) for rank in cell.row.ranks.split("-") if rank] or None,
        last=True,
        applies=lambda table: any(row.ranks for row in table.rows),
    ),
    ReportColumn(
        key="{bytes_metric}",
        head="{bytes_label} {split}",
        value=lambda cell: cell.metric(cell.table.bytes_metric),
        show=lambda cell: fixed(cell.metric(cell.table.bytes_metric), ".4f"),
        best=lambda _: True,
        last=True,
    ),
    ReportColumn(key="invariants", head="invariants", value=lambda cell: cell.row.invariants, words=True),
    _cost("tokens_per_second", "tokens/s on {split}", tokens_per_second, ",.0f", last=True),
    _cost("training_core_hours", "training core-hours", core_hours, ",.2f"),
    _cost("training_gpu_hours", "training GPU-hours", gpu_hours, ",.2f"),
    ReportColumn(key="source", value=lambda cell: cell.row.paper and cell.row.paper.source),
    ReportColumn(key="signature", value=lambda cell: cell.result and str(cell.result.signature)),
)
"""The columns of reports: an entry is a column of the tables in all formats, and a field of the CSV."""
