"""Imports: the right pages are kept, each once, also after a kill or a damaged file."""

import csv
import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each
from tests.command import python, run
from tests.conftest import DATA, ROOT
from tests.dumps import COMPRESSIONS, export_xml, ndjson, numbered_page, page_xml, record, revision_xml
from wikitext_builder.article import Page
from wikitext_builder.dumps.importing import ImportReport, Keep, import_dump, import_into, why_skipped
from wikitext_builder.dumps.snapshot import DumpedPage, DumpedSite
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract
from wikitext_builder.store.reading import StoredTemplates, open_templates
from wikitext_builder.store.schema import Rejected, Revision
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import LANGUAGES

SHARED_PAGES = DATA / "pages"
CASES = json.loads((ROOT / "tests" / "cases" / "marks.json").read_text())
ENGLISH = LANGUAGES["en"]


def page(number: int, wikitext: str = "{{good article}} text", title: str = "", **fields: Any) -> Page:
    return numbered_page(number, wikitext, title, **fields)


def written(folder: Path, *pages: str, name: str = "dump.xml") -> Path:
    path = folder / name
    path.write_bytes(export_xml(pages))
    return path


def imported(store: Path, path: Path, *, keep: Keep = "marked", as_of: str = "") -> ImportReport:
    with Store.create(store) as opened:
        return import_into(opened, path, language=ENGLISH, keep=keep, as_of=as_of)


def content(store: Path) -> tuple[Sequence[Revision], list[Rejected]]:
    with Store.open(store) as opened:
        return opened.all_revisions("en"), opened.rejected("en")


def html_of(store: Path) -> dict[int, str]:
    with Store.open(store) as opened:
        return dict(opened.rendered_sha1s("en"))


# --- which pages


def test_kinds() -> None:
    faults = []
    for case in CASES:
        content = page(1, case["wikitext"], case.get("title", "A"))
        dumped = DumpedPage(namespace=0, redirect=False, content=content)
        kind = why_skipped(dumped, classifier(LANGUAGES[case["language"]]), keep="marked")
        if kind != case["kind"]:
            faults.append((case["label"], kind))
    assert faults == []


