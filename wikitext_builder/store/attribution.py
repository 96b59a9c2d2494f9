"""Where the articles of a dataset come from: `attribution.tsv`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Final

from wikitext_builder.article import SPLITS, Article
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.lock import expect_file
from wikitext_builder.wiki.languages import Language, language_of

ATTRIBUTION: Final = "attribution.tsv"


def article_url(language: str | Language, revision_id: int) -> str:
    """Return the address of a revision; the page history there names the authors."""
    return f"{language_of(language).index_address}?oldid={revision_id}"


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
    def of(cls, article: Article, split: str, language: str | Language) -> Attribution:
        """Return the attribution of an article of the Wikipedia of a language."""
        return cls(
            split=split,
            title=article.title,
            page_id=article.page_id,
            revision_id=article.revision_id,
            timestamp=article.timestamp,
            url=article_url(language, article.revision_id),
        )

    def line(self) -> str:
        """Return the line of the file."""
        return "\t".join(" ".join(str(value).split()) for value in astuple(self)) + "\n"


ATTRIBUTION_COLUMNS: Final = tuple(field.name for field in fields(Attribution))
ATTRIBUTION_HEAD: Final = "\t".join(ATTRIBUTION_COLUMNS) + "\n"


def read_attribution(directory: Path) -> Iterator[Attribution]:
    """Yield the attributions of a dataset that was built here, in the order of its articles."""
    path = directory / ATTRIBUTION
    expect_file(path)
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if number > 1:
                    yield _parse(path, number, line)
                elif line != ATTRIBUTION_HEAD:
                    raise BuilderError(
                        f"{path}, line 1: expected the columns {', '.join(ATTRIBUTION_COLUMNS)}"
                    )
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected the attribution of a dataset") from error


def _parse(path: Path, number: int, line: str) -> Attribution:
    values = line.removesuffix("\n").split("\t")
    row: dict[str, Any] = dict(zip(ATTRIBUTION_COLUMNS, values, strict=False))
    ids = (row.get("page_id", ""), row.get("revision_id", ""))
    good = len(values) == len(ATTRIBUTION_COLUMNS) and line.endswith("\n") and row["split"] in SPLITS
    if not good or not all(digits.isascii() and digits.isdigit() and len(digits) < 19 for digits in ids):
        raise BuilderError(f"{path}, line {number}: {line[:80]!r} is not {', '.join(ATTRIBUTION_COLUMNS)}")
    return Attribution(**row | {"page_id": int(ids[0]), "revision_id": int(ids[1])})
