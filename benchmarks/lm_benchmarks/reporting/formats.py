"""Columns, and tables and pages made of them: as text, Markdown, LaTeX, CSV and HTML.

A column is one entry of a registry. `framed` makes a data frame of the cells that a reader sees, `exact` one
of the values, not rounded; each format is written from such a frame. The table of a model by convention is
all of it in a page: `CONVENTION_COLUMNS`, and `write_conventions`, which can write any format.
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
WORDS: Final = "words"  # attribute of a frame: the headings of columns that are aligned to the left
TITLES: Final = "titles"  # attribute of a frame: what pages show on hover, by place: values that are rounded
MANY, LONG = 6, 24  # columns of a LaTeX table, and characters of a name, that a page has no room for
BEST: Final = "best"  # attribute of a frame: the places, row and column, of values that are bold


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table, in any format."""

    value: Callable[[Any], object]  # of a row, not rounded
    key: str = ""  # its name in CSV and JSON; "": it is not there
    head: str = ""  # its heading in tables; "": it is not there
    show: Callable[[Any], str] | None = None  # the cell of a row in tables; None: the value as text
    words: bool = False  # text, which is aligned to the left

    def cell(self, row: object) -> str:
        """What a reader sees."""
        if self.show is not None:
            return self.show(row)
        value = self.value(row)
        return "" if value is None else str(value)


def fixed(value: float | None, form: str, none: str = "") -> str:
    """A number as a format says, or `none`."""
    return none if value is None else format(value, form)


def framed(cells: Sequence[Sequence[str]], heads: Mapping[str, bool]) -> pd.DataFrame:
    """Cells below their headings, which say whether a column has words."""
    frame = pd.DataFrame(cells, columns=list(heads), dtype=object)
    frame.attrs[WORDS] = [head for head, words in heads.items() if words]
    return frame


def mark_best(frame: pd.DataFrame, values: Mapping[tuple[int, int], object]) -> None:
    """Mark the lowest of some values by their places, and ties with it. A single value is not the best."""
    numbers = ((place, value) for place, value in values.items() if isinstance(value, int | float))
    known = {place: value for place, value in numbers if math.isfinite(value)}
    if len(known) > 1:
        least = str(frame.iat[min(known, key=lambda place: known[place])])
        best = [place for place in known if str(frame.iat[place]) == least]
        frame.attrs[BEST] = [*frame.attrs.get(BEST, ()), *best]


def exact(columns: Iterable[Column], rows: Iterable[object]) -> pd.DataFrame:
    """The values, not rounded, under the names that programs read."""
    wanted = [column for column in columns if column.key]
    values = [[column.value(row) for column in wanted] for row in rows]
    return pd.DataFrame(values, columns=[column.key for column in wanted], dtype=object)


def csv_table(*frames: pd.DataFrame) -> str:
    """CSV of frames below each other; one of other columns adds them."""
    return csv_text({str(key): value for key, value in row.items()} for one in frames for row in records(one))


