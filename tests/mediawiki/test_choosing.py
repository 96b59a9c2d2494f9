"""Samples and dry runs, from servers that count what they are asked for."""

import json
from collections.abc import Collection, Set
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.command import done, refused
from tests.mediawiki.asking import ask, stored
from tests.mediawiki.load import LoadedWiki
from tests.mediawiki.loopback import SITE, send, server
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.fetching.expansions import expand_calls
from wikitext_builder.wiki.client import Wikipedia


class Rendering(LoadedWiki):
    """Also gives HTML."""

    fails: Collection[int] = ()  # revisions of which it gives none
    heavy: Set[str] = frozenset()  # pages: it gives none if it is asked for one of these

    def __call__(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        if not self.heavy.isdisjoint(query.get("titles", "").split("|")):
            send(handler, "", status=503)
            return
        if query["action"] != "parse":
            super().__call__(handler, query)
            return
        self.requests += 1
        number = int(query["oldid"])
        if number in self.fails:
            send(handler, "", status=503)
            return
        send(handler, {"parse": {"text": "<p>Text.</p>", "pageid": number, "revid": number}})


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of all clients: it stands still unless they wait, however busy this machine is."""
    seconds: list[float] = []
    monkeypatch.setattr(Wikipedia, "sleep", lambda _client, wait: seconds.append(wait))
    monkeypatch.setattr(Wikipedia, "clock", lambda _client: sum(seconds))
    return seconds


@pytest.mark.usefixtures("waits")
def test_a_page_that_the_wiki_cannot_render_does_not_stop_the_others(tmp_path: Path) -> None:
    wiki, store = Rendering(pages=6), tmp_path / "a.store"
    words = ("fetch", "--store", store, "--select", "category:X", "--no-expand", "--rendered", "--api")
    with server(wiki, protocol="HTTP/1.1") as api:
        wiki.fails = {1, 2, 5}
        assert "3 pages' HTML got no answer; run the same command again" in refused(*words, api)
        wiki.fails = {5}
        assert "1 pages' HTML got no answer; run the same command again" in refused(*words, api)
        wiki.fails = set()
        assert "  rendered  1, 5 already done; not: none\n" in done(*words, api)
        wiki.fails = {1, 2, 3, 4}
        other = ("fetch", "--store", tmp_path / "b.store", *words[3:])
        stopped = refused(*other, api)
        assert "no answer after 8 attempts" in stopped
        assert "nor to the 3 requests before it; run it again later to resume" in stopped


@pytest.mark.usefixtures("waits")
def test_a_page_that_the_wiki_cannot_give_does_not_stop_the_others(tmp_path: Path) -> None:
    wiki, where = Rendering(pages=120), tmp_path / "a.store"
    words = ("fetch", "--store", where, "--select", "category:X", "--no-expand", "--api")
    with server(wiki, protocol="HTTP/1.1") as api:
        wiki.heavy = {"Page 0", "Page 1", "Page 70"}
        assert "3 pages" in refused(*words, api)
        with stored(tmp_path) as store:
            assert [one.title for one in store.missing("en")] == sorted(wiki.heavy)
        wiki.heavy = set()
        assert "120 selected: 3 fetched, 117 already done" in done(*words, api)


def test_calls_that_the_wiki_cannot_expand_are_asked_again() -> None:
    def answer(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        send(handler, SITE, status=503 if query["action"] == "expandtemplates" else 200)

    with server(answer) as api, ask(api, []) as wikipedia:
        wikipedia.site()
        found = expand_calls(wikipedia, page("Text."), ["{{a}}", "{{b}}"])
    assert (found.texts, set(found.failures.values())) == ({}, {"unanswered"})


@pytest.mark.usefixtures("waits")
def test_a_dry_run_asks_for_the_listing_only_and_counts_what_the_fetch_asks_for(tmp_path: Path) -> None:
    wiki, store = Rendering(pages=120), tmp_path / "a.store"
    with server(wiki, protocol="HTTP/1.1") as api:
        words = ("fetch", "--store", store, "--api", api, "--select", "category:X", "--no-expand")
        done(*words, "--limit", 30)
        before = wiki.requests
        dry = done(*words, "--rendered", "--dry-run", "--per-minute", 600)
        assert wiki.requests == before + 1  # which wiki it is; the category was listed before
        assert dry.splitlines() == [
            "120 selected: 90 to fetch, 30 already done",
            "  rejected  none",
            "  requests  2 for pages, 120 for HTML",
            "  time      13 s",  # 122 requests at 600 per minute, and a margin
            "Nothing was fetched. The store keeps the listing, so that it is not requested again.",
        ]
        with stored(tmp_path) as opened:
            assert (opened.wanted_count("en"), opened.revision_count("en")) == (30, 30)
        plan = json.loads(done(*words, "--rendered", "--dry-run", "--json"))["plan"]
        before = wiki.requests
        done(*words, "--rendered")
        assert wiki.requests - before == 1 + plan["pages"] + plan["html"]
        again = json.loads(done(*words, "--rendered", "--dry-run", "--json"))
    assert (again["plan"]["pages"], again["plan"]["html"], again["fetch"]["present"]) == (0, 0, 120)


@pytest.mark.usefixtures("waits")
def test_a_dry_run_lists_what_nobody_listed_and_says_the_most_for_templates(tmp_path: Path) -> None:
    wiki = Rendering(pages=700)
    with server(wiki, protocol="HTTP/1.1") as api:
        words = ("fetch", "--store", tmp_path / "a.store", "--api", api, "--select", "category:X")
        out = done(*words, "--dry-run", "--as-of", "2026-01-01", "--per-minute", 1000)
    assert wiki.requests == 1 + 2
    assert "  requests  700 for pages, at most 700 for templates, 1 per 50 names of templates in" in out
    assert "  time      43 s to 86 s\n" in out


def test_a_sample_of_a_fetch(tmp_path: Path) -> None:
    wiki = Rendering(pages=200)
    with server(wiki, protocol="HTTP/1.1") as api:
        words = ("fetch", "--api", api, "--select", "category:X", "--no-expand")
        out = done(*words, "--store", tmp_path / "a.store", "--sample", 20, "--seed", 7)
        assert out.startswith("20 selected: 20 fetched")
        with stored(tmp_path) as store:
            seven = {one.title for one in store.revisions("en")}
        assert seven != {f"Page {number}" for number in range(20)}
        assert max(int(title.removeprefix("Page ")) for title in seven) > 100
        both = refused(*words, "--store", tmp_path / "b.store", "--sample", 20, "--limit", 20)
    assert "give one of them" in both
