"""`attribution.tsv`: where each article of a dataset comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

from wikitext_builder.article import SPLITS, Article
from wikitext_builder.errors import BuilderError

ATTRIBUTION: Final = "attribution.tsv"
LOCK: Final = "titles.lock"  # beside it: the revisions that the build chose from


def article_url(language: str, revision_id: int) -> str:
    """The address of a revision; the page history there names the authors."""
    return f"https://{language}.wikipedia.org/w/index.php?oldid={revision_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Where an article comes from: a line of `attribution.tsv`."""

    split: str
    title: str
    page_id: int
    revision_id: int
    timestamp: str  # of the revision
    url: str  # the page history at this address names the authors

    @classmethod
    def of(cls, article: Article, split: str, language: str) -> Attribution:
        """The attribution of an article of the Wikipedia of a language."""
        return cls(
            split=split,
            title=article.title,
            page_id=article.page_id,
            revision_id=article.revision_id,
            timestamp=article.timestamp,
            url=article_url(language, article.revision_id),
        )

    def line(self) -> str:
        """The line of the file."""
        return "\t".join(" ".join(str(value).split()) for value in astuple(self)) + "\n"


COLUMNS: Final = tuple(field.name for field in fields(Attribution))
HEAD: Final = "\t".join(COLUMNS) + "\n"


def read_attribution(directory: Path) -> Iterator[Attribution]:
    """The attributions of a dataset that was built here, in the order of its articles, one at a time.

    Raises:
        BuilderError: The file is missing, or a line is wrong.
    """
    path = directory / ATTRIBUTION
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if number > 1:
                    yield _parse(path, number, line)
                elif line != HEAD:
                    raise BuilderError(f"{path}, line 1: expected the columns {', '.join(COLUMNS)}")
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected the attribution of a dataset") from error


def _parse(path: Path, number: int, line: str) -> Attribution:
    values = line.removesuffix("\n").split("\t")
    row = dict(zip(COLUMNS, values, strict=False))
    ids = (row.get("page_id", ""), row.get("revision_id", ""))
    good = len(values) == len(COLUMNS) and line.endswith("\n") and row["split"] in SPLITS
    if not good or not all(one.isascii() and one.isdigit() and len(one) < 19 for one in ids):
        raise BuilderError(f"{path}, line {number}: {line[:80]!r} is not {', '.join(COLUMNS)}")
    page_id, revision_id = map(int, ids)
    return Attribution(
        split=row["split"],
        title=row["title"],
        page_id=page_id,
        revision_id=revision_id,
        timestamp=row["timestamp"],
        url=row["url"],
    )
