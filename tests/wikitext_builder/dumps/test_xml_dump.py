"""Dumps: what was exported is read back, and no file does harm."""

import bz2
import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each
from tests.conftest import DATA
from tests.dumps import COMPRESSIONS, END, export_xml, page_xml, revision_xml
from tests.wikitext_builder.extraction.pages import real_pages
from wikitext_builder.article import Page
from wikitext_builder.dumps.decompress import THREADS
from wikitext_builder.dumps.snapshot import DumpedPage
from wikitext_builder.dumps.xml_dump import Dump, read_pages
from wikitext_builder.errors import BuilderError
from wikitext_builder.limits import WIKITEXT_BYTES
from wikitext_builder.store.schema import Rejected

SHARED_PAGES = DATA / "pages"
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


def page(number: int, **fields: str) -> Page:
    text = "".join(f"Word{(n * number) % 101} " for n in range(40))
    return Page(
        title=fields.get("title", f"Title {number}"),
        page_id=number,
        revision_id=1000 + number,
        timestamp=fields.get("timestamp", f"2016-01-{number % 28 + 1:02}T00:00:00Z"),
        wikitext=fields.get("wikitext", text),
    )


def written(folder: Path, data: bytes) -> Path:
    path = folder / "dump"  # the name does not show what is in it
    path.write_bytes(data)
    return path


def read(folder: Path, data: bytes, *, as_of: str = "") -> list[DumpedPage]:
    return list(Dump(written(folder, data), as_of=as_of).pages())


def only(folder: Path, *xml: str, as_of: str = "") -> Page | Rejected:
    (dumped,) = read(folder, export_xml(xml), as_of=as_of)
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


