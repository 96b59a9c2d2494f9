"""The portrait of a corpus: the registry of its statistics, and their numbers as rows.

A statistic is a function of a `Text` in the module of its group, and a table of `statistics.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from wikitext_builder.dataset.load import Dataset
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats.text import Text, Words, read_texts
from wikitext_builder.tables import aligned

if TYPE_CHECKING:
    import pandas as pd

ALL: Final = "all"
COMPARE: Final = "compare"  # the group of statistics of two texts
SHOWN: Final = 6  # points of a curve in a printed table
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

    def of(self, *texts: Text | Words) -> Iterator[tuple[Part, float | str | None, float]]:
        """Each number: its part, its x (None if it is not a curve), and its value."""
        function: Callable[..., Mapping[str, Any]] = getattr(
            import_module(f"wikitext_builder.stats.{self.group}"), self.key
        )
        found = function(*texts)
        for part in self.parts:
            value = found.get(part.name)
            if part.x:
                yield from ((part, x, float(y)) for x, y in (value or {}).items())
            elif value is not None:
                yield part, None, float(value)


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
    """The rows of `statistics` with `measures`: one per number.

    Raises:
        BuilderError: There is no such statistic, or a file cannot be read.
    """
    import pandas as pd

    chosen = chosen_statistics(measures)
    rows, first = list[tuple[object, ...]](), dict[str, Words]()
    for name, dataset in datasets.items():
        texts = read_texts(dataset, raw=raw)
        for one in chosen:
            if one.group != COMPARE:
                for split in [split for split in texts if split in (one.splits or texts)]:
                    rows += ((name, split, *_cells(one, *cells)) for cells in one.of(texts[split]))
        text = next(iter(texts.values()))
        own = Words(text.words, text.counts)
        for other, words in first.items():
            for one in chosen:
                if one.group == COMPARE:
                    corpus = f"{other} | {name}"
                    rows += ((corpus, text.split, *_cells(one, *cells)) for cells in one.of(words, own))
        first = first or {name: own}
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).astype({"value": float})


def chosen_statistics(measures: Collection[str]) -> list[Statistic]:
    """The statistics with some names.

    Raises:
        BuilderError: There is no such name.
    """
    known = statistics_of_portrait()
    if unknown := [name for name in measures if name not in known and name != ALL]:
        raise BuilderError(f"--measure {unknown[0]}: expected {ALL}, {', '.join(known)}")
    return [one for key, one in known.items() if key in measures or ALL in measures]


def _cells(one: Statistic, part: Part, x: float | str | None, value: float) -> tuple[object, ...]:
    return f"{one.key}.{part.name}", x, value, part.unit


def figure(value: float, unit: str) -> str:
    """A number as a reader sees it.

    >>> figure(0.1234, "share"), figure(33276.0, "types"), figure(1.05772, "")
    ('12.34%', '33,276', '1.058')
    """
    if unit == "share":
        return f"{value:.2%}" if value >= 0.001 or not value else f"{100 * value:.2g}%"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"


def parts_of(table: pd.DataFrame) -> Iterator[tuple[Statistic, Part, pd.DataFrame]]:
    """The rows of a portrait by statistic and part; parts without rows are left out."""
    for one in statistics_of_portrait().values():
        for part in one.parts:
            rows = table[table["statistic"] == f"{one.key}.{part.name}"]
            if len(rows):
                yield one, part, rows


def columns_of(table: pd.DataFrame) -> list[tuple[str, str]]:
    """The corpora and splits of a portrait, in their order."""
    return list(dict.fromkeys(zip(table["corpus"], table["split"], strict=True)))


def numbers_of(
    part: Part, rows: pd.DataFrame, columns: Sequence[tuple[str, str]], points: int
) -> list[list[str]]:
    """Lines of a table: what it is, and the number of each column; a curve has some points."""
    values = {
        (corpus, split, x): value
        for corpus, split, x, value in zip(
            rows["corpus"], rows["split"], rows["x"], rows["value"], strict=True
        )
    }
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
    groups = registry()["groups"]
    for group, title in groups.items():
        of_group = [each for each in parts_of(table) if each[0].group == group]
        if not of_group:
            continue
        import pandas as pd

        columns = columns_of(pd.concat([rows for *_, rows in of_group]))
        lines, before = [[title, *(f"{corpus}, {split}" for corpus, split in columns)]], ""
        for one, part, rows in of_group:
            if one.key != before:
                lines.append([one.title, *[""] * len(columns)])
            before = one.key
            if part.x:
                lines.append([f"  {part.label}", *[""] * len(columns)])
            indent = "    " if part.x else "  "
            lines += ([indent + name, *cells] for name, *cells in numbers_of(part, rows, columns, SHOWN))
        head, *below = aligned(lines)
        blocks.append("\n".join([head, "-" * len(head), *below]))
    return "\n\n".join(blocks) + "\n"
