"""Makes the portrait of a corpus: reads the registry of statistics, and returns their numbers as rows.

A statistic is a table of `statistics.toml`, and a function of a `Text` in the module of its group, or of two
texts' words in this module.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.stats import rankdata

from wikitext_builder.dataset.load import NAME_SEPARATOR, Dataset
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats.tail import Curve, Measured
from wikitext_builder.stats.text import Integers, Text, WordCounts, read_texts
from wikitext_builder.tables import aligned

if TYPE_CHECKING:
    import pandas as pd

MIN_OCCURRENCES: Final = 20  # in both texts, of a word whose ranks are compared
MOVED_WORDS: Final = 15  # in each direction
ALL: Final = "all"
COMPARE: Final = "compare"  # the group of statistics of two texts
PRINTED_POINTS: Final = 7  # of a curve in a printed table
PRINTED_WORDS: Final = 20  # of a list of words in a table
COLUMNS: Final = ("corpus", "split", "statistic", "x", "value", "unit")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a statistic: a number or a curve."""

    name: str
    label: str
    unit: str = ""
    x: str = ""  # label of a curve's x; "" for a number


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic, with its definition and the definition's source."""

    key: str
    group: str
    title: str
    definition: str
    source: str
    parts: tuple[Part, ...]
    splits: tuple[str, ...] = ()  # that are measured; () for all
    axes: str = ""  # of its chart: "linear", or the logarithmic axes; "" for no chart
    chart_split: str = "train"  # the split that its chart shows, if measured

    def measure(self, *texts: Text | WordCounts) -> Iterator[tuple[str, float | str | None, float, str]]:
        """Yield each number: name, x (None outside curves), value and unit."""
        module = __name__ if self.group == COMPARE else f"wikitext_builder.stats.{self.group}"
        function: Callable[..., Mapping[str, Any]] = getattr(import_module(module), self.key)
        values = function(*texts)
        for part in self.parts:
            name, value = f"{self.key}.{part.name}", values.get(part.name)
            if part.x:
                yield from ((name, x, float(y), part.unit) for x, y in (value or {}).items())
            elif value is not None:
                yield name, None, float(value), part.unit


@cache
def registry() -> dict[str, Any]:
    """Return the content of `statistics.toml`."""
    return tomllib.loads(files("wikitext_builder.stats").joinpath("statistics.toml").read_text("utf-8"))


@cache
def statistics_of_portrait() -> dict[str, Statistic]:
    """Return all statistics by name, in the order of the groups."""
    tables = {name: table for name, table in registry().items() if "parts" in table}
    statistics = {}
    for group in registry()["groups"]:
        for key, table in tables.items():
            if table["group"] == group:
                parts = tuple(Part(*map(str.strip, part.split("|"))) for part in table["parts"])
                splits = tuple(table.get("splits", ()))
                statistics[key] = Statistic(**{**table, "key": key, "parts": parts, "splits": splits})
    return statistics


def portrait(
    datasets: Mapping[str, Dataset], measures: Collection[str] = (ALL,), *, raw: bool = False
) -> pd.DataFrame:
    """Return the rows of `statistics` with `measures`: one row per number."""
    import pandas as pd

    chosen = chosen_statistics(measures)
    of_a_text = [statistic for statistic in chosen if statistic.group != COMPARE]
    of_two_texts = [statistic for statistic in chosen if statistic.group == COMPARE]
    rows, first = list[tuple[object, ...]](), dict[str, WordCounts]()
    for name, dataset in datasets.items():
        texts = read_texts(dataset, raw=raw)
        for statistic in of_a_text:
            for split in [split for split in texts if split in (statistic.splits or texts)]:
                rows += ((name, split, *cells) for cells in statistic.measure(texts[split]))
        text = next(iter(texts.values()))
        words = WordCounts(text.words, text.counts)
        for first_name, first_words in first.items():
            corpus = f"{first_name}{NAME_SEPARATOR}{name}"
            for statistic in of_two_texts:
                rows += ((corpus, text.split, *cells) for cells in statistic.measure(first_words, words))
        first = first or {name: words}
    if not rows:
        raise BuilderError(f"{', '.join(datasets)}: too short for --measure {', '.join(measures)}")
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).astype({"value": float})


def chosen_statistics(measures: Collection[str]) -> list[Statistic]:
    """Return the statistics that `measures` names."""
    statistics = statistics_of_portrait()
    if unknown := [name for name in measures if name not in statistics and name != ALL]:
        raise BuilderError(f"no statistic {unknown[0]!r}; expected {ALL}, {', '.join(statistics)}")
    return [statistic for key, statistic in statistics.items() if key in measures or ALL in measures]


def figure(value: float, unit: str) -> str:
    """Format a number for readers; a dash stands for a number that the text is too short for.

    >>> figure(0.1234, "share"), figure(33276.0, "types"), figure(1.05772, ""), figure(math.nan, "")
    ('12.34%', '33,276', '1.058', '–')
    """
    if not math.isfinite(value):
        return "–"
    if unit == "share":
        return f"{value:.2%}" if value >= 0.001 or not value else f"{100 * value:.2g}%"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"


