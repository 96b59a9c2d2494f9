"""Columns, and tables and pages made of them: as text, Markdown, LaTeX, CSV and HTML.

A column is one entry of a registry. `shown` makes a data frame of the cells that a reader sees, `exact` one
of the values, not rounded; each format is written from such a frame.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jinja2
import pandas as pd

from lm_benchmarks.record_versions import one_line
from wikitext_builder.hashing import content_policy
from wikitext_builder.tables import aligned, csv_text

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


def shown(columns: Iterable[Column], rows: Iterable[object]) -> pd.DataFrame:
    """The cells that a reader sees, as text."""
    wanted = [column for column in columns if column.head]
    cells = [[column.cell(row) for column in wanted] for row in rows]
    frame = pd.DataFrame(cells, columns=[column.head for column in wanted], dtype=object)
    frame.attrs[WORDS] = [column.head for column in wanted if column.words]
    return frame


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


def _lines(frame: pd.DataFrame) -> list[Sequence[str]]:
    return [list(frame.columns), *frame.itertuples(index=False, name=None)]


def _left(frame: pd.DataFrame, words: Collection[str]) -> list[int]:
    """The columns that are aligned to the left: the first one, and those of words."""
    return [place for place, head in enumerate(frame.columns) if place == 0 or head in words]


def text_table(frame: pd.DataFrame) -> str:
    """A table for a terminal."""
    lines = aligned(_lines(frame), _left(frame, frame.attrs.get(WORDS, ())))
    return "".join(f"{line}\n" for line in lines)


def markdown_table(frame: pd.DataFrame, words: Collection[str] = ()) -> str:
    """A table in Markdown, with the first column and those named in `words` aligned to the left."""
    head, *rows = (list(map(markdown_cell, line)) for line in _lines(frame))
    left = _left(frame, words)
    marks = ["---" if place in left else "---:" for place in range(len(head))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *rows))


def latex_table(frame: pd.DataFrame) -> str:
    """A tabular in LaTeX, with the package booktabs."""
    head, *rows = (" & ".join(map(latex_cell, line)) + r" \\" for line in _lines(frame))
    left = _left(frame, frame.attrs.get(WORDS, ()))
    letters = "".join("l" if place in left else "r" for place in range(len(frame.columns)))
    start = [rf"\begin{{tabular}}{{{letters}}}", r"\toprule", head, r"\midrule"]
    return "\n".join([*start, *rows, r"\bottomrule", r"\end{tabular}"])


def markdown_cell(text: str) -> str:
    r"""Text without markup of Markdown or HTML.

    >>> markdown_cell("a|b <eos> *x*")
    'a\\|b &lt;eos&gt; \\*x\\*'
    """
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", html.escape(one_line(text), quote=False))


def latex_cell(text: str) -> str:
    """Text without markup of LaTeX."""
    return "".join(LATEX.get(character, character) for character in one_line(text))


def render(template: str, **values: object) -> str:
    """The text of a template of this package. Values in HTML are escaped.

    A page loads nothing, and its content policy forbids loading.
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> jinja2.Environment:
    style, script = (_resource(f"report.{suffix}") for suffix in ("css", "js"))
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = (markdown_cell, markdown_table, latex_cell, latex_table, one_line, text_table)
    made.filters |= {each.__name__: each for each in filters}
    made.globals |= {
        "style": style,
        "script": script,
        "policy": content_policy(style, script),
        "WORDS": WORDS,
    }
    return made


def _resource(name: str) -> str:
    return files("lm_benchmarks.reporting").joinpath("templates", name).read_text(encoding="utf-8")
