"""Reads and writes files that name pages: lock files, files of titles, and the attribution of a dataset."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any, Final, TextIO

from wikitext_builder.article import SPLITS, Article
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.reading import language_in, stored_language
from wikitext_builder.store.schema import Rejected, Revision, storable
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import tidy_title, title_fault
from wikitext_builder.wiki.dates import is_timestamp, parse_date
from wikitext_builder.wiki.languages import Language, language_of, reported_names, with_names

FORMAT = "wikitext-builder lock 1"
COLUMNS = ("title", "page_id", "revision_id", "timestamp", "sha1")
OPTIONAL_COLUMNS = ("created", "html")  # present if at least one revision has a value
COLUMN_LISTS = [
    (*COLUMNS, *optional) for count in range(3) for optional in combinations(OPTIONAL_COLUMNS, count)
]
NAMES_LINE = "# names "  # begins line 2 if the wiki reports names that `languages.toml` lacks: JSON
FIRST_LINE = re.compile(rf"# {FORMAT}; language (\S+); wiki (.+)")
LOCK: Final = "titles.lock"  # in a dataset: the revisions from which the build chose
PAGE_OR_REVISION_ID = re.compile(r"[1-9][0-9]{0,17}")
SHA1 = re.compile(r"[0-9a-f]{40}")
CHECKS: Final[Mapping[str, Callable[[str], object]]] = {  # by column
    "title": lambda title: not title_fault(title),
    "page_id": PAGE_OR_REVISION_ID.fullmatch,
    "revision_id": PAGE_OR_REVISION_ID.fullmatch,
    "timestamp": is_timestamp,
    "sha1": SHA1.fullmatch,
    "created": is_timestamp,
    "html": SHA1.fullmatch,
}


def lock(store: str | Path, *, language: str | None = None, as_of: str | None = None) -> str:
    """Return the text of a lock file: the newest revision of each page of a store, one per line.

    Fetching with this file and building the same recipe gives the same bytes. Write it as UTF-8, without
    newline translation.

    Args:
        store: Path of the store.
        language: Code of the Wikipedia; None: the only one in the store.
        as_of: Take the newest revisions on or before this date or time.

    Raises:
        BuilderError: The store does not exist or has no page to lock.
    """
    with Store.open(Path(store)) as opened:
        language = language_in(opened, language)
        date = parse_date(as_of)
        revisions = opened.revisions(language, as_of=date or None)
        if not revisions:
            raise BuilderError(
                f"{store}: no pages of {language!r}{f' up to {as_of}' if as_of else ''} to lock;"
                " `wikitext-builder status` shows what the store has"
            )
        names = stored_language(opened, language, as_of=date)
        return "".join(lock_lines(revisions, names, opened.wiki(language) or "-"))


def lock_lines(revisions: Sequence[Revision], language: Language, wiki: str = "-") -> Iterator[str]:
    """Yield the lines of a lock file: one per revision, in the order of titles and revision ids.

    `wiki` is the name that the wiki reports, `-` if unknown.
    """
    present = (name for name in OPTIONAL_COLUMNS if any(getattr(revision, name) for revision in revisions))
    columns = (*COLUMNS, *present)
    for revision in revisions:  # before the first line, because half a lock file would look complete
        if fault := title_fault(revision.title):
            raise BuilderError(
                f"revision {revision.revision_id}: the title {revision.title!r} cannot be written: {fault}"
            )
    yield f"# {FORMAT}; language {language.code}; wiki {' '.join(wiki.split())}\n"
    if names := reported_names(language):
        yield f"{NAMES_LINE}{json.dumps(names, ensure_ascii=False)}\n"
    yield "\t".join(columns) + "\n"
    for revision in sorted(revisions, key=lambda revision: (revision.title, revision.revision_id)):
        yield "\t".join(str(getattr(revision, name)) or "-" for name in columns) + "\n"


def expect_file(path: Path) -> None:
    """Refuse a pipe, which can be read only once: lists are read again for a wiki's names and by workers."""
    if path.exists() and not path.is_file():
        raise BuilderError(f"{path}: not a file; save its content to a file, and name that")


def read_lock(path: Path, *, language: str) -> list[Revision]:
    """Return the revisions of a lock file."""
    expect_file(path)
    try:
        with path.open(encoding="utf-8") as file:
            columns, head_lines = _columns(path, file, language)
            lines = enumerate(file, head_lines + 1)
            revisions = [_revision(path, number, line, columns) for number, line in lines]
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a lock file") from error
    if len({revision.revision_id for revision in revisions}) != len(revisions):
        raise BuilderError(f"{path}: a revision occurs twice; expected one line per revision")
    return revisions


def lock_language(path: Path) -> str:
    """Return the code of the language that a lock file names; empty if the file is not a lock file."""
    expect_file(path)
    try:
        with path.open(encoding="utf-8") as file:
            first_line = FIRST_LINE.fullmatch(file.readline().rstrip("\n"))
    except (OSError, UnicodeDecodeError):  # `read_lock` and `read_titles` report the error
        return ""
    return first_line[1] if first_line else ""


