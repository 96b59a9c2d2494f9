"""Fetched pages in one SQLite file: one row per revision, resumable, safe if it is killed at any moment."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.pages.database import Row, WikiTexts, sha1_of

if TYPE_CHECKING:
    from wikitext_builder.wiki.client import Wikipedia

LATEST = "~"  # after every timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """Which revision of which page: a line of a lock file."""

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # ISO 8601 in UTC
    sha1: str  # of the wikitext in UTF-8, 40 hexadecimal digits
    created: str = field(default="", compare=False)  # the page's first revision; empty: nobody asked
    promoted: str = field(default="", compare=False)  # since when it is Good or Featured; empty: nobody asked


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Wanted:
    """What a selection asked for: a title's newest revision, its newest up to a date, or one revision."""

    title: str
    as_of: str = ""  # ISO 8601 in UTC; empty: the newest
    revision_id: int = 0  # 0: any revision

    def key(self, language: str) -> tuple[str, str, str, int]:
        """Of its row."""
        return (language, self.title, self.as_of, self.revision_id)


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
        error = RejectedError(reason, detail)
        return cls.by(error, page.title, page_id=page.page_id, revision_id=page.revision_id)

    @classmethod
    def by(cls, error: RejectedError, title: str, **ids: int) -> Self:
        """Reject the page of a title and ids, for the reason of an error."""
        return cls(title=title, **ids, reason=error.reason, detail=error.detail)


