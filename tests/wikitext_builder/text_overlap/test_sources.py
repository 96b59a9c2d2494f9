"""The other side: each kind of source gives its text, and what is broken is a reject with a reason."""

import bz2
import gzip
import json
import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import wikitext_builder as wb
from tests.dumps import export_xml, numbered_page, page_xml, revision_xml
from tests.wikitext_builder.datasets import PAGES, store_of
from wikitext_builder.dataset.parquet import parquet_lines
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.reading import StoredTemplates
from wikitext_builder.pages.store import Store
from wikitext_builder.pages.store_languages import add_redirects
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.text_overlap.result import as_text
from wikitext_builder.text_overlap.sources import How, Piece, Reject, Rejects, files_of, pieces_of

ENDED = "it ended its reader with status"
TEXT = "Tea is a drink.\nCafé – 茶 is another.\n" * 9000
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


def read(path: Path, **how: str) -> tuple[list[Piece], tuple[Reject, ...]]:
    rejects = Rejects()
    return list(pieces_of(path, How(**how), rejects)), rejects.all()


@pytest.mark.parametrize("suffix", PACKERS)
def test_plain_text(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT.encode()))
    pieces, rejected = read(path)
    assert "".join(one.text for one in pieces) == TEXT
    assert {one.document for one in pieces} == {str(path)}
    assert rejected == ()
    assert all(one.text[-1:] in (" ", "\n", "") for one in pieces)


@pytest.mark.parametrize("suffix", PACKERS)
def test_json_lines(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    rows = [json.dumps({"id": 1, "text": "one"}), "", '{"text": 5}', "{", '{"body": "x"}', '["text"]']
    rows.append(f'{{"text": "x", "deep": {"[" * 100_000}{"]" * 100_000}}}')
    last = json.dumps({"text": "two\nthree", "meta": {"a": [None]}})
    path.write_bytes(PACKERS[suffix]("\n".join([*rows, last]).encode()))
    pieces, rejected = read(path)
    assert [(one.document, one.text) for one in pieces] == [
        (f"{path}: line 1", "one"),
        (f"{path}: line 8", "two\nthree"),
    ]
    assert [(one.reason, one.count) for one in rejected] == [("no-column", 1), ("not-json", 4)]
    assert rejected[1].detail.startswith("line 3: ")
    assert [one.text for one in read(path, column="body")[0]] == ["x"]


@pytest.mark.parametrize("kind", ["one large page", "a value that is repeated", "a value in a field"])
def test_a_small_parquet_file_does_not_fill_the_memory(tmp_path: Path, kind: str) -> None:
    path, large = tmp_path / "a.parquet", "x" * 100_000_000
    if kind == "one large page":
        pq.write_table(pa.table({"text": [large, large]}), path, compression="brotli", use_dictionary=False)
    elif kind == "a value that is repeated":
        pq.write_table(pa.table({"text": ["x" * 1_000_000] * 1000}), path, compression="zstd")
    else:
        pq.write_table(pa.table({"text": [{"of": "x" * 1_000_000}] * 1000}), path, compression="zstd")
    assert path.stat().st_size < 20_000
    del large
    expect_little_memory(path, "text.of" if kind == "a value in a field" else "text", "too-large")


@pytest.mark.parametrize("text", [None, ""])
def test_a_small_parquet_file_of_many_empty_rows_does_not_take_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setattr("wikitext_builder.text_overlap.sources.VALUE_LIMIT", 1)  # else it takes seconds
    pq.write_table(pa.table({"text": pa.array([text] * 200_000, pa.string())}), tmp_path / "a.parquet")
    _, rejected = read(tmp_path / "a.parquet")
    assert rejected[-1].reason == "too-large"


def expect_little_memory(path: Path, column: str, *reasons: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rejects = Rejects()
    for one in pieces_of(path, How(column=column), rejects):
        assert one.text
    assert [one.reason for one in rejects.all()] == [*reasons]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.parametrize("kind", ["lists", "keys", "fields"])
def test_a_small_file_of_json_lines_does_not_fill_the_memory(tmp_path: Path, kind: str) -> None:
    path, size = tmp_path / "a.jsonl.gz", 60_000_000
    many = {
        "lists": b'{"other": [' + b"[]," * (size // 3) + b'[]], "text": "one"}',
        "keys": b"{" + b"".join(b'"%x":{},' % n for n in range(size // 11)) + b'"text": "one"}',
        "fields": b'{"text": {"text": "one"' + b"".join(b',"%x":0' % n for n in range(size // 10)) + b"}}",
    }[kind]
    path.write_bytes(gzip.compress(many, 1))
    del many
    expect_little_memory(path, "text.text" if kind == "fields" else "text")


@pytest.mark.parametrize("suffix", ["arrow", "feather"])
def test_files_of_arrow_are_no_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    table, options = pa.table({"text": ["x" * 100_000_000]}), pa.ipc.IpcWriteOptions(compression="zstd")
    new = pa.ipc.new_stream if suffix == "arrow" else pa.ipc.new_file
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table)
    expect_little_memory(path, "text", "binary")


def test_a_large_parquet_file_is_not_called_damaged(tmp_path: Path) -> None:
    """Arrow's usual allocator reserves a gigabyte for it, which is the limit of memory."""
    rows, path = [f"{number} " + "x" * 10_000 for number in range(4_500)], tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": rows}), path, use_dictionary=False, compression="none")
    assert sum(len(line) for line in parquet_lines(path, "text")) > path.stat().st_size > 45_000_000


def test_a_parquet_file_that_ends_its_reader_is_a_reject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"text": ["one"]}), tmp_path / "a.parquet")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert read(tmp_path / "a.parquet") == (
        [],
        (Reject(source=str(tmp_path / "a.parquet"), reason="damaged", detail=f"damaged: {ENDED} 1"),),
    )


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["one", None, "two"], "n": [1, 2, 3]}), path)
    pieces, rejected = read(path)
    assert [(one.document, one.text) for one in pieces] == [
        (f"{path}: row 1", "one"),
        (f"{path}: row 3", "two"),
    ]
    assert [(one.reason, one.count) for one in rejected] == [("no-text", 1)]
    assert [one.reason for one in read(path, column="body")[1]] == ["no-column"]
    path.write_bytes(path.read_bytes()[:-20] + b"\0" * 20)
    assert [one.reason for one in read(path)[1]] == ["damaged"]