def records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows of a frame, by the names of its columns."""
    return frame.to_dict("records")


def _lines(
    frame: pd.DataFrame, cell: Callable[[str], str] = str, bold: str = "{}"
) -> tuple[list[str], list[list[str]]]:
    """The headings and the rows, as a format writes a cell and what is bold."""
    best = frame.attrs.get(BEST, ())
    rows = [
        [bold.format(cell(text)) if (row, column) in best else cell(text) for column, text in enumerate(line)]
        for row, line in enumerate(frame.itertuples(index=False, name=None))
    ]
    return list(map(cell, frame.columns)), rows


def _left(frame: pd.DataFrame, words: Collection[str]) -> list[int]:
    """The columns that are aligned to the left: the first one, and those of words."""
    return [place for place, head in enumerate(frame.columns) if place == 0 or head in words]


def text_table(frame: pd.DataFrame) -> str:
    """A table for a terminal."""
    head, rows = _lines(frame)
    lines = aligned([head, *rows], _left(frame, frame.attrs.get(WORDS, ())))
    return "".join(f"{line}\n" for line in lines)


def markdown_table(frame: pd.DataFrame, words: Collection[str] = ()) -> str:
    """A table in Markdown, with the first column and those named in `words` aligned to the left."""
    head, rows = _lines(frame, markdown_cell, "**{}**")
    left = _left(frame, words)
    marks = ["---" if place in left else "---:" for place in range(len(head))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *rows))


def latex_table(frame: pd.DataFrame) -> str:
    """A LaTeX tabular, for the package booktabs. Headings are no wider than the cells below them.

    Beside many columns long names in the first one are cut into lines.
    """
    _, rows = _lines(frame, latex_cell, r"\textbf{{{}}}")
    left = _left(frame, frame.attrs.get(WORDS, ()))
    letters = "".join("l" if place in left else "r" for place in range(len(frame.columns)))
    head = []
    for letter, (name, cells) in zip(letters, frame.items(), strict=True):
        parts = textwrap.wrap(one_line(str(name)), max([8, *cells.map(len)]), break_long_words=False)
        text = r"\\".join(f"{{{latex_cell(part)}}}" for part in parts)  # \\[ would be a length
        head.append(rf"\shortstack[{letter}]{{{text}}}" if len(parts) > 1 else latex_cell(str(name)))
    if len(letters) >= MANY and frame.iloc[:, 0].map(len).max() > LONG:
        letters = f"p{{9em}}{letters[1:]}"
        rows = [[rf"\raggedright\hangindent=1em {name}", *cells] for name, *cells in rows]
    body = [" & ".join(line) + r" \\" for line in (head, *rows)]
    start = [rf"\begin{{tabular}}{{{letters}}}", r"\toprule", body[0], r"\midrule"]
    return "\n".join([*start, *body[1:], r"\bottomrule", r"\end{tabular}"])


def markdown_cell(text: str) -> str:
    r"""Text without markup of Markdown or HTML.

    >>> markdown_cell("a|b <eos> *x*")
    'a\\|b &lt;eos&gt; \\*x\\*'
    """
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", html.escape(one_line(text), quote=False))


def latex_cell(text: str) -> str:
    r"""Text without markup of LaTeX.

    >>> latex_cell("[2] kn_5")  # after the end of a row this would be a length
    '{}[2] kn\\_5'
    """
    cell = "".join(LATEX.get(character, character) for character in one_line(text))
    return f"{{}}{cell}" if cell.lstrip().startswith(("[", "*")) else cell


FILTERS: Final = (markdown_cell, markdown_table, latex_cell, latex_table, one_line, text_table)


def render(template: str, **values: object) -> str:
    """The text of a template of this package. Values in HTML are escaped."""
    return render_template(Path(__file__).parent / "templates" / template, *FILTERS, **values)


def _window(one: ByConvention) -> str:
    rule, window = one.convention, "" if one.result is None else one.result.signature.get("windows", "")
    differs = window and rule.window is not None and window != str(rule.window)
    return f"{window} (the rule: {rule.window})" if differs else window


CONVENTION_COLUMNS: Final = (
    Column(key="convention", head="convention", value=lambda one: one.convention.name),
    Column(
        key="number",
        head="number",
        value=lambda one: one.number,
        show=lambda one: (
            fixed(one.number, ",.4f", "–")
            + " BROKEN" * bool(_broken(one))
            + " LOSES CHARACTERS" * bool(one.result and one.result.is_lossy)
        ),
    ),
    Column(
        key="bits_per_byte",
        head="bits per byte",
        value=lambda one: one.bits_per_byte,
        show=lambda one: fixed(one.bits_per_byte, ".4f", "–"),
    ),
    Column(head="window", value=_window, words=True),
    Column(key="scored", head="what is scored", value=lambda one: one.convention.scored, words=True),
    Column(key="context", head="context", value=lambda one: one.convention.context, words=True),
    Column(key="normaliser", head="divided by", value=lambda one: one.convention.normaliser, words=True),
    Column(key="preparation", head="text", value=lambda one: one.convention.preparation, words=True),
    Column(key="source", value=lambda one: one.convention.source),
    Column(key="proof", value=lambda one: one.convention.proof),
    Column(
        key="known",
        head="known numbers",
        value=lambda one: list(one.convention.known),
        show=lambda one: "; ".join(one.convention.known),
        words=True,
    ),
    Column(key="signature", value=lambda one: str(one.result.signature) if one.result else None),
    Column(key="broken", value=lambda one: one.result.broken if one.result else ()),
    Column(key="why", value=lambda one: one.why),
)


def write_conventions(found: Sequence[ByConvention], form: str) -> str:
    """Return the table as `text`, `markdown`, `csv`, `latex`, `html` (a self-contained page) or `json`."""
    values = exact(CONVENTION_COLUMNS, found)
    if form == "json":
        rows = [
            {key: finite(value) if isinstance(value, float) else value for key, value in row.items()}
            for row in records(values)
        ]
        return json.dumps(rows, ensure_ascii=False) + "\n"
    if form == "csv":
        return csv_table(values.assign(known=values["known"].map("; ".join)))
    made = [one.result for one in found if one.result]
    columns = [column for column in CONVENTION_COLUMNS if column.head]
    cells = [[column.cell(one) for column in columns] for one in found]
    frame = framed(cells, {column.head: column.words for column in columns})
    # There is no number, or it means nothing: a stored result says which laws the model breaks.
    reasons = [
        one_line(f"{one.convention.name}: {why}")
        for one in found
        for why in (one.why, _broken(one), *warnings_of(filter(None, [one.result])))
        if why
    ]
    return render(
        f"conventions.{form}",
        title=f"{made[0].model} by convention" if made else "Perplexity by convention",
        frame=frame,
        narrow=frame.iloc[:, :4],  # what fits a terminal
        reasons=reasons,
        signatures=[str(result.signature) for result in made],
    )


def _broken(one: ByConvention) -> str:
    checks = (one.result and one.result.checks) or {}
    return "; ".join(f"BREAKS {law}: {what}" for law, what in checks.items() if what)
