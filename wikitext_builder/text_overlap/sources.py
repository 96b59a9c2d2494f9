"""The other side: whatever text a dataset is compared with, read as a stream of pieces with names.

A path is a dataset, a store, a lock file, a dump, JSON lines, Parquet, plain text, or a folder of such files;
files of text may be compressed with gzip, bzip2 or Zstandard. First bytes or the name show what it is.
A file that is damaged or no text is rejected with a reason; what was read before the damage counts, and the
other files are read.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Final, NoReturn, TypedDict

import msgspec

from wikitext_builder.article import Page, heading_level
from wikitext_builder.dataset.load import LAYOUTS, load
from wikitext_builder.dataset.parquet import VALUE_LIMIT, parquet_lines
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.page import NO_EXPANSIONS, extract
from wikitext_builder.pages.decompress import EXPANSION_LIMIT, READ, DumpFile, decompressed
from wikitext_builder.pages.lock import FORMAT as LOCK_FORMAT
from wikitext_builder.pages.lock import Attribution, read_lock
from wikitext_builder.pages.reading import StoredTemplates, stored_pages, templates_in
from wikitext_builder.pages.store import Revision, Store
from wikitext_builder.pages.store_languages import stored_language
from wikitext_builder.pages.xml_dump import Dump
from wikitext_builder.runners.processes import SECONDS_PER_PAGE, time_limit
from wikitext_builder.text_overlap.words import words_of
from wikitext_builder.wiki.languages import Language

ROW: Final = 128  # characters that a row counts as, beside its own: an empty one takes its time too
HEAD: Final = 2**12  # bytes that say what a file is
LINES: Final = 200  # of a dataset without articles, per piece
SUFFIXES: Final = {"gz", "bz2", "zst"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some text of the other side; consecutive pieces of one document have the same name."""

    document: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """A part of the other side that was not read, and why."""

    source: str
    reason: str  # a short stable word
    detail: str  # the first one, in a sentence
    count: int = 1  # how many such parts


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How the other side is read."""

    as_of: str = ""  # revisions of stores and dumps up to this time; empty: all
    language: str = "en"  # of dumps
    column: str = "text"  # of JSON lines and Parquet; a.b is b in a, if nothing has the name a.b


class OverlapOptions(TypedDict, total=False):
    """Options of a comparison; None is the same as absent."""

    splits: Sequence[str] | None
    """Splits to compare; default: all, or valid and test if the other text is the dataset's train."""
    words: Sequence[int] | None
    """Lengths of n-grams, by default 8 and 13. The shortest one defines near duplicates."""
    as_of: str | None
    """Use revisions of stores and dumps on or before this date."""
    language: str | None
    """Language of dumps and lock files; default: the dataset's, or en."""
    column: str | None
    """Text column of JSON lines and Parquet, such as meta.text; default: `text`."""
    memory: int | None
    """Megabytes for the index. If a dataset needs more, the other text is read several times."""
    workers: int | None
    """Processes, which share the files and the memory, by default 1. They do not change the result."""


class Rejects(dict[tuple[str, str], Reject]):
    """Collects rejects, one per source and reason."""

    def add(self, source: str, reason: str, detail: str) -> None:
        """Count a reject; the first detail of a reason is kept."""
        known = self.get((source, reason))
        first, count = (known.detail, known.count + 1) if known else (detail, 1)
        self[source, reason] = Reject(source=source, reason=reason, detail=first, count=count)

    def all(self) -> tuple[Reject, ...]:
        """Everything that was rejected, by source and reason."""
        return tuple(self[key] for key in sorted(self))


def files_of(paths: Iterable[str | Path]) -> list[Path]:
    """The sources of some paths, sorted: a folder of a dataset, or each file and link of another folder."""
    found: set[Path] = set()
    for path in map(Path, paths):
        if path.is_file() or is_dataset(path):
            found.add(path)
        elif path.is_dir() and (inside := [*filter(_is_source, _inside(path))]):
            found.update(inside)
        else:
            what = "has no files" if path.is_dir() else "is no file and no folder"
            raise BuilderError(f"{path}: {what}; expected text to compare with")
    return sorted(found)


def _is_source(path: Path) -> bool:
    return path.is_file() or path.is_symlink()


def _inside(folder: Path) -> Iterator[Path]:
    """All that is in a folder and below; BuilderError: a part cannot be read, which `rglob` passes over."""

    def fail(error: OSError) -> NoReturn:
        raise BuilderError(f"{error.filename}: {error.strerror}; expected text to compare with") from error

    for below, folders, names in os.walk(folder, onerror=fail):
        yield from (Path(below, name) for name in (*folders, *names))


