"""fetch --rendered against the real MediaWiki: kept once, resumed, and the lines of its wikitext."""

from extraction_eval.measure import measure_pages, read_store_pages
from extraction_eval.rendering import render_page

from tests.mediawiki.asking import ask, fetched, stored, titles
from tests.mediawiki.wiki import Wiki
from wikitext_builder.article import Page
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.pages.expansions import fetch_html


def test_html_is_kept_by_revision_and_fetched_once(wiki: Wiki, tmp_path):
    selection = titles(tmp_path, "AT&T", "C++", "東京")
    with stored(tmp_path) as store:
        fetched(wiki.api, store, selection)
        with ask(wiki.api) as wikipedia:
            ids = [one.revision_id for one in store.revisions("en")]
            first = fetch_html(store, wikipedia, ids[:1])
            rest = fetch_html(store, wikipedia, ids)
            again = fetch_html(store, wikipedia, ids)
        assert (first.fetched, rest.fetched, rest.present, again.fetched, again.requests) == (1, 2, 1, 0, 0)
        found = measure_pages(read_store_pages(store, "en"))
        assert [one.title for one in found.rendered] == [one.title for one in store.revisions("en")]


def test_revisions_that_the_wiki_does_not_have_are_noted(wiki: Wiki, tmp_path):
    page = Page(title="X", page_id=7, revision_id=999_999_999, timestamp="2020-01-01T00:00:00Z", wikitext="a")
    other = Page(title="Y", page_id=999_999, revision_id=2, timestamp="2020-01-01T00:00:00Z", wikitext="a")
    with stored(tmp_path) as store, ask(wiki.api) as wikipedia:
        store.add("en", [page, other], origin="test")
        report = fetch_html(store, wikipedia, [999_999_999, 2])
        assert report.failed == {"nosuchrevid": 1, "other-page": 1}
        assert fetch_html(store, wikipedia, [999_999_999, 2]).requests == 0


def test_both_ways_give_the_same_lines_without_templates_that_are_missing(wiki: Wiki):
    wikitext = (
        "'''A''' is [[b|c]]{{nowhere|x}}, {{wrapped|d|e}}.<ref>f</ref>\n\n{{nowhere2}}\n"
        "== G ==\n* h\n*# i\n;j: k\n{|\n| l\n|}\n== References ==\n<references/>"
    )
    page = Page(title="X", page_id=1, revision_id=1, timestamp="2020-01-01T00:00:00Z", wikitext=wikitext)
    with ask(wiki.api) as wikipedia:
        rendering = render_page(wikipedia, page)
    assert "nowhere" not in rendering.page.wikitext
    theirs = extract_rendered(rendering.html, rendering.page)
    ours = extract(rendering.page, expansions={"{{wrapped|d|e}}": "d, e"})
    assert theirs.lines == ours.lines
    assert theirs.lines[3:-1] == ("A is c, d, e.", "", "== G ==", "", "h", "i", "j", "k")