def language_in_lock(path: Path, language: Language) -> Language:
    """Return the language with the names that a lock file has of its wiki, or `language` if it has none."""
    try:
        with path.open(encoding="utf-8") as file:
            file.readline()
            line = file.readline()
        if not line.startswith(NAMES_LINE):
            return language
        return with_names(language_of(language.code), dict(json.loads(line.removeprefix(NAMES_LINE))))
    except (BuilderError, ValueError, TypeError, RecursionError) as error:
        raise BuilderError(f"{path}, line 2: {error}; expected the names of its wiki as JSON") from error


def _columns(path: Path, file: TextIO, language: str) -> tuple[tuple[str, ...], int]:
    """Read the first lines of a lock file: return its columns, and the number of these lines."""
    first, second, number = file.readline(), file.readline(), 2
    if second.startswith(NAMES_LINE):
        second, number = file.readline(), 3
    match = FIRST_LINE.fullmatch(first.rstrip("\n"))
    if match is None:
        raise BuilderError(f"{path}, line 1: expected `# {FORMAT}; language …`, found {first[:80]!r}")
    if match[1] != language:
        raise BuilderError(
            f"{path}: expected a lock file of the Wikipedia {language!r}, found one of {match[1]!r};"
            f" take --language {match[1]}"
        )
    columns = next((names for names in COLUMN_LISTS if second == "\t".join(names) + "\n"), None)
    if columns is None:
        raise BuilderError(
            f"{path}, line {number}: expected the columns {', '.join(COLUMNS)}, separated by tabs"
        )
    return columns, number


def _revision(path: Path, number: int, line: str, columns: tuple[str, ...]) -> Revision:
    if not line.endswith("\n"):
        raise BuilderError(f"{path}, line {number}: the file is truncated: its last line does not end")
    fields = line[:-1].split("\t")
    if len(fields) != len(columns):
        raise BuilderError(f"{path}, line {number}: expected {len(columns)} columns, found {len(fields)}")
    cells = zip(columns, fields, strict=True)
    row: dict[str, Any] = {
        name: value for name, value in cells if value != "-" or name not in OPTIONAL_COLUMNS
    }
    for column, value in row.items():
        if not CHECKS[column](value):
            raise BuilderError(f"{path}, line {number}: {value[:80]!r} is not a {column}")
    return Revision(**row | {name: int(row[name]) for name in ("page_id", "revision_id")})


def read_titles(path: Path) -> tuple[list[str], list[Rejected]]:
    """Return the distinct titles of a file, and the lines that no page can have as a title.

    The file has one title per line. Blank lines and lines that begin with `#` are ignored.
    """
    expect_file(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise BuilderError(
            f"{path}: {error.strerror}; expected a file of titles, one title per line"
        ) from error
    except UnicodeDecodeError as error:
        raise BuilderError(f"{path}: not UTF-8 at byte {error.start:,}; save it as UTF-8") from error
    titles: dict[str, None] = {}
    rejected = []
    for number, line in enumerate(lines, 1):
        title = tidy_title(line.strip("\r\t "))
        if not title or title.startswith("#"):
            continue
        if fault := title_fault(title):
            detail = f"{storable(path.name)}, line {number}: no page can have this title, {fault}"
            rejected.append(Rejected(title=title[:200], reason="invalid-title", detail=detail))
        else:
            titles[title] = None
    return list(titles), rejected


ATTRIBUTION: Final = "attribution.tsv"


def article_url(language: str | Language, revision_id: int) -> str:
    """Return the URL of a revision; the page history there names the authors."""
    return f"{language_of(language).index_address}?oldid={revision_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The origin of an article: a line of `attribution.tsv`."""

    split: str
    title: str
    page_id: int
    revision_id: int
    timestamp: str  # of the revision
    url: str  # the page history at this URL names the authors

    @classmethod
    def of(cls, article: Article, split: str, language: str | Language) -> Attribution:
        """Return the attribution of an article of a language's Wikipedia."""
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
                    yield _parse_attribution(path, number, line)
                elif line != ATTRIBUTION_HEAD:
                    raise BuilderError(
                        f"{path}, line 1: expected the columns {', '.join(ATTRIBUTION_COLUMNS)}"
                    )
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected the attribution of a dataset") from error


def _parse_attribution(path: Path, number: int, line: str) -> Attribution:
    values = line.removesuffix("\n").split("\t")
    row: dict[str, Any] = dict(zip(ATTRIBUTION_COLUMNS, values, strict=False))
    ids = (row.get("page_id", ""), row.get("revision_id", ""))
    is_complete = len(values) == len(ATTRIBUTION_COLUMNS) and line.endswith("\n") and row["split"] in SPLITS
    if not is_complete or not all(
        digits.isascii() and digits.isdigit() and len(digits) < 19 for digits in ids
    ):
        raise BuilderError(f"{path}, line {number}: {line[:80]!r} is not {', '.join(ATTRIBUTION_COLUMNS)}")
    return Attribution(**row | {"page_id": int(ids[0]), "revision_id": int(ids[1])})
