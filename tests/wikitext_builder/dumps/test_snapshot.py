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
    "after a directory": lambda data: tar(b"", data, type=tarfile.DIRTYPE, name="snapshot"),
    "several files": lambda data: tar(*(line.removesuffix(b"\n") for line in io.BytesIO(data)), b""),
}
del FORMS["multistream"]  # its test data are XML


def test_every_form_of_a_snapshot_is_read(tmp_path: Path) -> None:
    expected = [(page, f"<p>{page.wikitext}</p>", 0, f"Q{page.page_id}") for page in PAGES]
    faults = []
    for form, pack in FORMS.items():
        dumped = read(tmp_path, pack(LINES))
        if [(page.content, page.html, page.namespace, page.wikidata_id) for page in dumped] != expected:
            faults.append(form)
    assert faults == []


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
        imported(
            tmp_path, broken, record(PAGES[2], url="https://de.wikipedia.org/wiki/A", **german), language="en"
        )
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


def test_what_is_not_json_is_an_error_after_the_pages_before(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    words = r"record 8 is not JSON.*7 pages were read before, the last is"
    for number, line in enumerate((b'{"name": "A"', b"\xff", b'{"name": "\xff"}', b"<page>", b"\x00")):
        path.write_bytes(LINES + line)
        with pytest.raises(BuilderError, match=words):
            import_dump(tmp_path / f"{number}", path, keep="all")
        with Store.open(tmp_path / f"{number}") as store:
            assert len(store.revisions("en")) == 7


@pytest.mark.parametrize("pack", [tar, gzip.compress, lambda data: gzip.compress(tar(data))])
def test_a_truncated_snapshot_breaks_off(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    data = pack(LINES)
    # A block of zeros ends a tar.
    end = -(-len(data.rstrip(b"\0")) // 512) * 512 + 512 if pack is tar else len(data)
    for cut in range(1, end, 97):
        with pytest.raises(BuilderError, match="download"):
            read(tmp_path, data[:cut])
    assert len(read(tmp_path, data)) == len(PAGES)


def test_what_an_archive_must_not_hold_is_refused(tmp_path: Path) -> None:
    types = (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"S")
    links = [tar(b"", LINES, type=kind, name="/etc/passwd", linkname="/etc/shadow") for kind in types]
    holes = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(2**60)}  # they can have any size
    damaged = bytearray(tar(LINES, form=tarfile.USTAR_FORMAT))
    damaged[0] ^= 1
    huge = tarfile.TarInfo("a")
    huge.type, huge.size = tarfile.XHDTYPE, 2**40
    for data, words in (
        *((link, r"'/etc/passwd' of type .* expected plain files") for link in links),
        (tar(LINES, pax_headers=holes), r"_namespace_0_0\.ndjson' of type .* expected plain files"),
        (bytes(damaged), r"the tar archive is damaged \(bad checksum\)"),
        (huge.tobuf(tarfile.GNU_FORMAT), "and 1,099,511,627,776 bytes"),
        (tar(LINES) + tar(LINES), "one archive per file"),
        (gzip.compress(tar(LINES)) * 2, "one archive per file"),
    ):
        with pytest.raises(BuilderError, match=words):
            read(tmp_path, data)


def test_a_line_without_end_takes_no_memory_and_what_is_too_large_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = (ndjson([record(page)]) for page in PAGES[:2])
    large = ndjson([record(PAGES[2], article_body={"html": "<p>a", "wikitext": "a" * (2**22 + 1)})])
    contents = [dumped.content for dumped in read(tmp_path, first + large)]
    monkeypatch.setattr(snapshot, "HTML_BYTES", 2**20)
    data = gzip.compress(first + b'{"name": "A", "x": "' + b"a" * 2**25 + b'"}\n' + last)
    tracemalloc.start()
    contents += [dumped.content for dumped in read(tmp_path, data)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**23
    assert [(content.title, getattr(content, "reason", "")) for content in contents] == [
        ("Page 1", ""), ("Page 3", "too-large"), ("Page 1", ""), ("record 2", "too-large"), ("Page 2", ""),
    ]  # fmt: skip


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    def bomb() -> Iterator[bytes]:
        packer = gzip.zlib.compressobj(9, wbits=31)  # type: ignore[attr-defined]
        yield packer.compress(tar(LINES)[:512])
        for _ in range(80):
            yield packer.compress(bytes(2**20))
        yield packer.flush()

    with pytest.raises(BuilderError, match=r"unpack to more than|download it again"):
        read(tmp_path, b"".join(bomb()))
