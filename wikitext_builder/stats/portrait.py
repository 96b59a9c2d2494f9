"""The portrait of a corpus: the registry of its statistics, and their numbers as rows.

A statistic is a function of a `Text` in the module of its group, or of two texts' words here, and a table of
`statistics.toml`.
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
from wikitext_builder.stats.text import Places, Text, Words, read_texts
from wikitext_builder.tables import aligned

if TYPE_CHECKING:
    import pandas as pd

OFTEN: Final = 20  # occurrences of a word in both texts, at least, whose ranks are compared
MOVED: Final = 15  # words in each direction
ALL: Final = "all"
COMPARE: Final = "compare"  # the group of statistics of two texts
SHOWN: Final = 7  # points of a curve in a printed table
WORDS_SHOWN: Final = 20  # and of a row of words
COLUMNS: Final = ("corpus", "split", "statistic", "x", "value", "unit")


@dataclass(frozen=True, slots=True)
class Part:
    """A number or a curve of a statistic."""

    name: str
    label: str
    unit: str = ""
    x: str = ""  # what the x of a curve is; "": a number


@dataclass(frozen=True, slots=True)
class Statistic:
    """What is measured, and where it is defined."""

    key: str
    group: str
    title: str
    definition: str
    source: str
    parts: tuple[Part, ...]
    splits: tuple[str, ...] = ()  # of which it is measured; (): all
    axes: str = ""  # of its chart: "linear", or which are logarithmic; "": no chart
    shown: str = "train"  # the split that its chart shows, if it is there

    def of(self, *texts: Text | Words) -> Iterator[tuple[str, float | str | None, float, str]]:
        """Each number: its name, its x (None if it is not a curve), its value and its unit."""
        module = __name__ if self.group == COMPARE else f"wikitext_builder.stats.{self.group}"
        function: Callable[..., Mapping[str, Any]] = getattr(import_module(module), self.key)
        found = function(*texts)
        for part in self.parts:
            name, value = f"{self.key}.{part.name}", found.get(part.name)
            if part.x:
                yield from ((name, x, float(y), part.unit) for x, y in (value or {}).items())
            elif value is not None:
                yield name, None, float(value), part.unit


@cache
def registry() -> dict[str, Any]:
    """What `statistics.toml` says."""
    return tomllib.loads(files("wikitext_builder.stats").joinpath("statistics.toml").read_text("utf-8"))


@cache
def statistics_of_portrait() -> dict[str, Statistic]:
    """All statistics by name, in the order of the groups."""
    tables = {name: table for name, table in registry().items() if "parts" in table}
    found = {}
    for group in registry()["groups"]:
        for key, table in tables.items():
            if table["group"] == group:
                parts = tuple(Part(*map(str.strip, part.split("|"))) for part in table["parts"])
                splits = tuple(table.get("splits", ()))
                found[key] = Statistic(**{**table, "key": key, "parts": parts, "splits": splits})
    return found


def portrait(
    datasets: Mapping[str, Dataset], measures: Collection[str] = (ALL,), *, raw: bool = False
) -> pd.DataFrame:
    """The rows of `statistics` with `measures`: one per number."""
    import pandas as pd

    chosen = chosen_statistics(measures)
    rows, first = list[tuple[object, ...]](), dict[str, Words]()
    for name, dataset in datasets.items():
        texts = read_texts(dataset, raw=raw)
        for one in chosen:
            if one.group != COMPARE:
                for split in [split for split in texts if split in (one.splits or texts)]:
                    rows += ((name, split, *cells) for cells in one.of(texts[split]))
        text = next(iter(texts.values()))
        own = Words(text.words, text.counts)
        for other, words in first.items():
            for one in chosen:
                if one.group == COMPARE:
                    corpus = f"{other}{NAME_SEPARATOR}{name}"
                    rows += ((corpus, text.split, *cells) for cells in one.of(words, own))
        first = first or {name: own}
    if not rows:
        raise BuilderError(f"{', '.join(datasets)}: too short for --measure {', '.join(measures)}")
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).astype({"value": float})


def chosen_statistics(measures: Collection[str]) -> list[Statistic]:
    """The statistics with some names."""
    known = statistics_of_portrait()
    if unknown := [name for name in measures if name not in known and name != ALL]:
        raise BuilderError(f"no statistic {unknown[0]!r}; expected {ALL}, {', '.join(known)}")
    return [one for key, one in known.items() if key in measures or ALL in measures]


def figure(value: float, unit: str) -> str:
    """A number as a reader sees it; a dash for one that the text is too short for.

    >>> figure(0.1234, "share"), figure(33276.0, "types"), figure(1.05772, ""), figure(math.nan, "")
    ('12.34%', '33,276', '1.058', '–')
    """
    if not math.isfinite(value):
        return "–"
    if unit == "share":
        return f"{value:.2%}" if value >= 0.001 or not value else f"{100 * value:.2g}%"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"


def groups_of(table: pd.DataFrame) -> Iterator[tuple[str, list[Statistic]]]:
    """The titles of the groups, and their statistics that have rows."""
    keys = {name.partition(".")[0] for name in table["statistic"]}
    for group, title in registry()["groups"].items():
        found = [one for key, one in statistics_of_portrait().items() if one.group == group and key in keys]
        if found:
            yield title, found


def tables_of(
    statistics: Sequence[Statistic], table: pd.DataFrame, points: int
) -> tuple[list[tuple[str, str]], list[list[tuple[Part | None, list[list[str]]]]]]:
    """Corpora and splits, and the lines of each statistic: its numbers, without a part, and each curve."""
    own = table[table["statistic"].str.partition(".")[0].isin([one.key for one in statistics])]
    columns = list(dict.fromkeys(zip(own["corpus"], own["split"], strict=True)))
    tables = []
    for one in statistics:
        rows = {part: own[own["statistic"] == f"{one.key}.{part.name}"] for part in one.parts}
        lines = {part: numbers_of(part, some, columns, points) for part, some in rows.items() if len(some)}
        numbers = [line for part, some in lines.items() if not part.x for line in some]
        curves = [(part, some) for part, some in lines.items() if part.x]
        tables.append([*([(None, numbers)] if numbers else []), *curves])
    return columns, tables


def numbers_of(
    part: Part, rows: pd.DataFrame, columns: Sequence[tuple[str, str]], points: int
) -> list[list[str]]:
    """Lines of a table: what it is, and the number of each column; a curve has some points."""
    places = zip(rows["corpus"], rows["split"], rows["x"], strict=True)
    values = dict(zip(places, rows["value"], strict=True))
    steps = list(dict.fromkeys(rows["x"]))
    if len(steps) > points and not isinstance(steps[0], str):
        steps = [steps[round(n * (len(steps) - 1) / (points - 1))] for n in range(points)]
    lines = []
    for x in steps[: max(points, WORDS_SHOWN)]:
        name = part.label if not part.x else x if isinstance(x, str) else f"{part.x} {figure(x, '')}"
        cells = [values.get((*column, x)) for column in columns]
        lines.append([name, *("-" if cell is None else figure(cell, part.unit) for cell in cells)])
    return lines


def as_text(table: pd.DataFrame) -> str:
    """A portrait as plain text: a table per group."""
    blocks = []
    for title, statistics in groups_of(table):
        columns, tables = tables_of(statistics, table, SHOWN)
        blank = [""] * len(columns)
        lines = [[title, *(f"{corpus}, {split}" for corpus, split in columns)]]
        for one, parts in zip(statistics, tables, strict=True):
            lines.append([one.title, *blank])
            for part, some in parts:
                lines += [[f"  {part.label}", *blank]] if part else []
                indent = "    " if part else "  "
                lines += ([indent + name, *cells] for name, *cells in some)
        head, *below = aligned(lines)
        blocks.append("\n".join([head, "-" * len(head), *below]))
    return "\n\n".join(blocks) + "\n"


# --- the statistics of two texts, by their words


def divergence(first: Words, second: Words) -> Measured:
    """Jensen and Shannon's divergence of the shares of words."""
    _, counts = common_counts(first, second)
    if not counts.any(axis=1).all():
        return {}
    return {"bits": jensenshannon(*counts, base=2) ** 2}