class Store(WikiTexts):
    """An open store. Each writing method is one transaction: it is done completely or not at all."""

    # --- what was asked for

    def want(self, language: str, wanted: Iterable[Wanted]) -> int:
        """Note what a selection asks for, and return how many of these are new."""
        rows = [one.key(language) for one in wanted]
        return self.write(
            "INSERT OR IGNORE INTO wanted (language, title, as_of, revision_id) VALUES (?, ?, ?, ?)", rows
        )

    def wanted_count(self, language: str) -> int:
        """Return how many revisions were asked for, settled or not."""
        query = "SELECT count(*) FROM wanted WHERE language = ?"
        return int(self.read(query, (language,))[0][0])

    def missing(self, language: str) -> list[Wanted]:
        """Return what was asked for and is neither here nor rejected, in the order of titles."""
        query = "SELECT title, as_of, revision_id FROM wanted WHERE language = ? AND NOT settled"
        return sorted(self.records(Wanted, query, (language,)))

    def ask_again(self, language: str, conditions: str, free: Iterable[Wanted] = ()) -> None:
        """Mark as missing all that was rejected before, if that was under other conditions than these.

        Of `free`, which a selection takes without a condition, also what was rejected when none did.
        """
        key = f"{language} conditions"
        with self.transaction():
            self.connection.executemany(
                "UPDATE wanted SET settled = 0 WHERE settled = 2"
                " AND language = ? AND title = ? AND as_of = ? AND revision_id = ?",
                [one.key(language) for one in free],
            )
            if (self.note(key) or "") == conditions:
                return
            self.connection.execute(
                "UPDATE wanted SET settled = 0 WHERE language = ? AND (language, title, revision_id)"
                " IN (SELECT language, title, revision_id FROM rejected)",
                (language,),
            )
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
        bound: Container[Wanted] = (),
        redirects: Mapping[str, str] | None = None,
    ) -> int:
        """Store pages and rejections, and mark what they answer as settled, in one transaction.

        Stored revisions do not change. `origin` is the API's address or the dump's name, `redirects` are
        titles that lead to others, `bound` what selections take under conditions only. Returns the number of
        new revisions.
        """
        pages, settled, rejected = list(pages), list(settled), list(rejected)
        with self.transaction():
            rows = [self._row(language, page, origin) for page in pages]
            before = self.connection.total_changes
            self.connection.executemany(
                "INSERT OR IGNORE INTO revisions"
                " (language, revision_id, page_id, title, timestamp, sha1, source, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            added = self.connection.total_changes - before
            if added < len(pages):
                self._refuse_other_texts(rows)
            answered = [(language, one.title, one.revision_id) for one in settled]
            again = {one.title for one in rejected}
            self._ask_for_other_dates(language, [one for one in settled if one.title not in again])
            self.connection.executemany(  # by an earlier attempt; only the new answer counts
                "DELETE FROM rejected WHERE language = ? AND title = ? AND revision_id = ?",
                answered + [(language, page.title, page.revision_id) for page in pages],
            )
            self.connection.executemany(
                "INSERT OR REPLACE INTO rejected (language, title, page_id, revision_id, reason, detail)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(language, r.title, r.page_id, r.revision_id, r.reason, r.detail) for r in rejected],
            )
            self.connection.executemany(
                "INSERT OR REPLACE INTO redirects (language, title, target) VALUES (?, ?, ?)",
                [(language, title, target) for title, target in (redirects or {}).items()],
            )
            self.connection.executemany(
                "UPDATE wanted SET settled = ?"
                " WHERE language = ? AND title = ? AND as_of = ? AND revision_id = ?",
                [(1 + (one in bound and one.title in again), *one.key(language)) for one in settled],
            )
        return added

    def _refuse_other_texts(self, rows: Iterable[tuple[object, ...]]) -> None:
        query = "SELECT title, sha1 FROM revisions WHERE language = ? AND revision_id = ?"
        for language, revision_id, _, title, _, sha1, origin, _ in rows:
            ((known, text),) = self.read(query, (language, revision_id))
            if text != sha1:
                raise BuilderError(
                    f"{self.path}: has revision {revision_id}, of {known!r}, with another text than"
                    f" {origin}, where it is of {title!r}; that is another wiki: use another --store"
                )

    def _ask_for_other_dates(self, language: str, kept: Iterable[Wanted]) -> None:
        """Ask again for pages whose only rejection, which is of several dates, is about to go."""
        self.connection.executemany(
            "UPDATE wanted SET settled = 0"
            " WHERE language = ? AND title = ? AND revision_id = ? AND as_of <> ?"
            " AND (language, title, revision_id) IN (SELECT language, title, revision_id FROM rejected)",
            [(language, one.title, one.revision_id, one.as_of) for one in kept],
        )

    def _row(self, language: str, page: Page, origin: str) -> tuple[object, ...]:
        sha1, packed = sha1_of(page.wikitext), self.pack(page.wikitext)
        return (language, page.revision_id, page.page_id, page.title, page.timestamp, sha1, origin, packed)

    def rejected(self, language: str) -> list[Rejected]:
        """Return every rejected page with its reason, in the order of titles."""
        query = "SELECT title, page_id, revision_id, reason, detail FROM rejected WHERE language = ?"
        return self.records(Rejected, f"{query} ORDER BY title, revision_id", (language,))

    def redirects(self, language: str) -> dict[str, str]:
        """Return the titles that were asked for and are redirects, with their targets."""
        query = "SELECT title, target FROM redirects WHERE language = ? ORDER BY title"
        return dict(self.read(query, (language,)))

    def average_size(self, language: str) -> float:
        """Return the average size of a revision as it is stored, compressed, in bytes."""
        query = "SELECT total(length(body)) / max(count(*), 1) FROM revisions WHERE language = ?"
        return float(self.read(query, (language,))[0][0])

    def languages(self) -> list[str]:
        """Return the codes of the Wikipedias that have something here or were asked."""
        query = (
            "SELECT language FROM revisions UNION SELECT language FROM wanted"
            " UNION SELECT language FROM rejected UNION SELECT language FROM templates"
        )
        return sorted(code for (code,) in self.read(query))

    def revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """Return one revision per page, the newest or the newest up to a date, in the order of page ids.

        Two pages with the same title (a page was moved, or made again, between two fetches) count as one, and
        the newer revision is taken.
        """
        # SQLite takes the other columns from the row with the greatest value.
        query = (
            "SELECT title, page_id, revision_id, timestamp, sha1 FROM"
            " (SELECT title, page_id, revision_id, timestamp, sha1, max(age) FROM"
            "  (SELECT title, page_id, revision_id, timestamp, sha1,"
            "   max(timestamp || printf('%020d', revision_id)) AS age"
            "   FROM revisions WHERE language = ? AND timestamp <= ? GROUP BY page_id)"
            "  GROUP BY title)"
        )
        return self._revisions(query, language, as_of or LATEST)

    def all_revisions(self, language: str, *, as_of: str | None = None) -> list[Revision]:
        """Return every revision, or every one up to a date, in the order of page and revision ids."""
        query = (
            "SELECT title, page_id, revision_id, timestamp, sha1 FROM revisions"
            " WHERE language = ? AND timestamp <= ?"
        )
        return self._revisions(query, language, as_of or LATEST)

    def revision_count(self, language: str, *, as_of: str | None = None) -> int:
        """Return how many revisions there are, or how many up to a date."""
        query = "SELECT count(*) FROM revisions WHERE language = ? AND timestamp <= ?"
        return int(self.read(query, (language, as_of or LATEST))[0][0])

    def _revisions(self, found: str, language: str, as_of: str) -> list[Revision]:
        """The revisions that a query finds, in the order of page and revision ids, with the known dates."""
        query = (
            "SELECT title, found.page_id, revision_id, timestamp, sha1,"  # noqa: S608
            " coalesce(created, '') AS created, coalesce(promoted, '') AS promoted"
            f" FROM ({found}) AS found LEFT JOIN dates"
            " ON dates.language = ? AND dates.page_id = found.page_id"
            " ORDER BY found.page_id, revision_id"
        )
        return self.records(Revision, query, (language, as_of, language))

    def has(self, language: str, revision: Revision) -> bool:
        """True if a revision is here, with the same page, time and text; the page may have been renamed."""
        query = "SELECT page_id, timestamp, sha1 FROM revisions WHERE language = ? AND revision_id = ?"
        rows = self.read(query, (language, revision.revision_id))
        return rows == [(revision.page_id, revision.timestamp, revision.sha1)]

    def pages(self, language: str, revision_ids: Sequence[int]) -> Iterator[Page]:
        """Read pages one by one, in the order of `revision_ids`."""
        query = (
            "SELECT title, page_id, timestamp, sha1, body FROM revisions"
            " WHERE language = ? AND revision_id = ?"
        )
        for number in revision_ids:
            rows = self.read(query, (language, number))
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

    # --- notes: which wiki, how far a listing is, which imports have ended

    def note(self, key: str) -> str | None:
        """Return the note of a key; None if there is none."""
        rows = self.read("SELECT value FROM progress WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def set_note(self, key: str, value: str) -> None:
        """Write the note of a key."""
        self.write("INSERT OR REPLACE INTO progress VALUES (?, ?)", [(key, value)])

    def wiki(self, language: str) -> str:
        """Return the name that the wiki of a language gives itself; empty if no API was asked."""
        return self.note(f"{language} wiki") or ""

    def note_listing(self, listing: str, titles: Iterable[str], position: str) -> None:
        """Note the titles that a piece of a listing gave, and where the listing continues."""
        with self.transaction():
            self.connection.executemany(
                "INSERT OR IGNORE INTO listed (listing, title) VALUES (?, ?)", [(listing, t) for t in titles]
            )
            self.connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (listing, position))

    def listed(self, listing: str) -> list[str]:
        """Return the titles that a listing has given so far, in their order."""
        return sorted(
            title for (title,) in self.read("SELECT title FROM listed WHERE listing = ?", (listing,))
        )


def add_items(store: Store, language: str, items: Mapping[int, str]) -> None:
    """Keep the item of each page id, such as Q1490; an empty one is not kept."""
    rows = [(language, page_id, item) for page_id, item in items.items() if item]
    if rows:
        store.write("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", rows)


def item_of(store: Store, language: str, page_id: int) -> str:
    """The item of a page; empty if it is not known."""
    query = "SELECT item FROM items WHERE language = ? AND page_id = ?"
    rows = store.read(query, (language, page_id))
    return str(rows[0][0]) if rows else ""


def items_of(store: Store, language: str) -> Iterator[Row]:
    """Page ids in order, each with its known item."""
    query = "SELECT page_id, item FROM items WHERE language = ? ORDER BY page_id"
    return store.scan(query, (language,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates:
    """Two moments in the past of a page, ISO 8601 in UTC; empty: not known."""

    created: str = ""  # its first revision
    promoted: str = ""  # since when its category of Good or Featured articles lists it


def add_dates(store: Store, language: str, dates: Mapping[int, Dates]) -> None:
    """Store the dates of each page id; an unknown one changes nothing."""
    rows = [
        (language, page_id, one.created, one.promoted) for page_id, one in dates.items() if one != Dates()
    ]
    if rows:
        store.write(
            "INSERT INTO dates VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " created = iif(excluded.created = '', created, excluded.created),"
            " promoted = iif(excluded.promoted = '', promoted, excluded.promoted)",
            rows,
        )


def expect_wiki(store: Store, language: str, name: str, origin: str, *, dumped: bool = False) -> None:
    """Note which wiki the pages of a language come from, and refuse those of another one.

    A dump names its database, or nothing. An API adds the prefix of the tables, if there is one: `wiki-x_`
    for the database `wiki`.
    """
    if not name:
        return
    wiki, database = store.wiki(language), store.note(f"{language} database") or ""
    known = database if dumped else wiki
    database, wiki = (name, wiki) if dumped else (database, name)
    fits = not (wiki and database) or wiki == database or wiki.startswith(f"{database}-")
    if (known and known != name) or not fits:
        there = known or (wiki if dumped else database)
        raise BuilderError(
            f"{store.path}: holds pages of the wiki {there!r}, but {origin} is of {name!r};"
            " use another --store"
        )
    if not known:
        store.set_note(f"{language} {'database' if dumped else 'wiki'}", name)


def check_wiki(store: Store, wikipedia: Wikipedia) -> None:
    """Refuse to mix two wikis of one language in one store: their revision ids mean different texts."""
    expect_wiki(store, wikipedia.language.code, wikipedia.site().wiki, wikipedia.api)
