"""Wikitext tables taken out, one inside another included, a line at a time."""

from __future__ import annotations

import re

START = re.compile(r"[ \t:*#;]*\{\|")
END = re.compile(r"[ \t]*\|\}")
HEADING = re.compile(r"={2,6}[^=].*=[ \t]*$")
ROW = re.compile(r"[ \t]*(?:\|[-+|]|\|$|!.*!!)")


def without_tables(text: str) -> str:
    """The text without its tables and without rows that stand outside of one.

    A table that nothing closes ends before the next heading, so that a slip of an editor costs a section at most.

    >>> without_tables("a\\n{| class=x\\n|-\\n| b\\n{|\\n| c\\n|}\\n|} d\\ne")
    'a\\n\\n d\\ne'
    """
    if "|" not in text:
        return text
    kept: list[str] = []
    depth = 0
    for line in text.split("\n"):
        if START.match(line):
            depth += 1
        elif depth and (end := END.match(line)):
            depth -= 1
            if depth == 0:
                kept += ["", line[end.end() :]]
        elif depth and HEADING.match(line):
            depth = 0
            kept.append(line)
        elif not depth and not _is_stray_row(line):
            kept.append(line)
    return "\n".join(kept)


def _is_stray_row(line: str) -> bool:
    return "|" in line and bool(ROW.match(line) or END.match(line))
