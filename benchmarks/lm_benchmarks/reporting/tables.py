"""Tables of results: their rows and columns, which value is the best, and what a number cost."""

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
from lm_benchmarks.reporting.formats import TITLES, Column, exact, fixed, framed, mark_best
from lm_benchmarks.reporting.published import Published, decimals, note
from wikitext_builder.dataset.vocabulary import UNK

SAME: Final = ("convention", "text", "context", "vocabulary")  # of signatures: one in all rows of a table
MAIN: Final = {CONVENTIONS[PAPER]: "perplexity", CONVENTIONS["lm-eval"]: "lm-eval-word-perplexity"}
WINDOWS: Final = {one.signature: one for one in REGISTRY.values() if one.signature not in MAIN}
BYTES: Final = {CONVENTIONS[PAPER]: "bits-per-byte", CONVENTIONS["lm-eval"]: "lm-eval-bits-per-byte"}
RANKS: Final = "Rank: an interval; all pairs of models are compared at once (Holm, 95 %)."
PIECES: Final = "piece-perplexity"  # of all other conventions: those of windows


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A row of a report: a model, measured or published."""

    model: str
    results: Mapping[str, Result] = field(default_factory=dict)  # by split
    paper: Published | None = None
    difference: str = ""  # from the best model of the table, with its interval
    above: float | None = None  # the same as a number
    no_interval: str = ""  # why it has none
    ranks: str = ""  # among the models of the table: an interval, such as 2-4; see `ranks_of`

    @property
    def published(self) -> Mapping[str, float]:
        """The published numbers, by split."""
        return self.paper.perplexities if self.paper else {}

    @property
    def count(self) -> int | None:
        """How many parameters the model has, on whichever split; None: not known."""
        counts = {result.parameters for result in self.results.values()}
        return counts.pop() if len(counts) == 1 else None

    @property
    def parameters(self) -> str:
        """How many parameters the model has: as counted, or as published."""
        if self.count is not None:
            return f"{self.count:,}"
        return self.paper.parameters if self.paper else ""

    @property
    def invariants(self) -> str:
        """Which invariants the model violates; or `kept`, or `not tried`.

        Marks follow. The words of an open vocabulary sum to less than one, so its perplexity per word is an
        upper bound.
        """
        tried = [result for result in self.results.values() if result.checks is not None]
        broken = sorted({law for result in tried for law in result.broken})
        if broken:
            return f"BROKEN: {', '.join(broken)}"
        if not self.results:
            return ""
        marks = dict.fromkeys(mark for result in self.results.values() for mark in _marks(result))
        return "; ".join(["kept" if tried else "not tried", *marks])

    @property
    def is_unfit(self) -> bool:
        """Return True if the number does not compare: an invariant is violated, or characters are lost."""
        return any(result.broken or result.is_lossy for result in self.results.values())


def _marks(result: Result) -> Iterator[str]:
    """What a reader must know of the words of a result."""
    if result.is_lossy:
        yield "LOSES CHARACTERS"
    if result.signature.get("words") == "open":
        yield "open vocabulary"
    if (kind := result.signature.get(NORMALIZES, "no")) != "no":
        yield f"normalizes {kind}"
    if result.missing:
        yield f"{result.missing.words:,} words only as {UNK}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Results that can be compared: one dataset, one convention, one vocabulary."""

    data: str
    kind: Mapping[str, str]  # fields of signatures that all results share
    metric: str
    bytes_metric: str
    splits: tuple[str, ...]
    rows: tuple[ReportRow, ...]
    version: int = 0  # of its files, if a split has several
    wanted: tuple[str, ...] = ()  # the columns to show, by name; (): those of every report

    @property
    def title(self) -> str:
        """The name of the data, without hashes."""
        return f"{self.data.rpartition('+')[0]}, version {self.version}" if self.version else self.data

    @property
    def names(self) -> dict[str, str]:
        """What the columns are called."""
        windows = self.kind["convention"] in WINDOWS
        return {
            "metric": self.metric,
            "label": "number" if windows else METRICS[self.metric].label,
            "bytes_metric": self.bytes_metric,
            "bytes_label": METRICS[self.bytes_metric].label,
            "interval": " [95 %]" if any("[" in row.difference for row in self.rows) else "",
        }

    @property
    def heads(self) -> dict[str, Shown]:
        """What tables can show, by heading."""
        found = {}
        for column in COLUMNS:
            each = "{split}" in column.head and not column.last
            for split in self.splits if each else self.splits[-1:]:
                if column.head and (column.there is None or column.there(self)):
                    found[column.head.format(split=split, **self.names)] = column, split
        return found

    @property
    def keys(self) -> dict[str, Shown]:
        """What CSV can show, by name."""
        return {each.key.format(**self.names): (each, self.splits[-1]) for each in COLUMNS if each.key}

    def rank(self, shown: Shown, row: ReportRow) -> object:
        """What a row is sorted by in a column; None: nothing."""
        column, split = shown
        return (column.rank or column.value)(Cell(table=self, row=row, split=split))

    @property
    def frame(self) -> pd.DataFrame:
        """The cells as a reader sees them: a row per model. The best of each column is marked."""
        heads = only(self.wanted, self.heads)
        cells = [
            [column.cell(Cell(table=self, row=row, split=split)) for column, split in heads.values()]
            for row in self.rows
        ]
        frame = framed(cells, {head: column.words for head, (column, _) in heads.items()})
        frame.attrs[TITLES] = {}
        for place, one in enumerate(heads.values()):
            ranks = {(number, place): self.rank(one, row) for number, row in enumerate(self.rows)}
            frame.attrs[TITLES] |= {at: str(rank) for at, rank in ranks.items() if isinstance(rank, float)}
            if one[0].best(self):
                mark_best(frame, {at: rank for at, rank in ranks.items() if not self.rows[at[0]].is_unfit})
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
        keys = only(self.wanted, self.keys)
        return exact([replace(each, key=key) for key, (each, _) in keys.items()], cells)

    @property
    def notes(self) -> list[str]:
        """The sources of published numbers, and what the numbers do not show."""
        return [
            note(row.model, row.paper.source, row.paper.note)
            for row in self.rows
            if row.paper and (row.paper.source or row.paper.note)
        ] + [
            *([RANKS] if any(row.ranks for row in self.rows) else []),
            *dict.fromkeys(f"No interval: {row.no_interval}." for row in self.rows if row.no_interval),
            *warnings_of(one for row in self.rows for one in row.results.values()),
        ]

    @property
    def caption(self) -> str:
        """What the numbers are, and what divides them: what a paper says below its table."""
        metric, bits = METRICS[self.metric], METRICS[self.bytes_metric]
        what = f"{metric.label[0].upper()}{metric.label[1:]}: exp({metric.numerator} / {metric.denominator})"
        if own := WINDOWS.get(self.kind["convention"]):
            what = f"Number of {own.name}. Scored: {own.scored}; divided by {own.normaliser}"
        if any(head.startswith(bits.label) for head in only(self.wanted, self.heads)):
            what += f"; {bits.label}: {bits.numerator} / {bits.denominator}"
        kind = {**self.kind, "vocabulary": _said_vocabulary(self.kind["vocabulary"])}
        *first, last = (f"{name} ({value})" for name, value in kind.items())
        return f"Language models on {self.title}. {what}. All rows share {', '.join(first)} and {last}."


