"""Snapshots: the pages and the HTML that a wiki gives, in every form; no file does harm."""

import gzip
import io
import json
import tarfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each
from tests.command import done
from tests.dumps import COMPRESSIONS, ndjson, numbered_page, record, tar
from tests.wikitext_builder.datasets import PAGES as MANY
from tests.wikitext_builder.datasets import build, digests
from wikitext_builder.article import Page
from wikitext_builder.dumps import snapshot
from wikitext_builder.dumps.importing import ImportReport, import_dump
from wikitext_builder.dumps.snapshot import DumpedPage
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.reading import read_page, stored_pages
from wikitext_builder.store.schema import Rejected
from wikitext_builder.store.store import Store

PAGES = [numbered_page(number, f"'''Page {number}''' é") for number in range(1, 8)]
LINES = ndjson(map(record, PAGES))


def read(folder: Path, data: bytes) -> list[DumpedPage]:
    path = folder / "a"
    path.write_bytes(data)
    return list(read_pages(path))


def imported(folder: Path, *records: Any, **options: Any) -> ImportReport:
    path = folder / "snapshot"
    path.write_bytes(ndjson(records))
    return import_dump(folder / "store", path, **{"keep": "all"} | options)


def rejected(folder: Path) -> list[tuple[str, str]]:
    with Store.open(folder / "store") as store:
        return [(one.title, one.reason) for one in store.rejected("en")]


# --- what is read

FORMS: dict[str, Callable[[bytes], bytes]] = {
    **COMPRESSIONS,
    "without a last newline": lambda data: data.removesuffix(b"\n"),
    "ustar": lambda data: tar(data, form=tarfile.USTAR_FORMAT),
    "gnu": lambda data: tar(data, form=tarfile.GNU_FORMAT),
    "pax": lambda data: gzip.compress(tar(data)),
    "pax with a long name and a size": lambda data: tar(
        data, name="é" * 200 + ".ndjson", pax_headers={"size": str(len(data))}
    ),
    "gnu with a long name": lambda data: tar(data, form=tarfile.GNU_FORMAT, name="a" * 200),
    "several files": lambda data: tar(*(line.removesuffix(b"\n") for line in io.BytesIO(data)), b""),
}
del FORMS["multistream"]  # its test data are XML


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_snapshot_is_read(tmp_path: Path, form: str) -> None:
    found = read(tmp_path, FORMS[form](LINES))
    assert [one.content for one in found] == PAGES
    assert [one.html for one in found] == [f"<p>{one.wikitext}</p>" for one in PAGES]
    assert {one.namespace for one in found} == {0}
    assert [one.wikidata_id for one in found] == [f"Q{one.page_id}" for one in PAGES]


def fetched(store: Store, page: Page, html: str) -> None:
    """Keep a page as `fetch --rendered` does."""
    store.add("en", [page], origin="https://en.wikipedia.org/w/api.php")
    store.add_rendered("en", page.revision_id, html)


def test_a_dataset_of_a_snapshot_is_that_of_fetched_html(tmp_path: Path) -> None:
    html = [
        f"<p>{one.title} é <i>{one.page_id}</i>.<sup class='reference'>[1]</sup></p>" * 20 for one in MANY
    ]
    with Store.create(tmp_path / "fetched") as store:
        for page, text in zip(MANY, html, strict=True):
            fetched(store, page, text)
    imported(tmp_path, *map(record, MANY, html))
    for name in ("fetched", "store"):
        build("demo", tmp_path / name, tmp_path / f"of {name}" / "demo", source="rendered")
    assert "é 7 ." in (tmp_path / "of store" / "demo" / "wiki.train.tokens").read_text()
    assert digests(tmp_path / "of store") == digests(tmp_path / "of fetched")