def test_text_within_other_columns(tmp_path: Path) -> None:
    rows = [
        {"meta": {"text": "one", "n": {"text": "deep"}}, "a.b": "dotted", "list": ["x"]},
        {"meta": {"text": None, "n": None}, "a.b": "", "list": []},
        {"meta": None, "a.b": "more", "list": None},
    ]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    found = {"meta.text": ["one"], "meta.n.text": ["deep"], "a.b": ["dotted", "", "more"]}
    nothing = ("meta", "meta.nothing", "meta.text.x", "nothing.text", "list")
    for column, texts in (found | {name: [] for name in nothing}).items():
        for name in ("a.jsonl", "a.parquet"):
            pieces, rejected = read(tmp_path / name, column=column)
            assert [one.text for one in pieces] == texts, (name, column)
            assert bool(rejected) == (len(texts) < len(rows)), (name, column)


def test_dumps_and_stores_give_their_articles_and_a_dump_all_its_revisions(tmp_path: Path) -> None:
    pieces, rejected = read(SAMPLE_DUMP)
    assert len(pieces) > 25
    assert rejected == ()
    path = tmp_path / "history.xml"
    pages = [
        replace(
            numbered_page(1, f"It has [[text|text number {n}]]."),
            revision_id=n,
            timestamp=f"201{n}-01-01T00:00:00Z",
        )
        for n in (1, 2, 3)
    ]
    path.write_bytes(export_xml([page_xml(pages[0], *map(revision_xml, pages))]))
    assert [(one.document, one.text) for one in read(path)[0]] == [
        (f"{path}: Page 1 (revision {n})", f"It has text number {n}.") for n in (1, 2, 3)
    ]
    assert len(read(path, as_of="2012-06-01T00:00:00Z")[0]) == 2
    store = store_of(tmp_path / "pages.store", PAGES[:5])
    names = [f"{store}: {one.title} (revision {one.revision_id})" for one in PAGES[:5]]
    assert [one.document for one in read(store)[0]] == names
    assert read(store, as_of="1999-01-01T00:00:00Z")[0] == []


def test_a_store_is_read_with_its_templates_of_the_date(tmp_path: Path) -> None:
    page, *texts = (
        replace(PAGES[0], timestamp=f"201{n}-01-01T00:00:00Z", wikitext=f"text {n}") for n in range(3)
    )
    path = store_of(tmp_path / "pages.store", [replace(page, wikitext="It has {{its own|fr|text 0}} words.")])
    with Store.create(path) as store:
        StoredTemplates(store).add(("Its own", one) for one in texts)
        add_redirects(store, "en", {"Its own": ("Lang", "2013-01-01T00:00:00Z")})
    for as_of, number in (("", 0), ("2011-06-01T00:00:00Z", 1), ("2012-06-01T00:00:00Z", 2)):
        assert [one.text for one in read(path, as_of=as_of)[0]] == [f"It has text {number} words."]


