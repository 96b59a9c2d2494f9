"""Template calls expanded and pages rendered by a real MediaWiki, once, and kept: what pages alone lack."""

import json
from functools import partial
from pathlib import Path

from extraction_eval.measure import measure_pages, read_store_pages, render_page

import wikitext_builder as wb
from tests.cases import cases, each
from tests.command import done
from tests.mediawiki.asking import ask, fetched, stored, titles
from tests.mediawiki.wiki import Wiki
from wikitext_builder.article import Page
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.fetching.expansions import ExpansionsReport, expand_calls, fetch_expansions, fetch_html
from wikitext_builder.limits import CALL_BYTES
from wikitext_builder.store.reading import StoredPage, status_of
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.client import Wikipedia

TEXTS = {case["call"]: case["text"] for case in cases("wiki", "expansions of a page")}
FAILURES = {case["call"]: case["reason"] for case in cases("wiki", "expansions that fail")}
FAILURES["{{wrapped|" + "x" * CALL_BYTES + "}}"] = "too-large"
EATER = "{{wrapped|<!-- }}"  # swallows all marks after it, so that each call must be asked for alone


def page(wikitext: str = "", title: str = "東京", page_id: int = 1, revision_id: int = 1) -> Page:
    when = "2018-06-01T00:00:00Z"
    return Page(title=title, page_id=page_id, revision_id=revision_id, timestamp=when, wikitext=wikitext)


PAGE = page()


def expanded(store: Store, wikipedia: Wikipedia) -> ExpansionsReport:
    """Expand the newest revision of each page."""
    return fetch_expansions(store, wikipedia, [one.revision_id for one in store.revisions("en")])


def test_calls_of_a_page_go_together_and_failures_again_alone(wiki: Wiki) -> None:
    with ask(wiki.api) as wikipedia:
        wikipedia.site()
        good = expand_calls(wikipedia, PAGE, tuple(TEXTS))
        assert (good.texts, good.failures, wikipedia.requests) == (TEXTS, {}, 2)
        mixed = expand_calls(wikipedia, PAGE, (*FAILURES, *TEXTS))
        assert (mixed.texts, mixed.failures) == (TEXTS, FAILURES)
        assert wikipedia.requests == 3 + len(FAILURES) - 1


def test_a_call_that_swallows_the_marks_does_not_harm_the_others(wiki: Wiki) -> None:
    with ask(wiki.api) as wikipedia:
        result = expand_calls(wikipedia, PAGE, (EATER, *TEXTS, "%((1))%"))
        assert result.texts == TEXTS
        assert result.failures == {EATER: "lost-mark", "%((1))%": "lost-mark"}


def test_many_large_calls_go_in_several_requests(wiki: Wiki) -> None:
    calls = tuple(f"{{{{wrapped|{n}{'x' * 60_000}}}}}" for n in range(7))
    with ask(wiki.api) as wikipedia:
        result = expand_calls(wikipedia, PAGE, calls)
        assert wikipedia.requests == 1 + 3
    assert {call: text.count("x") for call, text in result.texts.items()} == dict.fromkeys(calls, 60_000)


