"""Fetching without a wiki: progress, help, revisions of a build, marks; the rest is in tests/mediawiki."""

from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.cli.pages import SELECT_HELP
from wikitext_builder.fetching.expansions import marked, split_at_marks
from wikitext_builder.fetching.fetch import fetch, revisions_to_build
from wikitext_builder.fetching.lookup import Lookup
from wikitext_builder.fetching.selections import SELECTIONS, LockFile
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


def test_help_and_docstring_name_every_kind_of_selection() -> None:
    for form in SELECTIONS:
        assert form in SELECT_HELP
        assert f"`{form.partition(':')[0]}" in (fetch.__doc__ or "")


def page(page_id: int, revision_id: int, timestamp: str) -> Page:
    title = f"Title {page_id}"
    return Page(
        title=title, page_id=page_id, revision_id=revision_id, timestamp=timestamp, wikitext=f"{revision_id}"
    )


PAGES = [
    page(1, 10, "2016-01-01T00:00:00Z"),
    page(1, 11, "2016-06-01T00:00:00Z"),
    page(1, 12, "2017-01-01T00:00:00Z"),
    page(2, 20, "2016-12-01T00:00:00Z"),
]


def test_templates_are_expanded_in_the_revisions_that_a_build_takes(tmp_path: Path) -> None:
    lock = tmp_path / "titles.lock"
    locked = [
        Revision(
            title=one.title,
            page_id=one.page_id,
            revision_id=one.revision_id,
            timestamp=one.timestamp,
            sha1=sha1_of(one.wikitext),
        )
        for one in (PAGES[0], page(3, 30, "2016-01-01T00:00:00Z"))  # the last is not in the store
    ]
    with lock.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lock_lines(locked, LANGUAGES["en"]))
    with (
        Store.create(tmp_path / "a.store") as store,
        Wikipedia("http://127.0.0.1:9/api.php", language=LANGUAGES["en"]) as wikipedia,
    ):
        store.add("en", PAGES, origin="test")
        assert revisions_to_build(store, "en") == (12, 20)
        assert revisions_to_build(store, "en", as_of="2016-08-31T23:59:59Z") == (11,)
        found = LockFile(path=lock).find(Lookup(store=store, wikipedia=wikipedia))
        assert revisions_to_build(store, "en", found.locked) == (10, 12, 20)


def test_many_calls_are_told_apart_in_linear_time() -> None:
    """Of 16,000 calls it once took 2 seconds, and four times as long for twice as many."""
    calls = [f"{{{{{number}}}}}" for number in range(50_000)]
    assert split_at_marks(marked(calls), len(calls)) == calls
    assert split_at_marks(marked(calls)[:-1], len(calls)) is None
