"""Two fetches on one store, in real processes: the second waits, and no page is asked for twice."""

import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.command import COMMAND, done, environment
from tests.conftest import ROOT
from tests.mediawiki.load import LoadedWiki, missing
from tests.mediawiki.loopback import server

PAGES = 30


@dataclass(kw_only=True)
class SlowWiki(LoadedWiki):
    """Counts what it is asked for; each answer takes a moment, and waits while the gate is closed."""

    gate: threading.Event = field(default_factory=threading.Event)

    def __call__(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        time.sleep(0.03)
        self.gate.wait(60)
        self.faults.update([query.get("list") or query.get("titles") or "site"])
        super().__call__(handler, query)


def slow_wiki() -> SlowWiki:
    wiki = SlowWiki(pages=PAGES)
    wiki.gate.set()
    return wiki


def fetching(api: str, store: Path) -> subprocess.Popen[str]:
    """A fetch with one request per page, in a process of its own."""
    words = ("fetch", "--api", api, "--store", str(store), "--as-of", "2026-01-01", "--select", "category:X")
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, *words, "--no-expand"], stdout=pipe, stderr=pipe, text=True, env=environment()
    )


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def each_once(wiki: SlowWiki) -> dict[str, int]:
    """How often what was asked for."""
    return {"categorymembers": 1, **{f"Page {n}": 1 for n in range(wiki.pages)}}


def test_three_fetches_ask_for_each_page_once(tmp_path: Path) -> None:
    wiki = slow_wiki()
    with server(wiki, protocol="HTTP/1.1") as api:
        ended = [one.communicate() for one in [fetching(api, tmp_path / "a.store") for _ in range(3)]]
    asked = dict(wiki.faults)
    assert asked.pop("site") == 3  # each looks whether it is the wiki of the store
    assert asked == each_once(wiki)
    assert missing(wiki, tmp_path) == []
    said = "".join(out for out, _ in ended)
    assert said.count(f"{PAGES} selected: {PAGES} fetched, 0 already done") == 1
    assert said.count(f"{PAGES} selected: 0 fetched, {PAGES} already done") == 2
    assert sum("another fetch works on" in complaint for _, complaint in ended) >= 1
    assert not list(tmp_path.glob("a.store-*"))


def test_the_next_one_follows_a_killed_one_and_import_and_build_do_not_wait(tmp_path: Path) -> None:
    wiki, store, dump = slow_wiki(), tmp_path / "a.store", tmp_path / "sample.xml"
    text = (ROOT / "wikitext_builder/sample/sample.xml").read_text(encoding="utf-8")
    dump.write_text(text.replace("<dbname>enwiki</dbname>", ""), encoding="utf-8")  # it is of no other wiki
    with server(wiki, protocol="HTTP/1.1") as api:
        first = fetching(api, store)
        wait_until(lambda: len(wiki.given) >= 3)
        wiki.gate.clear()
        second = fetching(api, store)
        assert second.stderr is not None
        assert "another fetch works on" in second.stderr.readline()
        imported = done("import", dump, "--store", store)
        done("build", "demo", "--store", store, "--out", tmp_path / "data", "--workers", 1)
        assert first.poll() is second.poll() is None  # both still run
        assert " new" in imported
        first.kill()
        first.communicate()
        wiki.gate.set()
        out, _ = second.communicate()
    assert second.returncode == 0
    assert "fetched" in out
    assert missing(wiki, tmp_path) == []
    assert sum(wiki.given.values()) <= PAGES + 1  # perhaps what the killed one had just asked for
    assert not list(tmp_path.glob("a.store-*"))
