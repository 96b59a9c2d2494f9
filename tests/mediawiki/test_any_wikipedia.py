"""A real MediaWiki that plays Wikipedias without a table here: Catalan, Korean and Simple English."""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import pytest

import wikitext_builder as wb
from tests.dumps import ndjson, numbered_page, record, tar
from tests.mediawiki.conftest import REAL
from tests.mediawiki.wiki import Wiki, page_properties
from tests.wikitext_builder.datasets import digests
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.store.store import Store

SETTINGS = '$wgLanguageCode = "{}"; $wgSitename = "{}"; $wgServer = "http://wiki.example.org:8080";'
GOOD, FEATURED = "wikibase-badge-Q17437798", "wikibase-badge-Q17437796"
PROPERTIES = [
    ("AT&T", GOOD), ("C++", GOOD), ("Łódź", FEATURED), ("東京", FEATURED), ("TCP/IP", GOOD),
    ("TCP/IP", "disambiguation"),
]  # fmt: skip
FEW: dict[str, Any] = {"train_articles": 2, "valid_articles": 1, "test_articles": 1}


@pytest.fixture
def badged(wiki: Wiki) -> Iterator[Wiki]:
    """The wiki with page properties as Wikidata's client sets them."""
    with page_properties(wiki, [(title, name, "") for title, name in PROPERTIES]):
        yield wiki


def titles(store: Path) -> set[str]:
    return {line.split("\t")[0] for line in wb.lock(store).splitlines()[3:]}


LANGUAGES = [("ca", "Viquipèdia", "Fitxer"), ("ko", "위키백과", "파일"), ("simple", "Wikipedia", "File")]


def exported(wiki: Wiki, path: Path, titles: Iterable[str]) -> Path:
    """The export of these pages with all their revisions, as the wiki itself writes it."""
    fields = urlencode({"pages": "\n".join(titles), "history": 1, "action": "submit"})
    address = wiki.api.replace("api.php", "index.php?title=Special:Export")
    with urlopen(address, fields.encode()) as answer:
        path.write_bytes(answer.read())
    return path


@pytest.mark.parametrize(("code", "name", "file"), LANGUAGES)
def test_badges_give_pages_and_a_wiki_and_its_dump_the_same_dataset(
    badged: Wiki, tmp_path: Path, code: str, name: str, file: str
) -> None:
    server, date = f"https://{code}.wikipedia.org", "2016-12-31"
    settings = SETTINGS.format("en" if code == "simple" else code, name)
    badged.set(settings + f'$wgServer = "{server}";')
    store = tmp_path / "a.store"
    report = wb.fetch(store, api=badged.api, language=code, as_of=date, rendered=False, expand=False)
    assert (report.pages.fetched, dict(report.pages.rejected)) == (4, {"disambiguation": 1})
    assert titles(store) == {"AT&T", "C++", "Łódź", "東京"}
    names = wb.store_language(store)
    assert (names.code, names.wiki, names.file_namespaces[0]) == (code, name, file)
    again = wb.fetch(
        store, api=badged.api, language=code, select="featured", as_of=date, rendered=False, expand=False
    )
    assert (again.pages.selected, again.pages.fetched) == (2, 0)
    first = wb.build("demo", store, tmp_path / "a", **FEW).manifest
    assert first.recipe.language == code

    dump = exported(badged, tmp_path / "wiki.xml", titles(store))
    assert f">{file}</namespace>" in dump.read_text("utf-8")
    imported = wb.import_dump(tmp_path / "b.store", dump, language=code, keep="all", as_of=date)
    assert (imported.kept, wb.store_language(tmp_path / "b.store").wiki) == (4, name)
    lock = tmp_path / "a" / "titles.lock"
    assert wb.build("demo", tmp_path / "b.store", tmp_path / "b", lock=lock, **FEW).manifest == first

    for folder in (tmp_path / "a", tmp_path / "b"):
        assert all(check.passed for check in wb.verify(folder))
        named = "from the `simple` Wikipedia" if code == "simple" else f"from {name}, the `{code}` Wikipedia,"
        assert named in (folder / "README.md").read_text("utf-8")
        assert f"{server}/w/index.php?oldid=" in (folder / "attribution.tsv").read_text("utf-8")
    lines = (tmp_path / "b" / "wiki.train.raw").read_text("utf-8").splitlines()
    assert not any("2020" in line for line in lines)
    for line in filter(None, map(str.strip, lines)):
        text = wb.detokenize(line, code)
        assert wb.tokenize(text, code) == line
        assert "@-@" not in text


