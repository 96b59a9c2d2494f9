"""A server of generated pages that answers as MediaWiki's API does, perhaps with faults.

It looks at each request itself, and notes what breaks the etiquette.
"""

import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import shake_128
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.cases import cases
from tests.mediawiki.asking import GOOD, fetch_pages, stored
from tests.mediawiki.loopback import SITE, send, server
from wikitext_builder.article import Page
from wikitext_builder.fetching.fetch import PagesReport
from wikitext_builder.store.schema import sha1_of
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.http import Patience
from wikitext_builder.wiki.languages import LANGUAGES

CONTACT = "load@example.org"
MAXLAG = 5.0
DATE = "2026-01-01T00:00:00Z"
LISTED = 500  # titles per answer, as `cmlimit=max` gives
Json = dict[str, Any]
Query = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What a server does instead of answering well."""

    status: int = 200
    retry_after: str = ""
    body: str = ""  # instead of the answer
    cut: float = 1.0  # how much of the answer comes
    announced: bool = True  # as many bytes as come; False: as many as the answer has
    reset: bool = False  # the connection ends with RST
    delay: float = 0.0  # seconds; an answer that is only slow is not asked for again

    @property
    def fails(self) -> bool:
        """Whether the request must be sent again."""
        return self.delay == 0


FAULTS: dict[str, Fault] = {
    row["fault"]: Fault(**{key: value for key, value in row.items() if key != "fault"})
    for row in cases("wiki", "faults of a busy server")
}


def text_of(title: str) -> str:
    """The wikitext of a page: some 1,500 bytes."""
    words = shake_128(title.encode()).hexdigest(600)
    return f"'''{title}''' is a page. " + " ".join(words[n : n + 7] for n in range(0, len(words), 7))


@dataclass(kw_only=True)
class LoadedWiki:
    """What the server knows and has seen."""

    pages: int
    fault_of: Callable[[Query, int], str] = lambda _query, _number: ""  # that a request meets; it may wait
    first_wait: float = 1.0  # that its client should keep
    requests: int = 0
    connections: set[object] = field(default_factory=set)  # addresses of clients
    faults: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)  # titles whose pages were given
    impolite: list[str] = field(default_factory=list)
    busy: int = 0
    not_before: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, query: Query, agent: str) -> str:
        """Look at a request when it comes; returns its fault."""
        now = time.monotonic()
        with self.lock:
            self.requests += 1
            self.busy += 1
            wrong = {
                "two requests at once": self.busy > 1,
                f"{self.not_before - now:.2f} s too early": now < self.not_before,
                f"User-Agent {agent!r}": CONTACT not in agent,
                "no maxlag": float(query.get("maxlag", "nan")) != MAXLAG,
                "more than 50 titles": query.get("titles", "").count("|") >= 50,
            }
            self.impolite += [f"request {self.requests}: {what}" for what, is_so in wrong.items() if is_so]
            number = self.requests
        name = self.fault_of(query, number)
        with self.lock:
            self.faults.update([name] if name else [])
        return name

    def end(self, name: str) -> None:
        """Note when the next request may come."""
        with self.lock:
            self.busy -= 1
            if name and FAULTS[name].fails:
                wait = max(float(FAULTS[name].retry_after or 0), self.first_wait / 2)
                self.not_before = time.monotonic() + 0.98 * wait

    def answer(self, query: Query) -> Json:
        """What MediaWiki would answer."""
        if "meta" in query:
            return SITE
        if query.get("list") == "categorymembers":
            start = int(query.get("cmcontinue", "0"))
            end = min(start + LISTED, self.pages)
            members = [{"ns": 0, "title": f"Page {n}"} for n in range(start, end)]
            more = {"continue": {"cmcontinue": str(end), "continue": "-||"}} if end < self.pages else {}
            return {"query": {"categorymembers": members}, **more}
        if query["action"] == "parse":
            number = int(query["oldid"])
            return {"parse": {"text": "<p>Text.</p>", "pageid": number, "revid": number}}
        if query["action"] == "expandtemplates":
            return {"expandtemplates": {"wikitext": query["text"]}}
        if query["prop"] == "redirects":  # of templates, of which it has none
            return {"batchcomplete": True, "query": {"pages": []}}
        pages = [page_json(generated(title)) for title in query["titles"].split("|")]
        return {"batchcomplete": True, "query": {"pages": pages}}

    def __call__(self, handler: BaseHTTPRequestHandler, query: Query) -> None:
        """Answer a request, perhaps with a fault."""
        self.connections.add(handler.client_address)
        name = self.begin(query, handler.headers["User-Agent"])
        fault, answer = FAULTS.get(name, Fault()), self.answer(query)
        time.sleep(fault.delay)
        body = (fault.body or json.dumps(answer)).encode()
        some = body[: round(fault.cut * len(body))]
        self.end(name)  # before the client can have the last byte
        if not name or not fault.fails:
            self.given.update(one["title"] for one in answer.get("query", {}).get("pages", ()))
        handler.close_connection = not fault.announced
        with suppress(ConnectionError):
            if fault.status:
                headers = {"Content-Length": str(len(some) if fault.announced else len(body))}
                headers |= {"Retry-After": fault.retry_after} if fault.retry_after else {}
                send(handler, some, status=fault.status, headers=headers)
        if fault.reset:
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def page_json(page: Page) -> Json:
    """A page as an answer has it."""
    sha1 = sha1_of(page.wikitext)
    slot = {"contentmodel": "wikitext", "content": page.wikitext, "sha1": sha1}
    revision = {"revid": page.revision_id, "timestamp": page.timestamp, "sha1": sha1, "slots": {"main": slot}}
    return {"pageid": page.page_id, "ns": 0, "title": page.title, "revisions": [revision]}


def generated(title: str) -> Page:
    """A page of the wiki."""
    number = int(title.removeprefix("Page ")) + 1
    when = "2020-01-01T00:00:00Z"
    return Page(title=title, page_id=number, revision_id=number, timestamp=when, wikitext=text_of(title))


def fetch_all(wiki: LoadedWiki, folder: Path) -> PagesReport:
    """Fetch all pages of the wiki into a store of the folder, with waits in real time."""
    patience = Patience(first_wait=wiki.first_wait)
    with server(wiki, protocol="HTTP/1.1") as api, stored(folder) as store:
        client = Wikipedia(api, language=LANGUAGES["en"], contact=CONTACT, maxlag=MAXLAG, patience=patience)
        with client as wikipedia:
            return fetch_pages(store, wikipedia, [GOOD])


def missing(wiki: LoadedWiki, folder: Path) -> list[str]:
    """The pages that the store does not have, or not with their texts."""
    with stored(folder) as store:
        here = {one.title: one.sha1 for one in store.all_revisions("en")}
    titles = [f"Page {n}" for n in range(wiki.pages)]
    return [title for title in titles if here.get(title) != sha1_of(text_of(title))]
