"""The open SQLite file under a store: rows, transactions, packed texts, and what a wiki made of pages."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import zstandard

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.schema import as_builder_error, connect_for_reading, connect_for_writing

Row = tuple[Any, ...]  # mypy does not know the types; `sound` does
Item = TypeVar("Item")
MAX_BYTES: Final = 64 * 2**20  # of a text; no answer of a wiki is longer
NOT_TEXT: Final[dict[str, type]] = {"page_id": int, "revision_id": int, "settled": int, "body": bytes}


def sha1_of(wikitext: str) -> str:
    """Return the SHA-1 of a text in UTF-8, hexadecimal, as in MediaWiki's API."""
    return hashlib.sha1(wikitext.encode(), usedforsecurity=False).hexdigest()


def storable(path: str | Path) -> str:
    """A path or a part of it as text, which SQLite takes; bytes that are not UTF-8 as escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")


def sound(rows: sqlite3.Cursor) -> Iterator[Row]:
    """The rows of a query, if values have the types of their columns: those of a damaged file may not."""
    names = [column[0] for column in rows.description]
    # What SQLite computes has names such as `count(*)`.
    kinds = [(at, NOT_TEXT.get(name, str)) for at, name in enumerate(names) if name.isidentifier()]
    for row in rows:
        for at, kind in kinds:
            if type(row[at]) is not kind:
                raise sqlite3.DatabaseError(f"{names[at]} with a value of another type, {row[at]!r:.80}")
        yield row


class Database:
    """An open file, for reading or also for writing."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, is_new: bool = False) -> None:
        self.path = path
        self.connection = connection
        self._is_new = is_new
        self._compress = zstandard.ZstdCompressor(level=6)
        self._decompress = zstandard.ZstdDecompressor()

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open a store for writing, and make one of an absent or empty file.

        If an error ends its `with` block before anything was written, a file that it made is removed again.
        """
        is_new = not path.exists()
        return cls(path, connect_for_writing(path), is_new=is_new)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a store for reading only; its folder may be read-only."""
        return cls(path, connect_for_reading(path))

    def close(self) -> None:
        """Close the file; do not use the store after that."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        useless = error != (None, None, None) and self._is_new and self._is_empty()
        self.close()
        file = self.path.resolve()  # of a symlink, what it points to
        if useless and not Path(f"{file}-wal").exists():  # it is there while another process writes
            file.unlink(missing_ok=True)

    def _is_empty(self) -> bool:
        """True if nothing was written since the file was made."""
        tables = ("revisions", "wanted", "rejected", "listed", "templates", "progress")
        parts = " UNION ALL ".join(f"SELECT * FROM (SELECT 1 FROM {table} LIMIT 1)" for table in tables)  # noqa: S608
        return not self.read(parts)

    def read(self, query: str, values: tuple[object, ...] = ()) -> list[Row]:
        """Return the rows of a query."""
        return list(self.scan(query, values))

    def scan(self, query: str, values: tuple[object, ...]) -> Iterator[Row]:
        """Yield the rows of a query one at a time."""
        with as_builder_error(self.path):
            yield from sound(self.connection.execute(query, values))

    def records(self, kind: Callable[..., Item], query: str, values: tuple[object, ...]) -> list[Item]:
        """Return the rows of a query as objects whose fields have the names of its columns."""
        with as_builder_error(self.path):
            rows = self.connection.execute(query, values)
            names = [column[0] for column in rows.description]
            return [kind(**dict(zip(names, row, strict=True))) for row in sound(rows)]

    def write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> int:
        """Write rows in one transaction, and return how many changed."""
        with self.transaction():
            before = self.connection.total_changes
            self.connection.executemany(statement, rows)
            return self.connection.total_changes - before

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all that is written in the block, or nothing of it."""
        with as_builder_error(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self.connection.in_transaction:  # a full disk has already rolled it back
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def pack(self, text: str) -> bytes:
        """Return a text in the form in which it is stored."""
        return self._compress.compress(text.encode())

    def unpack(self, revision_id: int, sha1: str, body: bytes) -> str:
        """Return a stored text."""
        try:
            wikitext = self._decompressed(body).decode()
        except (zstandard.ZstdError, UnicodeDecodeError) as error:
            found = str(error)
        else:
            if sha1_of(wikitext) == sha1:
                return wikitext
            found = f"its sha1 is {sha1_of(wikitext)}, not {sha1}"
        raise BuilderError(
            f"{self.path}: the text of revision {revision_id} is damaged ({found});"
            " make a new store, the lock file of this one names its revisions"
        )

    def _decompressed(self, body: bytes) -> bytes:
        size = zstandard.frame_content_size(body)
        if not 0 <= size <= MAX_BYTES:  # the library would take that much memory at once
            raise zstandard.ZstdError(f"its size is {size:,} bytes; expected at most {MAX_BYTES:,}")
        return self._decompress.decompress(body)


class WikiTexts(Database):
    """What a wiki made of pages: their HTML, and the texts of template calls."""

    # --- pages as MediaWiki renders them

    def add_rendered(self, language: str, revision_id: int, html: str, failure: str = "") -> None:
        """Keep the HTML of a revision, or the reason why there is none."""
        self._write_rendered([(language, revision_id, failure, sha1_of(html), self.pack(html))])

    def _write_rendered(self, rows: list[Row]) -> int:
        return self.write("INSERT OR REPLACE INTO rendered VALUES (?, ?, ?, ?, ?)", rows) if rows else 0

    def add_missing_rendered(self, language: str, html: Mapping[int, str]) -> int:
        """Keep the HTML of each revision id that has none, in one transaction; return how many are new."""
        query = "SELECT revision_id FROM rendered WHERE language = ? AND revision_id = ? AND failure = ''"
        new = [number for number in html if not self.read(query, (language, number))]
        return self._write_rendered(
            [(language, number, "", sha1_of(html[number]), self.pack(html[number])) for number in new]
        )

    def rendered(self, language: str, revision_id: int) -> str | None:
        """Return the HTML of a revision; None if there is none."""
        query = "SELECT sha1, body FROM rendered WHERE language = ? AND revision_id = ? AND failure = ''"
        rows = self.read(query, (language, revision_id))
        return self.unpack(revision_id, *rows[0]) if rows else None

    def counts(self, table: str, language: str) -> dict[str, int]:
        """Count rows of `rendered` or `expansions`: with a text under the empty reason, others by reason."""
        query = f"SELECT failure, count(*) FROM {table} WHERE language = ? GROUP BY failure ORDER BY failure"  # noqa: S608
        return dict(self.read(query, (language,)))

    def rendered_sha1s(self, language: str) -> Iterator[Row]:
        """Yield revision ids in order, with the SHA-1 of their HTML, which is empty if the wiki gave none."""
        query = (
            "SELECT revision_id, CASE failure WHEN '' THEN sha1 ELSE '' END AS sha1"
            " FROM rendered WHERE language = ? ORDER BY revision_id"
        )
        return self.scan(query, (language,))

    # --- template calls expanded by MediaWiki

    def add_expansions(
        self,
        language: str,
        revision_id: int,
        expansions: Mapping[str, str],
        failures: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the texts that `expandtemplates` gave for calls in a revision, and why other calls failed."""
        rows = [(language, revision_id, call, text, "") for call, text in expansions.items()]
        rows += [(language, revision_id, call, "", reason) for call, reason in (failures or {}).items()]
        self.write("INSERT OR REPLACE INTO expansions VALUES (?, ?, ?, ?, ?)", rows)

    def expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """Return the calls of a revision that were expanded, with their texts."""
        query = "SELECT call, text FROM expansions WHERE language = ? AND revision_id = ? AND failure = ''"
        return dict(self.read(f"{query} ORDER BY call", (language, revision_id)))

    def failed_expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """Return the calls of a revision that could not be expanded, with the reasons."""
        query = (
            "SELECT call, failure FROM expansions WHERE language = ? AND revision_id = ? AND failure <> ''"
        )
        return dict(self.read(f"{query} ORDER BY call", (language, revision_id)))

    def expansions_digest(self, language: str, revision_ids: Container[int]) -> str:
        """Return the sha256 of all expansions in some revisions: a dataset depends on them."""
        digest = hashlib.sha256()
        query = "SELECT revision_id, call, text FROM expansions WHERE language = ? AND failure = ''"
        for row in self.scan(f"{query} ORDER BY revision_id, call", (language,)):
            if row[0] in revision_ids:
                digest.update(repr(row).encode())
        return digest.hexdigest()