HTML = {"parser": "index.php?action=render&title={}", "Parsoid": "rest.php/v1/page/{}/html"}


def served(wiki: Wiki, path: str, title: str) -> str:
    with urlopen(wiki.api.replace("api.php", path.format(quote(title, safe="")))) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("maker", HTML)
@pytest.mark.parametrize(("code", "name", "_file"), LANGUAGES)
def test_a_snapshot_of_a_wiki_gives_the_files_of_html_that_was_fetched(
    badged: Wiki, tmp_path: Path, code: str, name: str, _file: str, maker: str
) -> None:
    badged.set(SETTINGS.format("en" if code == "simple" else code, name))
    wb.fetch(tmp_path / "a.store", api=badged.api, language=code, rendered=True)
    wiki: dict[str, Any] = {"in_language": {"identifier": code}, "is_part_of": {"identifier": f"{code}wiki"}}
    records = []
    with Store.open(tmp_path / "a.store") as store:
        for page in store.pages(code, [revision.revision_id for revision in store.revisions(code)]):
            page = replace(page, wikitext=served(badged, "index.php?action=raw&title={}", page.title))
            wiki["url"] = f"https://{code}.wikipedia.org/wiki/{quote(page.title)}"
            records.append(record(page, served(badged, HTML[maker], page.title), **wiki))
    (tmp_path / "snapshot.tar.gz").write_bytes(gzip.compress(tar(ndjson(records))))
    report = wb.import_dump(tmp_path / "b.store", tmp_path / "snapshot.tar.gz", language=code, keep="all")
    assert (report.kept, report.rendered, report.rejected) == (4, 4, {})

    lock = tmp_path / "titles.lock"
    lock.write_text(wb.lock(tmp_path / "a.store"), "utf-8")
    files = []
    for place in (tmp_path / "a.store", tmp_path / "b.store"):
        out = place.with_suffix("") / "out"
        wb.build("demo", place, out, incomplete="keep", lock=lock, **FEW)
        urls = [line.split("\t")[5] for line in (out / "attribution.tsv").read_text().splitlines()[1:]]
        expected = "http://wiki.example.org:8080/w/index.php?oldid="
        assert [url for url in urls if not url.startswith(expected)] == []
        files.append(digests(out))
    for changed in ("titles.lock", "manifest.json", "croissant.json"):  # they have a digest of the HTML
        assert files[0].pop(changed) != files[1].pop(changed)
    assert files[0] == files[1]
    assert "leagues of" in (tmp_path / "b" / "out" / "wiki.train.raw").read_text("utf-8")


@pytest.mark.slow
def test_parsoid_and_the_parser_give_the_same_lines_of_real_pages(real: Wiki) -> None:
    listing = {"action": "query", "format": "json", "list": "allpages", "aplimit": 8}
    with urlopen(f"{real.api}?{urlencode(listing)}") as answer:
        titles = [one["title"] for one in json.load(answer)["query"]["allpages"]]
    assert len(titles) == 8 or not REAL[1].exists()
    for title in titles:
        page = numbered_page(1, "", title)
        first, second = (extract_rendered(served(real, path, title), page).lines for path in HTML.values())
        assert first == second


def test_a_wiki_without_badges_says_so(wiki: Wiki, tmp_path: Path) -> None:
    wiki.set(SETTINGS.format("ca", "Viquipèdia"))
    with pytest.raises(BuilderError, match="no article has the badge of good or featured articles"):
        wb.fetch(tmp_path / "a.store", api=wiki.api, language="ca")
    with Store.open(tmp_path / "a.store") as store:
        assert store.languages() == []
