"""Servers that are not a MediaWiki, or a strange one: each gives a clear error, and no run hangs."""

import gzip
import json
import shutil
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import zstandard

from tests.cases import each
from tests.mediawiki.asking import ask, fetched, stored, titles
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.selections import Category
from wikitext_builder.wiki import client
from wikitext_builder.wiki.http import Patience

Answer = Callable[[BaseHTTPRequestHandler, dict[str, str]], None]

GENERAL = {
    "generator": "MediaWiki 1.39",
    "wikiid": "wiki",
    "lang": "en",
    "server": "",
    "case": "first-letter",
}
SITE = {"query": {"general": GENERAL, "namespaces": {}, "namespacealiases": []}}


@contextmanager
def server(answer: Answer, certificate: Path | None = None) -> Iterator[str]:
    """A server on loopback that answers as the function does; over https with a certificate and key."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            with suppress(ConnectionError):  # the client has closed the connection, as it should
                answer(self, {name: values[-1] for name, values in query.items()})

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            http.socket = context.wrap_socket(http.socket, server_side=True)
        threading.Thread(target=http.serve_forever, args=[0.02], daemon=True).start()
        try:
            yield f"http{'s' if certificate else ''}://127.0.0.1:{http.server_port}/w/api.php"
        finally:
            http.shutdown()


def send(
    handler: BaseHTTPRequestHandler, body: object, *, status: int = 200, headers: dict[str, str] | None = None
) -> None:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def always(body: object, **options: object) -> Answer:
    return lambda handler, _: send(handler, body, **options)  # type: ignore[arg-type]


@each("wiki", "body, words", "a server that is not a mediawiki is an error at once")
def test_a_server_that_is_not_a_mediawiki_is_an_error_at_once(body: object, words: str) -> None:
    with server(always(body)) as api, ask(api) as wikipedia:
        with pytest.raises(BuilderError, match=words):
            wikipedia.site()
        assert wikipedia.requests == 1


def test_redirects_are_not_followed(tmp_path: Path) -> None:
    seen: list[str] = []

    def elsewhere(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        seen.append(handler.path)
        send(handler, SITE)

    with server(elsewhere) as other:
        for status, target in (
            (302, other),
            (301, other.replace("127.0.0.1", "localhost")),
            (307, "https://example.org/w/api.php"),
            (308, "//example.org/w/api.php"),
            (303, "file:///etc/passwd"),
            (300, "gopher://127.0.0.1/"),
        ):
            redirect = always("", status=status, headers={"Location": target})
            with (
                server(redirect) as api,
                ask(api) as wikipedia,
                pytest.raises(BuilderError, match="redirects to"),
            ):
                wikipedia.site()
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

    with server(endless) as api, ask(api, patience=Patience(answer_bytes=5_000_000)) as wikipedia:
        with pytest.raises(BuilderError, match="more than 5,000,000 bytes"):
            wikipedia.site()
        assert wikipedia.requests == 1
    assert sent < 20_000_000


def test_a_body_that_unpacks_without_end_is_cut_off() -> None:
    def bomb(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        for _n in range(300):
            handler.wfile.write(packer.compress(bytes(1_000_000)))

    patience = Patience(answer_bytes=5_000_000)
    with (
        server(bomb) as api,
        ask(api, patience=patience) as wikipedia,
        pytest.raises(BuilderError, match="than 5,000,000"),
    ):
        wikipedia.site()


@pytest.mark.parametrize("packing", ["gzip, gzip", "zstd", "br", "deflate"])
def test_a_packing_that_we_did_not_ask_for_is_not_unpacked(packing: str) -> None:
    zeros = bytes(3_000_000)
    bombs = {"zstd": zstandard.compress(zeros), "deflate": zlib.compress(zeros)}
    body = bombs.get(packing, gzip.compress(gzip.compress(zeros)))

    def bomb(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", packing)
        handler.end_headers()
        handler.wfile.write(body)

    with server(bomb) as api, ask(api) as wikipedia:
        with pytest.raises(BuilderError, match="packed as"):
            wikipedia.site()
        assert wikipedia.requests == 1


def test_a_head_without_end_is_cut_off() -> None:
    def endless(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(1_000_000):
            handler.wfile.write(b"X-%d: %s\r\n" % (number, b"x" * 1000))

    patience = Patience(attempts=2, first_wait=0.01)
    with (
        server(endless) as api,
        ask(api, patience=patience) as wikipedia,
        pytest.raises(BuilderError, match="2 attempts"),
    ):
        wikipedia.site()


@pytest.mark.parametrize("value", ["99999999999", "9" * 1000, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_wait_of_centuries_ends_the_run(value: str) -> None:
    waits: list[float] = []
    with server(always("", status=503, headers={"Retry-After": value})) as api, ask(api, waits) as wikipedia:
        with pytest.raises(BuilderError, match="asks us to come back in"):
            wikipedia.site()
        assert (wikipedia.requests, waits) == (1, [])


@pytest.mark.parametrize("where", ["head", "body"])
def test_bytes_that_drip_for_hours_are_cut_off(where: str) -> None:
    def drip(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        if where == "body":
            handler.send_response(200)
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _n in range(200):
            handler.wfile.write(b"{")
            handler.wfile.flush()
            time.sleep(0.05)

    patience = Patience(attempts=2, first_wait=0.01, silence=5.0, request=0.6)
    with server(drip) as api, ask(api, patience=patience) as wikipedia:
        begin = time.monotonic()
        with pytest.raises(BuilderError, match=r"2 attempts \(.*not complete"):
            wikipedia.site()
        assert time.monotonic() - begin < 8  # all of it takes 20 seconds


def test_a_listing_that_does_not_advance_is_an_error(tmp_path: Path) -> None:
    def same(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        listing = {"continue": {"cmcontinue": "x", "continue": "-||"}, "query": {"categorymembers": []}}
        send(handler, SITE if "meta" in query else listing)

    with (
        server(same) as api,
        stored(tmp_path) as store,
        pytest.raises(BuilderError, match="does not advance"),
    ):
        fetched(api, store, Category(name="Good articles"))


@pytest.mark.parametrize("kind", ["empty", "alike", "always another"])
def test_continuations_without_end_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Each continuation is a new one, so only the number of answers can end them."""
    monkeypatch.setattr(client, "ANSWERS", 30)
    monkeypatch.setattr(client, "ANSWERS_ALIKE", 20)
    count = 0

    def more(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        nonlocal count
        count += 1
        page = {"pageid": 1, "ns": 0, "title": "Good" if kind == "alike" else f"Other {count}"}
        pages = [] if kind == "empty" else [page]
        if "list" in query:
            content: dict[str, object] = {"categorymembers": pages}
        else:
            content = {"pages": [{"pageid": 1, "ns": 0, "title": "Good"}]}
        token = {"rvcontinue": str(count), "cmcontinue": str(count), "continue": "||"}
        send(handler, SITE if "meta" in query else {"query": content, "continue": token})

    listing = Category(name="Good articles")
    with server(more) as api, stored(tmp_path) as store:
        with pytest.raises(BuilderError, match="does not advance"):
            fetched(api, store, listing)
        assert count < 40
        if kind == "alike":
            with pytest.raises(BuilderError, match="20 answers in a row have the same"):
                fetched(api, store, titles(tmp_path, "Good"))


@pytest.mark.parametrize("what", ["pages", "revisions"])
def test_more_than_was_asked_for_is_an_error(tmp_path: Path, what: str) -> None:
    def generous(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        revisions = [{"revid": number} for number in range(51 if what == "revisions" else 1)]
        names = ["Good", *(f"Other {number}" for number in range(50 if what == "pages" else 0))]
        pages = [{"pageid": 1, "ns": 0, "title": name, "revisions": revisions} for name in names]
        send(handler, SITE if "meta" in query else {"query": {"pages": pages}})

    with server(generous) as api, stored(tmp_path) as store:
        with pytest.raises(BuilderError, match="more than 50 pages or revisions"):
            fetched(api, store, titles(tmp_path, "Good"))
        assert store.revision_count("en") == 0


def test_another_page_than_asked_is_not_kept(tmp_path: Path) -> None:
    def other(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        slot = {"contentmodel": "wikitext", "content": "An article."}
        revision = {"revid": 7, "timestamp": "2020-01-01T00:00:00Z", "slots": {"main": slot}}
        pages = [{"pageid": 1, "ns": 0, "title": "Other", "revisions": [revision]}]
        send(handler, SITE if "meta" in query else {"query": {"pages": pages}})

    with server(other) as api, stored(tmp_path) as store:
        assert fetched(api, store, titles(tmp_path, "Good")).rejected == {"unanswered": 1}
        assert store.revision_count("en") == 0


PAGES = [
    {"pageid": 1, "ns": 0, "title": "Good", "text": "An article."},
    {"pageid": 2, "ns": 0, "title": "Surrogate", "text": "A lone \ud800 half."},
    {"pageid": 3, "ns": 0, "title": "Cut", "text": "Half a te", "sha1": "0" * 40},
    {"pageid": 4, "ns": 0, "title": "Lost", "text": None},
    {"pageid": 5, "ns": 0, "title": "Bare"},
    {"pageid": 6, "ns": 0, "title": "February 31", "text": "A day.", "timestamp": "2020-02-31T00:00:00Z"},
    {"pageid": 7, "ns": 0, "title": "Timeless", "text": "No day.", "timestamp": ""},
]


def answer_pages(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
    pages = []
    for page in PAGES:
        slot = {"contentmodel": "wikitext", "contentformat": "text/x-wiki"}
        if page.get("text") is not None:
            slot["content"] = str(page["text"])
        if "sha1" in page:
            slot["sha1"] = str(page["sha1"])
        moment = page.get("timestamp", "2020-01-01T00:00:00Z")
        revision = {"revid": page["pageid"], "timestamp": moment, "slots": {"main": slot}}
        pages.append({**page, **({"revisions": [revision]} if "text" in page else {})})
    answers = {"query": {"pages": pages}, "batchcomplete": True}
    send(handler, SITE if "meta" in query else answers)


def test_odd_texts_are_rejected_and_the_others_kept(tmp_path: Path) -> None:
    names = [str(page["title"]) for page in PAGES]
    with server(answer_pages) as api, stored(tmp_path) as store:
        report = fetched(api, store, titles(tmp_path, *names, "Never spoken of"))
        assert {one.title: one.reason for one in store.rejected("en")} == {
            "Surrogate": "not-unicode",
            "Cut": "sha1-mismatch",
            "Lost": "no-text",
            "Bare": "no-revision",
            "February 31": "malformed",
            "Timeless": "malformed",
            "Never spoken of": "unanswered",
        }
        assert report.fetched == 1


def test_a_title_of_half_a_character_is_an_error(tmp_path: Path) -> None:
    def odd(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        members = {"query": {"categorymembers": [{"ns": 0, "title": "\ud800"}]}}
        send(handler, SITE if "meta" in query else members)

    with (
        server(odd) as api,
        stored(tmp_path) as store,
        pytest.raises(BuilderError, match="not as MediaWiki does"),
    ):
        fetched(api, store, Category(name="Good articles"))


def test_what_the_server_sees_of_us() -> None:
    seen: dict[str, str] = {}

    def note(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        seen.update(handler.headers.items())
        send(handler, SITE)

    with server(note) as api, ask(api, contact="jane@example.org") as wikipedia:
        wikipedia.site()
    assert seen["User-Agent"].startswith("WikiTextBuilder/")
    assert "(jane@example.org) requests/" in seen["User-Agent"]
    assert seen["Accept-Encoding"] == "gzip"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here to make a certificate")
def test_a_certificate_without_authority_is_refused_at_once(tmp_path: Path) -> None:
    pem = tmp_path / "own.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=127.0.0.1",
        "-days",
        "2",
        "-out",
    ]
    subprocess.run([*command, pem, "-keyout", pem.with_suffix(".key")], check=True, capture_output=True)
    pem.write_bytes(pem.read_bytes() + pem.with_suffix(".key").read_bytes())
    with server(always(SITE), certificate=pem) as api, ask(api) as wikipedia:
        with pytest.raises(BuilderError, match="its certificate is not valid"):
            wikipedia.site()
        assert wikipedia.requests == 1