def only(wanted: Sequence[str], there: Mapping[str, Shown]) -> dict[str, Shown]:
    """The columns that are wanted, in that order; without a wish those of every report."""
    usual = [name for name, (column, _) in there.items() if not column.extra]
    return {name: there[name] for name in wanted or usual if name in there}


def _said_vocabulary(value: str) -> str:
    """The vocabulary of a signature, without its hash."""
    size, _, hashed = value.partition("+")
    return f"{int(size):,} words" if hashed and re.fullmatch("[0-9]{1,18}", size) else value


def value_of(row: ReportRow, split: str, metric: str) -> float | None:
    """A measured number of a row; for a convention of windows, the tool's own in place of its perplexity."""
    result = row.results.get(split)
    if result is None:
        return None
    if metric == PIECES and result.signature["convention"] in WINDOWS:
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
        """What was measured."""
        return self.row.results.get(self.split)

    def metric(self, name: str) -> float | None:
        """A number of the result, by the name of its metric."""
        return self.cost(lambda result: METRICS[name].of(result.total))

    def cost(self, number: Callable[[Result], float | None]) -> float | None:
        """Another number of the result, such as its cost."""
        return None if self.result is None else number(self.result)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportColumn(Column):
    """A column whose rows are the `Cell`s of a table. Its `key` and `head` can hold names of `Table.names`.

    If `{split}` is in its head, tables show it for each split.
    """

    last: bool = False  # tables show it for the last split alone
    there: Callable[[Table], bool] | None = None  # whether tables can show it; None: always
    extra: bool = False  # tables and CSV show it only if it is asked for
    best: Callable[[Table], bool] = lambda _: False  # whether the least value is the best, and bold
    rank: Callable[[Cell], object] | None = None  # what rows are sorted by; None: the value