def is_dataset(path: Path) -> bool:
    """True if a folder has files of tokens in the layout of WikiText or of the Penn Treebank."""
    patterns = (pattern for layout, pattern in LAYOUTS.items() if layout != "plain")
    return any((path / one.format(split=s)).is_file() for one in patterns for s in ("train", "valid", "test"))


def is_lock(path: Path) -> bool:
    """True if a file begins as a lock file does."""
    try:
        return path.is_file() and _head(path).startswith(f"# {LOCK_FORMAT}".encode())
    except OSError:  # `pieces_of` rejects it with its reason
        return False


class Listed:
    """Which pages and revisions lock files have; one in a folder, not `given` itself, can be rejected."""

    def __init__(
        self, locks: Iterable[Path], language: str, given: Collection[Path], rejects: Rejects
    ) -> None:
        revisions = list[Revision]()
        for path in locks:
            try:
                revisions += read_lock(path, language=language)
            except BuilderError as error:
                if path in given:
                    raise
                rejects.add(str(path), "lock-file", str(error).removeprefix(f"{path}: ").partition(";")[0])
        self._revisions = {one.revision_id for one in revisions}
        self._pages = {one.page_id for one in revisions}
        self._titles = {one.title for one in revisions}
        self._words = {tuple(words_of(one)) for one in self._titles}  # titles of tokens are matched by these

    def of(self, source: Attribution | None, title: str) -> str:
        """What is listed of an article; without attribution the words of its title decide."""
        if source is None:
            return "page" if tuple(words_of(title)) in self._words else ""
        if source.revision_id in self._revisions:
            return "revision"
        return "page" if source.page_id in self._pages or source.title in self._titles else ""


def pieces_of(path: Path, how: How, rejects: Rejects) -> Iterator[Piece]:
    """The text of a source, in pieces; what cannot be read is added to `rejects`."""
    begun = ""
    try:
        read = _reader_of(path)
        for piece in read(path, how, rejects):
            yield piece
            begun = "read up to the damage: "
    except UnicodeDecodeError as error:
        detail = f"{begun}expected text in UTF-8, found the byte {error.object[error.start]:#x}"
        rejects.add(str(path), "not-utf-8", detail)
    except (BuilderError, RejectedError) as error:
        reason = error.reason if isinstance(error, RejectedError) else "damaged"
        rejects.add(str(path), reason, begun + str(error).partition(";")[0])
    except OSError as error:
        rejects.add(str(path), "unreadable", begun + (error.strerror or str(error)))


Reader = Callable[[Path, How, Rejects], Iterator[Piece]]


def _reader_of(path: Path) -> Reader:
    """What reads a source."""
    names = path.name.lower().split(".")
    if path.is_dir() and not is_dataset(path):
        raise RejectedError("unreadable", "a link to a folder: name that folder too")
    if path.is_dir() or names[-1] in ("tokens", "raw"):
        return _dataset
    if not path.is_file():
        raise RejectedError("unreadable", "neither a file nor a folder")
    head = _head(path)
    if head.startswith(b"SQLite format 3\0"):
        return _store
    if head.startswith(b"PAR1"):
        return _parquet
    with path.open("rb") as file:
        start = next(_content(file), b"")[:HEAD].lstrip() if head else b""
    if start.startswith((b"<mediawiki", b"<?xml")) and b"<mediawiki" in start:
        return _dump
    while names[-1] in SUFFIXES:
        names.pop()
    return _json_lines if names[-1] in ("jsonl", "ndjson", "json") else _plain


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _content(file: IO[bytes]) -> Generator[bytes, None, None]:
    return decompressed(DumpFile(file))


def _dataset(path: Path, _how: How, _rejects: Rejects) -> Iterator[Piece]:
    dataset = load(path)
    for split in dataset.files if path.is_dir() else ("train",):
        for article in dataset.articles(split, raw=dataset.has_raw(split)):
            name = f"{path}: {article.title}" if article.title else f"{path}: {split}"
            step = len(article.lines) if article.title else LINES
            for start in range(0, len(article.lines), max(step, 1)):
                yield Piece(document=name, text="\n".join(article.lines[start : start + step]))


