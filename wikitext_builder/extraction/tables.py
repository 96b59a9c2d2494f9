"""Wikitext tables taken out, one inside another included, a line at a time."""

from __future__ import annotations

import re

START = re.compile(r"[ \t:*#;]*\{\|")
END = re.compile(r"[ \t]*\|\}")
HEADING = re.compile(r"={2,6}[^=].*=[ \t]*$")
# A row whose table a template began: nothing but a table has these at the start of a line.
STRAY_ROW = re.compile(
    r"[ \t]*(?:\|-|[|!] ?(?:align|style|rowspan|colspan|width|scope|class|bgcolor|valign|nowrap)\b|"
    r"![^!].*!!|\|.*\|\|)"
)


def without_tables(text: str) -> str:
    r"""The text without its tables, those included whose beginning a template gave.

    A table that nothing closes ends before the next heading: a slip of an editor costs a section at most.

    >>> without_tables("a\n{| class=x\n|-\n| b\n{|\n| c\n|}\n|} d\ne")
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