def test_datasets_and_folders(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    text = " \n = Tea = \n \n It is hot . \n \n = Chess = \n \n It is old . \n"
    (tmp_path / "set" / "wiki.test.tokens").write_text(text.replace("hot", "<unk>"), encoding="utf-8")
    (tmp_path / "set" / "wiki.test.raw").write_text(text, encoding="utf-8")
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    (tmp_path / "texts" / "b.txt").write_text("b", encoding="utf-8")
    (tmp_path / "texts" / "deep" / "a.txt").write_text("a", encoding="utf-8")
    sources = files_of([tmp_path / "texts", tmp_path / "set", tmp_path / "texts" / "b.txt"])
    assert [one.relative_to(tmp_path).as_posix() for one in sources] == [
        "set",
        "texts/b.txt",
        "texts/deep/a.txt",
    ]
    pieces, _ = read(sources[0])
    assert [one.document for one in pieces] == [f"{sources[0]}: Tea", f"{sources[0]}: Chess"]
    assert "It is hot ." in pieces[0].text
    (tmp_path / "empty").mkdir()
    for wrong in ("empty", "absent"):
        with pytest.raises(BuilderError, match=wrong):
            files_of([tmp_path / wrong])


BROKEN = {
    "cut.txt.gz": (gzip.compress(TEXT.encode())[:-50], "damaged"),
    "wrong.txt.gz": (gzip.compress(TEXT.encode())[:100] + b"\xff" * 100, "damaged"),
    "bomb.txt.bz2": (bz2.compress(b" " * 2**28), "damaged"),
    "cut.txt.bz2": (bz2.compress(TEXT.encode())[:-50], "damaged"),
    "latin.txt": (b"abc \xe9t\xe9 abc", "not-utf-8"),
    "half.txt": ("abc é".encode()[:-1], "not-utf-8"),
    "image.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
    "zeros.bin": (b"text\0\0\0", "binary"),
    "empty.txt": (b"", "damaged"),
    "archive.zip": (b"PK\x03\x04 and so on", "damaged"),
    "store.sqlite": (b"SQLite format 3\0 and nothing else", "damaged"),
    "dump.xml": (b"<mediawiki><page><title>A</title>", "damaged"),
    "table.parquet": (b"PAR1 and nothing else", "damaged"),
    "wiki.test.tokens": (b"no space before it\n", "damaged"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_a_reject_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    content, reason = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    pieces, rejected = read(tmp_path / name)
    assert [(one.source, one.reason, one.count) for one in rejected] == [(str(tmp_path / name), reason, 1)]
    assert rejected[0].detail
    assert "import" not in rejected[0].detail
    if name == "cut.txt.gz":  # what comes before the damage counts
        assert pieces
        assert TEXT.startswith("".join(one.text for one in pieces))
        assert rejected[0].detail.startswith("read up to the damage: the gzip data end too early")


def test_a_line_of_json_without_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikitext_builder.text_overlap.sources.VALUE_LIMIT", 2**20)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n{"text": "' + b"ha " * 2**20)
    pieces, rejected = read(path)
    assert [one.text for one in pieces] == ["one"]
    assert [one.reason for one in rejected] == ["too-long"]


def test_overlap_names_what_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "wiki.test.tokens").write_text(" \n = Tea = \n \n a b c d e f g h i \n", encoding="utf-8")
    (tmp_path / "others").mkdir()
    for name, (content, _) in BROKEN.items():
        (tmp_path / "others" / name).write_bytes(content)
    (tmp_path / "others" / "good.txt").write_text("x A, b; c d-e f g h y", encoding="utf-8")
    (tmp_path / "others" / "wiki.test.tokens").rename(tmp_path / "others" / "some.tokens")
    found = wb.overlap(tmp_path, against=tmp_path / "others")
    cut = f"  {tmp_path}/others/cut.txt.gz: damaged (1), read up to the damage: the gzip data end too early"
    assert f"not read, or not to the end\n  {tmp_path}/others/" in (text := as_text(found))
    assert cut in text
    assert len(found.rejected) == len(BROKEN)
    assert found.articles[0].shared == {8: 1, 13: 0}