def _store(path: Path, how: How, rejects: Rejects) -> Iterator[Piece]:
    with Store.open(path) as store:
        for language in store.languages():
            numbers = [one.revision_id for one in store.all_revisions(language, as_of=how.as_of or None)]
            names = stored_language(store, language, as_of=how.as_of)
            templates = templates_in(store, language, as_of=how.as_of)
            for one in stored_pages(store, language, numbers):
                yield from _extracted(path, one.page, names, rejects, one.expansions, templates)


def _dump(path: Path, how: How, rejects: Rejects) -> Iterator[Piece]:
    for one in Dump(path, as_of=how.as_of, every=True).pages():
        if isinstance(one.content, Page):
            yield from _extracted(path, one.content, how.language, rejects)
        else:
            rejects.add(str(path), one.content.reason, f"{one.content.title!r}: {one.content.detail}")


def _extracted(
    path: Path,
    page: Page,
    language: str | Language,
    rejects: Rejects,
    expansions: Mapping[str, str] = NO_EXPANSIONS,
    templates: StoredTemplates | None = None,
) -> Iterator[Piece]:
    try:
        with time_limit(SECONDS_PER_PAGE):
            lines = extract(page, language=language, expansions=expansions, templates=templates).lines
    except RejectedError as error:
        rejects.add(str(path), error.reason, f"{page.title!r}: {error.detail}")
        return
    text = "\n".join(line for line in lines if line and not heading_level(line))
    yield Piece(document=f"{path}: {page.title} (revision {page.revision_id})", text=text)


def _parquet(path: Path, how: How, rejects: Rejects) -> Iterator[Piece]:
    most, read = max(VALUE_LIMIT, EXPANSION_LIMIT // READ * path.stat().st_size), 0  # characters
    for number, line in enumerate(parquet_lines(path, how.column), start=1):
        text = None
        with suppress(msgspec.ValidationError):
            text = _text_in(line, how.column)
        if (read := read + ROW + len(text or "")) > most:
            detail = f"row {number} ends {read:,} characters; no text is packed so small"
            raise RejectedError("too-large", detail)
        if text is None:
            rejects.add(str(path), "no-text", f"row {number} has no text")
        else:
            yield Piece(document=f"{path}: row {number}", text=text)


def _json_lines(path: Path, how: How, rejects: Rejects) -> Iterator[Piece]:
    with path.open("rb") as file, closing(_content(file)) as content:
        for number, line in enumerate(_lines(content), start=1):
            if not line.strip():
                continue
            try:
                text = _text_in(line, how.column)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                rejects.add(str(path), "not-json", f"line {number}: {error}")
                continue
            if text is None:
                rejects.add(str(path), "no-column", f"line {number} has no {how.column!r}")
            else:
                yield Piece(document=f"{path}: line {number}", text=text)


def _text_in(line: bytes | msgspec.Raw, column: str) -> str | None:
    """The text of a column, or of b in a for a.b; nothing else of a row becomes an object in memory."""
    _, _, rest = column.partition(".")
    row: Any = msgspec.json.decode(line, type=_row_with(column))
    if row.whole is not None or not rest:
        return row.whole and msgspec.json.decode(row.whole, type=str | None)
    is_row = row.outer is not None and bytes(memoryview(row.outer)[:1]) == b"{"
    return _text_in(row.outer, rest) if is_row else None


@cache
def _row_with(column: str) -> type:
    """A type of rows of which one column is read, and of a.b also a, as they stand in the line."""
    first, _, rest = column.partition(".")
    names = {"whole": column, **({"outer": first} if rest else {})}
    try:
        return msgspec.defstruct("Row", [(name, msgspec.Raw, None) for name in names], rename=names)
    except ValueError as error:
        raise RejectedError("no-column", f"no column {column!r}") from error


def _lines(content: Iterable[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for piece in content:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            yield bytes(held) + line
            held.clear()
        held += rest
        if len(held) > VALUE_LIMIT:
            raise RejectedError("too-long", f"a line has more than {VALUE_LIMIT:,} bytes")
    yield bytes(held)


def _plain(path: Path, _how: How, _rejects: Rejects) -> Iterator[Piece]:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    held = ""
    with path.open("rb") as file, closing(_content(file)) as content:
        for data in content:
            if b"\0" in data:
                raise RejectedError("binary", "found a zero byte; text has none")
            text = held + decode(data)
            cut = max(text.rfind(" "), text.rfind("\n")) + 1 or len(text)
            held = text[cut:]
            yield Piece(document=str(path), text=text[:cut])
    yield Piece(document=str(path), text=held + decode(b"", final=True))
