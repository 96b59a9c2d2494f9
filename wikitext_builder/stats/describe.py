"""The portrait of datasets as one page that loads nothing, and its charts as files."""

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

DIGITS: Final = 6  # of a number in the data of a page
POINTS: Final = 60  # rows of a curve's table


def describe(*directories: str | Path, out: str | Path, names: Sequence[str] = (), raw: bool = False) -> Path:
    """Write the portrait of datasets as a page of charts, tables, definitions and numbers; return its path.

    Args:
        directories: Datasets built here, in the layout of WikiText or the Penn Treebank, or with `train.txt`.
        out: The file to write, ending in .html.
        names: Names for the datasets, in order; default: see `load_named`.
        raw: Measure the text before rare words became `<unk>`.

    Raises:
        BuilderError: There is no dataset, a file cannot be read, or the suffix is another.
    """
    out = Path(out)
    if out.suffix.lower() not in PAGE_ENDINGS:
        raise BuilderError(f"{out}: expected a name that ends in .html")
    datasets = load_named(directories, names)
    table = portrait(datasets, raw=raw)
    words = [*map(printable, directories), *(word for name in names for word in ("--name", printable(name)))]
    out.write_text(page(table, shlex.join(words + ["--raw"] * raw)), encoding="utf-8")
    return out


def plot_statistic(
    measure: str, *directories: str | Path, out: str | Path, names: Sequence[str] = (), raw: bool = False
) -> Path:
    """Draw a statistic of the portrait, a curve per dataset; return its path.

    Args:
        measure: Its name, such as `heaps`, for its first chart, or a part: `out_of_vocabulary.by_size`.
        directories: See `describe`.
        out: The file to write, ending in .png, .svg or .pdf.
        names: Names for the datasets, in order; default: see `load_named`.
        raw: Measure the text before rare words became `<unk>`.

    Raises:
        BuilderError: There is no dataset, no such statistic or no curve of it, or the suffix is another.
    """
    expect_picture(out := Path(out), BuilderError)
    key, _, part = measure.partition(".")
    datasets = load_named(directories, names)
    one, *_ = chosen_statistics([key])
    drawn = charts(one, portrait(datasets, [key], raw=raw)) if key != ALL else {}
    if not drawn or (part and part not in drawn):
        parts = ", ".join(f"{key}.{name}" for name in drawn) or "a statistic with a curve, such as heaps"
        raise BuilderError(f"{measure}: nothing to draw; expected {parts}")
    return drawn[part or next(iter(drawn))].save(out)


def charts(one: Statistic, table: pd.DataFrame) -> dict[str, Chart]:
    """The charts of a statistic by the first part of each; parts over the same axes share one."""
    drawn = dict[str, Chart]()
    curves = [part for part in one.parts if part.x] if one.axes else []
    for axes in dict.fromkeys((part.x, part.unit) for part in curves):
        parts = {f"{one.key}.{part.name}": part for part in curves if (part.x, part.unit) == axes}
        own = dict[str, list[tuple[float, float]]]()
        rows = table[table["statistic"].isin(parts)]
        for (corpus, name), every in rows.groupby(["corpus", "statistic"], sort=False):
            split = min(every["split"], key=lambda split: (split != one.shown, split))
            points = every[every["split"] == split]
            label = f"{corpus}, {split}" + (f": {parts[str(name)].label}" if len(parts) > 1 else "")
            own[label] = list(zip(points["x"].astype(float), points["value"], strict=True))
        first = next(iter(parts.values()))
        unit = f" ({first.unit})" if first.unit not in ("", "share", first.label) else ""
        chart = line_chart(
            f"{one.title}: {first.label} by {first.x}",
            own,
            x_label=first.x,
            y_label=first.label + unit,
            log_x=one.axes in ("x", "xy"),
            log_y=one.axes == "xy",
            curves_per_color=len(parts),
        )
        if chart:
            drawn[first.name] = chart
    return drawn


def page(table: pd.DataFrame, words: str) -> str:
    """The HTML of a portrait; `words` are those of a command that draws one of its charts alone."""
    corpora = [corpus for corpus in dict.fromkeys(table["corpus"]) if NAME_SEPARATOR not in corpus]
    *others, last = corpora
    listed = " and ".join(filter(None, (", ".join(others), last)))
    shown = table.assign(value=[float(f"{value:.{DIGITS}g}") for value in table["value"]])
    return render(
        Path(__file__).with_name("describe.html"),
        title=f"{listed} compared" if others else f"Portrait of {listed}",
        corpora=corpora,
        words=words,
        groups=[(title, [_section(one, table) for one in found]) for title, found in groups_of(table)],
        not_measured=registry()["not_measured"],
        csv=base64.b64encode(csv_text(to_records(shown)).encode()).decode(),
    )


def _section(one: Statistic, table: pd.DataFrame) -> tuple[Statistic, dict[str, Chart], list[object]]:
    """A statistic, its charts, and its tables with their headings."""
    import pandas as pd

    columns, (parts,) = tables_of([one], table, POINTS)
    tables = list[object]()
    for part, lines in parts:
        head = part.x if part else "measure"
        heading = part.label + f" by {part.x}" * (part.label != part.x) if part else ""
        cells = [[name.removeprefix(f"{head} "), *others] for name, *others in lines]
        tables.append((heading, pd.DataFrame(cells, columns=[head, *map(", ".join, columns)])))
    return one, charts(one, table), tables
