"""Dumps: what was exported is read back, and no file does harm."""

import bz2
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each
from tests.command import python
from tests.dumps import COMPRESSIONS, END, export_xml, numbered_page, page_xml, revision_xml
from wikitext_builder.article import Page
from wikitext_builder.dumps.decompress import THREADS
from wikitext_builder.dumps.snapshot import DumpedPage
from wikitext_builder.dumps.xml_dump import Dump, read_pages
from wikitext_builder.errors import BuilderError
from wikitext_builder.limits import WIKITEXT_BYTES
from wikitext_builder.store.schema import Rejected

# https://www.w3.org/TR/xml/#charsets without U+FFFE and U+FFFF, and without what no title can have
XML_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r&<>]\"'"))
TITLES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=60)


def legal(text: str) -> str:
    return text.replace("\ufffe", "").replace("\uffff", "")


@st.composite
def pages(draw: st.DrawFn) -> Page:
    year, month, day = draw(st.tuples(st.integers(2001, 2026), st.integers(1, 12), st.integers(1, 28)))
    return Page(
        title=legal(draw(TITLES)) or "A",
        page_id=draw(st.integers(1, 10**12)),
        revision_id=draw(st.integers(1, 10**12)),
        timestamp=f"{year}-{month:02}-{day:02}T00:00:00Z",
        wikitext=legal(draw(XML_TEXT)),
    )


def page(number: int, wikitext: str = "", title: str = "") -> Page:
    text = wikitext or "".join(f"Word{n * number % 101} " for n in range(40))
    day = f"2016-01-{number % 28 + 1:02}T00:00:00Z"
    return numbered_page(number, text, title or f"Title {number}", timestamp=day)


def written(folder: Path, data: bytes) -> Path:
    path = folder / "dump"  # the name does not show what is in it
    path.write_bytes(data)
    return path


def read(folder: Path, data: bytes, *, as_of: str = "") -> list[DumpedPage]:
    return list(Dump(written(folder, data), as_of=as_of).pages())


def only(folder: Path, *xml: str, as_of: str = "", version: str = "0.11") -> Page | Rejected:
    (dumped,) = read(folder, export_xml(xml, version=version), as_of=as_of)
    return dumped.content


def read_until_error(path: Path) -> tuple[list[Page | Rejected], str]:
    contents = []
    try:
        for dumped in read_pages(path):
            contents.append(dumped.content)
    except BuilderError as error:
        return contents, str(error)
    return contents, ""


# --- what was exported is read back


@pytest.mark.parametrize("compression", COMPRESSIONS)
@given(exported=st.lists(pages(), max_size=8))
def test_exported_pages_are_read_back(
    compression: str, tmp_path_factory: pytest.TempPathFactory, exported: list[Page]
) -> None:
    data = COMPRESSIONS[compression](export_xml(map(page_xml, exported)))
    dump = Dump(written(tmp_path_factory.mktemp("dump"), data))
    assert [dumped.content for dumped in dump.pages()] == exported
    assert dump.count == len(exported)
    assert dump.bytes_taken == len(data)


def test_every_version_of_the_format(tmp_path: Path) -> None:
    versions = ("0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11")
    contents = {v: only(tmp_path, page_xml(page(1)), version=v) for v in versions}
    assert contents == dict.fromkeys(versions, page(1))


def test_a_page_of_2006_has_neither_namespace_nor_model_nor_sha1(tmp_path: Path) -> None:
    xml = (
        "<page><title>Talk:A</title><id>5</id><revision><id>6</id><timestamp>2006-01-01T00:00:00Z</timestamp>"
        "<contributor><ip>1.2.3.4</ip></contributor><minor/><text xml:space='preserve'>x</text>"
        "</revision></page>"
    )
    colon = page_xml(page(1, title="Thor: Ragnarok"), namespace=None)  # a colon alone makes no namespace
    found = read(tmp_path, export_xml([xml, colon], version="0.3"))
    assert [(dumped.namespace, dumped.redirect) for dumped in found] == [(1, False), (0, False)]
    talk = numbered_page(5, "x", "Talk:A", revision_id=6, timestamp="2006-01-01T00:00:00Z")
    assert [dumped.content for dumped in found] == [talk, page(1, title="Thor: Ragnarok")]


