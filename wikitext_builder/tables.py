"""Tables of rows as CSV and as aligned text."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from io import StringIO
from typing import Final


def csv_text(rows: Iterable[Mapping[str, object]]) -> str:
    r"""Rows as CSV with a head: all columns in the order in which they first occur, lines that end in `\n`.

    Numbers are not rounded. What is missing or None is empty, and a list is its parts, separated by spaces. A
    text that a spreadsheet would compute gets an apostrophe, and characters that steer a terminal or turn the
    direction of text are spelled out: names can be a stranger's.

    >>> csv_text([{"a": 1.5, "b": "x, y"}, {"a": None, "c": ("p", "q")}])
    'a,b,c\n1.5,"x, y",\n,,p q\n'
    >>> csv_text([{"name": "=1+2", "number": "-0.5"}])
    "name,number\n'=1+2,-0.5\n"
    """
    table = list(rows)
    columns = list(dict.fromkeys(name for row in table for name in row))
    text = StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


STEERING: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
FORMULA: Final = ("=", "+", "-", "@", "\t")
NUMBER: Final = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


def _cell(value: object) -> object:
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
    if not isinstance(text, str):
        return text
    text = spelled_out(text)
    return f"'{text}" if text[:1] in FORMULA and not NUMBER.fullmatch(text) else text


def spelled_out(text: str) -> str:
    r"""A text with its control characters, and those that turn the direction of text, as escapes.

    >>> spelled_out("a\x1b[2J\u202eb\n")
    'a\\x1b[2J\\u202eb\n'
    """
    return STEERING.sub(lambda match: ascii(match[0])[1:-1], text)


def one_line(text: str) -> str:
    r"""A text, perhaps a stranger's, without line ends and characters that steer a terminal.

    >>> one_line("a model\nof 2 lines\x1b[2J")
    'a model of 2 lines\\x1b[2J'
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Lines of text with two spaces between columns: those of `left` to the left, the others to the right.

    >>> aligned([("", "words"), ("train", "9"), ("test", "12")])
    ['       words', 'train      9', 'test      12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    justify = [str.ljust if place in left else str.rjust for place in range(len(widths))]
    lines = (zip(justify, row, widths, strict=True) for row in rows)
    return ["  ".join(do(cell, width) for do, cell, width in line).rstrip() for line in lines]
