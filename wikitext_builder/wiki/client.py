"""One wiki, asked politely: few requests at once, waiting when told to, answers in parts put together."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.http import Patience, Transport, TryAgainError
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import (
    Found,
    Json,
    Site,
    continuation,
    expected_parts,
    gather,
    page_of_answer,
    read_answer,
    site_of,
)

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_PARALLEL = 3  # https://www.mediawiki.org/wiki/API:Etiquette asks for one; three is what it bears with
QUIET_WARNINGS = frozenset({"truncatedresult"})  # the rest comes by `continue`
UNREACHABLE_ATTEMPTS = 3  # before anything was answered: the address is likelier wrong than the server busy

PAGE_PARAMETERS = {
    "prop": "revisions|pageprops",
    "ppprop": "disambiguation",
    "rvprop": "ids|timestamp|sha1|slotsha1|content|contentmodel",
    "rvslots": "main",
}


def api_of(language: Language) -> str:
    """Where the Wikipedia of a language answers."""
    return f"https://{language.code}.wikipedia.org/w/api.php"


class Wikipedia:
    """One wiki, asked politely.

    Args:
        api: Address of its api.php.
        language: Which Wikipedia it is; a wiki of another language is refused.
        contact: Mail address or URL of the operator; Wikimedia's wikis are not asked without.
        maxlag: Do not answer when the databases lag by more seconds than this; None leaves it out.
        parallel: How many requests run at once, 1 to 3.
        patience: How long it is waited for.
        sleep: Waits for a number of seconds.
        clock: What waits are measured with.
        now: The time of day, for a `Retry-After` that names a date.
        randomness: Spreads the waits.
    """

    def __init__(
        self,
        api: str,
        *,
        language: Language,
        contact: str = "",
        maxlag: float | None = None,
        parallel: int = 1,
        patience: Patience | None = None,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        randomness: random.Random | None = None,
    ) -> None:
        if not 1 <= parallel <= MAX_PARALLEL:
            raise BuilderError(f"--parallel {parallel}: Wikipedia's etiquette allows 1 to {MAX_PARALLEL}")
        if maxlag is not None and not 0 <= maxlag < float("inf"):
            raise BuilderError(f"--maxlag {maxlag:g}: give seconds, 0 or more; 5 is usual")
        self.api = api
        self.language = language
        self.parallel = parallel
        self.requests = 0
        self.on_wait: Callable[[str], None] = lambda _: None  # told before each long wait, and why
        self.warnings: set[str] = set()
        self._patience = patience or Patience()
        self._transport = Transport(
            api, contact=contact, connections=parallel, patience=self._patience, clock=clock
        )
        self._common = {"format": "json", "formatversion": "2", "errorformat": "plaintext"}
        if maxlag is not None:
            self._common["maxlag"] = f"{maxlag:g}"
        self._stopped = threading.Event()
        self._sleep = self._stopped.wait if sleep is None else sleep  # so that closing ends a long wait
        self._clock, self._now = clock, now
        self._random = randomness or random.Random()  # noqa: S311 - spreads waits, hides nothing
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(parallel)
        self._not_before = 0.0
        self._answered = False
        self._site: Site | None = None

    def close(self) -> None:
        """Close the connections and end all waiting."""
        self._stopped.set()
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- one request

    def request(self, parameters: Mapping[str, str]) -> Json:
        """The answer to one request, asked again with growing waits while the server is busy.

        Raises:
            ApiError: MediaWiki refused it.
            BuilderError: The server is gone, is no MediaWiki, or stays busy.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._once(parameters)
            except TryAgainError as error:
                self._give_up_or_wait(attempt, error)

    def _once(self, parameters: Mapping[str, str]) -> Json:
        with self._slots:
            with self._lock:
                wait = self._not_before - self._clock()
                self.requests += 1
            if wait > 0:
                self._sleep(wait)
            if self._stopped.is_set():
                raise BuilderError(f"{self.api}: not asked any more, the run was ended")
            reply = self._transport.send({**self._common, **parameters})
        self._answered = True
        answer = read_answer(self.api, reply, self._now())
        with self._lock:
            self.warnings.update(
                f"{warning.get('module', '')}: {warning.get('text', '')}"
                for warning in answer.get("warnings", ())
                if warning.get("code") not in QUIET_WARNINGS
            )
        return answer

    def _give_up_or_wait(self, attempt: int, error: TryAgainError) -> None:
        patience = self._patience
        unknown = error.unreachable and not self._answered
        if attempt >= (min(UNREACHABLE_ATTEMPTS, patience.attempts) if unknown else patience.attempts):
            advice = "check the address" if unknown else "run the same command later: it goes on"
            raise BuilderError(
                f"{self.api}: no answer after {attempt} attempts ({error}); {advice}"
            ) from error
        if error.wait is not None and error.wait > patience.longest_asked_wait:
            raise BuilderError(
                f"{self.api}: the server asks to come back in {error.wait:,.0f} seconds ({error});"
                " run the same command then: it goes on"
            ) from error
        own = min(patience.longest_wait, patience.first_wait * 2 ** (attempt - 1))
        wait = max(own * self._random.uniform(0.5, 1.0), error.wait or 0.0)
        with self._lock:  # who is told to wait waits with all that it does
            self._not_before = max(self._not_before, self._clock() + wait)
        self.on_wait(f"waiting {wait:.0f} s ({str(error)[:40]})")

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """What a function that asks this wiki gives for each item, in order; as many at once as allowed.

        When one fails, or the caller stops, this closes the wiki: the others end soon.
        """
        if self.parallel == 1:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(self.parallel) as threads:
            running: deque[Future[Result]] = deque()
            try:
                for item in items:
                    running.append(threads.submit(function, item))
                    if len(running) > self.parallel:
                        yield running.popleft().result()
                while running:
                    yield running.popleft().result()
            except BaseException:
                self.close()
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    # --- queries

    def site(self) -> Site:
        """What the wiki says of itself, asked once.

        Raises:
            BuilderError: It is no MediaWiki, or of another language.
        """
        if self._site is None:
            parameters = {
                "action": "query",
                "meta": "siteinfo",
                "siprop": "general|namespaces|namespacealiases",
            }
            answer = self.request(parameters)
            with expected_parts(self.api):
                self._site = site_of(answer["query"])
            self._check_language(self._site, str(answer["query"]["general"].get("server", "")))
        return self._site

    def _check_language(self, site: Site, server: str) -> None:
        host = urlsplit(server, scheme="https").hostname or ""
        # lang of no.wikipedia.org is nb, of simple.wikipedia.org en: there the host's name tells
        name = host.partition(".")[0] if host.endswith(".wikipedia.org") else site.language
        if self.language.code not in (name, site.language):
            raise BuilderError(
                f"{self.api}: this wiki's language is {site.language!r}, but {self.language.code!r} was"
                f" asked for; say --language {site.language} or name another --api"
            )

    def query(self, parameters: Mapping[str, str], start: Mapping[str, str] | None = None) -> Iterator[Json]:
        """The answers of a query as `continue` leads through them; `start` goes on from a former one."""
        seen: set[str] = set()
        token: Mapping[str, str] | None = start or {}
        while token is not None:
            answer = self.request({"action": "query", **parameters, **token})
            token = continuation(self.api, answer)
            key = json.dumps(token, sort_keys=True)
            if key in seen:
                raise BuilderError(
                    f"{self.api}: the listing does not advance, `continue` was {key} before;"
                    " this is an error of the wiki: run the same command later"
                )
            seen.add(key)
            yield answer

    def find(self, parameters: Mapping[str, str]) -> Found:
        """The pages of one batch with their revisions, all the parts of the answer put together.

        With `rvlimit` the first revisions of a page are all that is asked for; `continue` offers the others.
        """
        found = Found()
        parts: dict[str, Json] = {}
        for answer in self.query({**PAGE_PARAMETERS, **parameters}):
            with expected_parts(self.api):
                gather(found, parts, answer.get("query", {}))
                if "rvlimit" in parameters and all(page["revisions"] for page in parts.values()):
                    break
        with expected_parts(self.api):
            found.pages = {title: page_of_answer(page) for title, page in parts.items()}
        return found
