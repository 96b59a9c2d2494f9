"""Whole articles as plain text, not tokenized, with what is known of their pages: the export `articles/`.

The text has the lines of the raw file before tokenization, except that a paragraph with formulas is one line
and that each formula is LaTeX between dollar signs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from wikitext_builder.article import Article, heading_level
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.store.attribution import article_url
from wikitext_builder.wiki.languages import Language

ARTICLES: Final = "articles"  # the folder; its files are named by their splits
BATCH: Final = 64  # rows that are read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of an article, without its sub-sections, which follow it."""

    heading: str
    level: int  # 1: the beginning of the article, under its title; 2 and more as in wikitext
    text: str  # its paragraphs, one per line


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainArticle:
    """An article as plain text: a row of the export."""

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # of the revision, ISO 8601 in UTC
    created: str | None = None  # the page's first revision; None: not known
    url: str  # of the revision; its history names the authors
    wikidata_id: str | None  # Q1490; None if it is not known
    categories: tuple[str, ...]  # that the page names itself, not those that its templates add
    quality: str  # featured, good, or empty for neither, as the page's text says
    sections: tuple[Section, ...]
    formulas: tuple[str, ...]  # LaTeX of each formula of the text, in order; empty if it is not known
    left_out: tuple[str, ...]  # names of the templates whose text is missing, one per call
    text: str  # all of it: the title, headings and paragraphs, one per line

    @classmethod
    def of(cls, article: Article, language: str | Language, created: str = "") -> PlainArticle:
        """The plain text of an extracted article of the Wikipedia of a language.

        `created` is the date of its creation; empty if it is not known.
        """
        return cls(
            title=article.title,
            page_id=article.page_id,
            revision_id=article.revision_id,
            timestamp=article.timestamp,
            created=created or None,
            url=article_url(language, article.revision_id),
            wikidata_id=article.wikidata_id or None,
            categories=article.categories,
            quality=article.quality,
            sections=sections_of(article.plain_lines),
            formulas=article.formulas,
            left_out=tuple(map(call_name, article.left_out)),
            text="\n".join(article.plain_lines[1:-1]),
        )


def sections_of(lines: Sequence[str]) -> tuple[Section, ...]:
    """The sections of plain lines, which begin with a title."""
    found: list[tuple[str, int, list[str]]] = []
    for line in lines:
        if level := heading_level(line):
            found.append((line[level:-level].strip(), level, []))
        elif line and found:
            found[-1][2].append(line)
    return tuple(Section(heading=name, level=level, text="\n".join(parts)) for name, level, parts in found)


def read_plain_articles(directory: Path, split: str) -> Iterator[PlainArticle]:
    """The exported articles of a split, in the order of the dataset, one at a time."""
    paths = sorted((directory / ARTICLES).glob(f"{split}-*.parquet"))
    if not paths:
        raise BuilderError(f"{directory}: no {ARTICLES}/{split}-*.parquet; build the dataset with --articles")
    try:
        for row in chain.from_iterable(map(parquet_rows, paths)):
            yield msgspec.convert(row, PlainArticle)
    except (OSError, ValueError) as error:
        raise BuilderError(f"{directory}: {ARTICLES} of {split} are damaged ({error})") from error


def parquet_rows(path: Path) -> Iterator[object]:
    """The rows of a Parquet file; ValueError: it is damaged."""
    import pyarrow as pa  # here, because the import is slow
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file, pq.ParquetFile(file) as table:  # Arrow takes only paths in UTF-8
            for batch in table.iter_batches(batch_size=BATCH):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
