"""Fetched pages in one SQLite file: a row a revision, resumable, safe against a kill at any moment."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import zstandard

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.schema import as_builder_error, connect_for_reading, connect_for_writing

Row = tuple[Any, ...]  # what SQLite gives is as typed as its columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """Which revision of which page: a line of a lock file."""

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # ISO 8601 in UTC
    sha1: str  # of the wikitext in UTF-8, 40 hexadecimal digits


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Wanted:
    """What a selection asked for: a title's newest revision, its revision as of a date, or one revision."""

    title: str
    as_of: str = ""  # ISO 8601 in UTC; empty: the newest
    revision_id: int = 0  # 0: not a certain one


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A page that is not used, and why."""

    title: str
    page_id: int = 0  # 0: not known
    revision_id: int = 0
    reason: str
    detail: str


def sha1_of(wikitext: str) -> str:
    """SHA-1 of the text in UTF-8, hexadecimal, as MediaWiki's API gives it."""
    return hashlib.sha1(wikitext.encode(), usedforsecurity=False).hexdigest()


class Store:
    """An open store. Each writing method is one transaction: done wholly or not at all."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._compress = zstandard.ZstdCompressor(level=6)
        self._decompress = zstandard.ZstdDecompressor()

    @classmethod
    def create(cls, path: Path) -> Store:
        """Open a store for writing; an absent or empty file becomes one.

        Raises:
            BuilderError: The file is something else, of another version, or cannot be written.
        """
        return cls(path, connect_for_writing(path))

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open a store for reading only; works in a folder that cannot be written too.

        Raises:
            BuilderError: There is no such file, or it is no store of this version.
        """
        return cls(path, connect_for_reading(path))

    def close(self) -> None:
        """Close the file; the store is not used after."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what was asked for

    def want(self, language: str, wanted: Iterable[Wanted]) -> int:
        """Note what a selection asks for, and return how much of it is new."""
        rows = [(language, one.title, one.as_of, one.revision_id) for one in wanted]
        return self._write(
            "INSERT OR IGNORE INTO wanted (language, title, as_of, revision_id) VALUES (?, ?, ?, ?)", rows
        )

    def wanted_count(self, language: str) -> int:
        """How much was asked for, settled or not."""
        query = "SELECT count(*) FROM wanted WHERE language = ?"
        return int(self._read(query, (language,))[0][0])

    def missing(self, language: str) -> list[Wanted]:
        """What was asked for and is neither here nor rejected, in the order of titles."""
        query = "SELECT title, as_of, revision_id FROM wanted WHERE language = ? AND NOT settled"
        rows = self._read(query, (language,))
        return sorted(Wanted(title=title, as_of=as_of, revision_id=number) for title, as_of, number in rows)

    # --- what came

    def add(
        self,
        language: str,
        pages: Iterable[Page],
        *,
        source: str,
        settled: Iterable[Wanted] = (),
        rejected: Iterable[Rejected] = (),
        redirects: Mapping[str, str] | None = None,
    ) -> int:
        """Keep pages and rejections and tick off what they answer, all in one transaction.

        Args:
            language: Code of the Wikipedia.
            pages: Revisions; one that is here already is left as it is.
            source: Where they came from: the API's address or the dump's file name.
            settled: What was asked for and is answered by these pages or rejections.
            rejected: Pages that are not used.
            redirects: Titles that lead to others.

        Returns:
            How many revisions are new.
        """
        pages, settled, rejected = list(pages), list(settled), list(rejected)
        with self._transaction():
            before = self._connection.total_changes
            self._connection.executemany(
                "INSERT OR IGNORE INTO revisions"
                " (language, revision_id, page_id, title, timestamp, sha1, source, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._row(language, page, source) for page in pages),
            )
            added = self._connection.total_changes - before
            answered = [(language, one.title, one.revision_id) for one in settled]
            self._connection.executemany(  # of an earlier attempt at the same; what counts is the answer now
                "DELETE FROM rejected WHERE language = ? AND title = ? AND revision_id = ?",
                answered + [(language, page.title, page.revision_id) for page in pages],
            )
            self._connection.executemany(
                "INSERT OR REPLACE INTO rejected (language, title, page_id, revision_id, reason, detail)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(language, r.title, r.page_id, r.revision_id, r.reason, r.detail) for r in rejected],
            )
            self._connection.executemany(
                "INSERT OR REPLACE INTO redirects (language, title, target) VALUES (?, ?, ?)",
                [(language, title, target) for title, target in (redirects or {}).items()],
            )
            self._connection.executemany(
                "UPDATE wanted SET settled = 1"
                " WHERE language = ? AND title = ? AND as_of = ? AND revision_id = ?",
                [(language, one.title, one.as_of, one.revision_id) for one in settled],
            )
        return added

    def _row(self, language: str, page: Page, source: str) -> tuple[object, ...]:
        body = page.wikitext.encode()
        sha1 = sha1_of(page.wikitext)
        packed = self._compress.compress(body)
        return (language, page.revision_id, page.page_id, page.title, page.timestamp, sha1, source, packed)

    def rejected(self, language: str) -> list[Rejected]:
        """Every rejected page with its reason, in the order of titles."""
        query = "SELECT title, page_id, revision_id, reason, detail FROM rejected WHERE language = ?"
        rows = self._read(f"{query} ORDER BY title, revision_id", (language,))
        return [Rejected(title=t, page_id=p, revision_id=r, reason=why, detail=d) for t, p, r, why, d in rows]

    def redirects(self, language: str) -> dict[str, str]:
        """Titles that were asked for and lead to another, with that one."""
        query = "SELECT title, target FROM redirects WHERE language = ? ORDER BY title"
        return dict(self._read(query, (language,)))

    def languages(self) -> list[str]:
        """Codes of the Wikipedias of which something is here or was asked for."""
        query = (
            "SELECT language FROM revisions UNION SELECT language FROM wanted"
            " UNION SELECT language FROM rejected"
        )
        return sorted(code for (code,) in self._read(query, ()))

    def revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """One revision a page, in the order of page ids: the newest, or the newest that is not after a date.

        Two pages that bear one title (a page was moved or made anew between two fetches) count as one: the
        newer revision is taken.
        """
        rows = sorted(self.all_revisions(language, as_of=as_of), key=lambda r: (r.timestamp, r.revision_id))
        newest = {row.page_id: row for row in rows}
        by_title = {row.title: row for row in rows if newest[row.page_id] is row}
        return sorted(by_title.values(), key=lambda row: row.page_id)

    def all_revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """Every revision that is here (and not after a date), in the order of page and revision ids."""
        query = (
            "SELECT title, page_id, revision_id, timestamp, sha1 FROM revisions"
            " WHERE language = ? AND timestamp <= ? ORDER BY page_id, revision_id"
        )
        return [_revision(row) for row in self._read(query, (language, as_of or "9"))]

    def pages(self, language: str, revision_ids: Sequence[int]) -> Iterator[Page]:
        """The pages of these revisions, in the order asked for, read one by one.

        Raises:
            BuilderError: A revision is not here, or its body is not what was put in.
        """
        query = (
            "SELECT title, page_id, revision_id, timestamp, sha1, body FROM revisions"
            " WHERE language = ? AND revision_id = ?"
        )
        for number in revision_ids:
            rows = self._read(query, (language, number))
            if not rows:
                raise BuilderError(
                    f"{self.path}: revision {number} of {language} is not in this store; fetch it first"
                )
            title, page_id, revision_id, timestamp, sha1, body = rows[0]
            wikitext = self._unpack(revision_id, sha1, body)
            yield Page(
                title=title, page_id=page_id, revision_id=revision_id, timestamp=timestamp, wikitext=wikitext
            )

    # --- pages as MediaWiki renders them

    def add_rendered(self, language: str, revision_id: int, html: str, failure: str = "") -> None:
        """Keep the HTML of a revision, or why there is none."""
        body = self._compress.compress(html.encode())
        row = (language, revision_id, failure, sha1_of(html), body)
        self._write("INSERT OR REPLACE INTO rendered VALUES (?, ?, ?, ?, ?)", [row])

    def rendered(self, language: str, revision_id: int) -> str | None:
        """The HTML of a revision; None where there is none."""
        query = "SELECT sha1, body FROM rendered WHERE language = ? AND revision_id = ? AND failure = ''"
        rows = self._read(query, (language, revision_id)) if self._has_rendered() else []
        return self._unpack(revision_id, *rows[0]) if rows else None

    def rendered_counts(self, language: str) -> dict[str, int]:
        """How many revisions have HTML (under the empty reason) and how many have none, by reason."""
        query = "SELECT failure, count(*) FROM rendered WHERE language = ? GROUP BY failure ORDER BY failure"
        return dict(self._read(query, (language,))) if self._has_rendered() else {}

    def rendered_sha1s(self, language: str) -> dict[int, str]:
        """Revision ids and the SHA-1 of their HTML, empty where the wiki gave none."""
        query = (
            "SELECT revision_id, CASE failure WHEN '' THEN sha1 ELSE '' END FROM rendered WHERE language = ?"
        )
        rows = self._read(f"{query} ORDER BY revision_id", (language,)) if self._has_rendered() else []
        return dict(rows)

    def _has_rendered(self) -> bool:
        """Whether the table is there: a store of an earlier version gets it when it is opened for writing."""
        return bool(self._read("SELECT 1 FROM sqlite_master WHERE name = 'rendered'", ()))

    def _unpack(self, revision_id: int, sha1: str, body: bytes) -> str:
        try:
            wikitext = self._decompress.decompress(body).decode()
        except (zstandard.ZstdError, UnicodeDecodeError) as error:
            found = str(error)
        else:
            found = sha1_of(wikitext)
            if found == sha1:
                return wikitext
        raise BuilderError(
            f"{self.path}: the text of revision {revision_id} is damaged ({found} instead of sha1 {sha1});"
            " make the store anew, the lock file of this one names its revisions"
        )

    # --- template calls expanded by MediaWiki

    def add_expansions(
        self,
        language: str,
        revision_id: int,
        expansions: Mapping[str, str],
        failures: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what `expandtemplates` gave for calls in a revision, and why it gave nothing for others."""
        rows = [(language, revision_id, call, text, "") for call, text in expansions.items()]
        rows += [(language, revision_id, call, "", reason) for call, reason in (failures or {}).items()]
        self._write("INSERT OR REPLACE INTO expansions VALUES (?, ?, ?, ?, ?)", rows)

    def expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """The calls of a revision that were expanded, with their texts."""
        query = "SELECT call, text FROM expansions WHERE language = ? AND revision_id = ? AND failure = ''"
        return dict(self._read(f"{query} ORDER BY call", (language, revision_id)))

    def failed_expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """The calls of a revision that could not be expanded, with the reasons."""
        query = (
            "SELECT call, failure FROM expansions WHERE language = ? AND revision_id = ? AND failure <> ''"
        )
        return dict(self._read(f"{query} ORDER BY call", (language, revision_id)))

    def expansion_counts(self, language: str) -> dict[str, int]:
        """How many calls were expanded (under the empty reason) and how many failed, by reason."""
        query = (
            "SELECT failure, count(*) FROM expansions WHERE language = ? GROUP BY failure ORDER BY failure"
        )
        return dict(self._read(query, (language,)))

    def expansions_digest(self, language: str, revision_ids: Container[int]) -> str:
        """sha256 over the expansions in some revisions: they are part of what a dataset is made of."""
        digest = hashlib.sha256()
        query = "SELECT revision_id, call, text FROM expansions WHERE language = ? AND failure = ''"
        with as_builder_error(self.path):
            for row in self._connection.execute(f"{query} ORDER BY revision_id, call", (language,)):
                if row[0] in revision_ids:
                    digest.update(repr(row).encode())
        return digest.hexdigest()

    # --- where a long listing stands

    def progress(self, key: str) -> str | None:
        """What was noted under a key, None when nothing was."""
        rows = self._read("SELECT value FROM progress WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def note_progress(
        self, key: str, value: str, *, language: str = "", wanted: Iterable[Wanted] = ()
    ) -> None:
        """Note where a listing stands, together with what it has given so far."""
        rows = [(language, one.title, one.as_of, one.revision_id) for one in wanted]
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO wanted (language, title, as_of, revision_id) VALUES (?, ?, ?, ?)", rows
            )
            self._connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (key, value))

    def note_listing(self, listing: str, titles: Iterable[str], position: str) -> None:
        """Note the titles that a part of a listing gave, and where it goes on."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO listed (listing, title) VALUES (?, ?)", [(listing, t) for t in titles]
            )
            self._connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (listing, position))

    def listed(self, listing: str) -> list[str]:
        """The titles that a listing has given so far, in their order."""
        return sorted(
            title for (title,) in self._read("SELECT title FROM listed WHERE listing = ?", (listing,))
        )

    # --- SQLite

    def _read(self, query: str, values: tuple[object, ...]) -> list[Row]:
        with as_builder_error(self.path):
            return self._connection.execute(query, values).fetchall()

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> int:
        with self._transaction():
            before = self._connection.total_changes
            self._connection.executemany(statement, rows)
            return self._connection.total_changes - before

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with as_builder_error(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:  # a full disk has rolled it back already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def _revision(row: Row) -> Revision:
    title, page_id, revision_id, timestamp, sha1 = row
    return Revision(title=title, page_id=page_id, revision_id=revision_id, timestamp=timestamp, sha1=sha1)
