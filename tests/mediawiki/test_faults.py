"""Faults made for real: a busy, broken, lagging or killed server, and connections that are cut."""

import socket
from pathlib import Path

import pytest

from tests.cases import each
from tests.mediawiki.asking import FEATURED, ask, fetch_pages, fetched, stored
from tests.mediawiki.wiki import Wiki
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import WaitingProgress
from wikitext_builder.wiki.http import Patience
from wikitext_builder.wiki.responses import ApiError

SITE = {"action": "query", "meta": "siteinfo"}


@each("wiki", "rule", "a fault that passes costs a wait and nothing else")
def test_a_fault_that_passes_costs_a_wait_and_nothing_else(
    wiki: Wiki, tmp_path: Path, rule: dict[str, object]
) -> None:
    waits: list[float] = []
    notes: list[str] = []
    progress = WaitingProgress(lambda stage, done, total, note="": notes.append(note))
    with stored(tmp_path) as store, ask(wiki.api, waits, on_wait=progress.wait) as wikipedia:
        wikipedia.site()
        before = wikipedia.requests
        wiki.fail({"match": "rvprop|list=", "times": 2, **rule})
        report = fetch_pages(store, wikipedia, [FEATURED], limit=4, progress=progress)
        assert (report.fetched, report.rejected) == (4, {})
        assert wikipedia.requests == before + 2 + 2
    least = 7.0 if "headers" in rule else 0.25
    assert len(waits) == 2
    assert min(waits) >= least * 0.99
    assert max(waits) <= max(least, 1.0)
    assert sum(note.startswith("waiting ") for note in notes) == 2


def test_a_private_wiki_is_an_error_and_a_read_only_wiki_is_read(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        wiki.set("$wgReadOnly = 'the databases are moved';")
        assert fetched(wiki.api, store, FEATURED, limit=2).fetched == 2
        wiki.set("$wgGroupPermissions['*']['read'] = false;")
        with pytest.raises(ApiError, match="read permission") as refused:
            fetched(wiki.api, store, FEATURED, limit=2)
        assert refused.value.code == "readapidenied"


def test_waits_grow_and_end(wiki: Wiki) -> None:
    waits: list[float] = []
    wiki.fail({"status": 503})
    patience = Patience(attempts=6, first_wait=1.0, longest_wait=6.0)
    with (
        ask(wiki.api, waits, patience=patience) as wikipedia,
        pytest.raises(BuilderError, match="6 attempts"),
    ):
        wikipedia.request(SITE)
    for wait, most in zip(waits, (1, 2, 4, 6, 6), strict=True):
        assert most * 0.49 <= wait <= most


def test_a_wait_holds_for_all_requests(wiki: Wiki) -> None:
    wiki.fail({"match": r"titles=A\b", "times": 1, "status": 429, "headers": {"Retry-After": "1"}})
    started: list[float] = []
    with ask(wiki.api, parallel=2) as wikipedia:
        wikipedia.site()

        def timed(title: str) -> None:
            wikipedia.request({"action": "query", "titles": title})
            started.append(wikipedia.clock())

        begin = wikipedia.clock()
        list(wikipedia.map(timed, "ABCDEFGH"))
    assert sum(moment - begin >= 0.99 for moment in started) >= 5  # some may have been sent before


def test_an_error_that_does_not_pass_is_not_asked_again(wiki: Wiki) -> None:
    for status, words in ((403, "status 403"), (404, "status 404")):
        waits: list[float] = []
        wiki.fail({"status": status, "body": "<h1>Please set a user-agent</h1>"})
        with ask(wiki.api, waits) as wikipedia, pytest.raises(BuilderError, match=f"{words}.*user-agent"):
            wikipedia.request(SITE)
        assert waits == []
    wiki.heal()
    with ask(wiki.api) as wikipedia, pytest.raises(ApiError) as refused:
        wikipedia.request({"action": "nonsense"})
    assert refused.value.code == "badvalue"


def test_a_listing_whose_position_the_wiki_forgot_starts_again(wiki: Wiki, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        store.note_listing(
            "en category Featured articles", ["Gone"], '{"cmcontinue": "nonsense", "continue": "-||"}'
        )
        assert fetched(wiki.api, store, FEATURED, limit=3).fetched == 3


def test_a_silent_server_is_given_up(wiki: Wiki) -> None:
    patience = Patience(attempts=2, first_wait=0.01, silence=0.5)
    with ask(wiki.api, patience=patience) as wikipedia:
        wikipedia.site()
        wiki.fail({"delay_ms": 2000})
        with pytest.raises(BuilderError, match=r"2 attempts.*[Tt]ime"):
            wikipedia.request(SITE)


def test_a_server_that_is_not_there_is_a_quick_error() -> None:
    waits: list[float] = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nobody listens
        api = f"http://127.0.0.1:{free.getsockname()[1]}/w/api.php"
        with (
            ask(api, waits) as wikipedia,
            pytest.raises(BuilderError, match=r"3 attempts.*check the address"),
        ):
            wikipedia.site()
    assert len(waits) == 2


def test_a_closed_client_sends_no_more_requests(wiki: Wiki) -> None:
    wikipedia = ask(wiki.api)
    wikipedia.close()
    with pytest.raises(BuilderError, match="the client was closed"):
        wikipedia.site()
