"""The store: what goes in comes out, once, and nothing else does."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dumps import numbered_page
from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.schema import Rejected, Wanted, as_builder_error, sha1_of
from wikitext_builder.store.store import Store


def page(number: int, **fields: Any) -> Page:
    ids: dict[str, Any] = {"revision_id": number, "timestamp": f"2016-01-01T00:00:{number % 60:02}Z"}
    return numbered_page(number, **ids | fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.store"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.create(path) as opened:
        yield opened


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=20))
@settings(max_examples=20)
def test_pages_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    with Store.create(tmp_path_factory.mktemp("store") / "a.store") as store:
        pages = [page(number, wikitext=text) for number, text in enumerate(texts, 1)]
        store.add("en", pages, origin="test")
        assert list(store.pages("en", range(1, len(texts) + 1))) == pages
        assert [one.sha1 for one in store.revisions("en")] == [*map(sha1_of, texts)]


def test_the_newest_revision_of_a_page_or_title_is_taken_or_the_newest_as_of_a_date(store: Store) -> None:
    store.add("en", [page(1, page_id=7), page(3, page_id=7), page(2, page_id=7)], origin="test")
    store.add("de", [page(1, title="A"), page(2, title="A", wikitext="Wort")], origin="test")
    for language, as_of, revision_ids in (
        ("en", "", [3]),
        ("en", "2016-01-01T00:00:02Z", [2]),
        ("en", "2015-01-01T00:00:00Z", []),
        ("de", "", [2]),
    ):
        assert [r.revision_id for r in store.revisions(language, as_of=as_of)] == revision_ids
    assert [r.revision_id for r in store.all_revisions("en")] == [1, 2, 3]
    assert store.languages() == ["de", "en"]
    assert [page.wikitext for page in store.pages("de", [2])] == ["Wort"]


def test_what_is_wanted_is_missing_until_it_is_settled(store: Store) -> None:
    assert store.want("en", [Wanted(title="B"), Wanted(title="A"), Wanted(title="C")]) == 3
    assert store.want("en", [Wanted(title="B")]) == 0
    store.add("en", [page(1, title="A")], origin="test", settled=[Wanted(title="A")])
    gone = Rejected(title="C", reason="missing", detail="no such page")
    store.add("en", [], origin="test", settled=[Wanted(title="C")], rejected=[gone])
    assert store.missing("en") == [Wanted(title="B")]
    assert store.rejected("en") == [gone]


def test_an_empty_file_is_no_store_to_read_and_becomes_one_to_write(path: Path) -> None:
    path.touch()
    with pytest.raises(BuilderError, match="an empty file, no store yet"):
        Store.open(path)
    with Store.create(path) as store:
        assert store.languages() == []


def test_reading_leaves_nothing_beside_the_file_and_changes_nothing_in_it(path: Path) -> None:
    with Store.create(path) as store:
        store.set_note("a", "b")
    before = path.read_bytes()
    with Store.open(path) as one, Store.open(path) as other:
        assert one.note("a") == other.note("a") == "b"
        with pytest.raises(BuilderError, match="readonly"):
            one.set_note("a", "c")
    assert (list(path.parent.iterdir()), path.read_bytes()) == ([path], before)


def fail(path: Path, action: Callable[[Store], object]) -> None:
    """Make a store in which an error follows an action."""
    with Store.create(path) as store:
        action(store)
        list(store.pages("en", [1]))


def test_an_error_removes_the_new_file_only_if_nobody_uses_or_wrote_it(path: Path) -> None:
    with pytest.raises(BuilderError, match="revision 1 of en"):
        fail(path, lambda _: None)
    assert not path.exists()
    others: list[Store] = []
    with pytest.raises(BuilderError, match="revision 1 of en"):
        fail(path, lambda _: others.append(Store.create(path)))
    others[0].set_note("a", "b")
    others[0].close()
    with pytest.raises(BuilderError, match="revision 1 of en"):
        fail(path.with_name("b"), lambda store: store.set_note("a", "b"))
    for name in (path, path.with_name("b")):
        with Store.open(name) as store:
            assert store.note("a") == "b"


def test_a_damaged_body_is_found(path: Path) -> None:
    with Store.create(path) as store:
        store.add("en", [page(1), page(2)], origin="test")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE revisions SET body = substr(body, 1, 5) WHERE revision_id = 1")
        connection.execute("UPDATE revisions SET sha1 = 'no' WHERE revision_id = 2")
    with Store.open(path) as store:
        for number in (1, 2):
            with pytest.raises(BuilderError, match=f"revision {number} is damaged"):
                list(store.pages("en", [number]))


def test_values_of_other_types_are_an_error_of_ours(tmp_path: Path) -> None:
    with Store.create(tmp_path / "number") as store:
        row = ("en", "x", 1, "A", "2020-01-01T00:00:00Z", "", "test", b"")
        store.write("INSERT INTO revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row])
        with pytest.raises(BuilderError, match="revision_id with a value of another type, 'x'"):
            store.all_revisions("en")
    for table in ("revisions", "wanted", "rejected", "templates"):
        with Store.create(tmp_path / table) as store:
            columns = len(store.connection.execute(f"PRAGMA table_info({table})").fetchall())
            places = ", ".join("?" * columns)
            store.write(f"INSERT INTO {table} VALUES ({places})", [(b"en",) * columns])
            with pytest.raises(BuilderError, match="language with a value of another type, b'en'"):
                store.languages()


def test_a_text_that_claims_any_size_takes_no_memory(store: Store) -> None:
    magic_number = bytes.fromhex("28b52ffdc000")  # of zstandard; the size follows
    assert store.unpack(1, sha1_of(""), store.pack("")) == ""
    with pytest.raises(BuilderError, match=r"its size is 4,6.* bytes; expected at most 67,108,864"):
        store.unpack(1, sha1_of(""), magic_number + (2**62).to_bytes(8, "little"))


def test_memory_that_runs_out_in_sqlite_names_the_file() -> None:
    """SQLite also says so of a damaged file whose sizes are wrong."""
    expected = pytest.raises(BuilderError, match="memory ran out, or the file is damaged")
    with expected, as_builder_error(Path("a.store")):
        raise MemoryError


def test_a_file_that_is_not_a_store_of_this_version_is_refused(tmp_path: Path) -> None:
    text, other, newer = (tmp_path / f"{name}.store" for name in ("text", "other", "newer"))
    text.write_text("This is a text file, and no database.\n" * 100)
    Store.create(newer).close()
    for path, statement in ((other, "CREATE TABLE a (b)"), (newer, "PRAGMA user_version = 2")):
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
    for path, words, ways in (
        (text, "not a store", (Store.create, Store.open)),
        (other, "not a store", (Store.create, Store.open)),
        (newer, "format 2", (Store.create, Store.open)),
        (tmp_path / "absent.store", "no such store", (Store.open,)),
        (tmp_path / "absent" / "a.store", "folder", (Store.create,)),
    ):
        for way in ways:
            with pytest.raises(BuilderError, match=words):
                way(path)


def test_a_full_disk_is_reported_and_committed_pages_stay(store: Store) -> None:
    store.add("en", [page(1)], origin="test", redirects={"ATT": "AT&T", "At and t": "AT&T"})
    store.connection.execute("PRAGMA max_page_count = 30")
    large = [page(n, wikitext=os.urandom(9000).hex()) for n in range(2, 40)]
    with pytest.raises(BuilderError, match=r"full.*free some space"):
        store.add("en", large, origin="test")
    assert [r.revision_id for r in store.revisions("en")] == [1]
    assert store.redirects("en") == {"ATT": "AT&T", "At and t": "AT&T"}
    assert store.redirects("de") == {}


def test_a_listing_resumes_where_it_stopped(store: Store) -> None:
    store.note_listing("en category Good articles", ["B", "A"], "page|2")
    store.note_listing("en category Good articles", ["B", "C"], "done")
    store.note_listing("en category Featured articles", ["D"], "page|3")
    assert store.listed("en category Good articles") == ["A", "B", "C"]
    assert store.note("en category Good articles") == "done"
    assert store.missing("en") == [], "what is listed is not wanted yet"


def test_failed_calls_are_separate_from_calls_that_expand_to_nothing(store: Store) -> None:
    store.add_expansions("en", 1, {"{{a}}": ""}, {"{{b}}": "error", "{{c}}": "error"})
    assert store.expansions("en", 1) == {"{{a}}": ""}
    assert store.failed_expansions("en", 1) == {"{{b}}": "error", "{{c}}": "error"}
    assert store.counts("expansions", "en") == {"": 1, "error": 2}
    store.add_expansions("en", 1, {"{{b}}": "x"})
    assert store.failed_expansions("en", 1) == {"{{c}}": "error"}


def test_a_title_that_is_settled_again_is_no_longer_rejected(store: Store) -> None:
    wanted = [Wanted(title="A"), Wanted(title="A", as_of="2016-01-01T00:00:00Z")]
    assert store.want("en", wanted) == store.wanted_count("en") == 2
    young = Rejected(title="A", reason="not-yet-created", detail="of 2017")
    store.add("en", [], origin="test", settled=[wanted[1]], rejected=[young])
    assert store.rejected("en") == [young]
    store.add("en", [page(1, title="A")], origin="test", settled=[wanted[0]])
    assert store.rejected("en") == []


def test_a_rejection_of_one_date_is_not_forgotten_when_the_page_of_another_is_kept(store: Store) -> None:
    old, new = (Wanted(title="A", as_of=f"{year}-01-01T00:00:00Z") for year in (2016, 2017))
    short = Rejected(title="A", reason="too-short", detail="9 words")
    store.want("en", [old, new])
    store.add("en", [], origin="test", settled=[old], rejected=[short])
    store.add("en", [], origin="test", settled=[new], rejected=[short])
    assert store.missing("en") == []
    store.ask_again("en", "other conditions")
    assert store.missing("en") == [old, new]
    store.add("en", [], origin="test", settled=[old], rejected=[short])
    store.add("en", [page(1, title="A")], origin="test", settled=[new])
    assert (store.missing("en"), store.rejected("en")) == ([old], [])


def test_a_revision_that_is_kept_is_no_longer_rejected(store: Store) -> None:
    good = page(1, title="A")
    bad = [
        Rejected(title="A", revision_id=1, reason="damaged", detail="a bad download"),
        Rejected(title="A", revision_id=2, reason="hidden", detail="another revision"),
        Rejected(title="B", reason="missing", detail="another page"),
    ]
    store.add("en", [], origin="test", rejected=bad)
    store.add("de", [good], origin="test")
    assert store.rejected("en") == bad
    store.add("en", [good], origin="test")
    assert store.rejected("en") == bad[1:]


MAKE = """
import sys
from pathlib import Path
from wikitext_builder.store.schema import Wanted
from wikitext_builder.store.store import Store
print(flush=True)
sys.stdin.readline()
Store.create(Path(sys.argv[1])).want("en", [Wanted(title=sys.argv[2])])
"""


def test_processes_that_make_one_store_at_once_make_one(path: Path) -> None:
    options: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    children: list[Any] = [
        subprocess.Popen([sys.executable, "-c", MAKE, path, str(n)], **options) for n in range(6)
    ]
    for child in children:
        child.stdout.readline()  # it is ready
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    assert [child.communicate()[1] for child in children] == [b""] * 6
    with Store.open(path) as store:
        assert store.wanted_count("en") == 6


def test_a_store_can_have_any_name_and_be_behind_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.create(Path(":memory:")) as store:
        store.add("en", [page(1)], origin="test")
    with Store.open(Path(":memory:")) as store:
        assert store.revision_count("en") == 1
    (tmp_path / "far").mkdir()
    (tmp_path / "near.store").symlink_to(tmp_path / "far" / "a.store")

    def as_new(store: Store) -> None:
        store._is_new = True  # as if another process had made it at the same time

    with Store.create(tmp_path / "far" / "a.store"), pytest.raises(BuilderError, match="revision 1 of en"):
        fail(tmp_path / "near.store", as_new)
    assert (tmp_path / "near.store").exists()