def test_unknown_calls_are_expanded_once_and_reach_the_text(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store, ask(wiki.api) as wikipedia:
        fetched(wiki.api, store, titles(tmp_path, "Templates in use", "東京"))
        report = expanded(store, wikipedia)
        assert report.pages == 2
        assert set(report.failed) == {"error", "no-template"}
        again = expanded(store, wikipedia)
        assert (again.expanded, again.failed, again.requests) == (0, {}, 0)
        counts = status_of(store, "en")
        assert (counts.expanded, counts.not_expanded) == (report.expanded, report.failed)

        ids = [one.revision_id for one in store.revisions("en")]
        (used,) = (one for one in store.pages("en", ids) if one.title != "東京")
        known = store.expansions("en", used.revision_id)
        failed = store.failed_expansions("en", used.revision_id)
        assert (failed["{{nowhere|x}}"], failed["{{loop}}"]) == ("no-template", "error")
        assert known["{{distance|4}}"] == "20 leagues"
        text = " ".join(extract(used, language="en", expansions=known, incomplete="keep").lines)
        assert "It is 15 leagues away, 20 leagues at most, a, b." in text


# --- other languages


def extracted(store: Path, language: str) -> tuple[list[str], list[str]]:
    """The lines of the article, and the names of the templates without a text."""
    with Store.open(store) as opened:
        (found,) = opened.pages(language, [one.revision_id for one in opened.revisions(language)])
        known = opened.expansions(language, found.revision_id)
    article = extract(found, language=language, expansions=known)
    printed = done("extract", "--store", store, "--language", language, "--title", found.title)
    assert printed.splitlines() == list(article.lines)
    return [line for line in article.lines[3:] if line], sorted(map(call_name, article.left_out))


@each("wiki", "language, without, filled, left_out", "languages")
def test_a_wiki_fills_what_pages_leave_out(
    wiki: Wiki, tmp_path: Path, language: str, without: list[str], filled: list[str], left_out: list[str]
) -> None:
    wiki.set(f"$wgLanguageCode = '{language}';")
    select = ["--select", f"titles:{titles(tmp_path, f'Tokyo {language}').path}", "--language", language]
    select += ["--wikitext"]
    given = ["fetch", "--api", wiki.api, *select, "--store", tmp_path / "a.store", "--json"]
    assert json.loads(done(*given, "--no-expand"))["fetch"]["fetched"] == 1
    assert extracted(tmp_path / "a.store", language) == (without, left_out)
    assert json.loads(done(*given))["expand"]["expanded"] == len(left_out)
    assert extracted(tmp_path / "a.store", language) == (filled, [])


def test_no_call_in_a_sentence_stays_without_text(wiki: Wiki) -> None:
    (case,) = cases("wiki", "sentences of the shared pages")
    sentences = page(case["wikitext"], "A")
    unknown = extract(sentences).left_out
    assert len(unknown) == 6
    with ask(wiki.api) as wikipedia:
        found = expand_calls(wikipedia, sentences, unknown)
    article = extract(sentences, expansions=found.texts)
    assert (found.failures, article.left_out) == ({}, ())
    assert [line for line in article.lines[3:] if line] == case["lines"]


# --- rendered pages


def test_html_is_kept_by_revision_and_fetched_once(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store, ask(wiki.api) as wikipedia:
        fetched(wiki.api, store, titles(tmp_path, "AT&T", "C++", "東京"))
        ids = [one.revision_id for one in store.revisions("en")]
        first, rest, again = (fetch_html(store, wikipedia, some) for some in (ids[:1], ids, ids))
        assert (first.fetched, rest.fetched, rest.present, again.fetched, again.requests) == (1, 2, 1, 0, 0)
        found = measure_pages(read_store_pages(store, "en"))
        assert [one.title for one in found.rendered] == [one.title for one in store.revisions("en")]


def test_revisions_that_the_wiki_does_not_have_are_noted(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store, ask(wiki.api) as wikipedia:
        store.add("en", [page("a", "X", 7, 999_999_999), page("a", "Y", 999_999, 2)], origin="test")
        report = fetch_html(store, wikipedia, [999_999_999, 2])
        assert report.failed == {"nosuchrevid": 1, "other-page": 1}
        assert fetch_html(store, wikipedia, [999_999_999, 2]).requests == 0


def test_both_ways_give_the_same_lines_without_templates_that_are_missing(wiki: Wiki) -> None:
    wikitext = (
        "'''A''' is [[b|c]]{{nowhere|x}}, {{wrapped|d|e}}.<ref>f</ref>\n\n{{nowhere2}}\n"
        "== G ==\n* h\n*# i\n;j: k\n{|\n| l\n|}\n== References ==\n<references/>"
    )
    one = StoredPage(page=page(wikitext, "X"), expansions={"{{wrapped|d|e}}": "d, e"})
    with ask(wiki.api) as wikipedia:
        page_html, missing = render_page(wikipedia, one.page)
        found = measure_pages([one], render=partial(render_page, wikipedia))
    assert missing == {"Nowhere", "Nowhere2"}
    assert not found.red_links
    theirs = extract_rendered(page_html, one.page, incomplete="keep")
    assert theirs.lines[3:-1] == ("A is c, d, e.", "", "== G ==", "", "h", "i", "j", "k")
    (compared,) = found.rendered
    assert (compared.score.ours, compared.score.wrong, compared.breaks.wrong) == (20, 0, 0)


def test_a_renamed_template_has_its_text_without_the_wiki_afterwards(wiki: Wiki, tmp_path: Path) -> None:
    wikitext = "It is {{cvrt|10|km}} or {{convert units|5|km|abbr=on}} away. It has {{nowhere|x}} in it."
    with stored(tmp_path) as store, ask(wiki.api) as wikipedia:
        store.add("en", [page(wikitext, "Renamed")], origin="test")
        expanded(store, wikipedia)
        names = dict.fromkeys(("Cvrt", "Convert", "Convert units"), "Convert units")
        assert store.template_redirects("en") == {**names, "Nowhere": "Nowhere"}
        assert expanded(store, wikipedia).requests == 0
    found = wb.read_page(tmp_path / "a.store", title="Renamed")
    assert found.expansions == {}
    lines = wb.extract(found.page, language=wb.store_language(tmp_path / "a.store")).lines
    assert lines[3] == "It is 10 kilometres (6.2 mi) or 5 km (3.1 mi) away."