def shared(first: Words, second: Words) -> Measured:
    """How much of each vocabulary, and of each text, the other vocabulary has."""
    _, counts = common_counts(first, second)
    if not counts.any(axis=1).all():
        return {}
    has = counts > 0
    both = has.all(axis=0)
    found: Measured = {}
    for name, own, known in (("first", counts[0], has[0]), ("second", counts[1], has[1])):
        found |= {f"types_{name}": both.sum() / known.sum(), f"words_{name}": own[both].sum() / own.sum()}
    return found


def moved(first: Words, second: Words) -> Measured:
    """The words whose rank changed most, as a logarithm of the ratio of ranks: above 0 it rose."""
    words, counts = common_counts(first, second)
    often = np.flatnonzero((counts >= OFTEN).all(axis=0))
    ranks = [rankdata(-row, method="ordinal")[often] for row in counts]
    change = np.log2(ranks[0] / ranks[1])
    order = np.lexsort((often, -change))
    rose = [place for place in order[:MOVED] if change[place] > 0]
    fell = [place for place in order[::-1][:MOVED] if change[place] < 0]
    named: list[Curve] = [{words[often[p]]: float(change[p]) for p in some} for some in (rose, fell)]
    return {"rose": named[0], "fell": named[1]}


def common_counts(first: Words, second: Words) -> tuple[list[str], Places]:
    """The words of both texts but `<unk>`, and how often each text has them."""
    place = {word: number for number, word in enumerate(first.words)}
    for word in second.words:
        place.setdefault(word, len(place))
    counts = np.zeros((2, len(place)), np.int64)
    counts[0, : len(first.words)] = first.counts
    counts[1, [place[word] for word in second.words]] = second.counts
    return list(place)[1:], counts[:, 1:]
