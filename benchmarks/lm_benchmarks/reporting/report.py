"""Writes reports of results: tables, charts, groups of words, and how each number was measured."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd

from lm_benchmarks.choices import REPORT_TITLE, HarnessError
from lm_benchmarks.measuring.select import with_distinct_names
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import Epoch, Result, Trained, read_curve, read_results
from lm_benchmarks.reporting.collect import arranged, groupings_of, tables_of
from lm_benchmarks.reporting.formats import TEXT_COLUMNS, csv_table, render
from lm_benchmarks.reporting.published import PUBLISHED, Published
from lm_benchmarks.reporting.tables import (
    CPU,
    PIECES_METRIC,
    RANKS_NOTE,
    Table,
    core_hours,
    gpu_hours,
    unit_hours,
    value_of,
)
from ps_models.signature import signature_value
from ps_models.training.logs import EPOCHS
from wikitext_builder.charts import PICTURES, Chart, Points, line_chart
from wikitext_builder.files import write_whole

ENDINGS: Final = (".md", ".tex", ".csv", ".html")
MAX_CHART_MODELS: Final = 18  # in a chart of points: as many look different
COSTS: Final = {"core-hours of training": core_hours, "GPU-hours of training": gpu_hours}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The content of a report, in any format."""

    title: str
    tables: tuple[Table, ...]
    charts: tuple[tuple[str, Chart], ...]  # with their titles
    results: tuple[Result, ...]

    @property
    def signatures(self) -> pd.DataFrame:
        """A table of the signatures, which say what decides each number."""
        rows = [(result.model, result.signature["split"], str(result.signature)) for result in self.results]
        frame = pd.DataFrame(rows, columns=["model", "split", "signature"], dtype=object)
        frame.attrs[TEXT_COLUMNS] = list(frame.columns)
        return frame


def report(
    results: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    title: str = REPORT_TITLE,
    published: bool = True,
    logs: Sequence[str | Path] = (),
    columns: Sequence[str] = (),
    sort: str = "",
    figures: str | Path | None = None,
) -> Path:
    """Write a report with tables, charts and signatures of all results; return its path.

    For example, `report("results.jsonl", "report.html")`.

    Args:
        results: Files of JSON lines that `measure` wrote.
        out: The report, ending in `.md`, `.tex`, `.csv` or `.html`.
        title: Title of the report.
        published: Include published numbers, beside results on the official files of the Penn Treebank and
            WikiText-2.
        logs: Folders of training runs to plot, besides those in the results.
        columns: Table columns to show, by their printed names; empty: the default ones.
        sort: Column to sort by, ascending; with `-` before it, descending. Default: best model first.
        figures: Also save each chart in this folder, as PNG, SVG and PDF.

    Raises:
        ToolkitError: The ending or a column is unknown, or a file cannot be read or written.
    """
    target = Path(out)
    if target.suffix not in ENDINGS:
        raise HarnessError(f"{out}: unknown report type; expected a name ending in {', '.join(ENDINGS)}")
    paths = [results] if isinstance(results, str | Path) else results
    made = make_report(
        title,
        [result for path in paths for result in read_results(Path(path))],
        published=PUBLISHED if published else (),
        logs=[Path(log) for log in logs],
    )
    tables = arranged(made.tables, columns=columns, sort=sort, csv=target.suffix == ".csv")
    if figures is not None:
        write_figures(made, Path(figures))
    return write_text(target, report_text(dataclasses.replace(made, tables=tables), target.suffix))


def report_text(report: Report, ending: str) -> str:
    """Return a report in the format of a file ending. Numbers in CSV are not rounded."""
    if ending == ".csv":
        return csv_table(*(table.numbers for table in report.tables))
    named = {"title": report.title, "ranks": RANKS_NOTE, "groupings_of": groupings_of}
    return render(f"report{ending}", report=report, metrics=METRICS.values(), **named)


def write_figures(report: Report, folder: Path) -> None:
    """Write the charts of a report in all kinds of pictures, in files named by their titles."""
    charts = list(report.charts)
    charts += [
        (f"{table.title} by {grouping.by}", grouping.chart)
        for table in report.tables
        for grouping in groupings_of(table)
    ]
    names = Counter[str]()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for title, chart in charts:
            name = signature_value(title).lower()
            names[name] += bool(chart)
            suffix = f"-{names[name]}" if names[name] > 1 else ""  # for example, of two conventions
            for ending in PICTURES if chart else ():
                chart.save(folder / f"{name}{suffix}{ending}")
    except OSError as error:
        raise HarnessError(f"{folder}: {error.strerror}; expected a folder for the figures") from error


