"""Formats tables as CSV and as aligned text, and makes foreign text safe to print."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from io import StringIO
from typing import Final


def csv_text(rows: Iterable[Mapping[str, object]]) -> str:
    r"""Return rows as CSV with a header: columns in the order of first occurrence, lines that end in `\n`.

    Numbers are not rounded. Missing values and None are empty, and spaces separate the items of a list. Names
    can be a stranger's: a text that a spreadsheet would compute gets an apostrophe, and characters that
    control a terminal or the direction of text are escaped.

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


CONTROL_CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t")
NUMBER: Final = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


def _cell(value: object) -> object:
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
    if not isinstance(text, str):
        return text
    text = spelled_out(text)
    return f"'{text}" if text[:1] in FORMULA_STARTS and not NUMBER.fullmatch(text) else text


def spelled_out(text: str) -> str:
    r"""Escape the characters of a text that control a terminal or the direction of text.

    >>> spelled_out("a\x1b[2J\u202eb\n")
    'a\\x1b[2J\\u202eb\n'
    """
    return CONTROL_CHARACTERS.sub(lambda match: ascii(match[0])[1:-1], text)


def one_line(text: str) -> str:
    r"""Return a text, perhaps a stranger's, without line breaks and with its control characters escaped.

    >>> one_line("a model\nof 2 lines\x1b[2J")
    'a model of 2 lines\\x1b[2J'
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return lines with two spaces between columns; columns in `left` are aligned left, the rest right.

    >>> aligned([("", "words"), ("train", "9"), ("test", "12")])
    ['       words', 'train      9', 'test      12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    justifiers = [str.ljust if place in left else str.rjust for place in range(len(widths))]
    lines = (zip(justifiers, row, widths, strict=True) for row in rows)
    return ["  ".join(justify(cell, width) for justify, cell, width in line).rstrip() for line in lines]
