"""A report as Markdown, LaTeX or CSV, and the texts that all formats share."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records.lines import one_line
from lm_benchmarks.reporting.report import FEW, Grouping, Report
from lm_benchmarks.reporting.tables import ReportRow, Table, cells, columns, has_differences
from wikitext_builder.tables import csv_text

LAWS: Final = (
    "A model whose laws are marked BROKEN looks at later words, has probabilities that do not sum to one,"
    " remembers earlier calls, or scores differently in other chunks or batches: its number means nothing."
    " lm-benchmarks check tries the laws."
)
INTERVALS: Final = "Intervals: paired bootstrap over passages, 10,000 draws, percentiles."
LATEX: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def markdown(report: Report) -> str:
    """Tables, notes on published numbers, groups of words and signatures."""
    parts = [f"# {markdown_cell(report.title)}"]
    for table, groupings in zip(report.tables, report.groupings, strict=True):
        parts += [f"## {markdown_cell(table.data)}", markdown_cell(table.caption)]
        parts.append(markdown_table(columns(table), [cells(table, row) for row in table.rows]))
        parts += [f"- {markdown_cell(note)}" for note in notes(table)]
        for grouping in groupings:
            parts += [f"### By {grouping.by}", markdown_cell(group_legend(grouping))]
            parts.append(markdown_table(group_columns(grouping), group_rows(grouping)))
    parts += ["## How the numbers were measured", f"{LAWS} {INTERVALS}"]
    parts += [f"- {markdown_cell(name)}: `{line}`" for name, line in signatures(*report.tables)]
    return "\n\n".join(parts) + "\n"


def latex(report: Report) -> str:
    """Tables for a paper, with the package booktabs. The signatures are comments above each table."""
    parts = ["% Needs \\usepackage{booktabs}"]
    for number, table in enumerate(report.tables, start=1):
        head = columns(table)
        caption = f"{table.caption} {INTERVALS}" if has_differences(table) else table.caption
        lines = [
            *(f"% {one_line(name)}: {line}" for name, line in signatures(table)),
            r"\begin{table}",
            r"\centering",
            r"\begin{tabular}{l" + "r" * (len(head) - 2) + "l}",
            r"\toprule",
            " & ".join(map(latex_cell, head)) + r" \\",
            r"\midrule",
            *(" & ".join(map(latex_cell, cells(table, row))) + r" \\" for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{latex_cell(caption)}}}",
            rf"\label{{tab:benchmark-{number}}}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def comma_separated(report: Report) -> str:
    """The numbers of all tables, not rounded: a line per model and split, measured or published."""
    return csv_text(line for table in report.tables for row in table.rows for line in _lines(table, row))


def _lines(table: Table, row: ReportRow) -> Iterator[dict[str, object]]:
    for split in table.splits:
        result = row.results.get(split)
        if result is None and split not in row.published:
            continue
        yield {
            "data": table.data,
            **table.kind,
            "split": split,
            "model": row.model,
            "parameters": None if result is None else result.parameters,
            "published": row.published.get(split),
            "number": None if result is None else result.number,  # of the rule of a convention
            **{
                name: None if result is None else METRICS[name].of(result.total)
                for name in (table.metric, table.bytes_metric)
            },
            "laws": row.laws,
            "source": row.source,
            "signature": None if result is None else str(result.signature),
        }


def notes(table: Table) -> list[str]:
    """The sources of published numbers, and what the numbers do not show."""
    return [
        f"{row.model}: {'. '.join(part.rstrip('.') for part in (row.source, row.note) if part)}."
        for row in table.rows
        if row.source or row.note
    ]


def signatures(*tables: Table) -> list[tuple[str, str]]:
    """The model and the signature of each result in the tables."""
    shown = [
        result for table in tables for row in table.rows for result in row.results.values()
    ]  # if a model was measured twice, the last result
    return [(result.model, str(result.signature)) for result in shown]


def group_legend(grouping: Grouping) -> str:
    """What the numbers of a table of groups are, and what its chart shows."""
    errors = any(bar and bar.error is not None for row in grouping.differences.values() for bar in row)
    return (
        f"{grouping.about[0].upper()}{grouping.about[1:]}. The numbers are nats per token; lower is better."
        + (f" The chart shows how many more than {grouping.best}." if grouping.differences else "")
        + (" Error bars: two standard errors, paired over parts of the text." if errors else "")
        + (f" Pale: fewer than {FEW:,} tokens." if any(grouping.few) else "")
    )


def group_columns(grouping: Grouping) -> list[str]:
    """The headings of a table of groups."""
    return [grouping.by, "tokens", *grouping.nats]


def group_rows(grouping: Grouping) -> list[list[str]]:
    """The cells of a table of groups: mean nats per token, by model."""
    return [
        [
            label,
            f"{tokens:,}",
            *("" if row[place] is None else f"{row[place]:.4f}" for row in grouping.nats.values()),
        ]
        for place, (label, tokens) in enumerate(zip(grouping.labels, grouping.tokens, strict=True))
    ]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with the first column aligned to the left."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(markdown_cell, line)) + " |" for line in lines)


def markdown_cell(text: str) -> str:
    r"""Text without markup of Markdown or HTML.

    >>> markdown_cell("a|b <eos> *x*")
    'a\\|b &lt;eos&gt; \\*x\\*'
    """
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", html.escape(one_line(text), quote=False))


def latex_cell(text: str) -> str:
    """Text without markup of LaTeX."""
    return "".join(LATEX.get(character, character) for character in one_line(text))
