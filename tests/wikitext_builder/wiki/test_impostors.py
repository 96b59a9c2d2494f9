"""Servers that are not a MediaWiki, or a strange one: each gives a clear error, and no run hangs."""

import gzip
import re
import shutil
import subprocess
import time
import zlib
from collections.abc import Callable
from functools import reduce
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import zstandard

from tests.cases import cases, each, read, refusal
from tests.dumps import numbered_page
from tests.mediawiki.asking import GOOD, ask, fetched, stored, titles
from tests.mediawiki.loopback import GENERAL, SITE, Answer, always, by_kind, pages, send, server
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching import expansions
from wikitext_builder.wiki import client
from wikitext_builder.wiki.http import Patience
from wikitext_builder.wiki.responses import ApiError

TWICE = Patience(attempts=2, first_wait=0.01, silence=5.0, request=0.6)


def test_a_wiki_in_a_variant_of_a_language_is_of_that_language() -> None:
    for lang in ("en-gb", "en"):
        answer = {"query": {**SITE["query"], "general": {**GENERAL, "lang": lang}}}
        with server(always(answer)) as api, ask(api) as wikipedia:
            assert wikipedia.site().language == lang


def refuses(answer: Answer, words: str, *, patience: Patience | None = None, **options: Any) -> None:
    """Expect an error of the first request, after one attempt unless patience says otherwise."""
    waits: list[float] = []
    patience = patience or Patience(attempts=5, first_wait=0.5, answer_bytes=5_000_000)
    with server(answer, **options) as api, ask(api, waits, patience=patience) as wikipedia:
        with pytest.raises(BuilderError, match=words):
            wikipedia.site()
        assert wikipedia.requests == (2 if patience.attempts == 2 else 1)
        assert waits == [] or patience.attempts == 2


@each("wiki", "body, words", "a server that is not a mediawiki is an error at once")
def test_a_server_that_is_not_a_mediawiki_is_an_error_at_once(body: object, words: str) -> None:
    refuses(always(body), words)


def test_redirects_are_not_followed() -> None:
    seen: list[str] = []

    def elsewhere(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        seen.append(handler.path)
        send(handler, SITE)

    with server(elsewhere) as other:
        for case in cases("wiki", "redirects of a server"):
            target = case["target"].replace("PORT", str(urlsplit(other).port))
            refuses(always("", status=case["status"], headers={"Location": target}), "redirects to")
    assert seen == []


def test_an_endless_body_is_cut_off_at_once() -> None:
    sent = 0

    def endless(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b'{"query": "' + b"x" * 100_000)
            sent += 100_000

    refuses(endless, "more than 5,000,000 bytes")
    assert sent < 20_000_000


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "deflate": zlib.compress,
    "br": bytes,
}


@each("wiki", "packing, zeros, words", "packed bodies that are refused")
def test_a_body_that_unpacks_without_end_or_that_we_did_not_ask_for(
    packing: list[str], zeros: int, words: str
) -> None:
    body = reduce(lambda body, name: PACKINGS[name](body), packing, bytes(zeros))
    refuses(always(body, headers={"Content-Encoding": ", ".join(packing)}), words)