def test_html_that_was_fetched_stays_and_a_failure_is_replaced(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store") as store:
        fetched(store, PAGES[0], "<p>fetched</p>")
        store.add_rendered("en", PAGES[1].revision_id, "", "missingcontent")
    report = imported(tmp_path, *map(record, PAGES[:3]))
    assert (report.kept, report.already_there, report.rendered, report.rendered_there) == (2, 1, 2, 1)
    again = done("import", "--all", "--store", tmp_path / "store", tmp_path / "snapshot")
    assert "1 imported before, not read again" in again
    html = [read_page(tmp_path / "store", title=f"Page {n}", html=True).html for n in (1, 2, 3)]
    assert html == ["<p>fetched</p>", *(f"<p>{one.wikitext}</p>" for one in PAGES[1:3])]


def test_a_build_says_how_many_pages_have_no_html(tmp_path: Path) -> None:
    imported(tmp_path, *map(record, MANY[:-2]))
    with Store.create(tmp_path / "store") as store:
        store.add("en", MANY[-2:], origin="test")
        store.add_rendered("en", MANY[-1].revision_id, "", "missingcontent")
    for source, missing in (("rendered", 2), ("wikitext", 0)):
        report = build("demo", tmp_path / "store", tmp_path / source, source=source)
        assert [f"{missing} of {len(MANY)} pages have no HTML" in one for one in report.warnings] == [
            True
        ] * bool(missing)


@each("dumps", "fields, language, kind", "records of a snapshot")
def test_good_and_featured_articles_are_kept(
    tmp_path: Path, fields: dict[str, Any], language: str, kind: str
) -> None:
    one = record(PAGES[0], url=f"https://{language}.wikipedia.org/wiki/A", **fields)
    one |= {"in_language": {"identifier": language}, "is_part_of": {"identifier": f"{language}wiki"}}
    report = imported(tmp_path, one, keep="marked", language=language)
    assert (report.kept, report.skipped) == ((0, {kind: 1}) if kind else (1, {}))


def test_titles_and_dates_choose_pages(tmp_path: Path) -> None:
    (tmp_path / "titles").write_text("Page 2\nPage 3\n")
    late = record(PAGES[2], date_modified="2016-04-17T00:00:00Z", date_created="2016-01-01T00:00:00Z")
    report = imported(
        tmp_path,
        *map(record, PAGES[:2]),
        late,
        include=f"titles:{tmp_path / 'titles'}",
        as_of="2016-04-16T23:59:59Z",
    )
    assert (report.kept, report.skipped) == (1, {"no-revision": 1, "within-titles": 1})
    assert imported(tmp_path, late, include="created-since:2016-01-01").kept == 1
    assert imported(tmp_path, late, include="created-since:2016-01-02").skipped == {"created-earlier": 1}


def test_the_newest_of_duplicates_counts(tmp_path: Path) -> None:
    newer = record(PAGES[0], "<p>newer</p>", version={"identifier": 9999})
    assert imported(tmp_path, newer, record(PAGES[0]), newer).kept == 2
    assert read_page(tmp_path / "store", title="Page 1", html=True).html == "<p>newer</p>"


def test_a_snapshot_of_another_wikipedia_is_refused_and_a_page_of_one_rejected(tmp_path: Path) -> None:
    german: dict[str, Any] = {"in_language": {"identifier": "de"}, "is_part_of": {"identifier": "dewiki"}}
    broken = record(PAGES[0], identifier="1")
    report = imported(tmp_path, broken, record(PAGES[1]), record(PAGES[2], **german), record(PAGES[3]))
    assert (report.kept, report.rejected) == (2, {"malformed": 1, "other-wiki": 1})
    (tmp_path / "store").unlink()
    with pytest.raises(BuilderError, match="--language de"):
        imported(tmp_path, broken, record(PAGES[2], url="https://de.wikipedia.org/wiki/A", **german))
    assert not (tmp_path / "store").exists()


# --- what is damaged, or made to do harm

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PLACES = [(name,) for name in record(PAGES[0])] + [
    (name, key)
    for name, value in record(PAGES[0]).items()
    if isinstance(value, dict)
    for key in value
] + [("templates",), ("categories",), ("date_created",)]  # fmt: skip


@given(place=st.sampled_from(PLACES), value=JSON | st.just("\ud800"))
def test_a_field_of_another_type_is_a_page_or_a_rejection(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str, ...], value: Any
) -> None:
    folder = tmp_path_factory.mktemp("fields")
    changed = json.loads(json.dumps(record(PAGES[1])))
    inner = changed
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    report = imported(folder, record(PAGES[0]), changed, record(PAGES[2]))
    assert report.pages == 3
    assert report.kept + sum(report.skipped.values()) + sum(report.rejected.values()) == 3
    assert set(report.rejected) <= {"malformed", "other-wiki", "hidden", "invalid-title"}
    with Store.open(folder / "store") as store:
        found = store.revisions("en")
        assert {"Page 1", "Page 3"} <= {one.title for one in found}
        list(stored_pages(store, "en", [one.revision_id for one in found], html=True))


def test_a_broken_record_is_rejected(tmp_path: Path) -> None:
    long, deep = b"9" * 6000, b"[" * 10**5 + b"]" * 10**5
    lines = [b"{}", b"[]", b"null", b'{"name": "A", "identifier": 0}', b'{"name": "\\ud800"}']
    lines += [b'{"identifier": ' + long + b"}", b'{"name": "A", "x": NaN}', b'{"x": ' + deep + b"}"]
    data = b"\n\n".join([ndjson([record(PAGES[0])]).strip(), *lines, ndjson([record(PAGES[1])])])
    first, *broken, last = (one.content for one in read(tmp_path, data))
    assert (first, last) == (PAGES[0], PAGES[1])
    assert [(one.title, isinstance(one, Rejected) and one.reason) for one in broken] == [
        (f"record {number}", "malformed") for number in range(2, len(lines) + 2)
    ]