@pytest.mark.skipif(not SHARED_PAGES.exists(), reason="the shared pages are not here")
def test_real_pages() -> None:
    with (SHARED_PAGES / "SOURCES.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    counts = {}
    for path in sorted(SHARED_PAGES.glob("pages-*.xml.bz2")):
        found = real_pages(path.name.removeprefix("pages-").partition(".")[0])  # all are articles
        counts[path.name] = len(found)
        assert {one.title for one in found} == {row["title"] for row in rows if row["file"] == path.name}
        assert len({one.revision_id for one in found}) == len(found)
    assert counts == {"pages-2016-04.xml.bz2": 62, "pages-2016-12.xml.bz2": 914, "pages-2018-06.xml.bz2": 73}


@pytest.mark.parametrize("version", ["0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11"])
def test_every_version_of_the_format(tmp_path: Path, version: str) -> None:
    (dumped,) = read(tmp_path, export_xml([page_xml(page(1))], version=version))
    assert dumped.content == page(1)


def test_a_page_of_2006_has_neither_namespace_nor_model_nor_sha1(tmp_path: Path) -> None:
    xml = (
        "<page><title>Talk:A</title><id>5</id><revision><id>6</id><timestamp>2006-01-01T00:00:00Z</timestamp>"
        "<contributor><ip>1.2.3.4</ip></contributor><minor/><text xml:space='preserve'>x</text>"
        "</revision></page>"
    )
    (dumped,) = read(tmp_path, export_xml([xml], version="0.3"))
    assert (dumped.namespace, dumped.redirect) == (1, False)
    assert dumped.content == Page(
        title="Talk:A", page_id=5, revision_id=6, timestamp="2006-01-01T00:00:00Z", wikitext="x"
    )


@each("dumps", "version, xml, created", "revisions without a parent")
def test_a_revision_without_a_parent_is_the_first_if_the_export_names_parents(
    tmp_path: Path, version: str, xml: str, created: str
) -> None:
    revision = revision_xml(page(1)).replace("<parentid>1</parentid>", xml)
    (dumped,) = read(tmp_path, export_xml([page_xml(page(1), revision)], version=version))
    assert dumped.created == created


def test_a_colon_alone_makes_no_namespace(tmp_path: Path) -> None:
    xml = page_xml(page(1, title="Thor: Ragnarok"), namespace=None)
    assert read(tmp_path, export_xml([xml]))[0].namespace == 0


def test_redirects_are_reported(tmp_path: Path) -> None:
    dumped = read(tmp_path, export_xml([page_xml(page(1), redirect="B & C"), page_xml(page(2))]))
    assert [one.redirect for one in dumped] == [True, False]


def test_the_text_of_the_main_slot_is_taken(tmp_path: Path) -> None:
    other = (
        "<content><role>data</role><origin>1</origin><model>json</model><text bytes='2'>{}</text></content>"
    )
    xml = revision_xml(page(1)).replace("</revision>", f"{other}</revision>")
    assert only(tmp_path, page_xml(page(1), xml)) == page(1)


def test_an_export_in_utf_16_with_its_mark_is_read(tmp_path: Path) -> None:
    data = export_xml([page_xml(page(1, wikitext="é"))]).decode().encode("utf-16")
    assert [dumped.content for dumped in read(tmp_path, data)] == [page(1, wikitext="é")]


# --- one revision per page


def history(*days: int) -> str:
    revisions = (
        Page(
            title="A",
            page_id=1,
            revision_id=100 + day,
            timestamp=f"2016-01-{day:02}T00:00:00Z",
            wikitext=f"day {day}",
        )
        for day in days
    )
    return page_xml(page(1), *map(revision_xml, revisions))


@pytest.mark.parametrize(
    ("days", "as_of", "day"),
    [
        ((1, 2, 3), "", 3),
        ((3, 2, 1), "", 3),
        ((2, 3, 1), "", 3),
        ((1, 5, 9), "2016-01-08T23:59:59Z", 5),
        ((1, 5, 9), "2016-01-05T00:00:00Z", 5),
    ],
)
def test_of_a_history_the_newest_up_to_a_date_is_taken(
    tmp_path: Path, days: tuple[int, ...], as_of: str, day: int
) -> None:
    content = only(tmp_path, history(*days), as_of=as_of)
    assert isinstance(content, Page)
    assert (content.revision_id, content.wikitext) == (100 + day, f"day {day}")


def test_a_page_that_became_a_redirect_later_was_not_one_before(tmp_path: Path) -> None:
    xml = history(1, 5).replace("<id>1</id>", '<id>1</id><redirect title="B" />', 1)
    assert [one.redirect for one in read(tmp_path, export_xml([xml]))] == [True]
    before = read(tmp_path, export_xml([xml]), as_of="2016-01-04T00:00:00Z")
    assert [one.redirect for one in before] == [False]


def test_a_page_younger_than_the_date_is_not_there(tmp_path: Path) -> None:
    content = only(tmp_path, history(5), as_of="2016-01-01T00:00:00Z")
    assert isinstance(content, Rejected)
    assert content.reason == "no-revision"


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


@pytest.mark.parametrize("number", ["0", "9" * 19])
def test_an_id_that_no_store_or_lock_file_holds_is_rejected(tmp_path: Path, number: str) -> None:
    for old in (f"<id>{page(1).revision_id}</id>", f"<id>{page(1).page_id}</id>"):
        content = only(tmp_path, page_xml(page(1)).replace(old, f"<id>{number}</id>", 1))
        assert isinstance(content, Rejected)
        assert (content.reason, number in content.detail) == ("malformed", True)
        assert "an id of 1 to 18 digits, not 0" in content.detail


def test_a_text_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    content = only(tmp_path, page_xml(page(1, wikitext="é" * (WIKITEXT_BYTES // 2))))
    assert isinstance(content, Page)
    assert len(content.wikitext.encode()) == WIKITEXT_BYTES


def test_a_page_without_a_revision_or_an_id(tmp_path: Path) -> None:
    data = export_xml(["<page><title>A</title><ns>0</ns><id>1</id></page>", "<page><ns>0</ns></page>"])
    reasons = [one.content.reason for one in read(tmp_path, data) if isinstance(one.content, Rejected)]
    assert reasons == ["no-revision", "malformed"]


# --- files that are not dumps, or are broken, or are made to do harm


@each("dumps", "message, data, encoding", "not a dump")
def test_a_file_that_is_not_a_dump_is_named(tmp_path: Path, message: str, data: str, encoding: str) -> None:
    """An @ stands for an export with one page, without its last tag."""
    start = export_xml([page_xml(page(1, wikitext="é"))]).removesuffix(END).decode()
    data_written = data.replace("@", start).encode(encoding)
    with pytest.raises(BuilderError, match=message) as error:
        read(tmp_path, data_written)
    assert str(tmp_path / "dump") in str(error.value)


@pytest.mark.parametrize(
    "nothing",
    [
        b"<x>" + b"a" * 2**22 + b"</x>",
        b"\n" * 2**22,
        b"<x>" + b"&lt;\n" * 2**20 + b"</x>",
        b"<?x y?><!-- z -->",
    ],
)
def test_long_content_that_is_not_needed_is_skipped(tmp_path: Path, nothing: bytes) -> None:
    data = export_xml(["@", page_xml(page(1))]).replace(b"@", nothing)
    assert [dumped.content for dumped in read(tmp_path, data)] == [page(1)]


def test_an_archive_of_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match="unpacks to nothing"):
        read(tmp_path, bz2.compress(b""))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(BuilderError, match=str(path)):
            list(read_pages(path))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_pages_before_a_break_are_kept(tmp_path: Path, compression: str) -> None:
    whole = [page(number) for number in range(1, 21)]
    data = COMPRESSIONS[compression](export_xml(map(page_xml, whole)))
    most = 0
    for cut in range(0, len(data) - 1, max(10, len(data) // 250)):
        found, message = read_until_error(written(tmp_path, data[:cut]))
        assert found == whole[: len(found)]
        assert "break" in message or "empty" in message or "not the XML" in message or not message
        # After the XML a Zstandard frame has a checksum and gzip a length; they may be missing.
        assert message or (len(found) == len(whole) and cut >= len(data) - 12)
        assert str(len(found)) in message or not found or not message
        most = max(most, len(found))
    assert most >= {"plain": 19, "multistream": 18}.get(compression, 0)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_an_altered_text_is_rejected(tmp_path: Path, compression: str) -> None:
    whole = [page(number) for number in range(1, 11)]
    data = COMPRESSIONS[compression](export_xml(map(page_xml, whole)))
    for at in range(0, len(data), max(10, len(data) // 250)):
        altered = bytearray(data)
        altered[at] ^= 0x04
        found, _ = read_until_error(written(tmp_path, bytes(altered)))
        assert {one.wikitext for one in found if isinstance(one, Page)} <= {one.wikitext for one in whole}


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
    start, end = export_xml([page_xml(page(1)), page_xml(page(2, wikitext="@")), page_xml(page(3))]).split(
        b"@"
    )
    data = bz2.compress(start) + bz2.compress(b"a" * 20_000_000) + bz2.compress(end)
    first, large, last = (dumped.content for dumped in read(tmp_path, data))
    assert (first, last) == (page(1), page(3))
    assert isinstance(large, Rejected)
    assert large.reason == "too-large"


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from /proc"
)
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


def read_with_memory(path: Path) -> tuple[int, int]:
    """The number of pages, and by how many kibibytes reading them raised the peak of memory."""
    run = subprocess.run(
        [sys.executable, "-c", PEAK_MEMORY, str(path)], capture_output=True, text=True, check=True
    )
    count, kibibytes = map(int, run.stdout.split())
    return count, kibibytes


@needs_proc
def test_memory_does_not_grow_with_the_streams_of_a_dump(tmp_path: Path) -> None:
    head, end = export_xml(["@"]).split(b"@")
    hundred_pages = b"".join(page_xml(page(n, wikitext="word " * 4_000)).encode() for n in range(1, 101))
    path = tmp_path / "large.xml.bz2"
    path.write_bytes(bz2.compress(head) + bz2.compress(hundred_pages) * 40 + bz2.compress(end))
    count, kibibytes = read_with_memory(path)
    assert count == 4_000
    assert kibibytes < ((2 * THREADS + 1) * 3 + 20) * 1024  # streams of 2 MB, and one more piece