def test_a_head_without_end_is_cut_off() -> None:
    def endless(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(1_000_000):
            handler.wfile.write(b"X-%d: %s\r\n" % (number, b"x" * 1000))

    refuses(endless, "2 attempts", patience=TWICE)


def test_a_wait_beyond_patience_ends_the_run_and_names_it() -> None:
    refuses(always("", status=429, headers={"Retry-After": "86400"}), "asks us to wait 86,400 seconds")
    for value in ("99999999999", "9" * 1000, "Fri, 31 Dec 9999 23:59:59 GMT"):
        refuses(always("", status=503, headers={"Retry-After": value}), "asks us to wait")


def test_a_body_that_drips_for_hours_is_cut_off() -> None:
    def drip(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        handler.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _byte in range(200):
            handler.connection.sendall(b"1")
            time.sleep(0.05)

    begin = time.monotonic()
    refuses(drip, r"2 attempts \(.*not complete", patience=TWICE)
    assert time.monotonic() - begin < 8  # all of it takes 20 seconds


@pytest.mark.parametrize("kind", ["the same token", "empty", "alike", "always another"])
def test_continuations_without_end_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """But for the same token, each continuation is a new one: only the number of answers can end them."""
    monkeypatch.setattr(client, "MAX_ANSWERS", 30)
    monkeypatch.setattr(client, "MAX_EQUAL_ANSWERS", 20)
    count = 0

    def more(query: dict[str, str]) -> object:
        nonlocal count
        count += 1
        page = {"pageid": 1, "ns": 0, "title": "Good" if kind == "alike" else f"Other {count}"}
        members = {"categorymembers": [] if kind in {"the same token", "empty"} else [page]}
        content = members if "list" in query else {"pages": [{"pageid": 1, "ns": 0, "title": "Good"}]}
        place = "x" if kind == "the same token" else str(count)
        token = {"rvcontinue": place, "cmcontinue": place, "continue": "||"}
        return {"query": content, "continue": token}

    with server(by_kind(more)) as api, stored(tmp_path) as store:
        with pytest.raises(BuilderError, match="does not advance"):
            fetched(api, store, GOOD)
        assert count < 40
        if kind == "alike":
            with pytest.raises(BuilderError, match="the last 20 with the same content"):
                fetched(api, store, titles(tmp_path, "Good"))


@pytest.mark.parametrize(("others", "revisions"), [(50, 1), (0, 51)])
def test_more_than_was_asked_for_is_an_error(tmp_path: Path, others: int, revisions: int) -> None:
    content = {"pageid": 1, "ns": 0, "revisions": [{"revid": number} for number in range(revisions)]}
    answer = pages(
        [{**content, "title": f"Good {number}".removesuffix(" 0")} for number in range(others + 1)]
    )
    with server(answer) as api, stored(tmp_path) as store:
        with pytest.raises(BuilderError, match="more than 50 pages or revisions"):
            fetched(api, store, titles(tmp_path, "Good"))
        assert store.revision_count("en") == 0


def test_memory_that_runs_out_while_a_page_is_looked_through_is_no_fault_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_words: object, **_options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(expansions, "extract", no_memory)
    with server(always(SITE)) as api, stored(tmp_path) as store, ask(api) as wikipedia:
        store.add("en", [numbered_page(1, "text")], origin=api)
        with pytest.raises(MemoryError):
            expansions.fetch_expansions(store, wikipedia, [one.revision_id for one in store.revisions("en")])


def test_odd_texts_are_rejected_and_the_others_kept(tmp_path: Path) -> None:
    rows = read("wiki")["odd texts"]  # the last was not asked for, and one that was does not come
    answer, reasons = [], dict[str, str]()
    for number, row in enumerate(rows, 1):
        content = {"content": row["text"]} if row.get("text") is not None else {}
        slot = {"contentmodel": "wikitext", "contentformat": "text/x-wiki", **content}
        slot |= {"sha1": row["sha1"]} if "sha1" in row else {}
        moment = row.get("timestamp", "2020-01-01T00:00:00Z")
        revision = {"revid": number, "timestamp": moment, "slots": {"main": slot}}
        page = {"pageid": number, "ns": 0, "title": row["title"]}
        answer.append({**page, "revisions": [revision]} if "text" in row else page)
        reasons |= {row["title"]: row["reason"]} if row["reason"] else {}
    with server(pages(answer, batchcomplete=True)) as api, stored(tmp_path) as store:
        asked = [row["title"] for row in rows[:-1]]
        report = fetched(api, store, titles(tmp_path, *asked, "Never spoken of"))
        assert {one.title: one.reason for one in store.rejected("en")} == reasons
        assert report.fetched == 1
        assert report.rejected["unanswered"] == 1
        assert [one.title for one in store.revisions("en")] == ["Good"]
        assert [one.title for one in store.missing("en")] == ["Never spoken of"]


def test_errors_of_the_old_format_are_read() -> None:
    refuses(
        always({"error": {"code": "badvalue", "info": "Unrecognized value"}}), "refuses: Unrecognized value"
    )
    busy = {"error": {"code": "internal_api_error_DBQueryError", "info": "[x] Caught exception"}}
    refuses(always(busy), "internal_api_error_DBQueryError", patience=TWICE)


@pytest.mark.parametrize(("code", "noted"), [("mwoauth-invalid-authorization", False), ("nosuchrevid", True)])
def test_what_is_no_fault_of_a_page_is_not_noted_for_it(code: str, noted: bool) -> None:
    with (
        server(always({"errors": [{"code": code, "text": "no"}]})) as api,
        ask(api, []) as wikipedia,
        pytest.raises(BuilderError, match=f"refuses: no .{code}") as error,
    ):
        wikipedia.site()
    assert isinstance(error.value, ApiError) is noted
    crowded = {"errors": [{"code": "concurrency-limit", "text": "too many"}]}
    refuses(always(crowded), "concurrency-limit", patience=TWICE)


def test_what_the_server_sees_of_us() -> None:
    seen: dict[str, str] = {}

    def note(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        seen.update(handler.headers.items())
        send(handler, SITE)

    with server(note) as api, ask(api, contact="jane@example.org") as wikipedia:
        wikipedia.site()
        assert "Promise-Non-Write-API-Action" not in seen
        wikipedia.request({"action": "query", "meta": "x" * 3000})
        assert seen["Promise-Non-Write-API-Action"] == "true"  # of a request that is posted
    assert seen["User-Agent"].startswith("WikiTextBuilder/")
    assert "(jane@example.org) requests/" in seen["User-Agent"]
    assert seen["Accept-Encoding"] == "gzip"


@each("wiki", "name, value, words", "environments in which nothing can be sent")
def test_an_environment_in_which_nothing_can_be_sent_is_an_error_at_once(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    waits: list[float] = []
    with ask("https://wiki.example/w/api.php", waits) as wikipedia:
        error = refusal(wikipedia.site)
    assert re.search(f"nothing can be sent: .*{re.escape(words)}.*HTTPS_PROXY", error)
    assert "secret" not in error
    assert waits == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here to make a certificate")
def test_a_certificate_without_authority_is_refused_at_once(tmp_path: Path) -> None:
    pem, key = tmp_path / "own.pem", tmp_path / "own.key"
    request = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -days 2"
    command = [*request.split(), "-out", str(pem), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    pem.write_bytes(pem.read_bytes() + key.read_bytes())
    refuses(always(SITE), "its certificate is not valid: .*REQUESTS_CA_BUNDLE", certificate=pem)


@pytest.mark.parametrize("status", [403, 407])
def test_a_proxy_that_refuses_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    waits: list[float] = []
    with (
        server(always(b"", status=status)) as proxy,
        ask("https://wiki.example/w/api.php", waits) as wikipedia,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.partition("/w/")[0].replace("://", "://me:secret@"))
        error = refusal(wikipedia.site)
    assert re.search(f"the proxy refuses: .* {status} .*HTTPS_PROXY", error)
    assert "secret" not in error
    assert waits == []


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@127.0.0.1:9")  # where nothing listens
    with ask("https://wiki.example/w/api.php", []) as wikipedia:
        error = refusal(wikipedia.site)
    assert "at the proxy that HTTPS_PROXY names, ConnectionRefusedError" in error
    assert "secret" not in error
