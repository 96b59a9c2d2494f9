"""Template calls expanded by a real MediaWiki, once, and kept."""

from pathlib import Path

from tests.mediawiki.asking import ask, fetched, stored, titles
from tests.mediawiki.wiki import Wiki
from wikitext_builder.article import Page
from wikitext_builder.extraction.page import extract
from wikitext_builder.pages.expansions import (
    MAX_CALL_BYTES,
    ExpansionsReport,
    PageCalls,
    expand_calls,
    fetch_expansions,
)
from wikitext_builder.pages.reading import status_of
from wikitext_builder.pages.store import Store
from wikitext_builder.wiki.client import Wikipedia

TEXTS = {
    "{{distance|3}}": "15 leagues",
    "{{wrapped|a|{{distance|1}}}}": '<span class="wrapped">a, 5 leagues</span>',
    "{{empty}}": "",
    "{{bullets|x|y}}": "\n* x\n* y",  # within a line, as MediaWiki does it there
    "{{#if:x|{{PAGENAME}}}}": "東京",
    "<ref>{{distance|2}}</ref>": "<ref>{{distance|2}}</ref>",  # extension tags are not expanded here
}
FAILURES = {
    "{{nowhere|x}}": "no-template",
    "{{wrapped|{{nowhere}}}}": "no-template",
    "{{loop}}": "error",
    "{{#invoke:Broken|f}}": "error",
    "{{#expr:1/0}}": "error",
    "{{wrapped|" + "x" * MAX_CALL_BYTES + "}}": "too-large",
}
EATER = "{{wrapped|<!-- }}"  # swallows all marks after it, so that each call must be asked for alone
PAGE = Page(title="東京", page_id=1, revision_id=1, timestamp="2020-01-01T00:00:00Z", wikitext="")


def expanded(store: Store, wikipedia: Wikipedia) -> ExpansionsReport:
    """Expand the newest revision of each page."""
    return fetch_expansions(store, wikipedia, [one.revision_id for one in store.revisions("en")])


def test_calls_of_a_page_go_together_and_failures_again_alone(wiki: Wiki) -> None:
    with ask(wiki.api) as wikipedia:
        wikipedia.site()
        good = expand_calls(wikipedia, PageCalls(page=PAGE, calls=tuple(TEXTS)))
        assert (good.texts, good.failures, wikipedia.requests) == (TEXTS, {}, 2)
        mixed = expand_calls(wikipedia, PageCalls(page=PAGE, calls=(*FAILURES, *TEXTS)))
        assert (mixed.texts, mixed.failures) == (TEXTS, FAILURES)
        assert wikipedia.requests == 3 + len(FAILURES) - 1


def test_a_call_that_swallows_the_marks_does_not_harm_the_others(wiki: Wiki) -> None:
    with ask(wiki.api) as wikipedia:
        result = expand_calls(wikipedia, PageCalls(page=PAGE, calls=(EATER, *TEXTS, "%((1))%")))
        assert result.texts == TEXTS
        assert result.failures == {EATER: "lost-mark", "%((1))%": "lost-mark"}


def test_many_large_calls_go_in_several_requests(wiki: Wiki) -> None:
    calls = tuple(f"{{{{wrapped|{n}{'x' * 60_000}}}}}" for n in range(7))
    with ask(wiki.api) as wikipedia:
        result = expand_calls(wikipedia, PageCalls(page=PAGE, calls=calls))
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

        (page,) = (
            p for p in store.pages("en", [r.revision_id for r in store.revisions("en")]) if p.title != "東京"
        )
        known = store.expansions("en", page.revision_id)
        failed = store.failed_expansions("en", page.revision_id)
        assert (failed["{{nowhere|x}}"], failed["{{loop}}"]) == ("no-template", "error")
        assert known["{{distance|4}}"] == "20 leagues"
        text = " ".join(extract(page, language="en", expansions=known).lines)
        assert "It is 15 leagues away, 20 leagues at most, a, b." in text


def test_three_at_once_expand_the_same(wiki: Wiki, tmp_path: Path) -> None:
    found = []
    for parallel in (1, 3):
        (tmp_path / str(parallel)).mkdir()
        with stored(tmp_path / str(parallel)) as store, ask(wiki.api, parallel=parallel) as wikipedia:
            fetched(wiki.api, store, titles(tmp_path, "Templates in use", "東京", "C++", "AT&T", "Łódź"))
            expanded(store, wikipedia)
            found.append([store.expansions("en", r.revision_id) for r in store.revisions("en")])
    assert found[0] == found[1]