def test_records_that_are_no_articles_do_not_fill_the_store(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.gz"
    path.write_bytes(gzip.compress(LINES + b"{}\n" * 10**6))
    with pytest.raises(BuilderError, match=r"1,000 records in a row are of no article \(record 1008: "):
        import_dump(tmp_path / "store", path, keep="all")
    with Store.open(tmp_path / "store") as store:
        assert (len(store.revisions("en")), len(store.rejected("en"))) == (7, 1000)


@pytest.mark.parametrize("line", [b'{"name": "A"', b"\xff", b'{"name": "\xff"}', b"<page>", b"\x00"])
def test_what_is_not_json_is_an_error_after_the_pages_before(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "snapshot"
    path.write_bytes(LINES + line)
    with pytest.raises(BuilderError, match=r"record 8 is not JSON.*7 pages were read before, the last is"):
        import_dump(tmp_path / "store", path, keep="all")
    with Store.open(tmp_path / "store") as store:
        assert len(store.revisions("en")) == 7


def refused(folder: Path, data: bytes) -> str:
    """The error that a file ends in; empty if it is read."""
    try:
        read(folder, data)
    except BuilderError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("pack", [tar, gzip.compress, lambda data: gzip.compress(tar(data))])
def test_a_truncated_snapshot_breaks_off(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    data = pack(LINES)
    # A block of zeros ends a tar.
    end = -(-len(data.rstrip(b"\0")) // 512) * 512 + 512 if pack is tar else len(data)
    for cut in range(1, end, 97):
        assert "download" in refused(tmp_path, data[:cut])
    assert not refused(tmp_path, data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_archives_that_were_joined_are_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    assert "one archive per file" in refused(tmp_path, pack(tar(LINES)) + pack(tar(LINES)))


@pytest.mark.parametrize(
    "kind", [tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"S"]
)
def test_links_and_devices_in_an_archive_are_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(BuilderError, match=r"'/etc/passwd' of type .* expected plain files"):
        read(tmp_path, tar(b"", LINES, type=kind, name="/etc/passwd", linkname="/etc/shadow"))


def test_a_damaged_or_huge_header_of_an_archive_is_an_error(tmp_path: Path) -> None:
    data = bytearray(tar(LINES, form=tarfile.USTAR_FORMAT))
    data[0] ^= 1
    with pytest.raises(BuilderError, match=r"the tar archive is damaged \(bad checksum\)"):
        read(tmp_path, bytes(data))
    huge = tarfile.TarInfo("a")
    huge.type, huge.size = tarfile.XHDTYPE, 2**40
    with pytest.raises(BuilderError, match="and 1,099,511,627,776 bytes"):
        read(tmp_path, huge.tobuf(tarfile.GNU_FORMAT))


def test_a_sparse_file_whose_holes_can_have_any_size_is_refused(tmp_path: Path) -> None:
    holes = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(2**60)}
    with pytest.raises(BuilderError, match=r"enwiki_namespace_0_0\.ndjson' of type .* expected plain files"):
        read(tmp_path, tar(LINES, pax_headers=holes))


def test_a_directory_in_an_archive_is_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, tar(b"", LINES, type=tarfile.DIRTYPE, name="snapshot"))
    assert [one.content for one in found] == PAGES


def test_a_line_without_end_takes_no_memory_and_rejects_one_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "HTML_BYTES", 2**20)
    path = tmp_path / "a"
    long = b'{"name": "A", "x": "' + b"a" * 2**25 + b'"}\n'
    path.write_bytes(gzip.compress(ndjson([record(PAGES[0])]) + long + ndjson([record(PAGES[1])])))
    tracemalloc.start()
    found = list(read_pages(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**23
    assert [one.content.title for one in found] == ["Page 1", "record 2", "Page 2"]
    assert isinstance(found[1].content, Rejected)
    assert found[1].content.reason == "too-large"


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    def bomb() -> Iterator[bytes]:
        packer = gzip.zlib.compressobj(9, wbits=31)  # type: ignore[attr-defined]
        yield packer.compress(tar(LINES)[:512])
        for _ in range(80):
            yield packer.compress(bytes(2**20))
        yield packer.flush()

    with pytest.raises(BuilderError, match=r"unpack to more than|download it again"):
        read(tmp_path, b"".join(bomb()))


def test_a_text_over_the_limit_is_rejected(tmp_path: Path) -> None:
    large = record(PAGES[0], article_body={"html": "<p>a", "wikitext": "a" * (2**22 + 1)})
    assert imported(tmp_path, large, record(PAGES[1])).rejected == {"too-large": 1}
    assert rejected(tmp_path) == [("Page 1", "too-large")]
