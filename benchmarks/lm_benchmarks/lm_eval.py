"""The rules of lm-evaluation-harness' task `wikitext` (version 2), to make numbers comparable with its own.

The task reads the raw file page by page. It gives each page alone to the model, as plain text, in disjoint
windows; the last one is filled up with earlier tokens. It divides by the words and bytes of the tokenized
page in the file. The rules are those of version 0.4.13 (`preprocess_wikitext.py`), rewritten;
`docs/format.md` says how its words differ from the paper's. Defects are kept, because better rules would give
different numbers: `N` becomes 1, a quoted plural is joined to its opening mark, and `/' 5/` becomes the
pattern that was meant to keep its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lm_benchmarks.choices import HarnessError

if TYPE_CHECKING:
    from wikitext_builder.dataset.load import Dataset

SLASHED_DIGIT: Final = re.compile("/' [0-9]/"), "/'[0-9]/"
REPLACED_BEFORE_BRACKETS: Final = (
    (" @-@ ", "-"),
    (" @,@ ", ","),
    (" @.@ ", "."),
    *((f" {mark} ", f"{mark} ") for mark in ":;.!?,"),
)
BRACKETS: Final = tuple(
    (re.compile(rf"{re.escape(left)}\s*([^{re.escape(right)}]*?)\s*{re.escape(right)}"), left, right)
    for left, right in ("()", "[]", "{}", '""', "''")
)
REPLACED_AFTER_BRACKETS: Final = (
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
    r"""Return a page as the task gives it to a model: without tokenization.

    >>> plain_text(' = A = \n \n He said : " no " , on 3 @,@ 500 ships ( 1 ) . \n')
    ' = A =\n\nHe said: "no", on 3,500 ships (1).\n'
    """
    page = page.replace("s '", "s'")
    page = SLASHED_DIGIT[0].sub(SLASHED_DIGIT[1], page)
    for old, new in REPLACED_BEFORE_BRACKETS:
        page = page.replace(old, new)
    for pattern, left, right in BRACKETS:
        page = pattern.sub(rf"{left}\1{right}", page)
    for old, new in REPLACED_AFTER_BRACKETS:
        page = page.replace(old, new)
    return page


def word_count(page: str) -> int:
    """Count the words of a page as the task does: between white space, including empty ones at both ends."""
    return len(re.split(r"\s+", page))


def read_pages(path: Path) -> Iterator[str]:
    """Yield the pages of a file as the task's dataset cuts them: at each line that looks like a title.

    A paragraph that begins and ends with `=` looks like a title: the official test file has 62 pages but 60
    articles. The lines before the first title are a page if they are not blank.
    """
    yield from pages_of(read_text(path))


def title_of(page: str) -> str:
    r"""Return the title of a page, which is its first line; "" if the page begins with something else.

    >>> title_of("\n = Robert = \n \n He acts . \n"), title_of("He acts . ")
    ('Robert', '')
    """
    first = page.strip().partition("\n")[0].strip()
    return first[2:-2] if first.startswith("= ") and first.endswith(" =") and first.isprintable() else ""


def raw_file(dataset: Dataset, split: str) -> Path:
    """Return the raw file of a split, with its rare words, which most tools read."""
    path = dataset.file(split)
    raw = path if path.suffix == ".raw" else path.with_suffix(".raw")
    if not raw.is_file():
        raise HarnessError(f"{raw}: not found; the convention needs the raw file")
    return raw


def read_text(path: Path) -> str:
    """Return the text of a file; reject a blank one."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"{path}: {error}; expected a WikiText file in UTF-8") from error
    if not text.strip():
        raise HarnessError(f"{path}: is blank; expected a WikiText file")
    # Python's universal newlines would count fewer bytes than the file has.
    if "\r" in text:
        raise HarnessError(f"{path}: has carriage returns; expected lines that end with a newline only")
    return text


def pages_of(text: str) -> Iterator[str]:
    """Yield the pages of a text; see `read_pages`."""
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