def write_text(out: Path, text: str) -> Path:
    """Write a report to a file, in one step unless it is a pipe; return its path.

    Characters that UTF-8 cannot hold, such as other bytes in a title, are escaped.
    """
    is_file = out.is_file() or not out.exists()
    write = partial(write_whole, os.path.realpath(out)) if is_file else out.write_bytes
    try:
        write(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise HarnessError(f"{out}: {error.strerror}; expected a file to write the report to") from error
    return out


def make_report(
    title: str,
    results: Sequence[Result],
    *,
    published: Sequence[Published] = (),
    logs: Sequence[Path] = (),
) -> Report:
    """Collect the content of a report; see `report`."""
    results = with_distinct_names(results)
    trainings = _trained(training for result in results for training in result.trained)
    runs = {name: _points(training.curve) for name, training in trainings.items()}
    names = Counter(log.name for log in logs)
    for path in logs:
        if not (curve := read_curve(path)):
            raise HarnessError(f"{path / EPOCHS}: no epoch; expected the log of a run of `ps-models train`")
        runs[path.name if names[path.name] == 1 else str(path)] = _points(curve)
    on_cpus = {
        name: _points(training.curve, by_second=cost[1])
        for name, training in trainings.items()
        if (cost := unit_hours(training)) and cost[0] == CPU
    }
    tables = tables_of(results, published)
    charts = [
        *(chart for table in tables for chart in cost_charts(table)),
        ("Training", _training_chart("epoch", runs)),
        ("Training by core-hours", _training_chart("core-hours of training", on_cpus, log_x=True)),
    ]
    return Report(
        title=title,
        tables=tuple(tables),
        charts=tuple((name, chart) for name, chart in charts if chart),
        results=tuple(results),
    )


def _trained(runs: Iterable[Trained]) -> dict[str, Trained]:
    """Return the trainings by recipe, and by what else differs if a recipe has several."""
    trainings: dict[tuple[str, ...], Trained] = {}
    for training in runs:
        settings = ", ".join(sorted(training.changes)) or "as it is"
        seed = training.training.get("seed")
        trainings[training.recipe, f", {settings}", f" on {training.data}", f", seed {seed}"] = training
    named = {}
    for parts, training in trainings.items():
        of_each_part = zip(
            *(other_parts for other_parts in trainings if other_parts[0] == parts[0]), strict=True
        )
        differing = (part for part, all_ in zip(parts, of_each_part, strict=True) if len(set(all_)) > 1)
        named["".join([training.recipe, *differing])] = training
    return named


def _training_chart(x_label: str, curves: Mapping[str, Points], *, log_x: bool = False) -> Chart:
    drawn, label = {name: points for name, points in curves.items() if points}, "perplexity on valid"
    return line_chart(f"{label} by {x_label}", drawn, x_label=x_label, y_label=label, log_x=log_x, log_y=True)


def _points(curve: Sequence[Epoch], by_second: float | None = None) -> Points:
    """Return perplexities of valid over epochs; over costs, if the cost of a second is given."""
    return [
        (float(line.epoch) if by_second is None else line.seconds * by_second, line.valid_perplexity)
        for line in curve
        if line.valid_perplexity is not None
    ]


def cost_charts(table: Table) -> list[tuple[str, Chart]]:
    """Return charts of a number against each cost that two or more models have, with titles."""
    split, charts = table.splits[-1], []
    for cost_name, cost_of in COSTS.items():
        points = {}
        for row in table.rows:
            result, value = row.results.get(split), value_of(row, split, table.metric)
            if result is not None and value is not None and not row.is_unfit and (amount := cost_of(result)):
                points[row.model] = [(amount, value)]
        drawn = dict(list(points.items())[:MAX_CHART_MODELS])
        label = f"{table.names['label']} on {split}"
        title = f"{label[0].upper()}{label[1:]} of {table.title} against {cost_name}"
        if len(drawn) > 1 and table.metric != PIECES_METRIC:
            chart = line_chart(title, drawn, x_label=cost_name, y_label=label, log_x=True, log_y=True)
            charts.append((title, chart))
    return charts
