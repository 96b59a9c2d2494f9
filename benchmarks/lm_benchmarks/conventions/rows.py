r"""The rows of the data set `wikitext` on Hugging Face's hub: lines, of which blank ones are empty.

The hub's data set has a row per line of the official file. A line keeps its spaces and its newline; a line of
white space is the empty string.
"""

from __future__ import annotations

from lm_benchmarks.conventions.convention import Prepared


def rows_of(file: str) -> list[str]:
    r"""The rows of a file.

    >>> rows_of(" \n = Tea = \n \n Tea is a drink . \n")
    ['', ' = Tea = \n', '', ' Tea is a drink . \n']
    """
    lines = file.split("\n")
    complete = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return [line if line.strip() else "" for line in complete]


def joined_rows(file: str) -> list[Prepared]:
    r"""The rows with two newlines between them, so that each blank line becomes several newlines.

    >>> joined_rows(" \n = Tea = \n")[0].text
    '\n\n = Tea = \n'
    """
    return [Prepared(text="\n\n".join(rows_of(file)), file_bytes=len(file.encode()))]
