"""Columns, and tables and pages made of them: as text, Markdown, LaTeX, CSV and HTML.

A column is an entry of a registry. `framed` makes a data frame of the cells that a reader sees, `exact` one
of the values, not rounded; every format is written from such a frame. Here is also the table of a model by
convention: `CONVENTION_COLUMNS`, which `write_conventions` writes in any format.
"""

from __future__ import annotations

import html
import json
import math
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from lm_benchmarks.records import finite, warnings_of
from wikitext_builder.tables import aligned, csv_text, one_line
from wikitext_builder.webpages import render as render_template

if TYPE_CHECKING:
    from lm_benchmarks.measuring.measure import ByConvention

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
# Attributes of a frame: headings of columns that are aligned to the left; what pages show on hover, by place
# (row and column), because cells are rounded; and places of bold values.
TEXT_COLUMNS, HOVER_TEXTS, BEST_PLACES = "words", "titles", "best"
# Columns of a LaTeX table, and characters of a name, for which a page has no room.
MANY_COLUMNS, LONG_NAME = 6, 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table, in any format."""

    value: Callable[[Any], object]  # of a row, not rounded
    key: str = ""  # its name in CSV and JSON; "": it is absent there
    head: str = ""  # its heading in tables; "": it is absent there
    show: Callable[[Any], str] | None = None  # the cell of a row in tables; None: the value as text
    words: bool = False  # True: text, aligned to the left

    def cell(self, row: object) -> str:
        """Return the cell of a row as a reader sees it."""
        if self.show is not None:
            return self.show(row)
        value = self.value(row)
        return "" if value is None else str(value)


def fixed(value: float | None, form: str, none: str = "") -> str:
    """Format a number, or return `none`."""
    return none if value is None else format(value, form)


def framed(cells: Sequence[Sequence[str]], heads: Mapping[str, bool]) -> pd.DataFrame:
    """Make a frame of cells below their headings; a heading is True if its column has words."""
    frame = pd.DataFrame(cells, columns=list(heads), dtype=object)
    frame.attrs[TEXT_COLUMNS] = [head for head, words in heads.items() if words]
    return frame


def mark_best(frame: pd.DataFrame, values: Mapping[tuple[int, int], object]) -> None:
    """Mark the places of the lowest value and its ties as best. A single value is not the best."""
    numbers = ((place, value) for place, value in values.items() if isinstance(value, int | float))
    finite_values = {place: value for place, value in numbers if math.isfinite(value)}
    if len(finite_values) > 1:
        lowest = str(frame.iat[min(finite_values, key=lambda place: finite_values[place])])
        best = [place for place in finite_values if str(frame.iat[place]) == lowest]
        frame.attrs[BEST_PLACES] = [*frame.attrs.get(BEST_PLACES, ()), *best]


def exact(columns: Iterable[Column], rows: Iterable[object]) -> pd.DataFrame:
    """Make a frame of the values, not rounded, under the names that programs read."""
    named = [column for column in columns if column.key]
    values = [[column.value(row) for column in named] for row in rows]
    return pd.DataFrame(values, columns=[column.key for column in named], dtype=object)


def csv_table(*frames: pd.DataFrame) -> str:
    """Write frames below each other as CSV, with the columns of all of them."""
    return csv_text(
        {str(key): value for key, value in row.items()} for table in frames for row in records(table)
    )


def records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a frame, by the names of its columns."""
    return frame.to_dict("records")


def _lines(
    frame: pd.DataFrame, cell: Callable[[str], str] = str, bold: str = "{}"
) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows, with cells and bold text in a format's markup."""
    best = frame.attrs.get(BEST_PLACES, ())
    rows = [
        [bold.format(cell(text)) if (row, column) in best else cell(text) for column, text in enumerate(line)]
        for row, line in enumerate(frame.itertuples(index=False, name=None))
    ]
    return list(map(cell, frame.columns)), rows


def _left(frame: pd.DataFrame, words: Collection[str]) -> list[int]:
    """Return the columns that are aligned to the left: the first one, and those of words."""
    return [place for place, head in enumerate(frame.columns) if place == 0 or head in words]


def text_table(frame: pd.DataFrame) -> str:
    """Write a table for a terminal."""
    head, rows = _lines(frame)
    lines = aligned([head, *rows], _left(frame, frame.attrs.get(TEXT_COLUMNS, ())))
    return "".join(f"{line}\n" for line in lines)


def markdown_table(frame: pd.DataFrame, words: Collection[str] = ()) -> str:
    """Write a Markdown table; the first column and those named in `words` are aligned to the left."""
    head, rows = _lines(frame, markdown_cell, "**{}**")
    left = _left(frame, words)
    marks = ["---" if place in left else "---:" for place in range(len(head))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *rows))


