"""The conventions of lm-evaluation-harness' task `wikitext` (version 2), to compare numbers with its own.

The task reads the raw file page by page. It gives each page alone to the model, as plain text, in disjoint
windows; the last one is filled up with earlier tokens. It divides by the words and bytes of the page in the
file, tokenized. The rules are those of version 0.4.13 (`preprocess_wikitext.py`), rewritten; `docs/format.md`
says how its words differ from the paper's. They have defects (`N` becomes 1, a quoted plural is joined to its
opening mark, `/' 5/` becomes the pattern that was meant to keep its number): better rules would give
different numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lm_benchmarks.choices import HarnessError

if TYPE_CHECKING:
    from wikitext_builder.dataset.load import Dataset

SLASHED: Final = re.compile("/' [0-9]/"), "/'[0-9]/"
PLAIN_BEFORE: Final = (
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


def plain_text(page: str) -> str:
    r"""A page as the task gives it to a model: without tokenization.

    >>> plain_text(' = A = \n \n He said : " no " , on 3 @,@ 500 ships ( 1 ) . \n')
    ' = A =\n\nHe said: "no", on 3,500 ships (1).\n'
    """
    page = page.replace("s '", "s'")
    page = SLASHED[0].sub(SLASHED[1], page)
    for old, new in PLAIN_BEFORE:
        page = page.replace(old, new)
    for pattern, left, right in ENCLOSED:
        page = pattern.sub(rf"{left}\1{right}", page)
    for old, new in PLAIN_AFTER:
        page = page.replace(old, new)
    return page


def word_count(page: str) -> int:
    """The words of a page as the task counts: between white space, with the empty ones at both ends."""
    return len(re.split(r"\s+", page))


def read_pages(path: Path) -> Iterator[str]:
    """The pages of a file as the task's dataset cuts them: at each line that looks like a title.

    A paragraph that begins and ends with `=` looks like a title: the official test file has 62 pages but 60
    articles. The lines before the first title are a page if they are not blank.
    """
    yield from pages_of(read_text(path))


def title_of(page: str) -> str:
    r"""The title of a page, which is its first line; "" if it begins with something else.

    >>> title_of("\n = Robert = \n \n He acts . \n"), title_of("He acts . ")
    ('Robert', '')
    """
    first = page.strip().partition("\n")[0].strip()
    return first[2:-2] if first.startswith("= ") and first.endswith(" =") and first.isprintable() else ""


def raw_file(dataset: Dataset, split: str) -> Path:
    """The file of a split with its rare words, which most tools read."""
    path = dataset.file(split)
    raw = path if path.suffix == ".raw" else path.with_suffix(".raw")
    if not raw.is_file():
        raise HarnessError(f"{raw}: not found; the convention needs the raw file")
    return raw


def read_text(path: Path) -> str:
    """The text of a file, which is refused if it is blank."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"{path}: {error}; expected a WikiText file in UTF-8") from error
    if not text.strip():
        raise HarnessError(f"{path}: is blank; expected a WikiText file")
    if "\r" in text:  # read as one, the end of a line would be fewer bytes than in the file
        raise HarnessError(f"{path}: has carriage returns; expected lines that end with a newline only")
    return text


def pages_of(text: str) -> Iterator[str]:
    """The pages of the text of a file; see `read_pages`."""
    page: list[str] = []
    for line in text.split("\n"):
        if _is_title(line) and page:
            if "".join(page).strip():
                yield "\n".join(page)
            page = []
        page.append(line)
    if "".join(page).strip():
        yield "\n".join(page)


def _is_title(line: str) -> bool:
    joined = line.replace("= = =", "===").replace("= =", "==").strip()
    return joined.startswith("= ") and joined.endswith(" =")
