"""Removes wikitext tables, nested ones included, line by line."""

from __future__ import annotations

import re

from wikitext_builder.extraction.markers import BOX, GONE, UNKNOWN_START

START = re.compile(r"[ \t:*#;]*\{\|")
END = re.compile(r"[ \t]*\|\}")
HEADING = re.compile(r"={2,6}[^=].*=[ \t]*$")
# A row of a table that a template began: only tables have these at the start of a line.
STRAY_ROW = re.compile(
    r"[ \t]*(?:\|-|[|!] ?(?:align|style|rowspan|colspan|width|scope|class|bgcolor|valign|nowrap)\b|"
    r"![^!].*!!|\|.*\|\|)"
)


# Lines of a table: rows, cells, and templates, which may stand for rows and cells.
TABLE_LINE = ("|", "!", BOX, GONE, UNKNOWN_START)


def remove_tables(text: str) -> str:
    r"""Return the text without its tables, also those that a template began.

    Text before the first cell of a row is not in the table: browsers show it above. A table that is never
    closed ends with its last line of rows and cells before the next heading, at the next blank line.

    >>> remove_tables("a\n{| class=x\n|-\n| b\n{|\n| c\n|}\n|} d\ne").split()
    ['a', 'd', 'e']
    >>> remove_tables("{|\n* a\n|}\n{|\n|b\n\nc").split()
    ['*', 'a', 'c']
    """
    if "|" not in text:
        return text
    lines = text.split("\n")
    kept: list[str] = []
    cells: list[bool] = []  # of each open table: True after the first cell of a row
    inside = start = 0  # how many of them are True; the first line of the outermost table
    for index, line in enumerate(lines):
        if START.match(line):
            start = start if cells else index
            cells.append(False)
        elif (end := END.match(line)) is not None:
            inside -= cells.pop() if cells else 0
            if not cells:
                kept += ["", line[end.end() :]]
        elif cells and HEADING.match(line):
            kept += [*_after_rows(lines[start:index]), line]
            cells, inside = [], 0
        elif cells:
            bare = line.lstrip()
            new_row = bare.startswith("|-")
            before, cells[-1] = cells[-1], not new_row and (cells[-1] or bare.startswith(TABLE_LINE))
            inside += cells[-1] - before
            if not inside:
                kept.append("" if new_row else line)
        elif "|" in line and STRAY_ROW.match(line):
            start, cells, inside = index, [True], 1
        else:
            kept.append(line)
    if cells:
        kept += _after_rows(lines[start:])
    return "\n".join(kept)


def _after_rows(lines: list[str]) -> list[str]:
    """What follows the last row or cell of an unclosed table, from a blank line or a template on."""
    rows = (index for index, line in enumerate(lines) if line.lstrip().startswith(("|", "!", "{|")))
    last = max(rows, default=0)
    after = range(last + 1, len(lines))
    end = next((at for at in after if not lines[at].strip() or lines[at].startswith(BOX)), len(lines))
    return ["", *lines[end:]]