def latex_table(frame: pd.DataFrame) -> str:
    """Write a LaTeX tabular, for the package booktabs. Headings are no wider than the cells below them.

    In a table of many columns, long names in the first column are broken into lines.
    """
    _, rows = _lines(frame, latex_cell, r"\textbf{{{}}}")
    left = _left(frame, frame.attrs.get(TEXT_COLUMNS, ()))
    letters = "".join("l" if place in left else "r" for place in range(len(frame.columns)))
    head = []
    for letter, (name, cells) in zip(letters, frame.items(), strict=True):
        parts = textwrap.wrap(one_line(str(name)), max([8, *cells.map(len)]), break_long_words=False)
        text = r"\\".join(f"{{{latex_cell(part)}}}" for part in parts)  # \\[ would be a length
        head.append(rf"\shortstack[{letter}]{{{text}}}" if len(parts) > 1 else latex_cell(str(name)))
    if len(letters) >= MANY_COLUMNS and frame.iloc[:, 0].map(len).max() > LONG_NAME:
        letters = f"p{{9em}}{letters[1:]}"
        rows = [[rf"\raggedright\hangindent=1em {name}", *cells] for name, *cells in rows]
    body = [" & ".join(line) + r" \\" for line in (head, *rows)]
    start = [rf"\begin{{tabular}}{{{letters}}}", r"\toprule", body[0], r"\midrule"]
    return "\n".join([*start, *body[1:], r"\bottomrule", r"\end{tabular}"])


def markdown_cell(text: str) -> str:
    r"""Escape markup of Markdown and HTML.

    >>> markdown_cell("a|b <eos> *x*")
    'a\\|b &lt;eos&gt; \\*x\\*'
    """
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", html.escape(one_line(text), quote=False))


def latex_cell(text: str) -> str:
    r"""Escape markup of LaTeX.

    >>> latex_cell("[2] kn_5")  # after the end of a row this would be a length
    '{}[2] kn\\_5'
    """
    cell = "".join(LATEX.get(character, character) for character in one_line(text))
    return f"{{}}{cell}" if cell.lstrip().startswith(("[", "*")) else cell


FILTERS: Final = (markdown_cell, markdown_table, latex_cell, latex_table, one_line, text_table)


def render(template: str, **values: object) -> str:
    """Fill in a template of this package. Values in HTML are escaped."""
    return render_template(Path(__file__).parent / "templates" / template, *FILTERS, **values)


def _window(measurement: ByConvention) -> str:
    convention, result = measurement.convention, measurement.result
    window = "" if result is None else result.signature.get("windows", "")
    differs = window and convention.window is not None and window != str(convention.window)
    return f"{window} (the rule: {convention.window})" if differs else window


CONVENTION_COLUMNS: Final = (
    Column(key="convention", head="convention", value=lambda row: row.convention.name),
    Column(
        key="number",
        head="number",
        value=lambda row: row.number,
        show=lambda row: (
            fixed(row.number, ",.4f", "–")
            + " BROKEN" * bool(_broken(row))
            + " LOSES CHARACTERS" * bool(row.result and row.result.is_lossy)
        ),
    ),
    Column(
        key="bits_per_byte",
        head="bits per byte",
        value=lambda row: row.bits_per_byte,
        show=lambda row: fixed(row.bits_per_byte, ".4f", "–"),
    ),
    Column(head="window", value=_window, words=True),
    Column(key="scored", head="what is scored", value=lambda row: row.convention.scored, words=True),
    Column(key="context", head="context", value=lambda row: row.convention.context, words=True),
    Column(key="normaliser", head="divided by", value=lambda row: row.convention.normaliser, words=True),
    Column(key="preparation", head="text", value=lambda row: row.convention.preparation, words=True),
    Column(key="source", value=lambda row: row.convention.source),
    Column(key="proof", value=lambda row: row.convention.proof),
    Column(
        key="published",
        head="published numbers",
        value=lambda row: list(row.convention.published),
        show=lambda row: "; ".join(row.convention.published),
        words=True,
    ),
    Column(key="signature", value=lambda row: str(row.result.signature) if row.result else None),
    Column(key="broken", value=lambda row: row.result.broken if row.result else ()),
    Column(key="why", value=lambda row: row.why),
)


def write_conventions(measurements: Sequence[ByConvention], form: str) -> str:
    """Return the table as `text`, `markdown`, `csv`, `latex`, `html` (a self-contained page) or `json`."""
    values = exact(CONVENTION_COLUMNS, measurements)
    if form == "json":
        rows = [
            {key: finite(value) if isinstance(value, float) else value for key, value in row.items()}
            for row in records(values)
        ]
        return json.dumps(rows, ensure_ascii=False) + "\n"
    if form == "csv":
        return csv_table(values.assign(published=values["published"].map("; ".join)))
    results = [measurement.result for measurement in measurements if measurement.result]
    columns = [column for column in CONVENTION_COLUMNS if column.head]
    cells = [[column.cell(measurement) for column in columns] for measurement in measurements]
    frame = framed(cells, {column.head: column.words for column in columns})
    # Why a number is missing or meaningless; a stored result has the invariants that its model violates.
    reasons = [
        one_line(f"{measurement.convention.name}: {reason}")
        for measurement in measurements
        for reason in (measurement.why, _broken(measurement), *_warnings(measurement))
        if reason
    ]
    return render(
        f"conventions.{form}",
        title=f"{results[0].model} by convention" if results else "Perplexity by convention",
        frame=frame,
        narrow=frame.iloc[:, :4],  # fits a terminal
        reasons=reasons,
        signatures=[str(result.signature) for result in results],
    )


def _broken(measurement: ByConvention) -> str:
    checks = (measurement.result and measurement.result.checks) or {}
    return "; ".join(f"BREAKS {name}: {violation}" for name, violation in checks.items() if violation)


def _warnings(measurement: ByConvention) -> list[str]:
    return warnings_of(filter(None, [measurement.result]))
