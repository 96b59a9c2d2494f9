"""Writes the portrait of datasets as one self-contained page, and its charts as files."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wikitext_builder.charts import Chart, expect_picture, line_chart
from wikitext_builder.dataset.load import NAME_SEPARATOR, load_named, printable
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats.portrait import (
    ALL,
    Statistic,
    chosen_statistics,
    groups_of,
    portrait,
    registry,
    tables_of,
)
from wikitext_builder.stats.statistics import to_records
from wikitext_builder.tables import csv_text
from wikitext_builder.webpages import PAGE_ENDINGS, render

if TYPE_CHECKING:
    import pandas as pd

CSV_DIGITS: Final = 6  # of a number in the CSV of a page
MAX_CURVE_ROWS: Final = 60  # of a curve's table


def describe(*directories: str | Path, out: str | Path, names: Sequence[str] = (), raw: bool = False) -> Path:
    """Write the portrait of datasets as a page of charts, tables, definitions and numbers; return its path.

    Args:
        directories: Datasets built here, in the layout of WikiText or the Penn Treebank, or with `train.txt`.
        out: The file to write, ending in .html.
        names: Names for the datasets, in order; default: see `load_named`.
        raw: Measure the text before rare words became `<unk>`.

    Raises:
        BuilderError: A dataset does not exist, a file cannot be read, or `out` has another ending.
    """
    out = Path(out)
    if out.suffix.lower() not in PAGE_ENDINGS:
        raise BuilderError(f"{out}: expected a name that ends in .html")
    datasets = load_named(directories, names)
    table = portrait(datasets, raw=raw)
    name_options = (word for name in names for word in ("--name", printable(name)))
    arguments = [*map(printable, directories), *name_options, *["--raw"] * raw]
    out.write_text(page(table, shlex.join(arguments)), encoding="utf-8")
    return out


def plot_statistic(
    measure: str, *directories: str | Path, out: str | Path, names: Sequence[str] = (), raw: bool = False
) -> Path:
    """Draw a statistic of the portrait, a curve per dataset; return its path.

    Args:
        measure: A statistic, such as `heaps`, for its first chart; or a part: `out_of_vocabulary.by_size`.
        directories: See `describe`.
        out: The file to write, ending in .png, .svg or .pdf.
        names: Names for the datasets, in order; default: see `load_named`.
        raw: Measure the text before rare words became `<unk>`.

    Raises:
        BuilderError: A dataset or statistic does not exist or has no curve, or `out` has another ending.
    """
    expect_picture(out := Path(out), BuilderError)
    key, _, part = measure.partition(".")
    datasets = load_named(directories, names)
    statistic, *_ = chosen_statistics([key])
    drawn = charts(statistic, portrait(datasets, [key], raw=raw)) if key != ALL else {}
    if not drawn or (part and part not in drawn):
        parts = ", ".join(f"{key}.{name}" for name in drawn) or "a statistic with a curve, such as heaps"
        raise BuilderError(f"{measure}: nothing to draw; expected {parts}")
    return drawn[part or next(iter(drawn))].save(out)


def charts(statistic: Statistic, table: pd.DataFrame) -> dict[str, Chart]:
    """Return the charts of a statistic by their first part; parts with the same axes share a chart."""
    drawn = dict[str, Chart]()
    curve_parts = [part for part in statistic.parts if part.x] if statistic.axes else []
    for axes in dict.fromkeys((part.x, part.unit) for part in curve_parts):
        parts = {f"{statistic.key}.{part.name}": part for part in curve_parts if (part.x, part.unit) == axes}
        curves = dict[str, list[tuple[float, float]]]()
        rows = table[table["statistic"].isin(parts)]
        for (corpus, name), part_rows in rows.groupby(["corpus", "statistic"], sort=False):
            split = min(part_rows["split"], key=lambda split: (split != statistic.chart_split, split))
            points = part_rows[part_rows["split"] == split]
            label = f"{corpus}, {split}" + (f": {parts[str(name)].label}" if len(parts) > 1 else "")
            curves[label] = list(zip(points["x"].astype(float), points["value"], strict=True))
        first = next(iter(parts.values()))
        unit = f" ({first.unit})" if first.unit not in ("", "share", first.label) else ""
        chart = line_chart(
            f"{statistic.title}: {first.label} by {first.x}",
            curves,
            x_label=first.x,
            y_label=first.label + unit,
            log_x=statistic.axes in ("x", "xy"),
            log_y=statistic.axes == "xy",
            curves_per_color=len(parts),
        )
        if chart:
            drawn[first.name] = chart
    return drawn


def page(table: pd.DataFrame, arguments: str) -> str:
    """Return the HTML of a portrait; `arguments` are those of a command that draws one of its charts."""
    corpora = [corpus for corpus in dict.fromkeys(table["corpus"]) if NAME_SEPARATOR not in corpus]
    *first, last = corpora
    listed = " and ".join(filter(None, (", ".join(first), last)))
    rounded = table.assign(value=[float(f"{value:.{CSV_DIGITS}g}") for value in table["value"]])
    return render(
        Path(__file__).with_name("describe.html"),
        title=f"{listed} compared" if first else f"Portrait of {listed}",
        corpora=corpora,
        arguments=arguments,
        groups=[
            (title, [_section(statistic, table) for statistic in statistics])
            for title, statistics in groups_of(table)
        ],
        not_measured=registry()["not_measured"],
        csv=base64.b64encode(csv_text(to_records(rounded)).encode()).decode(),
    )


def _section(
    statistic: Statistic, table: pd.DataFrame
) -> tuple[Statistic, dict[str, Chart], list[tuple[str, pd.DataFrame]]]:
    """Return a statistic, its charts, and its tables with their headings."""
    import pandas as pd

    columns, (parts,) = tables_of([statistic], table, MAX_CURVE_ROWS)
    tables = list[tuple[str, pd.DataFrame]]()
    for part, lines in parts:
        head = part.x if part else "measure"
        heading = part.label + f" by {part.x}" * (part.label != part.x) if part else ""
        cells = [[name.removeprefix(f"{head} "), *values] for name, *values in lines]
        tables.append((heading, pd.DataFrame(cells, columns=[head, *map(", ".join, columns)])))
    return statistic, charts(statistic, table), tables