Shown = tuple[ReportColumn, str]  # a column, and the split that it shows


# What a number cost: training and speed, from its record; None if the record does not have it.
THREADS: Final = re.compile(
    r"cpu \([^()]*, (\d{1,9}) threads\)$"
)  # as `ps_models.devices.device_name` writes it
CPU, GPU = "core", "GPU"


def core_hours(result: Result) -> float | None:
    """Hours of all trainings on CPUs up to their checkpoints, only of updates, times the threads.

    Sessions have no seconds of their own: of several with other threads the largest number counts. None if
    nothing was trained there, or if the seconds or the device of a training are unknown.
    """
    return _training_hours(result, CPU)


def gpu_hours(result: Result) -> float | None:
    """The same on GPUs; a run in several processes counts as one, because records do not say how many."""
    return _training_hours(result, GPU)


def _training_hours(result: Result, unit: str) -> float | None:
    units = [(one, unit_hours(one)) for one in result.trained]
    if any(own is None or one.seconds is None for one, own in units):
        return None
    return sum(one.seconds * own[1] for one, own in units if one.seconds and own and own[0] == unit) or None


def unit_hours(one: Trained) -> tuple[str, float] | None:
    """What a second of a training costs: CPU or GPU, and how many of its hours; None: not known."""
    if not one.sessions:
        return None
    threads = [THREADS.search(session) for session in one.sessions]
    if all(threads):
        return CPU, max(int(found[1]) for found in threads if found) / 3600
    return None if any(threads) or "not recorded" in one.sessions else (GPU, 1 / 3600)


def tokens_per_second(result: Result) -> float | None:
    """Tokens, or pieces where no tokens count, per second of the measurement without its checks."""
    count = result.total.tokens or result.total.pieces
    return count / result.seconds if result.seconds and count else None


def _cost(
    key: str, head: str, number: Callable[[Result], float | None], form: str, *, last: bool = False
) -> ReportColumn:
    """A column of a cost, which tables show only if it is asked for."""
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
        there=lambda table: any(row.published for row in table.rows),
        best=lambda _: True,
    ),
    ReportColumn(key="number", value=lambda cell: cell.result and cell.result.number),
    ReportColumn(
        key="{metric}",
        head="{label} {split}",
        value=lambda cell: cell.metric(cell.table.metric),
        show=lambda cell: fixed(value_of(cell.row, cell.split, cell.table.metric), ",.2f"),
        best=lambda table: table.metric != PIECES,
        rank=lambda cell: value_of(cell.row, cell.split, cell.table.metric),
    ),
    ReportColumn(
        head="difference from the best on {split}{interval}",
        value=lambda cell: cell.row.difference,
        rank=lambda cell: cell.row.above,
        last=True,
        there=lambda table: table.metric != PIECES,  # pieces of two tokenizers are not one unit
    ),
    ReportColumn(
        key="rank",
        head="rank on {split}",
        value=lambda cell: cell.row.ranks if cell.split == cell.table.splits[-1] else "",
        rank=lambda cell: [int(one) for one in cell.row.ranks.split("-") if one] or None,
        last=True,
        there=lambda table: any(row.ranks for row in table.rows),
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
"""The columns of reports: each entry is a column of the tables in all formats, and a field of the CSV."""
