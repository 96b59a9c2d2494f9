"""A server whose answers are MediaWiki's except for one value: each run ends well or with one clear line.

Every value of every kind of answer is replaced by each of some hostile ones, and removed.
"""

import copy
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases import each, read
from tests.mediawiki.asking import ask, fetch_pages, titles
from tests.mediawiki.loopback import send, server
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.categories import Category
from wikitext_builder.pages.expansions import fetch_expansions, fetch_html
from wikitext_builder.pages.lookup import Selection
from wikitext_builder.pages.selections import parse_selection, parse_wishes
from wikitext_builder.pages.store import Store
from wikitext_builder.wiki.http import Patience, Reply, TryAgainError
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.wiki.responses import Answer, read_answer

Path_ = tuple[str | int, ...]
ANSWERS: dict[str, dict[str, Any]] = read("answers")
HOSTILE: dict[str, Any] = {
    "infinity": float("inf"),
    "a large number": 10**25,
    "a very large number": "NINES",
    "minus one": -1,
    "a fraction": 2.5,
    "half a character": "a\ud800b",
    "a broken address": "//[half",
    "nothing": None,
    "a list": [{"a": 1}, 3],
    "an object": {"x": [1]},
    "a truth": True,
    "a text": "words\x00 and\nlines",
}
REMOVED = object()


def places(value: object, path: Path_ = ()) -> Iterator[Path_]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(answer: dict[str, Any], path: Path_, new: object) -> Any:
    if not path:
        return new
    answer = copy.deepcopy(answer)
    inner: Any = answer
    for key in path[:-1]:
        inner = inner[key]
    if new is REMOVED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return answer


class HostileWiki:
    """A wiki that has one answer changed."""

    def __init__(self) -> None:
        self.answers = dict[str, Any](ANSWERS)

    def __call__(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        actions = {"expandtemplates": "expand", "parse": "parse", "paraminfo": "assesses"}
        kind = actions.get(query["action"], "pages")
        if "meta" in query:
            kind = "site"
        elif "list" in query:
            kind = {"logevents": "log", "categorymembers": "category"}.get(query["list"], "user")
        elif "rvcontinue" in query:
            kind = "rest"
        elif "clprop" in query:
            kind = "standing"
        elif query.get("rvdir") == "newer":
            kind = "first"
        elif query.get("prop") in ("info", "pageassessments"):
            kind = {"info": "today"}.get(query["prop"], "assessed")
        if "error" in self.answers and self.answers["error"] is not ANSWERS["error"] and kind == "pages":
            kind = "error"
        send(handler, json.dumps(self.answers[kind]).replace('"NINES"', "9" * 6_000))


def run(api: str, folder: Path, selections: list[Selection], exclude: tuple[str, ...] = ()) -> str:
    """Fetch all that there is to fetch; returns the error, or nothing."""
    wishes = parse_wishes((), exclude, LANGUAGES["en"])
    folder.mkdir()
    patience = Patience(attempts=2, first_wait=0.01)
    with Store.create(folder / "a.store") as store, ask(api, patience=patience) as wikipedia:
        try:
            fetch_pages(store, wikipedia, selections, wishes=wishes)
            ids = [one.revision_id for one in store.revisions("en")]
            fetch_expansions(store, wikipedia, ids)
            fetch_html(store, wikipedia, ids)
        except BuilderError as error:
            str(error).encode()  # it can be printed
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


def test_the_wiki_without_a_change_is_fetched(hostile: tuple[HostileWiki, str], tmp_path: Path) -> None:
    wiki, api = hostile
    wiki.answers = dict(ANSWERS)
    assert run(api, tmp_path / "x", [Category(name="Good articles")]) == ""
    with Store.open(tmp_path / "x" / "a.store") as store:
        assert [one.title for one in store.all_revisions("en")] == ["Good"]


PAST = ("log", "today", "first", "user", "standing", "assesses", "assessed")


def by_time() -> list[Selection]:
    """Selections that ask for the past of pages."""
    return [parse_selection(f"{name}-since:2019-01-01", LANGUAGES["en"]) for name in ("created", "promoted")]


def test_the_wiki_without_a_change_is_asked_for_the_past(
    hostile: tuple[HostileWiki, str], tmp_path: Path
) -> None:
    wiki, api = hostile
    wiki.answers = dict(ANSWERS)
    assert run(api, tmp_path / "x", by_time()) == ""
    assert run(api, tmp_path / "y", by_time(), ("series", "quality:B")) == ""
    for name, dates in (("x", [("Good", "2019-06-01T00:00:00Z")]), ("y", [])):
        with Store.open(tmp_path / name / "a.store") as store:
            assert [(one.title, one.created) for one in store.all_revisions("en")] == dates


def refused(answer: object) -> str:
    """The error with which an answer is refused when it comes; empty if the readers have to cope with it."""
    body = json.dumps(answer).replace('"NINES"', "9" * 6_000).encode()
    try:
        read_answer("api", Reply(status=200, headers={}, body=body), 0.0)
    except BuilderError as error:
        str(error).encode()
        return str(error)
    except TryAgainError:
        pass
    return ""


def is_unseen(kind: str, answer: object) -> bool:
    """True if no field that we read has another value than in the right answer."""
    if kind in ("assesses", "error"):  # the schema does not have these
        return False
    right, changed_one = (msgspec.convert(one, Answer) for one in (ANSWERS[kind], answer))
    return right == changed_one


@pytest.mark.parametrize("kind", ANSWERS)
def test_any_value_can_be_wrong(hostile: tuple[HostileWiki, str], tmp_path: Path, kind: str) -> None:
    """What the schema refuses needs no run: it was refused before anybody read it."""
    wiki, api = hostile
    for number, (path, value) in enumerate(product(places(ANSWERS[kind]), (*HOSTILE.values(), REMOVED))):
        if value is REMOVED and not path:
            continue
        answer = changed(ANSWERS[kind], path, value)
        error = refused(answer)
        if not error and not is_unseen(kind, answer):
            wiki.answers = {**ANSWERS, kind: answer}
            if kind in PAST:
                error = run(api, tmp_path / str(number), by_time(), ("quality:B", "series"))
            else:
                others = titles(tmp_path, "Gone", "[", "fr:Bon")
                error = run(api, tmp_path / str(number), [Category(name="Good articles"), others])
        assert "\n" not in error, (path, value)
        assert "Traceback" not in error


@each("wiki", "kind, path, value, said", "places of a wrong answer")
def test_the_error_says_where_the_answer_is_wrong(
    hostile: tuple[HostileWiki, str],
    tmp_path: Path,
    kind: str,
    path: list[str | int],
    value: object,
    said: str,
) -> None:
    wiki, api = hostile
    wiki.answers = {**ANSWERS, kind: changed(ANSWERS[kind], tuple(path), value)}
    error = run(api, tmp_path / "x", [Category(name="Good articles")])
    assert "not as MediaWiki does" in error
    assert said in error
