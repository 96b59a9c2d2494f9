"""Pages with histories made for the selections by time: what happened to each of them, and when.

Old histories are imported; pages are made, moved, merged and deleted by the wiki itself, so that its logs
have it. Then all that happened today gets the moment that it should have, in the database.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

from tests.cases import read, whole
from tests.mediawiki.exports import Revisions, page
from tests.mediawiki.wiki import Administrator, Wiki

SINCE = "2020-06-01"  # the date that pages come before or after
PAGES = read("wiki_pages")


def text_of(name: str) -> str:
    """A text of the case file by its name, or the text itself."""
    return str(whole(PAGES["texts"].get(name, name)))


def days(revisions: Iterable[Sequence[str]]) -> Revisions:
    """Revisions at noon of their days."""
    return [(f"{day}T12:00:00Z", text_of(text)) for day, text in revisions]


def imported() -> list[str]:
    """Pages whose past can be imported."""
    return [page("Merged from", days([("2015-01-01", "TEXT"), ("2015-02-01", "TWICE")]))]


class Clock:
    """Notes when each action on the wiki shall have been, and writes these moments into its database."""

    def __init__(self, wiki: Wiki) -> None:
        self.database = wiki.folder / "data" / "wiki.sqlite"
        self.started = f"{datetime.now(UTC) - timedelta(minutes=1):%Y%m%d%H%M%S}"
        self.actions: list[tuple[int, int, str]] = []  # the last ids before it, and the moment

    def tick(self, day: str) -> None:
        """What is done next shall have been at noon of a day."""
        with closing(sqlite3.connect(self.database)) as database:
            last = "SELECT (SELECT max(rev_id) FROM revision), (SELECT max(log_id) FROM logging)"
            revision, entry = database.execute(last).fetchone()
        self.actions.append((revision or 0, entry or 0, moment(day)))

    def set(self) -> None:
        """Give all that was done its moment, while the wiki does not run; imported revisions keep theirs."""
        ends = [*self.actions[1:], (2**62, 2**62, "")]
        with closing(sqlite3.connect(self.database)) as database:
            for (revision, entry, when), (last_revision, last_entry, _) in zip(
                self.actions, ends, strict=True
            ):
                database.execute(
                    "UPDATE revision SET rev_timestamp = ?"
                    " WHERE rev_id > ? AND rev_id <= ? AND rev_timestamp > ?",
                    (when, revision, last_revision, self.started),
                )
                database.execute(
                    "UPDATE logging SET log_timestamp = ? WHERE log_id > ? AND log_id <= ?",
                    (when, entry, last_entry),
                )
            database.commit()


def moment(day: str) -> str:
    """Noon of a day, as MediaWiki's tables have it."""
    return f"{day.replace('-', '')}120000"


class Writer(Administrator):
    """A user whose actions get moments."""

    def __init__(self, wiki: Wiki, clock: Clock) -> None:
        super().__init__(wiki)
        self.clock = clock
        self.csrf = self.token("csrf")  # of the session

    def act(self, day: str, **parameters: str) -> None:
        """One action."""
        self.clock.tick(day)
        self.post(token=self.csrf, **parameters)

    def write(self, day: str, title: str, text: str, summary: str = "") -> None:
        """Make a page."""
        self.act(day, action="edit", title=title, text=text, summary=summary, createonly="1")

    def move(self, day: str, old: str, new: str) -> None:
        """Move a page, without a redirect."""
        self.act(day, **{"action": "move", "from": old, "to": new, "noredirect": "1"})


def make(wiki: Wiki) -> Clock:
    """Do all this on a wiki that has the imported pages; set the clock when it has stopped."""
    wiki.set("$wgDBservers[0]['trxMode'] = 'IMMEDIATE';")  # writers wait for each other
    clock = Clock(wiki)
    writer = Writer(wiki, clock)
    for row in PAGES["created"]:
        writer.write(row["day"], row["title"], text_of(row["text"]), row.get("summary", ""))
    writer.move("2020-07-05", "Working title", "Moved article")
    writer.move("2020-07-04", "Draft:Fresh draft", "Fresh draft")
    writer.move("2020-07-03", "Draft:Old draft", "Old draft")
    writer.move("2020-07-14", "Sent back", "Draft:Sent back")
    writer.act("2020-07-06", **{"action": "mergehistory", "from": "Merged from", "to": "Merged into"})
    writer.act("2020-07-10", action="delete", title="Deleted soon")
    wiki.heal()
    return clock
