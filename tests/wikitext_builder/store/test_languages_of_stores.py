"""A store knows its languages, and what their wikis say of themselves."""

from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.dumps import export_xml, numbered_page, page_xml
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.selections import language_selected
from wikitext_builder.store.store import Store

SITE = (
    "<siteinfo><sitename>Viquipèdia</sitename><dbname>cawiki</dbname><base>{base}</base><namespaces>"
    '<namespace key="0" case="first-letter" /><namespace key="6" case="first-letter">Fitxer</namespace>'
    '<namespace key="10" case="first-letter">Plantilla</namespace>'
    '<namespace key="14" case="first-letter">Categoria</namespace></namespaces></siteinfo>'
)
TEXT = "[[Fitxer:a.jpg|miniatura|Una tassa]]\nEl '''te {0}''' és una beguda. [[Categoria:Begudes]]"
PAGES = [numbered_page(n, TEXT.format(n), f"Te {n}", revision_id=n + 100) for n in range(1, 9)]
SIZES: dict[str, Any] = {"train_articles": 4, "valid_articles": 2, "test_articles": 2}


def catalan(folder: Path, base: str = "https://ca.wikipedia.org/wiki/Portada") -> Path:
    """A store of an export of a Catalan wiki."""
    dump = folder / "ca.xml"
    dump.write_bytes(export_xml(map(page_xml, PAGES), language="ca", site=SITE.format(base=base)))
    report = wb.import_dump(folder / "ca.store", dump, language="ca", keep="all")
    assert report.kept == len(PAGES)
    return folder / "ca.store"


def test_a_store_of_one_language_needs_no_language(tmp_path: Path) -> None:
    store = catalan(tmp_path)
    assert wb.store_language(store).file_namespaces[0] == "Fitxer"
    assert wb.read_page(store, title="Te 1").page.title == "Te 1"
    assert wb.lock(store).startswith("# wikitext-builder lock 1; language ca; wiki -\n# names {")
    report = wb.build("demo", store, tmp_path / "a", **SIZES)
    assert report.manifest.recipe.language == "ca"
    text = (tmp_path / "a" / "wiki.train.raw").read_text("utf-8")
    assert "tassa" not in text
    assert "Begudes" not in text


def test_a_lock_file_brings_the_names_to_a_store_that_does_not_know_them(tmp_path: Path) -> None:
    store = catalan(tmp_path, base="http://wiki.example.org/wiki/Portada")
    first = wb.build("demo", store, tmp_path / "a", **SIZES).manifest
    with Store.create(tmp_path / "other.store") as other:
        other.add("ca", PAGES, origin="another machine")
    lock = tmp_path / "a" / "titles.lock"
    again = wb.build("demo", tmp_path / "other.store", tmp_path / "b", lock=lock, **SIZES).manifest
    assert again == first
    without = wb.build("demo", tmp_path / "other.store", tmp_path / "c", **SIZES).manifest
    assert without.source != first.source  # its texts can differ: it is another dataset
    attribution = (tmp_path / "b" / "attribution.tsv").read_text("utf-8")
    assert "http://wiki.example.org/w/index.php?oldid=101\n" in attribution
    assert all(check.passed for check in wb.verify(tmp_path / "b"))


def test_a_store_of_several_languages_needs_one(tmp_path: Path) -> None:
    store = catalan(tmp_path)
    with Store.create(store) as opened:
        opened.add("en", PAGES[:1], origin="test")
    message = r"holds pages of ca, en; choose one with --language"
    for call in (
        lambda: wb.lock(store),
        lambda: wb.read_page(store, title="Te 1"),
        lambda: wb.build("demo", store, tmp_path / "a", **SIZES),
    ):
        with pytest.raises(BuilderError, match=message):
            call()
    assert wb.lock(store, language="en").startswith("# wikitext-builder lock 1; language en; wiki -\ntitle\t")


def test_the_language_comes_from_the_dump_and_the_lock_file(tmp_path: Path) -> None:
    dump = tmp_path / "ca.xml"
    base = "https://ca.wikipedia.org/wiki/Portada"
    dump.write_bytes(export_xml(map(page_xml, PAGES), language="ca", site=SITE.format(base=base)))
    report = wb.import_dump(tmp_path / "a.store", dump, dump, keep="all", workers=1)
    assert (report.language, report.kept) == ("ca", len(PAGES))
    lock = tmp_path / "a.lock"
    lock.write_text(wb.lock(tmp_path / "a.store"), encoding="utf-8")
    with Store.create(tmp_path / "a.store") as opened:
        opened.add("en", PAGES[:1], origin="test")
    built = wb.build("demo", tmp_path / "a.store", tmp_path / "a", lock=lock, **SIZES)
    assert built.manifest.recipe.language == "ca"
    assert language_selected(["titles:x", f"lock:{lock}"]) == "ca"
    assert language_selected("good") == ""


def test_a_damaged_note_or_line_of_names_is_an_error_that_names_it(tmp_path: Path) -> None:
    store, lock = catalan(tmp_path), tmp_path / "a.lock"
    lock.write_text(wb.lock(store).replace("# names {", "# names {{"), encoding="utf-8")
    with pytest.raises(BuilderError, match=r"line 2: .*expected the names of its wiki as JSON"):
        wb.build("demo", store, tmp_path / "a", lock=lock, **SIZES)
    with Store.create(store) as opened:
        opened.set_note("ca names", '{"file_namespaces": [')
    with pytest.raises(BuilderError, match="the names of ca are damaged"):
        wb.store_language(store)


def test_without_marks_an_import_needs_all(tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match=r"no marks .* for the ca Wikipedia; use --all"):
        wb.import_dump(tmp_path / "a.store", tmp_path / "ca.xml", language="ca")
