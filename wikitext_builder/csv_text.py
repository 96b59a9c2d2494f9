"""Tables as CSV, for spreadsheets and programs: the one place that knows how."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping


def csv_text(rows: Iterable[Mapping[str, object]]) -> str:
    r"""Rows as CSV with a head: all columns in the order in which they first occur, lines that end in `\n`.

    Numbers are not rounded. What is missing or None is empty, and a list is its parts, separated by spaces.

    >>> csv_text([{"a": 1.5, "b": "x, y"}, {"a": None, "c": ("p", "q")}])
    'a,b,c\n1.5,"x, y",\n,,p q\n'
    """
    table = list(rows)
    columns = list(dict.fromkeys(name for row in table for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def _cell(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