@each("dumps", "version, xml, created", "revisions without a parent")
def test_a_revision_without_a_parent_is_the_first_if_the_export_names_parents(
    tmp_path: Path, version: str, xml: str, created: str
) -> None:
    revision = revision_xml(page(1)).replace("<parentid>1</parentid>", xml)
    (dumped,) = read(tmp_path, export_xml([page_xml(page(1), revision)], version=version))
    assert dumped.created == created


def test_the_text_of_the_main_slot_is_taken(tmp_path: Path) -> None:
    slot = "<content><role>data</role><model>json</model><text bytes='2'>{}</text></content>"
    xml = revision_xml(page(1)).replace("</revision>", f"{slot}</revision>")
    assert only(tmp_path, page_xml(page(1), xml)) == page(1)


def test_an_export_in_utf_16_and_a_text_of_exactly_the_limit_are_read(tmp_path: Path) -> None:
    data = export_xml([page_xml(page(1, "é"))]).decode().encode("utf-16")
    assert [dumped.content for dumped in read(tmp_path, data)] == [page(1, "é")]
    longest = page(1, "é" * (WIKITEXT_BYTES // 2))
    assert only(tmp_path, page_xml(longest)) == longest


# --- one revision per page


def history(*days: int) -> str:
    revisions = (
        numbered_page(1, f"day {day}", "A", revision_id=100 + day, timestamp=f"2016-01-{day:02}T00:00:00Z")
        for day in days
    )
    return page_xml(page(1), *map(revision_xml, revisions))


def test_of_a_history_the_newest_up_to_a_date_is_taken(tmp_path: Path) -> None:
    cases = [((1, 2, 3), "", 3), ((3, 2, 1), "", 3), ((2, 3, 1), "", 3)]
    cases += [((1, 5, 9), "2016-01-08T23:59:59Z", 5), ((1, 5, 9), "2016-01-05T00:00:00Z", 5)]
    faults = []
    for days, as_of, day in cases:
        content = only(tmp_path, history(*days), as_of=as_of)
        if (content.revision_id, getattr(content, "wikitext", "")) != (100 + day, f"day {day}"):
            faults.append((days, as_of, content))
    assert faults == []


def test_a_page_that_became_a_redirect_later_was_not_one_before(tmp_path: Path) -> None:
    xml = history(1, 5).replace("<id>1</id>", '<id>1</id><redirect title="B &amp; C" />', 1)
    for as_of, redirects in (("", [True, False]), ("2016-01-04T00:00:00Z", [False, False])):
        found = read(tmp_path, export_xml([xml, history(1)]), as_of=as_of)
        assert [dumped.redirect for dumped in found] == redirects


# --- pages that cannot be used, between others that can


@each("dumps", "reason, old, new", "bad revisions")
def test_one_bad_page_does_not_affect_others(tmp_path: Path, reason: str, old: str, new: str) -> None:
    xml = re.sub(old, lambda _: new, revision_xml(page(2)))
    data = export_xml([page_xml(page(1)), page_xml(page(2), xml), page_xml(page(3))])
    first, bad, last = (dumped.content for dumped in read(tmp_path, data))
    assert (first, last) == (page(1), page(3))
    assert isinstance(bad, Rejected)
    assert (bad.title, bad.page_id, bad.reason) == ("Title 2", 2, reason)
    assert bad.detail


def test_an_id_that_no_store_or_lock_file_holds_is_rejected(tmp_path: Path) -> None:
    for number in ("0", "9" * 19):
        for old in (f"<id>{page(1).revision_id}</id>", f"<id>{page(1).page_id}</id>"):
            content = only(tmp_path, page_xml(page(1)).replace(old, f"<id>{number}</id>", 1))
            assert isinstance(content, Rejected)
            assert (content.reason, number in content.detail) == ("malformed", True)
            assert "an id of 1 to 18 digits, not 0" in content.detail


def test_a_page_without_a_revision_or_an_id(tmp_path: Path) -> None:
    data = export_xml(["<page><title>A</title><ns>0</ns><id>1</id></page>", "<page><ns>0</ns></page>"])
    reasons = [one.content.reason for one in read(tmp_path, data) if isinstance(one.content, Rejected)]
    assert reasons == ["no-revision", "malformed"]


# --- files that are not dumps, or are broken, or are made to do harm


@each("dumps", "message, data, encoding", "not a dump")
def test_a_file_that_is_not_a_dump_is_named(tmp_path: Path, message: str, data: str, encoding: str) -> None:
    """An @ stands for an export with one page, without its last tag."""
    start = export_xml([page_xml(page(1, "é"))]).removesuffix(END).decode()
    data_written = data.replace("@", start).encode(encoding)
    with pytest.raises(BuilderError, match=message) as error:
        read(tmp_path, data_written)
    assert str(tmp_path / "dump") in str(error.value)


def test_long_content_that_is_not_needed_is_skipped(tmp_path: Path) -> None:
    long = [b"<x>" + b"a" * 2**22 + b"</x>", b"\n" * 2**22, b"<x>" + b"&lt;\n" * 2**20 + b"</x>"]
    for content in (*long, b"<?x y?><!-- z -->"):
        data = export_xml(["@", page_xml(page(1))]).replace(b"@", content)
        assert [dumped.content for dumped in read(tmp_path, data)] == [page(1)]


def test_a_file_that_cannot_be_read_or_unpacks_to_nothing_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(BuilderError, match=str(path)):
            list(read_pages(path))
    with pytest.raises(BuilderError, match="unpacks to nothing"):
        read(tmp_path, bz2.compress(b""))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_pages_before_a_break_are_kept_and_an_altered_text_is_rejected(
    tmp_path: Path, compression: str
) -> None:
    whole = [page(number) for number in range(1, 21)]
    data = COMPRESSIONS[compression](export_xml(map(page_xml, whole)))
    most, step = 0, max(10, len(data) // 250)
    for cut in range(0, len(data) - 1, step):
        found, message = read_until_error(written(tmp_path, data[:cut]))
        assert found == whole[: len(found)]
        assert "break" in message or "empty" in message or "not the XML" in message or not message
        # After the XML a Zstandard frame has a checksum and gzip a length; they may be missing.
        assert message or (len(found) == len(whole) and cut >= len(data) - 12)
        assert str(len(found)) in message or not found or not message
        most = max(most, len(found))
        altered = data[:cut] + bytes([data[cut] ^ 0x04]) + data[cut + 1 :]
        found, _ = read_until_error(written(tmp_path, altered))
        texts = {content.wikitext for content in found if isinstance(content, Page)}
        assert texts <= {content.wikitext for content in whole}
    assert most >= {"plain": 19, "multistream": 18}.get(compression, 0)


def test_a_file_that_unpacks_without_end_is_stopped(tmp_path: Path) -> None:
    start = export_xml([page_xml(page(1))]).removesuffix(END) + b"<page><title>"
    ten_megabytes = bz2.compress(b"a" * 10_000_000)
    assert len(ten_megabytes) < 100
    path = written(tmp_path, bz2.compress(start) + ten_megabytes * 100)
    found, message = read_until_error(path)
    assert found == [page(1)]
    assert "unpack to more than" in message
    assert "1 pages were read before, the last is 'Title 1'" in message


def test_a_large_text_is_left_out_and_others_are_kept(tmp_path: Path) -> None:
    start, end = export_xml([page_xml(page(1)), page_xml(page(2, "@")), page_xml(page(3))]).split(b"@")
    data = bz2.compress(start) + bz2.compress(b"a" * 20_000_000) + bz2.compress(end)
    first, large, last = (dumped.content for dumped in read(tmp_path, data))
    assert (first, last) == (page(1), page(3))
    assert isinstance(large, Rejected)
    assert large.reason == "too-large"


PEAK_MEMORY = """
import sys
from pathlib import Path
from wikitext_builder.dumps.xml_dump import read_pages
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
count = sum(1 for _ in read_pages(Path(sys.argv[1])))
print(count, peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_does_not_grow_with_the_streams_of_a_dump(tmp_path: Path) -> None:
    head, end = export_xml(["@"]).split(b"@")
    hundred_pages = b"".join(page_xml(page(n, "word " * 4_000)).encode() for n in range(1, 101))
    data = bz2.compress(head) + bz2.compress(hundred_pages) * 40 + bz2.compress(end)
    done = python(PEAK_MEMORY, str(written(tmp_path, data)))
    count, kibibytes = map(int, done.stdout.split())
    assert count == 4_000
    assert kibibytes < ((2 * THREADS + 1) * 3 + 20) * 1024  # streams of 2 MB, and one more piece
