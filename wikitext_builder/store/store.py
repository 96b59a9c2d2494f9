"""Stores fetched pages in one SQLite file: a row per revision, resumable, safe if killed at any moment."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.schema import Rejected, Revision, Row, StoreFile, Wanted, sha1_of

LATEST: Final = "~"  # after every timestamp
REJECTED: Final = "(language, title, revision_id) IN (SELECT language, title, revision_id FROM rejected)"


class Store(StoreFile):
    """An open store. Each writing method is one transaction, which is done completely or not at all."""

    # --- requests of selections

    def want(self, language: str, wanted: Iterable[Wanted]) -> int:
        """Add the requests of a selection, and return how many are new."""
        statement = "INSERT OR IGNORE INTO wanted (language, title, as_of, revision_id) VALUES (?, ?, ?, ?)"
        return self.write(statement, [request.key(language) for request in wanted])

    def wanted_count(self, language: str) -> int:
        """Return how many revisions were requested, settled or not."""
        return int(self.read("SELECT count(*) FROM wanted WHERE language = ?", (language,))[0][0])

    def missing(self, language: str) -> list[Wanted]:
        """Return the requests whose page is neither stored nor rejected, in the order of titles."""
        query = "SELECT title, as_of, revision_id FROM wanted WHERE language = ? AND NOT settled"
        return sorted(self.records(Wanted, query, (language,)))

    def settled(self, language: str, conditions: str) -> set[Wanted]:
        """Return the requests whose page is stored, or was rejected under the same conditions."""
        query = "SELECT title, as_of, revision_id FROM wanted WHERE language = ? AND settled"
        if (self.note(f"{language} conditions") or "") != conditions:
            query += f" AND NOT {REJECTED}"
        return set(self.records(Wanted, query, (language,)))

    def ask_again(self, language: str, conditions: str) -> None:
        """Mark rejected requests as missing, unless they were rejected under the same conditions."""
        key = f"{language} conditions"
        with self.transaction():
            if (self.note(key) or "") == conditions:
                return
            statement = f"UPDATE wanted SET settled = 0 WHERE language = ? AND {REJECTED}"  # noqa: S608 - a constant
            self.connection.execute(statement, (language,))
            self.connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (key, conditions))

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
        """Store pages and rejections, and mark the requests that they answer as settled, in one transaction.

        Stored revisions do not change. `origin` is the API's URL or the dump's name, `redirects` are titles
        with their targets. Returns the number of new revisions.
        """
        pages, settled, rejected = list(pages), list(settled), list(rejected)
        rejected_titles = {page.title for page in rejected}
        # Only the new answer counts, so rejections of earlier attempts are deleted.
        answered = [(language, request.title, request.revision_id) for request in settled]
        answered += [(language, page.title, page.revision_id) for page in pages]
        with self.transaction():
            added = self._add_texts(language, pages, origin)
            stored = [request for request in settled if request.title not in rejected_titles]
            self._ask_for_other_dates(language, stored)
            write_rows = self.connection.executemany
            write_rows("DELETE FROM rejected WHERE language = ? AND title = ? AND revision_id = ?", answered)
            write_rows(
                "INSERT OR REPLACE INTO rejected (language, title, page_id, revision_id, reason, detail)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (language, page.title, page.page_id, page.revision_id, page.reason, page.detail)
                    for page in rejected
                ],
            )
            write_rows(
                "INSERT OR REPLACE INTO redirects (language, title, target) VALUES (?, ?, ?)",
                [(language, title, target) for title, target in (redirects or {}).items()],
            )
            write_rows(
                "UPDATE wanted SET settled = 1"
                " WHERE language = ? AND title = ? AND as_of = ? AND revision_id = ?",
                [request.key(language) for request in settled],
            )
        return added

    def _add_texts(self, language: str, pages: Sequence[Page], origin: str) -> int:
        """Insert new revisions; refuse a revision that is stored with another text."""
        changes_before, sha1s = self.connection.total_changes, [sha1_of(page.wikitext) for page in pages]
        self.connection.executemany(
            "INSERT OR IGNORE INTO revisions"
            " (language, revision_id, page_id, title, timestamp, sha1, source, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (language, page.revision_id, page.page_id, page.title, page.timestamp, sha1, origin,
                 self.pack(page.wikitext))
                for page, sha1 in zip(pages, sha1s, strict=True)
            ],
        )  # fmt: skip
        added = self.connection.total_changes - changes_before
        query = "SELECT title, sha1 FROM revisions WHERE language = ? AND revision_id = ?"
        for page, sha1 in zip(pages, sha1s, strict=True) if added < len(pages) else ():
            ((title, stored_sha1),) = self.read(query, (language, page.revision_id))
            if stored_sha1 != sha1:
                raise BuilderError(
                    f"{self.path}: has revision {page.revision_id}, of {title!r}, with another text than"
                    f" {origin}, where it is of {page.title!r}; that is another wiki: use another --store"
                )
        return added

    def _ask_for_other_dates(self, language: str, stored: Iterable[Wanted]) -> None:
        """Mark requests for other dates as missing, because the rejection of their pages is deleted next."""
        self.connection.executemany(
            "UPDATE wanted SET settled = 0"
            " WHERE language = ? AND title = ? AND revision_id = ? AND as_of <> ?"
            " AND (language, title, revision_id) IN (SELECT language, title, revision_id FROM rejected)",
            [(language, request.title, request.revision_id, request.as_of) for request in stored],
        )

    def rejected(self, language: str) -> list[Rejected]:
        """Return every rejected page with its reason, in the order of titles."""
        query = "SELECT title, page_id, revision_id, reason, detail FROM rejected WHERE language = ?"
        return self.records(Rejected, f"{query} ORDER BY title, revision_id", (language,))

    def redirects(self, language: str) -> dict[str, str]:
        """Return the requested titles that are redirects, with their targets."""
        query = "SELECT title, target FROM redirects WHERE language = ? ORDER BY title"
        return dict(self.read(query, (language,)))

    def languages(self) -> list[str]:
        """Return the codes of the Wikipedias with pages, templates, requests or rejections."""
        tables = ("revisions", "wanted", "rejected", "templates")
        query = " UNION ".join(f"SELECT language FROM {table}" for table in tables)  # noqa: S608
        return sorted(code for (code,) in self.read(query))

    def revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """Return one revision per page, the newest or the newest up to a date, in the order of page ids.

        Two pages with the same title (a page was moved, or created again, between two fetches) count as one
        page with the newer revision.
        """
        # SQLite takes the bare columns from the row with the maximum.
        query = (
            "SELECT title, page_id, revision_id, timestamp, sha1 FROM"
            " (SELECT title, page_id, revision_id, timestamp, sha1, max(age) FROM"
            "  (SELECT title, page_id, revision_id, timestamp, sha1,"
            "   max(timestamp || printf('%020d', revision_id)) AS age"
            "   FROM revisions WHERE language = ? AND timestamp <= ? GROUP BY page_id)"
            "  GROUP BY title)"
        )
        return self._dated(query, language, as_of or LATEST)

    def all_revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """Return every revision, or every revision up to a date, in the order of page and revision ids."""
        query = (
            "SELECT title, page_id, revision_id, timestamp, sha1 FROM revisions"
            " WHERE language = ? AND timestamp <= ?"
        )
        return self._dated(query, language, as_of or LATEST)

    def revision_count(self, language: str, *, as_of: str | None = None) -> int:
        """Return the number of revisions, of all or of those up to a date."""
        query = "SELECT count(*) FROM revisions WHERE language = ? AND timestamp <= ?"
        return int(self.read(query, (language, as_of or LATEST))[0][0])

    def _dated(self, revisions: str, language: str, as_of: str) -> list[Revision]:
        """Return a query's revisions with creation dates and the sha1 of HTML, by page and revision ids."""
        query = (
            "SELECT title, chosen.page_id, chosen.revision_id, timestamp, chosen.sha1,"  # noqa: S608
            " coalesce(created, '') AS created,"
            " CASE failure WHEN '' THEN rendered.sha1 ELSE '' END AS html"
            f" FROM ({revisions}) AS chosen LEFT JOIN dates"
            " ON dates.language = ? AND dates.page_id = chosen.page_id LEFT JOIN rendered"
            " ON rendered.language = ? AND rendered.revision_id = chosen.revision_id"
            " ORDER BY chosen.page_id, chosen.revision_id"
        )
        return self.records(Revision, query, (language, as_of, language, language))

    def has(self, language: str, revision: Revision) -> bool:
        """Return True if a revision is stored with its page, time and text; the title may differ."""
        query = "SELECT page_id, timestamp, sha1 FROM revisions WHERE language = ? AND revision_id = ?"
        rows = self.read(query, (language, revision.revision_id))
        return rows == [(revision.page_id, revision.timestamp, revision.sha1)]

    def pages(self, language: str, revision_ids: Sequence[int]) -> Iterator[Page]:
        """Yield pages in the order of `revision_ids`."""
        query = "SELECT title, page_id, timestamp, sha1, body FROM revisions"
        for number in revision_ids:
            rows = self.read(f"{query} WHERE language = ? AND revision_id = ?", (language, number))
            if not rows:
                raise BuilderError(
                    f"{self.path}: revision {number} of {language} is not in this store; fetch it first"
                )
            title, page_id, timestamp, sha1, body = rows[0]
            yield Page(
                title=title,
                page_id=page_id,
                revision_id=number,
                timestamp=timestamp,
                wikitext=self.unpack(number, sha1, body),
            )

    # --- items of Wikidata and creation dates

    def add_items(self, language: str, items: Mapping[int, str]) -> None:
        """Store the item of each page id, such as Q1490, unless it is empty."""
        rows = [(language, page_id, item) for page_id, item in items.items() if item]
        self.write("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", rows)

    def item(self, language: str, page_id: int) -> str:
        """Return the item of a page; empty if unknown."""
        query = "SELECT item FROM items WHERE language = ? AND page_id = ?"
        rows = self.read(query, (language, page_id))
        return str(rows[0][0]) if rows else ""

    def items(self, language: str) -> Iterator[Row]:
        """Yield page ids and items, in the order of page ids."""
        query = "SELECT page_id, item FROM items WHERE language = ? ORDER BY page_id"
        return self.scan(query, (language,))

    def add_dates(self, language: str, created: Mapping[int, str]) -> None:
        """Store when each page was created, ISO 8601 in UTC; an empty date changes nothing."""
        rows = [(language, page_id, date) for page_id, date in created.items() if date]
        if rows:
            self.write("INSERT OR REPLACE INTO dates VALUES (?, ?, ?)", rows)

    # --- pages as MediaWiki renders them

    def add_rendered(self, language: str, revision_id: int, html: str, failure: str = "") -> None:
        """Store the HTML of a revision, or the reason why it has none."""
        row = (language, revision_id, failure, sha1_of(html), self.pack(html))
        self.write("INSERT OR REPLACE INTO rendered VALUES (?, ?, ?, ?, ?)", [row])

    def add_missing_rendered(self, language: str, html: Mapping[int, str]) -> int:
        """Store the HTML of revisions that have none, in one transaction; return how many are new."""
        rows = [(language, revision, sha1_of(text), self.pack(text)) for revision, text in html.items()]
        return self.write(
            "INSERT INTO rendered VALUES (?, ?, '', ?, ?) ON CONFLICT DO UPDATE SET"
            " failure = '', sha1 = excluded.sha1, body = excluded.body WHERE failure <> ''",
            rows,
        )

    def rendered(self, language: str, revision_id: int) -> str | None:
        """Return the HTML of a revision; None if the store has none."""
        query = "SELECT sha1, body FROM rendered WHERE language = ? AND revision_id = ? AND failure = ''"
        rows = self.read(query, (language, revision_id))
        return self.unpack(revision_id, *rows[0]) if rows else None

    def rendered_sha1s(self, language: str) -> Iterator[Row]:
        """Yield revision ids in order, with the SHA-1 of their HTML; empty if the wiki gave no HTML."""
        query = (
            "SELECT revision_id, CASE failure WHEN '' THEN sha1 ELSE '' END AS sha1"
            " FROM rendered WHERE language = ? ORDER BY revision_id"
        )
        return self.scan(query, (language,))

    def counts(self, table: str, language: str) -> dict[str, int]:
        """Count rows of `rendered` or `expansions` by the reason of failure, which is empty for a text."""
        query = f"SELECT failure, count(*) FROM {table} WHERE language = ? GROUP BY failure ORDER BY failure"  # noqa: S608
        return dict(self.read(query, (language,)))

    # --- template calls expanded by MediaWiki, and redirects between templates

    def add_expansions(
        self,
        language: str,
        revision_id: int,
        expansions: Mapping[str, str],
        failures: Mapping[str, str] | None = None,
    ) -> None:
        """Store the texts that `expandtemplates` gave for calls in a revision, and why calls failed."""
        rows = [(language, revision_id, call, text, "") for call, text in expansions.items()]
        rows += [(language, revision_id, call, "", reason) for call, reason in (failures or {}).items()]
        self.write("INSERT OR REPLACE INTO expansions VALUES (?, ?, ?, ?, ?)", rows)

    def expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """Return the calls of a revision that were expanded, with their texts."""
        query = "SELECT call, text FROM expansions WHERE language = ? AND revision_id = ? AND failure = ''"
        return dict(self.read(f"{query} ORDER BY call", (language, revision_id)))

    def failed_expansions(self, language: str, revision_id: int) -> dict[str, str]:
        """Return the calls of a revision that could not be expanded, with the reasons."""
        query = "SELECT call, failure FROM expansions WHERE language = ? AND revision_id = ?"
        return dict(self.read(f"{query} AND failure <> '' ORDER BY call", (language, revision_id)))

    def expansions_digest(self, language: str, revision_ids: Container[int]) -> str:
        """Return the SHA-256 of all expansions in revisions, on which a dataset depends."""
        digest = hashlib.sha256()
        query = "SELECT revision_id, call, text FROM expansions WHERE language = ? AND failure = ''"
        for row in self.scan(f"{query} ORDER BY revision_id, call", (language,)):
            if row[0] in revision_ids:
                digest.update(repr(row).encode())
        return digest.hexdigest()

    def add_template_redirects(self, language: str, redirects: Mapping[str, tuple[str, str]]) -> None:
        """Store the targets of template names, each with the time, ISO 8601 in UTC, of which it is known.

        A target of an earlier time than the stored one changes nothing, because dumps come in any order.
        """
        self.write(
            "INSERT INTO template_redirects VALUES (?, ?, ?, ?) ON CONFLICT (language, name)"
            " DO UPDATE SET target = excluded.target, timestamp = excluded.timestamp"
            " WHERE excluded.timestamp >= template_redirects.timestamp",
            [(language, name, target, moment) for name, (target, moment) in redirects.items()],
        )

    def template_redirects(self, language: str, *, as_of: str = "") -> dict[str, str]:
        """Return the targets of template names that the wiki was asked for or a dump had.

        The target of a template that is not a redirect is its own name. A target that is older than the
        template's newest revision up to `as_of` is left out, because a newer redirect would have replaced it;
        so is a target that is newer than `as_of`, if the template has a revision up to `as_of`.
        """
        query = (
            "SELECT name, target FROM template_redirects AS known WHERE language = ? AND NOT EXISTS"
            " (SELECT 1 FROM templates WHERE language = known.language AND name = known.name"
            "  AND timestamp <= ? AND (timestamp > known.timestamp OR known.timestamp > ?)) ORDER BY name"
        )
        return dict(self.read(query, (language, as_of or LATEST, as_of or LATEST)))

    # --- notes: names of wikis, positions of listings, finished imports

    def note(self, key: str) -> str | None:
        """Return the note of a key; None if it has none."""
        rows = self.read("SELECT value FROM progress WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def set_note(self, key: str, value: str) -> None:
        """Write the note of a key."""
        self.write("INSERT OR REPLACE INTO progress VALUES (?, ?)", [(key, value)])

    def wiki(self, language: str) -> str:
        """Return the name that the wiki of a language reports; empty if no API was asked."""
        return self.note(f"{language} wiki") or ""

    def expect_wiki(self, language: str, name: str, origin: str, *, dumped: bool = False) -> None:
        """Note the wiki that the pages of a language come from, and refuse another wiki.

        Revision ids of another wiki mean other texts. A dump names its database, or nothing. An API adds the
        prefix of the tables, if any: `wiki-x_` for the database `wiki`.
        """
        if not name:
            return
        kind, other_kind = ("database", "wiki") if dumped else ("wiki", "database")
        noted = self.note(f"{language} {kind}") or ""
        noted_other = self.note(f"{language} {other_kind}") or ""
        wiki, database = (noted_other, name) if dumped else (name, noted_other)
        fits = not (wiki and database) or wiki == database or wiki.startswith(f"{database}-")
        if (noted and noted != name) or not fits:
            raise BuilderError(
                f"{self.path}: holds pages of the wiki {noted or noted_other!r}, but {origin} is of {name!r};"
                " use another --store"
            )
        if not noted:
            self.set_note(f"{language} {kind}", name)

    def note_listing(self, listing: str, titles: Iterable[str], position: str) -> None:
        """Store the titles of a part of a listing, and the position where the listing continues."""
        with self.transaction():
            self.connection.executemany(
                "INSERT OR IGNORE INTO listed (listing, title) VALUES (?, ?)",
                [(listing, title) for title in titles],
            )
            self.connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (listing, position))

    def listed(self, listing: str) -> list[str]:
        """Return the titles that a listing has given so far, in order."""
        return sorted(
            title for (title,) in self.read("SELECT title FROM listed WHERE listing = ?", (listing,))
        )
