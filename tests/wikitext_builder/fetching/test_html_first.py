"""HTML first: which HTML a fetch stores, and that a build, a lock file and `extract` take it page by page."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.command import done
from tests.dumps import numbered_page
from tests.mediawiki.load import page_json
from tests.mediawiki.loopback import GENERAL, send, server
from tests.wikitext_builder.datasets import build, digests
from wikitext_builder.store.lock import read_lock
from wikitext_builder.store.store import Store

SIZES: dict[str, Any] = {"train_articles": 4, "valid_articles": 1, "test_articles": 1}
PAGES = [
    numbered_page(n, f"The wikitext of {n} flows. It has {{{{frm|{n}}}}} here.", f"Place {n}")
    for n in range(6)[1:]
]
PAGES.append(numbered_page(6, "The wikitext of 6 flows.", "Place 6"))
REFUSED, EMPTY = 2, 7  # the pages whose HTML the wiki does not give
PAGE_WITHOUT_HTML = numbered_page(EMPTY, "The wikitext of 7 flows. It has {{frm|7}} here.", "Place 7")


@contextlib.contextmanager
def wiki(language: str, actions: list[str]) -> Iterator[str]:
    """Serve these pages, their HTML and texts of calls, and note the action of each request."""
    pages = [*PAGES, PAGE_WITHOUT_HTML]
    by_id = {str(page.revision_id): page for page in pages}

    def answer(query: dict[str, str]) -> object:
        if query["action"] == "parse":
            page = by_id[query["oldid"]]
            if page.page_id == REFUSED:
                return {"errors": [{"code": "permissiondenied", "text": "no"}]}
            html = "\n" if page.page_id == EMPTY else f"<p>The HTML of {page.page_id} flows.</p>"
            return {"parse": {"text": html, "pageid": page.page_id, "revid": page.revision_id}}
        if query["action"] == "expandtemplates":
            return {"expandtemplates": {"wikitext": query["text"].replace("{{", "").replace("}}", "")}}
        asked = [by_id[number] for number in query.get("revids", "").split("|") if number]
        asked += [page for page in pages if page.title in query.get("titles", "").split("|")]
        return {"query": {"pages": [page_json(page) for page in asked]}}

    def reply(handler: Any, query: dict[str, str]) -> None:
        site = {"query": {"general": GENERAL | {"lang": language}, "namespaces": {}, "namespacealiases": []}}
        if "meta" not in query:
            actions.append("redirects" if query.get("prop") == "redirects" else query["action"])
        send(handler, site if "meta" in query else answer(query))

    with server(reply) as api:
        yield api


def fetched(folder: Path, site: str, **options: Any) -> tuple[Path, list[str]]:
    """Fetch all pages into a new store, and return it with the actions of the requests."""
    store, titles, actions = folder / "pages.store", folder / "titles.txt", list[str]()
    folder.mkdir(exist_ok=True)
    titles.write_text("".join(f"{page.title}\n" for page in PAGES), "utf-8")
    with wiki(site, actions) as api:
        wb.fetch(store, **{"select": f"titles:{titles}", "api": api, "language": site} | options)
    return store, sorted(set(actions))


@pytest.mark.parametrize(
    ("language", "option", "has_html"),
    [
        ("de", None, True),
        ("ca", None, True),
        ("de", False, False),
        ("en", None, False),
        ("simple", None, False),  # in English, with English templates
        ("en", True, True),
    ],
)
def test_html_is_stored_except_in_english_and_texts_of_calls_where_there_is_none(
    tmp_path: Path, language: str, option: bool | None, has_html: bool
) -> None:
    store, _ = fetched(tmp_path, language, rendered=option)
    with Store.open(store) as opened:
        html = {number - 1000 for number, sha1 in opened.rendered_sha1s(language) if sha1}
        expanded = [page.page_id for page in PAGES if opened.expansions(language, page.revision_id)]
    assert html == ({1, 3, 4, 5, 6} if has_html else set())
    assert expanded == ([REFUSED] if has_html else [1, 2, 3, 4, 5])


def test_a_build_takes_html_page_by_page_and_its_lock_file_says_so(tmp_path: Path) -> None:
    store, _ = fetched(tmp_path, "de")
    out = done("build", "demo", "--store", store, "--out", tmp_path / "a", *words(SIZES))
    assert "  made from  5 articles' HTML, 1 articles' wikitext\n" in out
    text = "".join(
        (tmp_path / "a" / f"wiki.{split}.raw").read_text("utf-8") for split in ("train", "valid", "test")
    )
    assert sorted(line.strip() for line in text.split("\n") if " of " in line) == [
        *(f"The HTML of {n} flows ." for n in (1, 3, 4, 5, 6)),
        "The wikitext of 2 flows . It has frm | 2 here .",
    ]
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text("utf-8"))
    assert manifest["sources"] == {"rendered": 5, "wikitext": 1}
    assert (
        "the HTML that readers see of 5 articles, the wikitext of 1"
        in (tmp_path / "a" / "README.md").read_text()
    )
    lock = tmp_path / "a" / "titles.lock"
    assert lock.read_text("utf-8") == wb.lock(store).replace("wiki wiki", "wiki -")
    with Store.open(store) as opened:
        sha1s: dict[int, str] = dict(opened.rendered_sha1s("de"))
    assert {row.revision_id: row.html for row in read_lock(lock, language="de")} == sha1s

    # The page whose HTML came later is still made from wikitext.
    with Store.create(store) as opened:
        opened.add_rendered("de", 1000 + REFUSED, "<p>Late.</p>")
    again = build(tmp_path / "a" / "manifest.json", store, tmp_path / "again" / "a", lock=lock)
    assert digests(tmp_path / "again" / "a") == digests(tmp_path / "a")
    assert [warning for warning in again.warnings if "other HTML" in warning] == []
    with Store.create(store) as opened:
        opened.add_rendered("de", 1001, "<p>Other HTML.</p>")
    other = build(tmp_path / "a" / "manifest.json", store, tmp_path / "other", lock=lock)
    assert any("1 of 6 pages have other HTML" in warning for warning in other.warnings)
    only = build("demo", store, tmp_path / "only", source="wikitext", **SIZES)
    assert only.manifest.sources == {"rendered": 0, "wikitext": 6}
    assert "html" not in (tmp_path / "only" / "titles.lock").read_text("utf-8").split("\n")[1]


def test_a_lock_file_that_names_html_has_it_fetched_in_english_too(tmp_path: Path) -> None:
    store, _ = fetched(tmp_path / "a", "en", rendered=True)
    lock = tmp_path / "titles.lock"
    lock.write_text(wb.lock(store), "utf-8")
    theirs, actions = fetched(tmp_path / "b", "en", select=f"lock:{lock}")
    assert wb.lock(theirs) == lock.read_text("utf-8")
    lock.write_text(wb.lock(fetched(tmp_path / "de", "de")[0]), "utf-8")
    german, _ = fetched(tmp_path / "d", "de", select=f"lock:{lock}", language=None)
    assert wb.lock(german) == lock.read_text("utf-8")
    lock.write_text(wb.lock(store), "utf-8")
    assert actions == ["expandtemplates", "parse", "query", "redirects"]
    assert fetched(tmp_path / "c", "en", select=f"lock:{lock}", rendered=False)[1] == [
        "expandtemplates",
        "query",
        "redirects",
    ]


def test_pages_whose_lock_file_names_no_html_get_texts_of_calls(tmp_path: Path) -> None:
    """A build takes their wikitext; German HTML, which a fetch without a lock file stores, is no help."""
    store, _ = fetched(tmp_path / "a", "de", rendered=False)
    with Store.create(store) as opened:
        opened.add_rendered("de", 1001, "<p>The HTML of 1 flows.</p>")
    lock = tmp_path / "titles.lock"
    lock.write_text(wb.lock(store), "utf-8")
    build("demo", store, tmp_path / "built" / "a", lock=lock, **SIZES)
    for number, option in enumerate((None, True)):
        theirs, _ = fetched(tmp_path / f"b{number}", "de", select=f"lock:{lock}", rendered=option)
        with Store.open(theirs) as opened:
            html = {revision for revision, _ in opened.rendered_sha1s("de")}
        assert html == ({1001} if option is None else {1001, 1002, 1003, 1004, 1005, 1006})
        build("demo", theirs, tmp_path / f"built{number}" / "a", lock=lock, **SIZES)
        assert digests(tmp_path / f"built{number}" / "a") == digests(tmp_path / "built" / "a")
    with wiki("de", []) as api:
        estimate = wb.fetch(tmp_path / "c", select=f"lock:{lock}", api=api, dry_run=True).plan
    assert estimate is not None
    assert (estimate.html, estimate.expansions) == (1, 5)


def test_empty_html_is_none(tmp_path: Path) -> None:
    titles = tmp_path / "seven.txt"
    titles.write_text(f"{PAGE_WITHOUT_HTML.title}\n", "utf-8")
    store, _ = fetched(tmp_path, "de", select=f"titles:{titles}")
    text = done("extract", "--store", store, "--title", PAGE_WITHOUT_HTML.title)
    assert "The wikitext of 7 flows. It has frm|7 here." in text
    assert wb.status(store)[0].not_rendered == {"empty": 1}


def test_extract_takes_html(tmp_path: Path) -> None:
    store, _ = fetched(tmp_path, "de")
    assert "The HTML of 3 flows." in done("extract", "--store", store, "--title", "Place 3")
    assert "The wikitext of 2" in done("extract", "--store", store, "--title", "Place 2")


def words(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
