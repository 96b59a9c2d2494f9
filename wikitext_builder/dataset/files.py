"""The text files of a dataset: their grammar, and how to read and write them.

A line is a space, tokens separated by spaces, a space and a newline; a blank line is a space and a newline.
An article is its title (a heading of level 1 with a blank line on both sides), then headings (blank lines on
both sides) and paragraphs, then a blank line. The official files have this format: `docs/format.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from wikitext_builder.dataset.vocabulary import EOS, read_token_lines
from wikitext_builder.errors import BuilderError

TITLE = re.compile(r"= (?!= ).*\S =")


def file_line(line: str) -> str:
    r"""A line as it is written to a file.

    >>> file_line("= Title ="), file_line("")
    (' = Title = \n', ' \n')
    """
    return f" {line} \n" if line else " \n"


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file without their outer spaces: the inverse of `file_line`.

    Raises:
        BuilderError: The file cannot be read, or a line is not of the format.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line == " \n":
                    yield ""
                elif line[:1] == " " and line[1:2] not in ("", " ") and line.endswith(" \n"):
                    yield line[1:-2]
                else:
                    raise BuilderError(
                        f"{path}, line {number}: {line[:60]!r} is not a line of WikiText; expected a space,"
                        " tokens separated by spaces, a space and a newline"
                    )
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a WikiText file in UTF-8") from error


def read_articles(path: Path) -> Iterator[tuple[str, ...]]:
    """The articles of a file, each as its lines, blank ones included.

    An article begins with a blank line, a title and a blank line. A title alone is not enough: some
    paragraphs of the official files look like one, but have no blank lines around them.

    Raises:
        BuilderError: The file cannot be read, or does not begin with an article.
    """
    article: list[str] = []
    window: list[str] = []  # the last three lines, which belong to this article or begin the next one
    for line in read_lines(path):
        window.append(line)
        if len(window) < 3:
            continue
        if not window[0] and not window[2] and TITLE.fullmatch(window[1]):
            if article:
                yield tuple(article)
            article, window = window, []
        elif article:
            article.append(window.pop(0))
        else:
            break
    if article:
        yield (*article, *window)
    elif window:
        raise BuilderError(
            f"{path}: begins with {window!r}; expected a blank line, ` = Title = `, a blank line"
        )


def read_tokens(path: Path) -> Iterator[str]:
    """The tokens of a file, with `<eos>` after each line, blank ones included: the paper counts them so.

    Raises:
        BuilderError: The file cannot be read.
    """
    return chain.from_iterable((*line, EOS) for line in read_token_lines(path))
