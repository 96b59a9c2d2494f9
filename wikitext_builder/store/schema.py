"""Opens the SQLite file of a store: its tables, the values of its rows, transactions, advice for errors."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import zstandard

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.limits import STORED_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A revision of a page: a line of a lock file."""

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # ISO 8601 in UTC
    sha1: str  # of the wikitext in UTF-8, 40 hexadecimal digits
    created: str = field(default="", compare=False)  # time of the page's first revision, or empty
    html: str = field(default="", compare=False)  # sha1 of the HTML; empty without HTML


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Wanted:
    """A request of a selection: a title's newest revision, its newest up to a date, or a given revision."""

    title: str
    as_of: str = ""  # ISO 8601 in UTC; empty for the newest
    revision_id: int = 0  # 0 for any revision

    def key(self, language: str) -> tuple[str, str, str, int]:
        """Return the key of the request's row."""
        return (language, self.title, self.as_of, self.revision_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A rejected page, with the reason."""

    title: str
    page_id: int = 0  # 0 if unknown
    revision_id: int = 0
    reason: str  # a short fixed word
    detail: str  # a sentence

    @classmethod
    def of(cls, page: Page, reason: str, detail: str) -> Self:
        """Reject a page."""
        error = RejectedError(reason, detail)
        return cls.by(error, page.title, page_id=page.page_id, revision_id=page.revision_id)

    @classmethod
    def by(cls, error: RejectedError, title: str, **ids: int) -> Self:
        """Reject the page with a title and ids, for the reason of an error."""
        return cls(title=title, **ids, reason=error.reason, detail=error.detail)


def sha1_of(wikitext: str) -> str:
    """Return the SHA-1 of a text in UTF-8, hexadecimal, as in MediaWiki's API."""
    return hashlib.sha1(wikitext.encode(), usedforsecurity=False).hexdigest()


def storable(path: str | Path) -> str:
    """Return a path or a part of a path as text for SQLite; bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")


Record = TypeVar("Record")
Row = tuple[Any, ...]  # `checked_rows` checks the types, which mypy does not know
APPLICATION_ID = 0x57544253  # "WTBS" in the file's header identifies a store
FORMAT = 1
BUSY_SECONDS = 60  # maximum wait while another process writes
SCHEMA = """
CREATE TABLE IF NOT EXISTS revisions (
    language TEXT NOT NULL, revision_id INTEGER NOT NULL, page_id INTEGER NOT NULL, title TEXT NOT NULL,
    timestamp TEXT NOT NULL, sha1 TEXT NOT NULL, source TEXT NOT NULL, body BLOB NOT NULL,
    UNIQUE (language, revision_id)
);
CREATE INDEX IF NOT EXISTS revisions_by_page ON revisions (language, page_id, timestamp, revision_id);
CREATE INDEX IF NOT EXISTS revisions_by_title ON revisions (language, title, timestamp, revision_id);
CREATE TABLE IF NOT EXISTS wanted (
    language TEXT NOT NULL, title TEXT NOT NULL, as_of TEXT NOT NULL, revision_id INTEGER NOT NULL,
    settled INTEGER NOT NULL DEFAULT 0, -- 2: rejected, and selected only under conditions
    PRIMARY KEY (language, title, as_of, revision_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rejected (
    language TEXT NOT NULL, title TEXT NOT NULL, page_id INTEGER NOT NULL, revision_id INTEGER NOT NULL,
    reason TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (language, title, revision_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS redirects (
    language TEXT NOT NULL, title TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (language, title)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS listed (
    listing TEXT NOT NULL, title TEXT NOT NULL, PRIMARY KEY (listing, title)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS expansions (
    language TEXT NOT NULL, revision_id INTEGER NOT NULL, call TEXT NOT NULL, text TEXT NOT NULL,
    failure TEXT NOT NULL,
    PRIMARY KEY (language, revision_id, call)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rendered (
    language TEXT NOT NULL, revision_id INTEGER NOT NULL, failure TEXT NOT NULL, sha1 TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (language, revision_id)
);
CREATE TABLE IF NOT EXISTS templates (
    language TEXT NOT NULL, name TEXT NOT NULL, timestamp TEXT NOT NULL, revision_id INTEGER NOT NULL,
    sha1 TEXT NOT NULL, body BLOB NOT NULL,
    UNIQUE (language, name, timestamp, revision_id, sha1)
);
CREATE TABLE IF NOT EXISTS template_redirects (
    language TEXT NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL, timestamp TEXT NOT NULL,
    PRIMARY KEY (language, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (
    language TEXT NOT NULL, page_id INTEGER NOT NULL, item TEXT NOT NULL, PRIMARY KEY (language, page_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dates (
    language TEXT NOT NULL, page_id INTEGER NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (language, page_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS progress (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
COLUMN_TYPES: Final[dict[str, type]] = {
    "page_id": int,
    "revision_id": int,
    "settled": int,
    "body": bytes,
}  # others: str


def checked_rows(rows: sqlite3.Cursor) -> Iterator[Row]:
    """Yield rows; a value without its column's type, which a damaged file can have, is an error."""
    names = [column[0] for column in rows.description]
    # Columns that SQLite computes have names such as `count(*)`.
    types = [(index, COLUMN_TYPES.get(name, str)) for index, name in enumerate(names) if name.isidentifier()]
    for row in rows:
        for index, expected in types:
            if type(row[index]) is not expected:
                raise sqlite3.DatabaseError(
                    f"{names[index]} with a value of another type, {row[index]!r:.80}"
                )
        yield row


# --- the file


def connect_for_writing(path: Path) -> sqlite3.Connection:
    """Open a store; an absent or empty file becomes one, even if several processes do so at once."""
    with as_builder_error(path):
        # An absolute path, because SQLite takes `:memory:` for a database without a file.
        connection = sqlite3.connect(path.resolve(), timeout=BUSY_SECONDS, isolation_level=None)
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _use_wal(connection)
            connection.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID};"
                f"PRAGMA user_version = {FORMAT}; {SCHEMA} COMMIT;"
            )
        _check_format(path, connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # Unlike elsewhere, SQLite does not wait here while another process does the same.
            if str(error) != "database is locked" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def connect_for_reading(path: Path) -> sqlite3.Connection:
    """Open a store for reading only; its folder may be read-only."""
    if not path.is_file() or not path.stat().st_size:
        fault = "an empty file, no store yet" if path.is_file() else "no such store"
        raise BuilderError(
            f"{path}: {fault}; make one with `wikitext-builder fetch` or `wikitext-builder import`"
        )
    with as_builder_error(path):
        # Not mode=ro, because such a connection cannot remove the files -wal and -shm that it creates.
        uri = path.resolve().as_uri() + "?mode=rw"
        try:
            connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            if Path(f"{path.resolve()}-wal").exists():  # beside the file itself, not beside a symlink
                raise
            # SQLite needs the -shm file even for reading; if it cannot be created, no process is writing.
            uri = path.resolve().as_uri() + "?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        _check_format(path, connection)
    return connection


def _check_format(path: Path, connection: sqlite3.Connection) -> None:
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application_id != APPLICATION_ID:
        raise BuilderError(
            f"{path}: a SQLite database, but not a store of WikiText Builder; name another file"
        )
    if version != FORMAT:
        raise BuilderError(
            f"{path}: a store of format {version}, but this WikiText Builder reads format {FORMAT};"
            " use the version that wrote it, or write its lock file with that version and fetch again here"
        )


@contextmanager
def as_builder_error(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into a `BuilderError` that names the file and says what to do."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:  # a damaged file can raise each
        advice = {
            "database or disk is full": "free some space and run it again to resume",
            "disk I/O error": "the disk may be full or failing, or memory short; repair it and run it again"
            " to resume",
            "attempt to write a readonly database": "it cannot be written; change its mode or copy it",
            "unable to open database file": "its folder is missing or cannot be written, or the disk is full",
            "database is locked": "another process writes to it; wait until that process ends",
            "locking protocol": "a program that has it open is suspended; resume or stop it",
            "file is not a database": "it is not a store; name another file",
            # SQLite also gives this message if the system cannot read a part of the file (EIO).
            "database disk image is malformed": "the file is damaged, or its disk cannot be read;"
            " try a copy on another disk; if that fails too, fetch or import into a new file",
            "": "memory ran out, or the file is damaged: its sizes are wrong; run it again to resume",
        }.get(str(error), "the file may be damaged")
        raise BuilderError(f"{path}: {f'{error}; ' if str(error) else ''}{advice}") from error


class StoreFile:
    """An open store: queries, transactions and compressed texts."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, is_new: bool = False) -> None:
        self.path = path
        self.connection = connection
        self._is_new = is_new
        self._compress = zstandard.ZstdCompressor(level=6)
        self._decompress = zstandard.ZstdDecompressor()

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open a store for writing; an absent or empty file becomes one.

        If an error ends the `with` block before anything was written, a newly created file is removed.
        """
        is_new = not path.exists()
        return cls(path, connect_for_writing(path), is_new=is_new)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a store for reading only; its folder may be read-only."""
        return cls(path, connect_for_reading(path))

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        is_useless = error != (None, None, None) and self._is_new and self._is_empty()
        self.close()
        file = self.path.resolve()  # the target of a symlink
        if is_useless and not Path(f"{file}-wal").exists():  # -wal exists while another process writes
            file.unlink(missing_ok=True)

    def _is_empty(self) -> bool:
        """Return True if nothing was written since the file was created."""
        tables = ("revisions", "wanted", "rejected", "listed", "templates", "progress")
        query = " UNION ALL ".join(f"SELECT * FROM (SELECT 1 FROM {table} LIMIT 1)" for table in tables)  # noqa: S608
        return not self.read(query)

    # --- queries and texts

    def scan(self, query: str, values: tuple[object, ...] = ()) -> Iterator[Row]:
        """Yield the rows of a query one at a time."""
        with as_builder_error(self.path):
            yield from checked_rows(self.connection.execute(query, values))

    def read(self, query: str, values: tuple[object, ...] = ()) -> list[Row]:
        """Return the rows of a query."""
        return list(self.scan(query, values))

    def records(self, cls: Callable[..., Record], query: str, values: tuple[object, ...]) -> list[Record]:
        """Return the rows of a query as objects of a class whose fields are named like its columns."""
        with as_builder_error(self.path):
            rows = self.connection.execute(query, values)
            names = [column[0] for column in rows.description]
            return [cls(**dict(zip(names, row, strict=True))) for row in checked_rows(rows)]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything that the block writes, or nothing."""
        with as_builder_error(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self.connection.in_transaction:  # a full disk has already rolled it back
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> int:
        """Write rows in one transaction, and return how many changed."""
        with self.transaction():
            changes_before = self.connection.total_changes
            self.connection.executemany(statement, rows)
            return self.connection.total_changes - changes_before

    def pack(self, text: str) -> bytes:
        """Compress a text for the store."""
        return self._compress.compress(text.encode())

    def unpack(self, revision_id: int, sha1: str, body: bytes) -> str:
        """Decompress a stored text, and check its sha1."""
        try:
            size = zstandard.frame_content_size(body)
            if 0 <= size <= STORED_BYTES:
                text = self._decompress.decompress(body).decode()
                if sha1_of(text) == sha1:
                    return text
                fault = f"its sha1 is {sha1_of(text)}, not {sha1}"
            else:  # the library would allocate that much memory at once
                fault = f"its size is {size:,} bytes; expected at most {STORED_BYTES:,}"
        except (zstandard.ZstdError, UnicodeDecodeError) as error:
            fault = str(error)
        raise BuilderError(
            f"{self.path}: the text of revision {revision_id} is damaged ({fault});"
            " make a new store, the lock file of this one names its revisions"
        )
