"""Servers on loopback that answer as a function does: strange ones, hostile ones, busy ones."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
def server(answer: Answer, certificate: Path | None = None, protocol: str = "HTTP/1.0") -> Iterator[str]:
    """A server that gives each request to a function; HTTP/1.1 keeps connections open.

    Args:
        answer: Gets the handler and the query.
        certificate: With its key: the server speaks https.
        protocol: The version of HTTP.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = protocol
        disable_nagle_algorithm = True  # else a body waits 40 ms after its head

        def do_GET(self) -> None:
            self.reply(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self.reply(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def do_CONNECT(self) -> None:  # to a proxy
            self.reply("")

        def reply(self, text: str) -> None:
            with suppress(ConnectionError):  # the client has closed the connection, as it should
                answer(self, {name: values[-1] for name, values in parse_qs(text).items()})

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
    """Answer with a text, with bytes, or with an object as JSON."""
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def always(body: object, **options: Any) -> Answer:
    """The same answer to all requests."""
    return lambda handler, _: send(handler, body, **options)


def pages(found: list[dict[str, Any]], **more: Any) -> Answer:
    """The site, and these pages whatever is asked for."""
    return by_kind(lambda _: {"query": {"pages": found}, **more})


def by_kind(answer: Callable[[dict[str, str]], object]) -> Answer:
    """The site, and what a function gives for each other query."""
    return lambda handler, query: send(handler, SITE if "meta" in query else answer(query))
