"""Removes the apostrophes that mean italics and bold from a line, counted as MediaWiki does."""

from __future__ import annotations

import re

from wikitext_builder.extraction.markers import SEAM

RUN = re.compile(r"('{2,})")
ORDINARY = frozenset([2, 3, 5])  # lengths of runs that contain no apostrophe of the text


def remove_quotes(line: str) -> str:
    """The line without its marks of italics and bold.

    Two apostrophes are italics, three are bold, five are both; a fourth one, and those over five, are text.
    If bold and italics are both unbalanced, one run of three is an apostrophe and italics (`L'''étoile''`).

    >>> remove_quotes("'''Tokyo''' is ''big''"), remove_quotes("l'''étoile''"), remove_quotes("''''s''''")
    ('Tokyo is big', "l'étoile", "'s'")
    """
    if "''" not in line:
        return line.replace(SEAM, "") if SEAM in line else line
    between = RUN.split(line)
    widths = [len(run) for run in between[1::2]]
    bold = sum(width >= 3 for width in widths)
    italics = sum(width == 2 or width >= 5 for width in widths)
    if not (bold % 2 and italics % 2) and ORDINARY.issuperset(widths):
        return "".join(between[::2]).replace(SEAM, "")
    runs = list(RUN.finditer(line))
    literal = [1 if width == 4 else max(width - 5, 0) for width in widths]
    if bold % 2 and italics % 2:
        index = _apostrophe_before_italics(line, runs)
        if index is not None:
            literal[index] += 1
    pieces, position = [], 0
    for run, apostrophes in zip(runs, literal, strict=True):
        pieces += [line[position : run.start()], "'" * apostrophes]
        position = run.end()
    return "".join([*pieces, line[position:]]).replace(SEAM, "")


def _apostrophe_before_italics(line: str, runs: list[re.Match[str]]) -> int | None:
    """The run of three with the apostrophe: after a one-letter word, else a longer one, else a space."""
    candidates = [index for index, run in enumerate(runs) if len(run[0]) in {3, 4}]

    def rank(index: int) -> int:
        start = runs[index].start()
        before, before_that = line[start - 1 : start], line[max(start - 2, 0) : max(start - 1, 0)]
        if before == " ":
            return 2
        return 0 if before_that == " " else 1

    return min(candidates, key=rank, default=None)