@pytest.mark.skipif(not SHARED_PAGES.exists(), reason="the shared pages are not here")
def test_real_pages(tmp_path: Path) -> None:
    with (SHARED_PAGES / "SOURCES.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    paths = sorted(SHARED_PAGES.glob("pages-*.xml.bz2"))
    reports = [imported(tmp_path / "a", path) for path in paths]
    revisions, rejected = content(tmp_path / "a")
    marked = Counter(row["title"] for row in rows if row["class"])
    assert Counter(revision.title for revision in revisions) == marked
    assert rejected == []
    assert [(report.pages, report.kept) for report in reports] == [(62, 11), (914, 72), (73, 25)]
    assert reports[1].skipped == {"disambiguation": 49, "list": 4, "unmarked": 789}
    for path in paths:  # all are articles
        contents = [dumped.content for dumped in read_pages(path)]
        titles = {row["title"] for row in rows if row["file"] == path.name}
        assert {content.title for content in contents} == titles
        assert len({content.revision_id for content in contents}) == len(contents)


def test_the_report_counts_every_page(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        page_xml(page(1)),
        page_xml(page(2, "plain")),
        page_xml(page(3, "#REDIRECT [[A]]"), redirect="A"),
        page_xml(page(4, "{{disambiguation}}")),
        page_xml(page(5, title="List of A")),
        page_xml(page(6, title="Talk:A"), namespace=1),
        page_xml(page(7), revision_xml(page(7), model="css")),
        page_xml(page(8), revision_xml(page(8), text='<text deleted="deleted" />')),
        page_xml(page(9), revision_xml(page(9), model="css"), namespace=8),
        page_xml(page(10, timestamp="2016-05-01T00:00:00Z")),
    )
    report = imported(tmp_path / "a", path, as_of="2016-04-30T00:00:00Z")
    assert (report.pages, report.kept, report.already_there) == (10, 1, 0)
    kinds = {"disambiguation": 1, "list": 1, "not-an-article": 2, "redirect": 1, "unmarked": 1}
    assert report.skipped == kinds | {"no-revision": 1}
    assert report.rejected == {"hidden": 1, "not-wikitext": 1}
    assert report.pages == report.kept + sum((*report.skipped.values(), *report.rejected.values()))
    revisions, rejected = content(tmp_path / "a")
    assert [revision.title for revision in revisions] == ["Page 1"]
    assert [(page.title, page.page_id, page.revision_id, page.reason) for page in rejected] == [
        ("Page 7", 7, 1007, "not-wikitext"),
        ("Page 8", 8, 1008, "hidden"),
    ]


def test_a_dump_of_another_wikipedia_is_refused(tmp_path: Path) -> None:
    data = export_xml([page_xml(page(1))], language="de")
    for compression, compress in COMPRESSIONS.items():
        path = tmp_path / compression
        path.write_bytes(compress(data))
        with pytest.raises(BuilderError, match="--language de"):
            imported(tmp_path / "a", path)
    assert {path.name for path in tmp_path.iterdir()} == {*COMPRESSIONS}, "no empty store is left"


def of_wiki(folder: Path, name: str, wikitext: str, dbname: str) -> Path:
    site = f"<siteinfo><dbname>{dbname}</dbname><base>http://localhost/</base></siteinfo>" if dbname else ""
    path = folder / name
    path.write_bytes(export_xml([page_xml(page(1, wikitext))], site=site))
    return path


@each("dumps", "names, words", "dumps of two wikis are not mixed")
def test_dumps_of_two_wikis_are_not_mixed(tmp_path: Path, names: tuple[str, str], words: str) -> None:
    first = of_wiki(tmp_path, "a.xml", "{{good article}} a", names[0])
    second = of_wiki(tmp_path, "b.xml", "{{good article}} b", names[1])
    imported(tmp_path / "a", first)
    before = content(tmp_path / "a")
    with pytest.raises(BuilderError, match=f"{words}.*use another --store"):
        imported(tmp_path / "a", second)
    assert content(tmp_path / "a") == before


def test_a_wiki_is_known_by_its_dumps_and_its_api(tmp_path: Path) -> None:
    dump = of_wiki(tmp_path, "a.xml", "{{good article}} a", "wiki")
    with Store.create(tmp_path / "b") as store:
        store.expect_wiki("en", "wiki-x_", "http://localhost/api.php")
    imported(tmp_path / "b", dump)
    imported(tmp_path / "a", dump)
    with Store.create(tmp_path / "a") as store:
        with pytest.raises(BuilderError, match=r"holds pages of the wiki 'wiki', but http.* is of 'enwiki'"):
            store.expect_wiki("en", "enwiki", "http://localhost/api.php")
        store.expect_wiki("en", "wiki-x_", "http://localhost/api.php")


# --- once


def test_a_site_without_an_address_is_that_of_its_texts() -> None:
    assert DumpedSite(base="http://[x", xml_lang="de").language == "de"
    assert DumpedSite(base="http://localhost/", xml_lang="en-GB").language == "en"


def test_a_finished_import_is_not_repeated_but_a_different_content_or_choice_is_another(
    tmp_path: Path,
) -> None:
    path = tmp_path / os.fsdecode(b"dump-\xff.xml")  # a name that is not UTF-8
    written(tmp_path, page_xml(page(1)), page_xml(page(2, "plain")), name=path.name)
    assert not imported(tmp_path / "a", path).finished_before
    assert imported(tmp_path / "a", path) == ImportReport(files=1, finished_before=1)
    everything = imported(tmp_path / "a", path, keep="all")
    assert (everything.kept, everything.already_there, everything.finished_before) == (1, 1, False)
    written(tmp_path, page_xml(page(1)), page_xml(page(3)), name=path.name)
    grown = imported(tmp_path / "a", path)
    assert (grown.kept, grown.already_there, grown.finished_before) == (1, 1, False)
    assert len(content(tmp_path / "a")[0]) == 3


def test_pages_before_a_break_are_kept_and_a_good_file_completes_them(tmp_path: Path) -> None:
    path = written(tmp_path, *(page_xml(page(number)) for number in range(1, 11)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 6 // 10])
    with pytest.raises(BuilderError, match="5 pages were read before"):
        imported(tmp_path / "a", path)
    assert len(content(tmp_path / "a")[0]) == 5
    path.write_bytes(whole)
    report = imported(tmp_path / "a", path)
    assert (report.kept, report.already_there) == (5, 5)


def test_progress_counts_bytes_of_a_file_and_files(tmp_path: Path) -> None:
    paths = [written(tmp_path, *(page_xml(page(n)) for n in range(1, 1201))), written(tmp_path, name="b.xml")]
    calls: list[tuple[str, int, int | None]] = []

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        calls.append((stage, done, total))
        assert bool(note) == (stage == "import")

    import_dump(tmp_path / "a", paths[0], progress=progress)
    size = paths[0].stat().st_size
    assert [(stage, total) for stage, _, total in calls] == [("import", size)] * 3
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)
    assert calls[-1] == ("import", size, size)
    calls.clear()
    import_dump(tmp_path / "b", *paths, workers=2, progress=progress)
    assert calls == [("files", 1, 2), ("files", 2, 2)]


# --- several files


@pytest.mark.parametrize("workers", [1, 3])
def test_several_files_make_the_same_store_with_any_number_of_workers(tmp_path: Path, workers: int) -> None:
    pages = [page_xml(page(number)) for number in range(1, 41)]
    pages += [page_xml(page(number, "plain")) for number in (50, 51)]
    paths = [written(tmp_path, *pages[n::4], name=f"{n}.xml") for n in range(4)]
    snapshot = tmp_path / "a.ndjson"
    snapshot.write_bytes(ndjson([record(page(60))]))
    imported(tmp_path / "a", written(tmp_path, *pages))
    imported(tmp_path / "a", snapshot)
    report = import_dump(tmp_path / "b", *paths, snapshot, workers=workers)
    assert (report.files, report.pages, report.kept, report.rendered) == (5, 43, 41, 1)
    assert report.skipped == {"unmarked": 2}
    assert content(tmp_path / "a") == content(tmp_path / "b")
    again = import_dump(tmp_path / "b", *paths, snapshot, workers=workers)
    assert again == ImportReport(language="en", files=5, finished_before=5)


@pytest.mark.parametrize("workers", [1, 2])
def test_after_a_bad_file_the_finished_ones_are_not_read_again(tmp_path: Path, workers: int) -> None:
    paths = [written(tmp_path, page_xml(page(n)), name=f"{n}.xml") for n in range(1, 4)]
    good = paths[2].read_bytes()
    paths[2].write_bytes(good[:-20])
    with pytest.raises(BuilderError, match=r"3\.xml: the XML ends"):
        import_dump(tmp_path / "a", *paths, workers=workers)
    paths[2].write_bytes(good)
    report = import_dump(tmp_path / "a", *paths, workers=workers)
    assert report.finished_before + report.kept + report.already_there == 3
    assert workers > 1 or report.finished_before == 2


# --- killed

IMPORT_AND_DIE = """
import os, signal, sys, threading
from pathlib import Path
from wikitext_builder.dumps.importing import import_into
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.store.store import Store
store, path, batches, seconds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
heard = []
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def progress(*_):
    heard.append(1)
    if len(heard) == 1 and seconds:
        threading.Timer(seconds, die).start()
    if len(heard) == batches:
        die()
with Store.create(store) as opened:
    import_into(opened, path, language=LANGUAGES["en"], keep="all", progress=progress)
"""


@pytest.fixture(scope="module", params=["dump.xml", "snapshot.ndjson"])
def thousands(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some thousand pages, beside the store of an import that nothing disturbed."""
    folder = tmp_path_factory.mktemp("thousands")
    pages = [page(number, f"text {number} " * 50) for number in range(1, 5001)]
    hidden = range(7, 5000, 50)
    if request.param == "dump.xml":
        xml = [page_xml(one) for one in pages]
        for n in hidden:
            xml[n] = page_xml(pages[n], revision_xml(pages[n], text='<text deleted="deleted" />'))
        path = written(folder, *xml)
    else:
        records = [record(one) for one in pages]
        for n in hidden:
            records[n]["article_body"] = {"html": "", "wikitext": ""}
        path = folder / request.param
        path.write_bytes(ndjson(records))
    imported(folder / "undisturbed", path, keep="all")
    return path


@pytest.mark.parametrize(("batches", "seconds"), [(3, 0), (0, 0.003)])
def test_after_a_kill_and_a_second_run_nothing_is_twice_or_lost(
    tmp_path: Path, thousands: Path, batches: int, seconds: float
) -> None:
    path = thousands
    killed = python(IMPORT_AND_DIE, str(tmp_path / "a"), str(path), str(batches), str(seconds))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = len(content(tmp_path / "a")[0])
    assert 0 < before < 4900
    report = imported(tmp_path / "a", path, keep="all")
    assert not report.finished_before
    assert (report.kept, report.already_there) == (4900 - before, before)
    assert content(tmp_path / "a") == content(path.with_name("undisturbed"))
    assert html_of(tmp_path / "a") == html_of(path.with_name("undisturbed"))
    assert len(html_of(tmp_path / "a")) == (4900 if path.suffix == ".ndjson" else 0)


# --- templates


def template(number: int, title: str, wikitext: str, *revisions: str, redirect: str = "") -> str:
    return page_xml(page(number, wikitext, title), *revisions, namespace=10, redirect=redirect)


def templates_of(store: Path) -> dict[str, str]:
    with Store.open(store) as opened:
        return dict(StoredTemplates(opened, "en").items())


def test_a_template_leads_where_its_newest_revision_up_to_a_date_leads(tmp_path: Path) -> None:
    """It does so in whatever order the dumps come."""
    faults = []
    for old, new in (("Convert", ""), ("", "Convert"), ("Convert", "Lang")):
        dumps = []
        for year, target in ((2016, old), (2024, new)):
            text = f"#REDIRECT [[Template:{target}]]" if target else "A text of its own"
            qty = page(1, text, "Template:Qty", timestamp=f"{year}-01-01T00:00:00Z")
            dumps.append(written(tmp_path, page_xml(qty, namespace=10), name=f"{old}-{new}-{year}"))
        for order in (dumps, dumps[::-1]):
            store = tmp_path / f"{order[0].name}.store"
            for dump in order:
                imported(store, dump)
            with Store.open(store) as opened:
                leads = [opened.template_redirects("en", as_of=date) for date in ("", "2018-01-01T00:00:00Z")]
            expected = [{"Qty": target} if target else {} for target in (new, old)]
            # of two redirects a store has the newer one
            if leads[0] != expected[0] or (leads[1] != expected[1] and not (old and new)):
                faults.append((order[0].name, leads))
    assert faults == []


def test_templates_are_kept_by_name_and_counted(tmp_path: Path) -> None:
    module = page(5, "return {}", "Module:Convert")
    css = page(6, "a { b: c }", "Template:Convert/styles.css")
    dump = written(
        tmp_path,
        page_xml(page(1)),
        template(2, "Template:birth year", "{{{1}}}"),
        template(3, "Template:By", "#REDIRECT [[Template:Birth year]]", redirect="Template:Birth year"),
        page_xml(module, revision_xml(module, model="Scribunto"), namespace=828),
        page_xml(css, revision_xml(css, model="sanitized-css"), namespace=10),
        page_xml(page(7, "text", "Talk:A"), namespace=1),
        template(8, "Template:A|b", "no page can have this title"),
        template(9, "Template:Qty", "#REDIRECT [[Wikipedia:Convert]]"),  # leads to no template
        template(10, "Template:Cvrt", "#REDIRECT [[template:Convert]]"),
    )
    report = imported(tmp_path / "a", dump)
    assert (report.pages, report.kept, report.templates, report.templates_there) == (9, 1, 4, 0)
    assert report.skipped == {"module": 1, "not-an-article": 3}
    assert templates_of(tmp_path / "a") == {
        "Birth year": "{{{1}}}",
        "By": "#REDIRECT [[Template:Birth year]]",
        "Qty": "#REDIRECT [[Wikipedia:Convert]]",
        "Cvrt": "#REDIRECT [[template:Convert]]",
    }
    with Store.open(tmp_path / "a") as store:
        assert store.template_redirects("en") == {"By": "Birth year", "Cvrt": "Convert"}
    again = written(tmp_path, template(2, "Template:Birth year", "{{{1}}}"), name="b")
    other = imported(tmp_path / "a", again)
    assert (other.templates, other.templates_there) == (0, 1)


def test_templates_of_a_date(tmp_path: Path) -> None:
    texts = [
        page(2, f"text {year}", revision_id=year, timestamp=f"{year}-05-01T00:00:00Z")
        for year in (2012, 2014, 2016)
    ]
    dump = written(
        tmp_path,
        template(2, "Template:A", "", *map(revision_xml, texts)),
        template(3, "Template:B", "", revision_xml(texts[2])),
    )
    report = imported(tmp_path / "a", dump, as_of="2015-01-01T00:00:00Z")
    assert (report.templates, report.skipped) == (1, {"not-an-article": 1})
    assert templates_of(tmp_path / "a") == {"A": "text 2014"}
    assert imported(tmp_path / "a", dump).templates == 2
    assert templates_of(tmp_path / "a") == {"A": "text 2016", "B": "text 2016"}


@pytest.mark.parametrize("workers", [1, 2])
def test_titles_that_no_file_has_are_named(tmp_path: Path, workers: int) -> None:
    """A content export can lack pages that were edited after its cut-off: T431872."""
    first = written(tmp_path, page_xml(page(1)), page_xml(page(2), redirect="Page 1"), name="first.xml")
    second = written(tmp_path, page_xml(page(3)), name="second.xml")
    (tmp_path / "titles").write_text("Page 1\nPage 2\nPage 3\nPage 4\nPage 5\n")
    options: dict[str, Any] = {"include": f"titles:{tmp_path / 'titles'}", "workers": workers}
    report = import_dump(tmp_path / "a.store", first, second, **options)
    assert (report.kept, report.missing) == (2, ("Page 4", "Page 5"))
    again = import_dump(tmp_path / "a.store", first, second, **options)
    assert (again.finished_before, again.missing) == (2, None)
    words = ("import", first, "--store", tmp_path / "b.store", "--include", options["include"])
    said = run(*words).stderr
    assert "3 titles that --include names are missing: 'Page 3', 'Page 4', 'Page 5'. Content exports" in said
    assert "the history export has them" in said
    assert import_dump(tmp_path / "c.store", first, workers=workers).missing is None


@each("dumps", "language, templates, wikitext, lines, left_out", "templates of wikis")
def test_the_templates_of_a_dump_resolve_what_is_plain_wikitext(
    tmp_path: Path,
    language: str,
    templates: dict[str, str],
    wikitext: str,
    lines: list[str],
    left_out: list[str],
) -> None:
    """Made after templates whose calls pages of 2021 to 2025 lost; MediaWiki 1.39 gives these texts."""
    dumped = [
        template(number, f"Template:{name}", text) for number, (name, text) in enumerate(templates.items(), 2)
    ]
    dumped.append(page_xml(page(1, wikitext, "Tokyo")))
    dump = tmp_path / "dump.xml"
    dump.write_bytes(export_xml(dumped, language=language))
    import_dump(tmp_path / "a.store", dump, keep="all", language=language)
    with Store.open(tmp_path / "a.store") as store:
        (stored,) = store.pages(language, [one.revision_id for one in store.revisions(language)])
    without = extract(stored, language=language)
    with open_templates(tmp_path / "a.store", language=language) as found:
        article = extract(stored, language=language, templates=found)
    assert [line for line in article.lines[3:] if line] == lines
    assert list(article.left_out) == left_out
    assert len(without.left_out) >= 2
