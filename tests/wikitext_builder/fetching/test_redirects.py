"""Names of templates come from the wiki: its redirects are asked for once, or stand in its dump."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.dumps import export_xml, numbered_page, page_xml
from tests.mediawiki.load import page_json
from tests.mediawiki.loopback import by_kind, server
from wikitext_builder.fetching.expansions import names_in
from wikitext_builder.store.store import Store

# {{Convert}} was renamed since our names were written, and {{bda}} is not what ships.
REDIRECTS = {
    "Cvrt": "Convert units", "Convert": "Convert units", "Frm": "Lorem", "Bda": "Nowrap",
    "Film data": "Infobox film",
}  # fmt: skip
WIKITEXT = (
    "{{{{film data|year=1950}}}}\n\nThe river flows north. It is {{{{cvrt|10|km}}}} and "
    "{{{{convert units|5|km|abbr=on}}}}, {{{{convert|1|km}}}} away in "
    "{{{{bda|a place}}}} {} of the sea. It has {{{{frm|x}}}} in it."
)
TEXT = (
    "The river flows north. It is 10 kilometres (6.2 mi) and 5 km (3.1 mi),"
    " 1 kilometre (0.62 mi) away in a place"
)
PAGES = [numbered_page(number, WIKITEXT.format(number), f"Place {number}") for number in range(1, 9)]
SIZES: dict[str, Any] = {"train_articles": 4, "valid_articles": 2, "test_articles": 2}


@contextlib.contextmanager
def wiki(asked: list[str]) -> Iterator[str]:
    """A wiki of these pages that notes the titles whose redirects it was asked for."""

    moved = {f"Template:{name}": f"Template:{target}" for name, target in REDIRECTS.items()}

    def answer(query: dict[str, str]) -> object:
        if query["action"] == "expandtemplates":
            text = query["text"].replace("{{frm|x}}", "ipsum").replace("{{circa|1950}}", "about 1950")
            text = text.replace("{{circa|1960}}", '<b class="error">No.</b>')
            return {"expandtemplates": {"wikitext": text}}
        titles = query["titles"].split("|")
        if query["prop"] != "redirects":
            return {"query": {"pages": [page_json(page) for page in PAGES if page.title in titles]}}
        asked.extend(titles)
        rows = [
            {"title": title, "ns": 10, "redirects": [{"title": name, "ns": 10} for name in names]}
            for title in dict.fromkeys(moved.get(title, title) for title in titles)
            for names in [[name for name in moved if moved[name] == title]]
        ]
        leads = [{"from": title, "to": moved[title]} for title in titles if title in moved]
        return {"query": {"redirects": leads, "pages": rows}}

    with server(by_kind(answer)) as api:
        yield api


def fetched(api: str, store: Path, **options: Any) -> int:
    """Fetch all pages, and return how many requests the calls needed."""
    titles = store.with_suffix(".titles")
    titles.write_text("".join(f"{page.title}\n" for page in PAGES), encoding="utf-8")
    report = wb.fetch(store, select=f"titles:{titles}", api=api, **options).expansions
    return report.requests if report else 0


def text_of(store: Path) -> str:
    article = wb.extract(wb.read_page(store, title="Place 3").page, language=wb.store_language(store))
    return " ".join(article.lines[3:]).strip()


def test_a_fetch_asks_once_where_names_lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, asked = tmp_path / "a.store", list[str]()
    with wiki(asked) as api:
        fetched(api, store, expand=False)
        assert asked == []
        assert "10 kilometres" not in text_of(store)
        assert "redirects" not in wb.lock(store)
        requests = fetched(api, store)
        assert sorted(asked) == [
            f"Template:{name}" for name in ("Bda", "Convert units", "Cvrt", "Film data", "Frm")
        ]
        assert requests == 1 + len(PAGES)  # {{frm}} leads to nothing that we know
        assert fetched(api, store) == 0
        with monkeypatch.context() as patch:  # nothing was new: no page is read again
            patch.setattr("wikitext_builder.fetching.expansions.stored_pages", None)
            assert fetched(api, store) == 0
        assert len(asked) == 5
    with Store.open(store) as opened:
        assert opened.template_redirects("en") == {**REDIRECTS, "Convert units": "Convert units"}
    assert text_of(store) == f"{TEXT} 3 of the sea."  # {{frm}} has a text in the store alone


def test_a_wiki_is_asked_for_texts_that_nothing_shows(tmp_path: Path) -> None:
    """`{{circa}}` has a macro without authority, which gives the text if the wiki has none."""
    store = tmp_path / "a.store"
    wikitext = "It was {{circa|1950}} or {{circa|1960}}, {{convert|1|km}} away."
    page = numbered_page(99, wikitext, "Elsewhere")
    with Store.create(store) as opened:
        opened.add("en", [page], origin="test")
    with wiki([]) as api:
        fetched(api, store)
    read = wb.read_page(store, title="Elsewhere")
    assert read.expansions["{{circa|1950}}"] == "about 1950"
    lines = wb.extract(read.page, expansions=read.expansions).lines
    assert lines[3] == "It was about 1950 or c. 1960, 1 kilometre (0.62 mi) away."


def dump(folder: Path, redirects: dict[str, str]) -> Path:
    """The store of an export of the pages and of redirects between templates."""
    pages = [page_xml(page) for page in PAGES]
    for number, (name, target) in enumerate(redirects.items(), 50):
        page = numbered_page(number, f"#REDIRECT [[Template:{target}]]", f"Template:{name}")
        pages.append(page_xml(page, namespace=10, redirect=f"Template:{target}"))
    folder.mkdir()
    (folder / "dump.xml").write_bytes(export_xml(pages))
    wb.import_dump(folder / "a.store", folder / "dump.xml", keep="all")
    return folder / "a.store"


def test_redirects_of_a_dump_are_names_and_another_machine_has_them_by_the_lock(tmp_path: Path) -> None:
    store, other = dump(tmp_path / "dump", REDIRECTS), dump(tmp_path / "other", {"Cvrt": "Small"})
    assert text_of(store) == f"{TEXT} 3 of the sea."
    first = wb.build("demo", store, tmp_path / "a", **SIZES).manifest
    lock = tmp_path / "a" / "titles.lock"
    names = json.loads(lock.read_text("utf-8").splitlines()[1].removeprefix("# names "))
    expected = {"Bda": "Nowrap", "Convert units": "Convert", "Cvrt": "Convert", "Film data": "Infobox film"}
    assert names == {"redirects": expected}
    again = wb.build("demo", other, tmp_path / "b", lock=lock, **SIZES).manifest
    assert again.files["wiki.train.raw"] == first.files["wiki.train.raw"]
    without = wb.build("demo", other, tmp_path / "c", **SIZES).manifest
    assert without.files["wiki.train.raw"] != first.files["wiki.train.raw"]


def test_the_names_of_calls() -> None:
    names = {
        "{{a|{{b}}}} {{ c \n|x}}": {"A", "B", "C"},
        "{{#if:x|{{d}}}} {{lc:X}} {{{e|}}} {{PAGENAME}} {{Template:f}}": {"D"},
        "{{" * 5_000 + "a|" * 5_000: set(),
    }
    assert {wikitext: {*names_in(wikitext)} for wikitext in names} == names
