"""The command `fetch` against servers of generated pages: gaps, dry runs, samples, a pace, and turns."""

import json
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import done, refused, start
from tests.conftest import ROOT, hear_control_c
from tests.mediawiki.asking import GOOD, ask, fetch_pages, stored
from tests.mediawiki.load import DATE, LoadedWiki, Query, missing
from tests.mediawiki.loopback import server
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.fetching.expansions import expand_calls
from wikitext_builder.wiki.client import Wikipedia

FETCH = ("fetch", "--select", "category:X", "--no-expand")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of all clients: it stands still unless they wait, however busy this machine is."""
    seconds: list[float] = []
    monkeypatch.setattr(Wikipedia, "sleep", lambda _client, wait: seconds.append(wait))
    monkeypatch.setattr(Wikipedia, "clock", lambda _client: sum(seconds))
    return seconds


@pytest.mark.usefixtures("waits")
def test_pages_and_html_that_the_wiki_cannot_give_do_not_stop_the_others(tmp_path: Path) -> None:
    broken: set[str] = set()
    wiki = LoadedWiki(
        pages=120,
        fault_of=lambda query, _: (
            "" if broken.isdisjoint([query.get("oldid"), *query.get("titles", "").split("|")]) else "503"
        ),
    )
    with server(wiki, protocol="HTTP/1.1") as api:
        words = (*FETCH, "--api", api, "--store", tmp_path / "a.store")
        broken |= {"Page 0", "Page 1", "Page 70"}
        assert "3 pages" in refused(*words)
        with stored(tmp_path) as store:
            assert [wanted.title for wanted in store.missing("en")] == sorted(broken)
        broken.clear()
        assert "120 selected: 3 fetched, 117 already done" in done(*words)
        for revisions in ({"1", "2", "101"}, {"101"}):
            broken.clear()
            broken |= revisions
            rendered = (*FETCH, "--rendered", "--limit", "6", "--api", api, "--store")
            pages = f"{len(revisions)} pages' HTML got no answer; run the same command again"
            assert pages in refused(*rendered, tmp_path / "b.store")
        broken.clear()
        assert "  rendered  1, 5 already done; not: none\n" in done(*rendered, tmp_path / "b.store")
        broken |= {str(number) for number in range(1, 121)}
        stopped = refused(*rendered, tmp_path / "c.store")
        assert "no answer after 8 attempts" in stopped
        assert "nor to the 3 requests before it; run it again later to resume" in stopped


def test_calls_that_the_wiki_cannot_expand_are_asked_again() -> None:
    wiki = LoadedWiki(
        pages=0, fault_of=lambda query, _: "503" if query["action"] == "expandtemplates" else ""
    )
    with server(wiki) as api, ask(api) as wikipedia:
        wikipedia.site()
        result = expand_calls(wikipedia, page("Text."), ["{{a}}", "{{b}}"])
    assert (result.texts, set(result.failures.values())) == ({}, {"unanswered"})


@pytest.mark.usefixtures("waits")
def test_a_dry_run_asks_for_the_listing_only_and_counts_what_the_fetch_asks_for(tmp_path: Path) -> None:
    wiki = LoadedWiki(pages=700)
    with server(wiki, protocol="HTTP/1.1") as api:
        words = (*FETCH, "--store", tmp_path / "a.store", "--api", api)
        new = (*words[:3], "--store", tmp_path / "b.store", "--api", api, "--dry-run")
        out = done(*new, "--as-of", "2026-01-01", "--per-minute", 1000)
        assert wiki.requests == 1 + 2
        assert "  requests  700 for pages, at most 700 for templates, 1 per 50 names of templates in" in out
        assert "  time      43 s to 86 s\n" in out

        wiki.pages = 120
        done(*words, "--limit", 30)
        before = wiki.requests
        dry = done(*words, "--rendered", "--dry-run", "--per-minute", 600)
        assert wiki.requests == before + 1  # which wiki it is; the category was listed before
        assert dry.splitlines() == [
            "120 selected: 90 to fetch, 30 already done",
            "  rejected  none",
            "  requests  2 for pages, 120 for HTML",
            "  time      45 s",  # 120 pages to render, and 2 requests at 600 per minute
            "  download  about 5 MB",
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


def test_a_sample_of_a_fetch(tmp_path: Path) -> None:
    with server(LoadedWiki(pages=200), protocol="HTTP/1.1") as api:
        words = (*FETCH, "--api", api, "--store", tmp_path / "a.store", "--sample", 20)
        assert done(*words, "--seed", 7).startswith("20 selected: 20 fetched")
        with stored(tmp_path) as store:
            numbers = {int(revision.title.removeprefix("Page ")) for revision in store.revisions("en")}
        assert len(numbers) == 20
        assert max(numbers) > 100
        assert "give one of them" in refused(*words, "--limit", 20)


def test_a_paced_fetch_is_never_refused_and_a_faster_one_loses_nothing(tmp_path: Path) -> None:
    """The server answers 20 requests in any 3 seconds, on a clock that is put forward instead of waiting."""
    clock: list[Callable[[], float]] = []
    answered: list[float] = []

    def strict(_query: Query, _number: int) -> str:
        now = clock[-1]()
        if sum(now - moment < 3 for moment in answered) >= 20:
            return "429 with Retry-After 1"
        answered.append(now)
        return ""

    for per_minute, refusals in ((400, {0}), (3000, range(1, 31))):
        answered.clear()
        wiki, folder = LoadedWiki(pages=98, fault_of=strict), tmp_path / str(per_minute)
        folder.mkdir()
        with (
            server(wiki, protocol="HTTP/1.1") as api,
            stored(folder) as store,
            ask(api, per_minute=per_minute) as wikipedia,
        ):
            clock.append(wikipedia.clock)
            report = fetch_pages(store, wikipedia, [GOOD], as_of=DATE)
        assert (report.fetched, report.requests, missing(wiki, folder)) == (98, wiki.requests, [])
        assert wiki.faults.total() in refusals
        assert len(answered) == 100
        longer = (answered[-1] - answered[0]) / (99 * 3 / 20) - 1
        assert longer <= 0.02 or per_minute > 400


def slow_wiki(asked: Counter[str], gate: threading.Event) -> LoadedWiki:
    """Counts what it is asked for; each answer takes a moment, and waits while the gate is closed."""

    def wait(query: Query, _number: int) -> str:
        time.sleep(0.03)
        gate.wait(60)
        asked.update([query.get("list") or query.get("titles") or "site"])
        return ""

    gate.set()
    return LoadedWiki(pages=30, fault_of=wait)


def fetching(api: str, store: Path, *options: str) -> subprocess.Popen[str]:
    """A fetch with one request per page, in a process of its own."""
    words = [*FETCH, "--api", api, "--store", store, "--as-of", "2026-01-01", *options]
    return start(*words, preexec_fn=hear_control_c)


def test_three_fetches_ask_for_each_page_once(tmp_path: Path) -> None:
    asked = Counter[str]()
    wiki = slow_wiki(asked, threading.Event())
    with server(wiki, protocol="HTTP/1.1") as api:
        ended = [child.communicate() for child in [fetching(api, tmp_path / "a.store") for _ in range(3)]]
    # Each looks whether it is the wiki of the store.
    assert asked == {"site": 3, "categorymembers": 1, **{f"Page {n}": 1 for n in range(30)}}
    assert missing(wiki, tmp_path) == []
    outputs = "".join(output for output, _ in ended)
    assert outputs.count("30 selected: 30 fetched, 0 already done") == 1
    assert outputs.count("30 selected: 0 fetched, 30 already done") == 2
    assert sum("another fetch works on" in complaint for _, complaint in ended) >= 1
    assert not list(tmp_path.glob("a.store-*"))


def test_the_next_one_follows_a_killed_one_and_import_and_build_do_not_wait(tmp_path: Path) -> None:
    gate, store, dump = threading.Event(), tmp_path / "a.store", tmp_path / "sample.xml"
    wiki = slow_wiki(Counter(), gate)
    text = (ROOT / "wikitext_builder/sample/sample.xml").read_text(encoding="utf-8")
    dump.write_text(text.replace("<dbname>enwiki</dbname>", ""), encoding="utf-8")  # it is of no other wiki
    with server(wiki, protocol="HTTP/1.1") as api:
        first = fetching(api, store)
        deadline = time.monotonic() + 60
        while len(wiki.given) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        gate.clear()
        second = fetching(api, store)
        assert second.stderr is not None
        assert "another fetch works on" in second.stderr.readline()
        imported = done("import", dump, "--store", store)
        done("build", "demo", "--store", store, "--out", tmp_path / "data", "--workers", 1)
        assert first.poll() is second.poll() is None  # both still run
        assert " new" in imported
        first.kill()
        first.communicate()
        gate.set()
        out, _ = second.communicate()
    assert second.returncode == 0
    assert "fetched" in out
    assert missing(wiki, tmp_path) == []
    assert sum(wiki.given.values()) <= 30 + 1  # perhaps what the killed one had just asked for
    assert not list(tmp_path.glob("a.store-*"))


def test_control_c_ends_at_once_and_loses_nothing(tmp_path: Path) -> None:
    wiki = LoadedWiki(pages=30, fault_of=lambda _query, number: "503" if number > 12 else "")
    with server(wiki, protocol="HTTP/1.1") as api:
        process = fetching(api, tmp_path / "a.store", "--parallel", "3")
        deadline = time.monotonic() + 60
        while not wiki.faults and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.5)  # now it waits for a busy server
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
        assert time.monotonic() - begin < 30  # the waits that it was in would take two minutes
        assert process.returncode == 130, complaint
        with stored(tmp_path) as store:
            assert 5 <= len(store.revisions("en")) <= 10
        wiki.fault_of = lambda _query, _number: ""
        assert fetching(api, tmp_path / "a.store").wait() == 0
    assert missing(wiki, tmp_path) == []
