"""The conventions of lm-evaluation-harness' task `wikitext` (version 2), so that its numbers can be met.

The task reads the raw file page by page, hands each page to the model as untokenized text, alone, in windows
that do not overlap, and divides by the words and bytes of the page as it lies in the file, tokenized. All of
this is written anew from a description of what the task does; `docs/format.md` says how its words differ from
the paper's. The rules below are the task's with their defects (`N` becomes 1, a quoted plural is glued to its
opening mark): with better ones the numbers would be other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from wikitext_builder.errors import BuilderError

CONVENTION: Final = "lm-eval.wikitext.2"  # its name in signatures

PLAIN_BEFORE: Final = (
    ("s '", "s'"),
    ("/' [0-9]/", "/'[0-9]/"),
    (" @-@ ", "-"),
    (" @,@ ", ","),
    (" @.@ ", "."),
    *((f" {mark} ", f"{mark} ") for mark in ":;.!?,"),
)
ENCLOSED: Final = tuple(
    (re.compile(rf"{re.escape(left)}\s*([^{re.escape(right)}]*?)\s*{re.escape(right)}"), left, right)
    for left, right in ("()", "[]", "{}", '""', "''")
)
PLAIN_AFTER: Final = (
    ("= = = =", "===="),
    ("= = =", "==="),
    ("= =", "=="),
    (" ° ", "°"),
    (" \n", "\n"),
    ("\n ", "\n"),
    (" N ", " 1 "),
    (" 's", "'s"),
)


def untokenized(page: str) -> str:
    r"""A page as the task gives it to a model.

    >>> untokenized(' = A = \n \n He said : " no " , on 3 @,@ 500 ships ( 1 ) . \n')
    ' = A =\n\nHe said: "no", on 3,500 ships (1).\n'
    """
    for old, new in PLAIN_BEFORE:
        page = page.replace(old, new)
    for pattern, left, right in ENCLOSED:
        page = pattern.sub(rf"{left}\1{right}", page)
    for old, new in PLAIN_AFTER:
        page = page.replace(old, new)
    return page


def word_count(page: str) -> int:
    """Parts of a page between white space as the task counts, the empty ones at its ends included."""
    return len(re.split(r"\s+", page))


def read_pages(path: Path) -> Iterator[str]:
    """The pages of a file as the task's dataset cuts them: at each line that looks like a title.

    A paragraph that begins and ends with `=` looks like one: the official test file has 62 pages, of 60
    articles. What comes before the first title is a page if it is not blank.

    Raises:
        BuilderError: The file cannot be read, or is blank.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a WikiText file in UTF-8") from error
    page: list[str] = []
    empty = True
    for line in lines:
        if _is_title(line) and page:
            if "".join(page).strip():
                empty = False
                yield "\n".join(page)
            page = []
        page.append(line)
    if "".join(page).strip():
        yield "\n".join(page)
    elif empty:
        raise BuilderError(f"{path}: is blank; expected a WikiText file")


def _is_title(line: str) -> bool:
    joined = line.replace("= = =", "===").replace("= =", "==").strip()
    return joined.startswith("= ") and joined.endswith(" =")
