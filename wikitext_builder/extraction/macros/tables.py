"""Reads tables in `data/`: tab-separated files with a line of column names after the comments."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


def read_table(name: str, *, head: bool = False) -> list[list[str]]:
    """The rows of a table, with `head` also that of column names; empty cells at the end may be missing.

    Raises:
        ValueError: A row has more cells than the table has columns, or nothing in its first one.
    """
    path = files("wikitext_builder.extraction.macros") / "data" / f"{name}.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if not line.startswith("# "))
    columns = lines[start].count("\t") + 1
    rows = []
    first = start + (0 if head else 1)
    for number, line in enumerate(lines[first:], first + 1):
        if line.startswith("# "):
            continue
        cells = line.split("\t")
        if len(cells) > columns or not cells[0]:
            raise ValueError(f"{path}, line {number}: expected a name and at most {columns} cells: {line!r}")
        rows.append(cells if len(cells) == columns else cells + [""] * (columns - len(cells)))
    return rows


@cache
def _lookups() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for kind, key, value in read_table("lookups"):
        found.setdefault(kind, {})[key] = value.replace("␣", " ")
    return found


def lookup(kind: str) -> dict[str, str]:
    """What `lookups.tsv` has of one kind: the symbol of an element, the country of a code.

    >>> lookup("element")["iron"], lookup("country")["NED"]
    ('Fe', 'Netherlands')
    """
    return _lookups()[kind]


# English names of languages by their codes, as {{lang-…}} shows them.
LANGUAGE_NAMES: dict[str, str] = dict(row[:2] for row in read_table("languages"))
