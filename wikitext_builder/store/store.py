"""Fetched pages in one SQLite file: one row per revision, resumable, safe if it is killed at any moment."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import zstandard

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.schema import as_builder_error, connect_for_reading, connect_for_writing

Row = tuple[Any, ...]  # SQLite knows the types, mypy does not


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
    """What a selection asked for: a title's newest revision, its newest up to a date, or one revision."""

    title: str
    as_of: str = ""  # ISO 8601 in UTC; empty: the newest
    revision_id: int = 0  # 0: any revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A page that is not used, and why."""

    title: str
    page_id: int = 0  # 0: not known
    revision_id: int = 0
    reason: str  # a short stable word
    detail: str  # a sentence

    @classmethod
    def of(cls, page: Page, reason: str, detail: str) -> Self:
        """Reject a page."""
        return cls(
            title=page.title,
            page_id=page.page_id,
            revision_id=page.revision_id,
            reason=reason,
            detail=detail,
        )


def sha1_of(wikitext: str) -> str:
    """Return the SHA-1 of a text in UTF-8, hexadecimal, as in MediaWiki's API."""
    return hashlib.sha1(wikitext.encode(), usedforsecurity=False).hexdigest()


class Store:
    """An open store. Each writing method is one transaction: it is done completely or not at all."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, is_new: bool = False) -> None:
        self.path = path
        self._connection = connection
        self._is_new = is_new
        self._compress = zstandard.ZstdCompressor(level=6)
        self._decompress = zstandard.ZstdDecompressor()

    @classmethod
    def create(cls, path: Path) -> Store:
        """Open a store for writing, and make one of an absent or empty file.

        If an error ends its `with` block before anything was written, a file that it made is removed again.

        Raises:
            BuilderError: The file is something else, of another version, or cannot be written.
        """
        is_new = not path.exists()
        return cls(path, connect_for_writing(path), is_new=is_new)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open a store for reading only; its folder may be read-only.

        Raises:
            BuilderError: There is no such file, or it is not a store of this version.
        """
        return cls(path, connect_for_reading(path))

    def close(self) -> None:
        """Close the file; do not use the store after that."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        useless = error != (None, None, None) and self._is_new and self._is_empty()
        self.close()
        if useless and not Path(f"{self.path}-wal").exists():  # it is there while another process writes
            self.path.unlink(missing_ok=True)

    def _is_empty(self) -> bool:
        """Whether nothing was written since the file was made."""
        tables = ("revisions", "wanted", "rejected", "listed", "progress")
        parts = " UNION ALL ".join(f"SELECT * FROM (SELECT 1 FROM {table} LIMIT 1)" for table in tables)  # noqa: S608
        return not self._read(parts, ())

    # --- what was asked for

    def want(self, language: str, wanted: Iterable[Wanted]) -> int:
        """Note what a selection asks for, and return how many of these are new."""
        rows = [(language, one.title, one.as_of, one.revision_id) for one in wanted]
        return self._write(
            "INSERT OR IGNORE INTO wanted (language, title, as_of, revision_id) VALUES (?, ?, ?, ?)", rows
        )

    def wanted_count(self, language: str) -> int:
        """Return how many revisions were asked for, settled or not."""
        query = "SELECT count(*) FROM wanted WHERE language = ?"
        return int(self._read(query, (language,))[0][0])

    def missing(self, language: str) -> list[Wanted]:
        """Return what was asked for and is neither here nor rejected, in the order of titles."""
        query = "SELECT title, as_of, revision_id FROM wanted WHERE language = ? AND NOT settled"
        rows = self._read(query, (language,))
        return sorted(Wanted(title=title, as_of=as_of, revision_id=number) for title, as_of, number in rows)

    # --- pages

    def add(
        self,
        language: str,
        pages: Iterable[Page],
        *,
        origin: str,
        settled: Iterable[Wanted] = (),
        rejected: Iterable[Rejected] = (),
        redirects: Mapping[str, str] | None = None,
    ) -> int:
        """Keep pages and rejections, and mark what they answer as settled, all in one transaction.

        Args:
            language: Code of the Wikipedia.
            pages: Revisions; one that is already here stays as it is.
            origin: Where they come from: the API's address or the dump's file name.
            settled: What was asked for, and these pages or rejections answer.
            rejected: Pages that are not used.
            redirects: Titles that lead to other titles.

        Returns:
            The number of revisions that are new.
        """
        pages, settled, rejected = list(pages), list(settled), list(rejected)
        with self._transaction():
            before = self._connection.total_changes
            self._connection.executemany(
                "INSERT OR IGNORE INTO revisions"
                " (language, revision_id, page_id, title, timestamp, sha1, source, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._row(language, page, origin) for page in pages),
            )
            added = self._connection.total_changes - before
            answered = [(language, one.title, one.revision_id) for one in settled]
            self._connection.executemany(  # by an earlier attempt; only the new answer counts
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

    def _row(self, language: str, page: Page, origin: str) -> tuple[object, ...]:
        body = page.wikitext.encode()
        sha1 = sha1_of(page.wikitext)
        packed = self._compress.compress(body)
        return (language, page.revision_id, page.page_id, page.title, page.timestamp, sha1, origin, packed)

    def rejected(self, language: str) -> list[Rejected]:
        """Return every rejected page with its reason, in the order of titles."""
        query = "SELECT title, page_id, revision_id, reason, detail FROM rejected WHERE language = ?"
        rows = self._read(f"{query} ORDER BY title, revision_id", (language,))
        return [Rejected(title=t, page_id=p, revision_id=r, reason=why, detail=d) for t, p, r, why, d in rows]

    def redirects(self, language: str) -> dict[str, str]:
        """Return the titles that were asked for and are redirects, with their targets."""
        query = "SELECT title, target FROM redirects WHERE language = ? ORDER BY title"
        return dict(self._read(query, (language,)))

    def languages(self) -> list[str]:
        """Return the codes of the Wikipedias that have something here or were asked."""
        query = (
            "SELECT language FROM revisions UNION SELECT language FROM wanted"
            " UNION SELECT language FROM rejected"
        )
        return sorted(code for (code,) in self._read(query, ()))

    def revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """Return one revision per page, the newest or the newest up to a date, in the order of page ids.

        Two pages with the same title (a page was moved, or made again, between two fetches) count as one, and
        the newer revision is taken.
        """
        rows = sorted(self.all_revisions(language, as_of=as_of), key=lambda r: (r.timestamp, r.revision_id))
        newest = {row.page_id: row for row in rows}
        by_title = {row.title: row for row in rows if newest[row.page_id] is row}
        return sorted(by_title.values(), key=lambda row: row.page_id)

    def all_revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """Return every revision, or every one up to a date, in the order of page and revision ids."""
        query = (
            "SELECT title, page_id, revision_id, timestamp, sha1 FROM revisions"
            " WHERE language = ? AND timestamp <= ? ORDER BY page_id, revision_id"
        )
        return [_revision(row) for row in self._read(query, (language, as_of or "9"))]

    def pages(self, language: str, revision_ids: Sequence[int]) -> Iterator[Page]:
        """Read pages one by one, in the order of `revision_ids`.

        Raises:
            BuilderError: A revision is not here, or its text is damaged.
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
        """Keep the HTML of a revision, or the reason why there is none."""
        body = self._compress.compress(html.encode())
        row = (language, revision_id, failure, sha1_of(html), body)
        self._write("INSERT OR REPLACE INTO rendered VALUES (?, ?, ?, ?, ?)", [row])

    def rendered(self, language: str, revision_id: int) -> str | None:
        """Return the HTML of a revision; None if there is none."""
        query = "SELECT sha1, body FROM rendered WHERE language = ? AND revision_id = ? AND failure = ''"
        rows = self._read(query, (language, revision_id)) if self._has_rendered() else []
        return self._unpack(revision_id, *rows[0]) if rows else None

    def rendered_counts(self, language: str) -> dict[str, int]:
        """Count the revisions with HTML (under the empty reason) and those without, by reason."""
        query = "SELECT failure, count(*) FROM rendered WHERE language = ? GROUP BY failure ORDER BY failure"
        return dict(self._read(query, (language,))) if self._has_rendered() else {}

    def rendered_sha1s(self, language: str) -> dict[int, str]:
        """Return revision ids with the SHA-1 of their HTML, which is empty if the wiki gave none."""
        query = (
            "SELECT revision_id, CASE failure WHEN '' THEN sha1 ELSE '' END FROM rendered WHERE language = ?"
        )
        rows = self._read(f"{query} ORDER BY revision_id", (language,)) if self._has_rendered() else []
        return dict(rows)

    def _has_rendered(self) -> bool:
        """Whether the table is there: an earlier version's store gets it when it is opened for writing."""
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
            f"{self.path}: the text of revision {revision_id} is damaged, sha1 {found}, not {sha1};"
            " make a new store, the lock file of this one names its revisions"
        )

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
        self._write("INSERT OR REPLACE INTO expansions VALUES (?, ?, ?, ?, ?)", rows)

    def expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """Return the calls of a revision that were expanded, with their texts."""
        query = "SELECT call, text FROM expansions WHERE language = ? AND revision_id = ? AND failure = ''"
        return dict(self._read(f"{query} ORDER BY call", (language, revision_id)))

    def failed_expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """Return the calls of a revision that could not be expanded, with the reasons."""
        query = (
            "SELECT call, failure FROM expansions WHERE language = ? AND revision_id = ? AND failure <> ''"
        )
        return dict(self._read(f"{query} ORDER BY call", (language, revision_id)))

    def expansion_counts(self, language: str) -> dict[str, int]:
        """Count the calls that were expanded (under the empty reason) and those that failed, by reason."""
        query = (
            "SELECT failure, count(*) FROM expansions WHERE language = ? GROUP BY failure ORDER BY failure"
        )
        return dict(self._read(query, (language,)))

    def expansions_digest(self, language: str, revision_ids: Container[int]) -> str:
        """Return the sha256 of all expansions in some revisions: a dataset depends on them."""
        digest = hashlib.sha256()
        query = "SELECT revision_id, call, text FROM expansions WHERE language = ? AND failure = ''"
        with as_builder_error(self.path):
            for row in self._connection.execute(f"{query} ORDER BY revision_id, call", (language,)):
                if row[0] in revision_ids:
                    digest.update(repr(row).encode())
        return digest.hexdigest()

    # --- notes: which wiki, how far a listing is, which imports have ended

    def note(self, key: str) -> str | None:
        """Return the note of a key; None if there is none."""
        rows = self._read("SELECT value FROM progress WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def set_note(self, key: str, value: str) -> None:
        """Write the note of a key."""
        self._write("INSERT OR REPLACE INTO progress VALUES (?, ?)", [(key, value)])

    def wiki(self, language: str) -> str:
        """Return the name that the wiki of a language gives itself; empty if no API was asked."""
        return self.note(f"{language} wiki") or ""

    def set_wiki(self, language: str, name: str) -> None:
        """Note the name that the wiki of a language gives itself."""
        self.set_note(f"{language} wiki", name)

    def note_listing(self, listing: str, titles: Iterable[str], position: str) -> None:
        """Note the titles that a piece of a listing gave, and where the listing continues."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO listed (listing, title) VALUES (?, ?)", [(listing, t) for t in titles]
            )
            self._connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (listing, position))

    def listed(self, listing: str) -> list[str]:
        """Return the titles that a listing has given so far, in their order."""
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
                if self._connection.in_transaction:  # a full disk has already rolled it back
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def _revision(row: Row) -> Revision:
    title, page_id, revision_id, timestamp, sha1 = row
    return Revision(title=title, page_id=page_id, revision_id=revision_id, timestamp=timestamp, sha1=sha1)