def groups_of(table: pd.DataFrame) -> Iterator[tuple[str, list[Statistic]]]:
    """Yield the title of each group with its statistics that have rows."""
    keys = {name.partition(".")[0] for name in table["statistic"]}
    for group, title in registry()["groups"].items():
        statistics = [
            statistic
            for key, statistic in statistics_of_portrait().items()
            if statistic.group == group and key in keys
        ]
        if statistics:
            yield title, statistics


def tables_of(
    statistics: Sequence[Statistic], table: pd.DataFrame, points: int
) -> tuple[list[tuple[str, str]], list[list[tuple[Part | None, list[list[str]]]]]]:
    """Return columns, which are corpora and splits, and per statistic the lines of its numbers and curves."""
    keys = [statistic.key for statistic in statistics]
    table = table[table["statistic"].str.partition(".")[0].isin(keys)]
    columns = list(dict.fromkeys(zip(table["corpus"], table["split"], strict=True)))
    tables = []
    for statistic in statistics:
        lines = dict[Part, list[list[str]]]()
        for part in statistic.parts:
            rows = table[table["statistic"] == f"{statistic.key}.{part.name}"]
            if len(rows):
                lines[part] = lines_of(part, rows, columns, points)
        numbers = [line for part, part_lines in lines.items() if not part.x for line in part_lines]
        curves = [(part, part_lines) for part, part_lines in lines.items() if part.x]
        tables.append([*([(None, numbers)] if numbers else []), *curves])
    return columns, tables


def lines_of(
    part: Part, rows: pd.DataFrame, columns: Sequence[tuple[str, str]], points: int
) -> list[list[str]]:
    """Return lines of a table: a name, and the number of each column; a curve has at most `points` lines."""
    keys = zip(rows["corpus"], rows["split"], rows["x"], strict=True)
    values = dict(zip(keys, rows["value"], strict=True))
    xs = list(dict.fromkeys(rows["x"]))
    if len(xs) > points and not isinstance(xs[0], str):
        xs = [xs[round(n * (len(xs) - 1) / (points - 1))] for n in range(points)]
    lines = []
    for x in xs[: max(points, PRINTED_WORDS)]:
        name = part.label if not part.x else x if isinstance(x, str) else f"{part.x} {figure(x, '')}"
        cells = [values.get((*column, x)) for column in columns]
        lines.append([name, *("-" if cell is None else figure(cell, part.unit) for cell in cells)])
    return lines


def as_text(table: pd.DataFrame) -> str:
    """Format a portrait as plain text: a table per group."""
    blocks = []
    for title, statistics in groups_of(table):
        columns, tables = tables_of(statistics, table, PRINTED_POINTS)
        blank = [""] * len(columns)
        lines = [[title, *(f"{corpus}, {split}" for corpus, split in columns)]]
        for statistic, parts in zip(statistics, tables, strict=True):
            lines.append([statistic.title, *blank])
            for part, part_lines in parts:
                lines += [[f"  {part.label}", *blank]] if part else []
                indent = "    " if part else "  "
                lines += ([indent + name, *cells] for name, *cells in part_lines)
        head, *below = aligned(lines)
        blocks.append("\n".join([head, "-" * len(head), *below]))
    return "\n\n".join(blocks) + "\n"


# --- statistics of two texts, from their words


def divergence(first: WordCounts, second: WordCounts) -> Measured:
    """Measure Jensen and Shannon's divergence of the shares of words."""
    _, counts = common_counts(first, second)
    if not counts.any(axis=1).all():
        return {}
    return {"bits": jensenshannon(*counts, base=2) ** 2}


def shared(first: WordCounts, second: WordCounts) -> Measured:
    """Measure how much of each vocabulary, and of each text, the other vocabulary has."""
    _, counts = common_counts(first, second)
    if not counts.any(axis=1).all():
        return {}
    in_both = (counts > 0).all(axis=0)
    measured: Measured = {}
    for name, text_counts in zip(("first", "second"), counts, strict=True):
        measured[f"types_{name}"] = in_both.sum() / (text_counts > 0).sum()
        measured[f"words_{name}"] = text_counts[in_both].sum() / text_counts.sum()
    return measured


def moved(first: WordCounts, second: WordCounts) -> Measured:
    """Find the words whose rank changed most, as the logarithm of the ratio of ranks: above 0 it rose."""
    words, counts = common_counts(first, second)
    frequent = np.flatnonzero((counts >= MIN_OCCURRENCES).all(axis=0))
    ranks = [rankdata(-text_counts, method="ordinal")[frequent] for text_counts in counts]
    change = np.log2(ranks[0] / ranks[1])
    order = np.lexsort((frequent, -change))
    changes = [(words[frequent[place]], float(change[place])) for place in order]
    rose: Curve = {word: value for word, value in changes[:MOVED_WORDS] if value > 0}
    fell: Curve = {word: value for word, value in changes[::-1][:MOVED_WORDS] if value < 0}
    return {"rose": rose, "fell": fell}


def common_counts(first: WordCounts, second: WordCounts) -> tuple[list[str], Integers]:
    """Return the words of both texts except `<unk>`, and the counts of each text."""
    numbers = {word: number for number, word in enumerate(first.words)}
    for word in second.words:
        numbers.setdefault(word, len(numbers))
    counts = np.zeros((2, len(numbers)), np.int64)
    counts[0, : len(first.words)] = first.counts
    counts[1, [numbers[word] for word in second.words]] = second.counts
    return list(numbers)[1:], counts[:, 1:]
