"""Folders: all parts are imported, each once, on several cores; sums are checked."""

import bz2
import hashlib
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.command import run
from tests.dumps import export_xml, ndjson, numbered_page, page_xml, record, revision_xml, tar
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.importing import import_dump
from wikitext_builder.pages.parts import parts_in
from wikitext_builder.pages.store import Revision, Store

PAGES = [numbered_page(number, f"{{{{good article}}}} text {number}") for number in range(1, 41)]


def content_export(folder: Path, *, parts: int = 4) -> Path:
    """Like Wikimedia's: parts of one stream, talk in between, redirects without an element, no sha1."""
    folder.mkdir()
    sums = []
    for n in range(parts):
        first, last = PAGES[10 * n].page_id, PAGES[10 * n + 9].page_id
        xml = []
        for page in PAGES[10 * n : 10 * n + 10]:
            talk = replace(page, title=f"Talk:{page.title}", page_id=page.page_id + 1000)
            xml += [page_xml(page, revision_xml(page, sha1="")), page_xml(talk, namespace=1)]
        redirect = numbered_page(500 + n, "#REDIRECT [[Page 1]]")
        name = f"enwiki-2026-11-01-p{first}p{last}.xml.bz2"
        (folder / name).write_bytes(bz2.compress(export_xml([*xml, page_xml(redirect)], version="0.11")))
        sums.append(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n")
    (folder / "SHA256SUMS").write_text("".join(sums))
    (folder / "_SUCCESS").touch()
    (folder / "enwiki-multistream-index.txt.bz2").write_bytes(bz2.compress(b"1:1:Page 1\n"))
    return folder


def revisions(store: Path) -> list[Revision]:
    with Store.open(store) as opened:
        return list(opened.all_revisions("en"))


@pytest.mark.parametrize("workers", [1, 3])
def test_all_parts_of_a_content_export_are_imported(tmp_path: Path, workers: int) -> None:
    folder = content_export(tmp_path / "bzip2")
    report = import_dump(tmp_path / "store", folder, workers=workers)
    assert (report.parts, report.pages, report.kept) == (4, 84, 40)
    assert report.skipped == {"not-an-article": 40, "redirect": 4}
    others = ("_SUCCESS", "enwiki-multistream-index.txt.bz2")
    assert (report.other_files, report.missing_parts) == (others, ())
    assert [one.page_id for one in revisions(tmp_path / "store")] == [one.page_id for one in PAGES]
    again = import_dump(tmp_path / "store", folder, workers=workers)
    assert again.finished_before
    assert (again.kept, again.already_there) == (0, 40)


def test_a_part_with_another_sum_stops_the_import_and_the_others_are_not_read_again(tmp_path: Path) -> None:
    folder = content_export(tmp_path / "bzip2")
    bad = max(folder.glob("*.xml.bz2"))
    good = bad.read_bytes()
    bad.write_bytes(bz2.compress(export_xml([page_xml(numbered_page(99, "{{good article}} forged"))])))
    with pytest.raises(BuilderError, match=rf"{bad.name}: its SHA-256 is .*download it again"):
        import_dump(tmp_path / "store", folder, workers=1)
    assert [one.page_id for one in revisions(tmp_path / "store")] == [one.page_id for one in PAGES[:30]]
    bad.write_bytes(good)
    report = import_dump(tmp_path / "store", folder, workers=1)
    assert (report.kept, report.already_there, report.finished_before) == (10, 30, False)


def test_a_missing_part_is_said(tmp_path: Path) -> None:
    folder = content_export(tmp_path / "bzip2")
    gone = min(folder.glob("*.xml.bz2"))
    gone.unlink()
    printed = run("import", folder, "--store", tmp_path / "store", "--workers", 1)
    assert "3 parts, 63 pages" in printed.stdout
    assert "  ignored   _SUCCESS, enwiki-multistream-index.txt.bz2\n" in printed.stdout
    assert f"SHA256SUMS names files that are not here: {gone.name}\n" in printed.stderr


def test_chunks_of_a_snapshot_are_imported(tmp_path: Path) -> None:
    folder = tmp_path / "chunks"
    folder.mkdir()
    for n in range(3):
        lines = ndjson(record(page) for page in PAGES[10 * n : 10 * n + 10])
        (folder / f"enwiki_namespace_0_chunk_{n}.tar.gz").write_bytes(tar(lines, form=tarfile.GNU_FORMAT))
    report = import_dump(tmp_path / "store", folder, workers=2)
    assert (report.parts, report.kept, report.rendered) == (3, 30, 30)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("notes.txt", "", "no parts of a dump or snapshot in it"),
        ("SHA256SUMS", "<html>404</html>\n", "expected a SHA-256 and a name per line"),
    ],
)
def test_a_folder_that_cannot_be_used_is_an_error(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BuilderError, match=message):
        import_dump(tmp_path / "store", tmp_path)
    assert not (tmp_path / "store").exists()


def test_names_of_sums_can_have_a_folder_a_star_and_capitals(tmp_path: Path) -> None:
    (tmp_path / "a.xml").touch()
    (tmp_path / "sha256sums.txt").write_text(f"{'AB' * 32} *./xml/a.xml\n\n")
    ((part,), missing) = parts_in(tmp_path).parts, parts_in(tmp_path).missing
    assert (part.sha256, missing) == ("ab" * 32, ())


def test_a_name_that_is_not_utf_8_is_imported(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"dump-\xff.xml")
    path.write_bytes(export_xml([page_xml(PAGES[0])]))
    assert import_dump(tmp_path / "store", path).kept == 1
    assert import_dump(tmp_path / "store", path).finished_before
