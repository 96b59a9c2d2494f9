"""Fetching without a wiki: progress, revisions of a build, marks; the rest is in tests/mediawiki."""

from dataclasses import replace
from pathlib import Path

from tests.dumps import numbered_page
from wikitext_builder.fetching.expansions import marked, split_at_marks
from wikitext_builder.fetching.fetch import revisions_to_build
from wikitext_builder.fetching.lookup import Lookup
from wikitext_builder.fetching.selections import LockFile
from wikitext_builder.progress import WaitingProgress
from wikitext_builder.store.lock import lock_lines
from wikitext_builder.store.schema import Revision, sha1_of
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import LANGUAGES


def test_a_wait_repeats_the_last_report_with_its_reason() -> None:
    reports: list[tuple[object, ...]] = []
    progress = WaitingProgress(lambda *report: reports.append(report))
    progress.wait("waiting 1 s (before any stage)")
    progress("fetching", 50, 120, "1 rejected")
    progress.wait("waiting 5 s (busy)")
    assert reports == [
        ("connecting", 0, None, "waiting 1 s (before any stage)"),
        ("connecting", 1, 1),
        ("fetching", 50, 120, "1 rejected"),
        ("fetching", 50, 120, "waiting 5 s (busy)"),
    ]


REVISIONS = [  # page, revision, date
    (1, 10, "2016-01-01"), (1, 11, "2016-06-01"), (1, 12, "2017-01-01"), (2, 20, "2016-12-01"),
]  # fmt: skip


def test_templates_are_expanded_in_the_revisions_that_a_build_takes(tmp_path: Path) -> None:
    pages = [
        replace(numbered_page(number, "text"), revision_id=revision, timestamp=f"{day}T00:00:00Z")
        for number, revision, day in (*REVISIONS, (3, 30, "2016-01-01"))
    ]
    locked = [
        Revision(
            title=page.title,
            page_id=page.page_id,
            revision_id=page.revision_id,
            timestamp=page.timestamp,
            sha1=sha1_of(page.wikitext),
        )
        for page in (pages[0], pages[-1])  # the last is not in the store
    ]
    lock = tmp_path / "titles.lock"
    lock.write_text("".join(lock_lines(locked, LANGUAGES["en"])), encoding="utf-8", newline="")
    with (
        Store.create(tmp_path / "a.store") as store,
        Wikipedia("http://127.0.0.1:9/api.php", language=LANGUAGES["en"]) as wikipedia,
    ):
        store.add("en", pages[:-1], origin="test")
        assert revisions_to_build(store, "en") == (12, 20)
        assert revisions_to_build(store, "en", as_of="2016-08-31T23:59:59Z") == (11,)
        selected = LockFile(path=lock).find(Lookup(store=store, wikipedia=wikipedia))
        assert revisions_to_build(store, "en", selected.locked) == (10, 12, 20)


def test_many_calls_are_told_apart_in_linear_time() -> None:
    """Of 16,000 calls it once took 2 seconds, and four times as long for twice as many."""
    calls = [f"{{{{{number}}}}}" for number in range(50_000)]
    assert split_at_marks(marked(calls), len(calls)) == calls
    assert split_at_marks(marked(calls)[:-1], len(calls)) is None
