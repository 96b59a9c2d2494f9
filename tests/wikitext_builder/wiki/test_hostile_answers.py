"""A server whose answers are MediaWiki's except for one value: each run ends well or with one clear line.

Every value of every kind of answer is replaced by each of some hostile ones, and removed.
"""

import copy
import json
from collections.abc import Iterator
from functools import reduce
from http.server import BaseHTTPRequestHandler
from itertools import product
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from tests.cases import cases, read
from tests.mediawiki.asking import GOOD, ask, fetch_pages, titles
from tests.mediawiki.loopback import send, server
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.expansions import fetch_expansions, fetch_html
from wikitext_builder.fetching.lookup import Selection
from wikitext_builder.fetching.selections import parse_selections
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.http import Patience, Reply, TryAgainError
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.wiki.responses import Answer, read_answer

Path_ = tuple[str | int, ...]
ANSWERS: dict[str, dict[str, Any]] = read("answers")
HOSTILE: list[Any] = [
    float("inf"), 10**25, "NINES", -1, 2.5, "a\ud800b", "//[half", None, [{"a": 1}, 3], {"x": [1]}, True,
    "words\x00 and\nlines",
]  # fmt: skip
REMOVED = object()
BY_TIME = ("log", "today", "first")  # answers about the past of pages


def places(value: object, path: Path_ = ()) -> Iterator[Path_]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(answer: Any, path: Path_, new: object) -> Any:
    if not path:
        return new
    answer = copy.deepcopy(answer)
    *outer, last = path
    inner = reduce(getitem, outer, answer)
    if new is REMOVED:
        del inner[last]
    else:
        inner[last] = new
    return answer


def body_of(answer: object) -> str:
    return json.dumps(answer).replace('"NINES"', "9" * 6_000)


class HostileWiki:
    """A wiki that has one answer changed."""

    def __init__(self) -> None:
        self.answers = dict[str, Any](ANSWERS)

    def __call__(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        kinds = {
            "site": "meta" in query,
            "expand": query["action"] == "expandtemplates",
            "parse": query["action"] == "parse",
            "log": query.get("list") == "logevents",
            "category": "list" in query,
            "rest": "rvcontinue" in query,
            "first": query.get("rvdir") == "newer",
            "today": query.get("prop") == "info",
            "error": self.answers["error"] is not ANSWERS["error"],
            "pages": True,
        }
        send(handler, body_of(self.answers[next(kind for kind, is_so in kinds.items() if is_so)]))


def run(api: str, folder: Path, selections: list[Selection]) -> str:
    """Fetch all that there is to fetch; returns the error, or nothing."""
    folder.mkdir()
    patience = Patience(attempts=2, first_wait=0.01)
    with Store.create(folder / "a.store") as store, ask(api, patience=patience) as wikipedia:
        try:
            fetch_pages(store, wikipedia, selections)
            ids = [revision.revision_id for revision in store.revisions("en")]
            fetch_expansions(store, wikipedia, ids)
            fetch_html(store, wikipedia, ids)
        except BuilderError as error:
            return str(error)
        finally:
            for rejected in store.rejected("en"):
                f"{rejected.title} {rejected.reason} {rejected.detail}".encode()
    return ""


@pytest.fixture(scope="module")
def hostile() -> Iterator[tuple[HostileWiki, str]]:
    wiki = HostileWiki()
    with server(wiki) as api:
        yield wiki, api


def by_time() -> list[Selection]:
    return parse_selections("created-since:2019-01-01", LANGUAGES["en"])


def test_the_wiki_without_a_change_is_fetched(hostile: tuple[HostileWiki, str], tmp_path: Path) -> None:
    wiki, api = hostile
    wiki.answers = dict(ANSWERS)
    runs: dict[str, list[Selection]] = {"": [GOOD], "2019-06-01T00:00:00Z": by_time()}
    for created, selections in runs.items():
        folder = tmp_path / f"at {created}"
        assert run(api, folder, selections) == ""
        with Store.open(folder / "a.store") as store:
            found = [(revision.title, revision.created) for revision in store.all_revisions("en")]
            assert found == [("Good", created)]


def decoded(answer: object) -> Answer | str:
    """An answer as its readers get it, or the error with which it is refused before that."""
    try:
        return read_answer("api", Reply(status=200, headers={}, body=body_of(answer).encode()), 0.0)
    except (BuilderError, TryAgainError) as error:
        return str(error)


@pytest.mark.parametrize("kind", ANSWERS)
def test_any_value_can_be_wrong(hostile: tuple[HostileWiki, str], tmp_path: Path, kind: str) -> None:
    """What is refused when it is decoded needs no run, nor what has no value that we read."""
    wiki, api = hostile
    right = decoded(ANSWERS[kind])
    for number, (path, value) in enumerate(product(places(ANSWERS[kind]), (*HOSTILE, REMOVED))):
        if value is REMOVED and not path:
            continue
        answer = changed(ANSWERS[kind], path, value)
        error = decoded(answer)
        if isinstance(error, Answer):
            wiki.answers = {**ANSWERS, kind: answer}
            others = titles(tmp_path, "Gone", "[", "fr:Bon")
            selections: list[Selection] = by_time() if kind in BY_TIME else [GOOD, others]
            error = run(api, tmp_path / str(number), selections) if error != right else ""
        error.encode()
        assert "\n" not in error, (path, value)
        assert "Traceback" not in error


def test_the_error_says_where_the_answer_is_wrong(hostile: tuple[HostileWiki, str], tmp_path: Path) -> None:
    wiki, api = hostile
    for number, row in enumerate(cases("wiki", "places of a wrong answer")):
        kind = row["kind"]
        wiki.answers = {**ANSWERS, kind: changed(ANSWERS[kind], tuple(row["path"]), row["value"])}
        error = run(api, tmp_path / str(number), [GOOD])
        assert "not as MediaWiki does" in error
        assert row["said"] in error
