"""Macros: the text of templates. `registry.MACROS` has them all, by the name of the template.

Texts with arguments are rows of `data/patterns.tsv`; a macro that computes is a function of its family's
module, with its names in the decorator `@macro`. The functions here read the tables in `data/`: tab-separated
files with a line of column names after the comments.

`convert` is Module:Convert: `convert_arguments` reads the numbers and options of a call, `convert_units` has
the units of `data/convert/`, `convert_rounding` converts and decides the number of digits.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


def read_table(name: str) -> list[list[str]]:
    """The rows of a table; empty cells at the end may be missing.

    Raises:
        ValueError: A row has more cells than the table has columns, or nothing in its first one.
    """
    path = files("wikitext_builder.extraction.macros") / "data" / f"{name}.tsv"
    text = path.read_text(encoding="utf-8")
    columns, *rows = [line.split("\t") for line in text.splitlines() if line[:2] != "# "]
    for place, row in enumerate(rows):
        if not row[0] or len(row) > len(columns):
            raise ValueError(f"{path}: expected a name and at most {len(columns)} cells: {row}")
        if len(row) < len(columns):
            rows[place] = row + [""] * (len(columns) - len(row))
    return rows


@cache
def _by_kind(table: str) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for kind, *cells in read_table(table):
        found.setdefault(kind, []).append(cells)
    return found


def lookup(kind: str) -> dict[str, str]:
    """What `lookups.tsv` has of one kind: the symbol of an element, the country of a code.

    >>> lookup("element")["iron"], lookup("country")["NED"]
    ('Fe', 'Netherlands')
    """
    return {key: value.replace("␣", " ") for key, value in _by_kind("lookups")[kind]}


def words(name: str) -> tuple[str, ...]:
    """The words of a set of `words.tsv`, in their order.

    >>> words("months")[:2]
    ('January', 'February')
    """
    return tuple(word for (text,) in _by_kind("words")[name] for word in text.split())
