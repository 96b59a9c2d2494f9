"""Some hundred pages from a server with every kind of fault; `load.py` says how."""

from pathlib import Path

import pytest

from tests.mediawiki.asking import GOOD, fetched, stored
from tests.mediawiki.load import FAULTS, LoadedWiki, Query, fetch_all, missing
from tests.mediawiki.loopback import server
from wikitext_builder.errors import BuilderError


def each_in_turn(_query: Query, number: int) -> str:
    """Every other request meets a fault, first one of each kind."""
    return "" if number % 2 else list(FAULTS)[number // 2 % len(FAULTS)]


def test_nothing_is_missing_and_the_etiquette_is_kept(tmp_path: Path) -> None:
    wiki = LoadedWiki(pages=800, fault_of=each_in_turn, first_wait=0.04)
    report = fetch_all(wiki, tmp_path)
    assert missing(wiki, tmp_path) == []
    assert wiki.impolite == []
    assert set(wiki.faults) == set(FAULTS)
    assert (report.fetched, report.rejected, report.requests) == (800, {}, wiki.requests)
    failed = sum(count for name, count in wiki.faults.items() if FAULTS[name].fails)
    assert wiki.requests == 1 + 2 + 16 + failed  # the site, the category, the pages
    assert set(wiki.given.values()) == {1}
    assert len(wiki.connections) <= 1 + failed


@pytest.mark.parametrize("fault", ["no answer", "no answer, reset", "body cut", "body reset"])
def test_answers_that_are_always_cut_are_an_error_and_earlier_pages_stay(tmp_path: Path, fault: str) -> None:
    wiki = LoadedWiki(pages=60, fault_of=lambda _query, number: "" if number <= 3 else fault)
    with server(wiki) as api, stored(tmp_path) as store:
        with pytest.raises(BuilderError, match="5 attempts"):
            fetched(api, store, GOOD)
        assert (len(store.revisions("en")), len(store.missing("en"))) == (50, 10)
