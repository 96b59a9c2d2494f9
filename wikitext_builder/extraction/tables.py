"""Removes wikitext tables, nested ones included, line by line."""

from __future__ import annotations

import re

START = re.compile(r"[ \t:*#;]*\{\|")
END = re.compile(r"[ \t]*\|\}")
HEADING = re.compile(r"={2,6}[^=].*=[ \t]*$")
# A row of a table that a template began: only tables have these at the start of a line.
STRAY_ROW = re.compile(
    r"[ \t]*(?:\|-|[|!] ?(?:align|style|rowspan|colspan|width|scope|class|bgcolor|valign|nowrap)\b|"
    r"![^!].*!!|\|.*\|\|)"
)


def remove_tables(text: str) -> str:
    r"""The text without its tables, also those that a template began.

    A table that is never closed ends before the next heading: an editor's slip costs at most one section.

    >>> remove_tables("a\n{| class=x\n|-\n| b\n{|\n| c\n|}\n|} d\ne")
    'a\n\n d\ne'
    """
    if "|" not in text:
        return text
    kept: list[str] = []
    depth = 0
    for line in text.split("\n"):
        if START.match(line):
            depth += 1
        elif (end := END.match(line)) is not None:
            depth = max(depth - 1, 0)
            if depth == 0:
                kept += ["", line[end.end() :]]
        elif depth and HEADING.match(line):
            depth = 0
            kept.append(line)
        elif not depth and "|" in line and STRAY_ROW.match(line):
            depth = 1
        elif not depth:
            kept.append(line)
    return "\n".join(kept)
