"""Lock files and files of titles: what is written is read, and nothing else is."""

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.lock import language_in_lock, lock_lines, read_attribution, read_lock, read_titles
from wikitext_builder.store.schema import Revision
from wikitext_builder.wiki.classify import title_fault
from wikitext_builder.wiki.languages import LANGUAGES

SHA1 = "0123456789abcdef0123456789abcdef01234567"
GOOD = (
    "# wikitext-builder lock 1; language en; wiki enwiki\n"
    "title\tpage_id\trevision_id\ttimestamp\tsha1\n"
    f"AT&T\t17\t70\t2016-04-16T17:15:34Z\t{SHA1}\n"
)
NUMBERS = st.integers(1, 10**17)
TITLES = st.text(min_size=1, max_size=60).filter(lambda title: not title_fault(title))
TIMES = st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20))
REVISIONS = st.lists(
    st.builds(
        Revision,
        title=TITLES,
        page_id=NUMBERS,
        revision_id=NUMBERS,
        timestamp=TIMES,
        sha1=st.text("0123456789abcdef", min_size=40, max_size=40),
    ),
    unique_by=lambda one: one.revision_id,
)


def written(revisions: list[Revision]) -> str:
    return "".join(lock_lines(revisions, LANGUAGES["en"], "enwiki"))


@given(revisions=REVISIONS, seed=st.integers(0, 9))
def test_what_is_written_is_read_in_the_same_order(
    tmp_path_factory: pytest.TempPathFactory, revisions: list[Revision], seed: int
) -> None:
    path = tmp_path_factory.mktemp("lock") / "titles.lock"
    text = written(revisions)
    path.write_text(text, encoding="utf-8", newline="")
    assert read_lock(path, language="en") == sorted(revisions, key=lambda r: (r.title, r.revision_id))
    shuffled = random.Random(seed).sample(revisions, len(revisions))
    assert written(shuffled) == text


@each("store", "old, new, words", "a wrong line is named")
def test_a_wrong_line_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "titles.lock"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8", newline="")
    with pytest.raises(BuilderError, match=words):
        read_lock(path, language="en")


def test_names_of_a_wiki_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    for names in (b"\xff", b"{", b"[1]", b"[" * 200_000, b'{"index": 5}'):
        path.write_bytes(GOOD.encode().replace(b"\n", b"\n# names " + names + b"\n", 1))
        with pytest.raises(BuilderError, match=r"a\.lock, line 2: .*; expected the names .* as JSON"):
            language_in_lock(path, LANGUAGES["en"])


def test_a_wiki_can_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    path.write_text("".join(lock_lines([], LANGUAGES["en"], "my own\nwiki")), encoding="utf-8")
    assert path.read_text(encoding="utf-8").splitlines()[0].endswith("; language en; wiki my own wiki")
    assert not read_lock(path, language="en")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path, twice = tmp_path / "titles.lock", GOOD + GOOD.splitlines(keepends=True)[-1]
    for content, words in ((None, "a lock file"), (b"\xff\xfe", "a lock file"), (twice.encode(), "twice")):
        if content:
            path.write_bytes(content)
        with pytest.raises(BuilderError, match=words):
            read_lock(path, language="en")
    odd = Revision(title="A\tB", page_id=1, revision_id=1, timestamp="2016-04-16T17:15:34Z", sha1=SHA1)
    with pytest.raises(BuilderError, match="cannot be written"):  # it would break the lines
        written([odd])


def test_a_file_of_titles_and_its_wrong_lines(tmp_path: Path) -> None:
    path = tmp_path / "titles.txt"
    with pytest.raises(BuilderError, match=r"titles\.txt: No such file"):
        read_titles(path)
    path.write_bytes(b"AT&T\n\xff\n")
    with pytest.raises(BuilderError, match="not UTF-8 at byte 5"):
        read_titles(path)
    lines = ["AT&T", "", "# a comment", "  New_York  ", "AT&T\r", "../x", "A|B", "100 %", "A\u2028B"]
    path.write_bytes(("\ufeff" + "\n".join([*lines, "x" * 300])).encode())
    titles, rejected = read_titles(path)
    assert titles == ["AT&T", "New York", "100 %", "A B"]
    assert {row.reason for row in rejected} == {"invalid-title"}
    assert [row.title[:9] for row in rejected] == ["../x", "A|B", "x" * 9]
    assert rejected[1].detail == "titles.txt, line 7: no page can have this title, it contains '|'"


def test_a_pipe_is_refused_because_it_can_be_read_only_once(tmp_path: Path) -> None:
    path = tmp_path / "attribution.tsv"
    os.mkfifo(path)
    reads: list[Callable[[], object]] = [
        partial(read_titles, path),
        partial(read_lock, path, language="en"),
        lambda: list(read_attribution(tmp_path)),
    ]
    for read in reads:
        with pytest.raises(BuilderError, match=r"attribution\.tsv: not a file; save its content"):
            read()
