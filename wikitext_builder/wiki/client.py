"""Asks a wiki: few requests at once, waits when the server asks for it, and joins the parts of answers."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.http import (
    ACCOUNT_VARIABLE,
    Pace,
    Patience,
    Token,
    Transport,
    TryAgainError,
    is_wikimedia,
    pace_of,
)
from wikitext_builder.wiki.languages import Language, code_of_language, names_in_answer, with_names
from wikitext_builder.wiki.responses import Answer, FoundPage, Query, expected, not_mediawiki, read_answer

LOG = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_PARALLEL = 3  # https://www.mediawiki.org/wiki/API:Etiquette asks for 1 request at once, and accepts 3
BATCH_TITLES = 50  # or revision ids per request: the API's limit for everyone except bots
MAX_ANSWERS = 100_000  # to a query: the longest listing of a large wiki takes about ten thousand
MAX_EQUAL_ANSWERS = 100  # in a row; MediaWiki gives a few answers without content while it searches
QUIET_WARNINGS = frozenset({"truncatedresult"})  # `continue` gives the rest
MAXLAG = 5.0  # seconds; https://www.mediawiki.org/wiki/Manual:Maxlag_parameter asks for it
UNREACHABLE_ATTEMPTS = 3  # before the first answer, when a wrong URL is likelier than a busy server
MAX_UNANSWERED_REQUESTS = 4  # in a row, each with all its attempts: the wiki fails, not only for one page

PAGE_PARAMETERS = {
    "prop": "revisions|pageprops",
    "ppprop": "disambiguation|wikibase_item",
    "rvprop": "ids|timestamp|sha1|slotsha1|content|contentmodel",
    "rvslots": "main",
}


def api_of(language: Language) -> str:
    """Return the URL of the API of a language's Wikipedia."""
    return f"https://{language.code}.wikipedia.org/w/api.php"


def request_line(parameters: Mapping[str, str]) -> str:
    """Describe a request in a line; long values are cut off.

    >>> request_line({"action": "query", "titles": "Octopus|Ocean", "rvslots": "main"})
    'query titles=Octopus|Ocean rvslots=main'
    """
    parts = (f"{name}={value[:60]}" + "…" * (len(value) > 60) for name, value in parameters.items())
    return " ".join(parts).removeprefix("action=").replace("\n", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The facts that a wiki reports about itself."""

    wiki: str  # such as enwiki
    language: str
    namespaces: Mapping[str, int]  # names and aliases in lower case
    capital_first: bool  # whether every title begins with a capital letter


def site_of(api: str, query: Query) -> Site:
    """Read the answer to `meta=siteinfo`."""
    general = expected(api, query.general, "general")
    if not general.generator.startswith("MediaWiki"):
        raise not_mediawiki(api, f"generator {general.generator!r}")
    spaces = query.namespaces.values()
    pairs = [(space.name, space.id) for space in spaces]
    pairs += [(space.canonical, space.id) for space in spaces]
    pairs += [(space.alias, space.id) for space in query.namespacealiases]
    return Site(
        wiki=general.wikiid,
        language=general.lang,
        namespaces={name.lower(): number for name, number in pairs if name},
        capital_first=general.case == "first-letter",
    )


@dataclass(slots=True, kw_only=True)
class FoundPages:
    """The pages of a batch of titles or revision ids."""

    pages: dict[str, FoundPage] = field(default_factory=dict)  # by title
    renamed: dict[str, str] = field(default_factory=dict)  # our spelling → MediaWiki's
    redirects: dict[str, str] = field(default_factory=dict)
    other_wikis: set[str] = field(default_factory=set)
    bad_revisions: set[int] = field(default_factory=set)


def gather(found: FoundPages, query: Query) -> None:
    """Add a part of an answer; a page can be in several parts, with its text in any of them."""
    for change in (*query.normalized, *query.converted):
        requested = unquote(change.source) if change.fromencoded else change.source
        found.renamed[requested] = change.to
    found.redirects.update({redirect.source: redirect.to for redirect in query.redirects})
    found.other_wikis.update(link.title for link in query.interwiki)
    found.bad_revisions.update(map(int, query.badrevids))
    for page in query.pages:
        gathered = found.pages.setdefault(page.title, page)
        if gathered is not page:
            gathered.pageprops |= page.pageprops
            known_ids = {revision.revision_id for revision in gathered.revisions}
            gathered.revisions += [new for new in page.revisions if new.revision_id not in known_ids]


class NoAnswerError(BuilderError):
    """A wiki that answers other requests did not answer this request."""


class Wikipedia(AbstractContextManager["Wikipedia"]):
    """A client of a wiki.

    Args:
        api: URL of its api.php.
        language: The Wikipedia; a wiki of another language is refused.
        contact: Mail address or URL of the operator; Wikimedia's wikis require it.
        maxlag: The wiki should not answer if its databases lag by more seconds than this; None: any lag.
        parallel: The number of requests at once, 1 to 3; Wikimedia's wikis allow more than 1 with a token.
        per_minute: Requests per minute, over all threads; None: 200, unlimited on this machine.
        token: Names an account to the wiki; sent only over https, or to this machine.
        patience: Limits on waiting for the server.
        on_wait: Called before each wait with a short reason, from the thread that waits.

    Raises:
        BuilderError: An argument is invalid, or we may not ask this wiki.
    """

    def __init__(
        self,
        api: str,
        *,
        language: Language,
        contact: str = "",
        maxlag: float | None = MAXLAG,
        parallel: int = 1,
        per_minute: int | None = None,
        token: Token | None = None,
        patience: Patience | None = None,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        if not 1 <= parallel <= MAX_PARALLEL:
            raise BuilderError(f"--parallel {parallel}: Wikipedia's etiquette allows 1 to {MAX_PARALLEL}")
        if maxlag is not None and not 0 <= maxlag < float("inf"):
            raise BuilderError(f"--maxlag {maxlag:g}: give seconds, 0 or more; 5 is usual")
        if parallel > 1 and token is None and is_wikimedia(urlsplit(api).hostname or ""):
            raise BuilderError(
                f"--parallel {parallel}: Wikimedia allows one request at a time without an account; give a"
                f" token with --token-file or {ACCOUNT_VARIABLE}, or use --parallel 1"
            )
        self.api = api
        self.language = language
        self.parallel = parallel
        self.per_minute = pace_of(api, per_minute)
        self.requests = 0
        self.warnings: set[str] = set()
        self._patience = patience or Patience()
        self._on_wait = on_wait
        self._transport = Transport(
            api, contact=contact, connections=parallel, patience=self._patience, token=token
        )
        self._common = {"format": "json", "formatversion": "2", "errorformat": "plaintext"}
        if maxlag is not None:
            self._common["maxlag"] = f"{maxlag:g}"
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(parallel)
        self._pace = Pace(self.per_minute, self.clock)
        self._answered = False
        self._unanswered = 0  # requests since the last answer
        self._site: Site | None = None

    def close(self) -> None:
        """Close the connections and end all waiting."""
        self._stopped.set()
        self._transport.close()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def sleep(self, seconds: float) -> None:
        """Wait until the time is over or this client is closed."""
        self._stopped.wait(seconds)

    def clock(self) -> float:
        """Return the time in seconds, for measuring waits and answers."""
        return time.monotonic()

    @property
    def seconds_per_request(self) -> float:
        """The seconds between two requests, according to the pace."""
        return self._pace.seconds

    # --- one request

    def request(self, parameters: Mapping[str, str]) -> Answer:
        """Send one request, again and with growing waits while the server is busy, and return the answer.

        Raises:
            ApiError: MediaWiki refused it.
            NoAnswerError: The wiki answers other requests, but failed in each attempt.
            BuilderError: The server is gone or stays busy, has answered none of the last four requests, or
                is not a MediaWiki.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._attempt(parameters)
            except TryAgainError as error:
                if not self._stopped.is_set():
                    self._give_up_or_wait(attempt, error)

    def _attempt(self, parameters: Mapping[str, str]) -> Answer:
        with self._slots:
            with self._lock:
                self.requests += 1
            while not self._stopped.is_set() and (wait := self._pace.wait()) > 0:
                self.sleep(wait)
            if self._stopped.is_set():
                raise BuilderError(f"{self.api}: no more requests, the client was closed")
            started = self.clock()
            reply = self._transport.send({**self._common, **parameters})
        seconds = self.clock() - started
        LOG.info("%s: %d, %d bytes, %.2f s", request_line(parameters), reply.status, len(reply.body), seconds)
        self._answered = True
        answer = read_answer(self.api, reply, time.time())
        self._pace.answered()
        with self._lock:
            self._unanswered = 0
            self.warnings.update(
                f"{warning.module}: {warning.text}"
                for warning in answer.warnings
                if warning.code not in QUIET_WARNINGS
            )
        return answer

    def _give_up_or_wait(self, attempt: int, error: TryAgainError) -> None:
        patience = self._patience
        never_reached = error.unreachable and not self._answered
        attempts = min(UNREACHABLE_ATTEMPTS, patience.attempts) if never_reached else patience.attempts
        if attempt >= attempts:
            advice = "check the address" if never_reached else "run it again later to resume"
            fault = f"{self.api}: no answer after {attempt} attempts ({error})"
            if not self._answered or error.unreachable:
                raise BuilderError(f"{fault}; {advice}") from error
            with self._lock:
                self._unanswered += 1
            if self._unanswered >= MAX_UNANSWERED_REQUESTS:
                raise BuilderError(
                    f"{fault}, nor to the {self._unanswered - 1} requests before it; {advice}"
                ) from error
            raise NoAnswerError(f"{fault}; {advice}") from error
        if error.wait is not None and error.wait > patience.longest_asked_wait:
            raise BuilderError(
                f"{self.api}: the server asks us to wait {error.wait:,.0f} seconds ({error});"
                " run it again then to resume"
            ) from error
        growing = min(patience.longest_wait, patience.first_wait * 2 ** (attempt - 1))
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - it hides nothing
        wait = max(growing * spread, error.wait or 0.0)
        self._pace.hold(wait, refused=error.refused)  # all requests wait, not only this one
        LOG.info("attempt %d of %d failed: %s", attempt, attempts, error)
        if self._on_wait:
            reason = str(error).removeprefix("status ").partition(":")[0][:40]
            self._on_wait(f"waiting {math.ceil(wait)} s ({reason}), attempt {attempt + 1} of {attempts}")

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call a function that asks this wiki for each item, `parallel` at once; yield results in order.

        If a call fails, or the caller stops, the client is closed, so that all other calls end soon.
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
        """Return the facts that the wiki reports about itself; it is asked once.

        Raises:
            BuilderError: The server is not a MediaWiki, or its language is another one.
        """
        if self._site is None:
            parameters = {
                "action": "query",
                "meta": "siteinfo",
                "siprop": "general|namespaces|namespacealiases|magicwords",
            }
            query = self.request(parameters).query
            site = site_of(self.api, query)
            self._check_language(site, query.general.server if query.general else "")
            self.language, self._site = with_names(self.language, names_in_answer(query)), site
        return self._site

    def _check_language(self, site: Site, server: str) -> None:
        try:
            host = urlsplit(server, scheme="https").hostname or ""
        except ValueError as error:  # such as `Invalid IPv6 URL`
            raise not_mediawiki(self.api, str(error)) from error
        # The host decides for Wikipedias: the language of no.wikipedia.org is nb, of simple.wikipedia.org en.
        is_wikipedia = host.endswith(".wikipedia.org")
        name = host.partition(".")[0] if is_wikipedia else site.language
        codes = {self.language.code, self.language.code if is_wikipedia else self.language.text_language}
        if not codes & {code_of_language(name), code_of_language(site.language)}:
            raise BuilderError(
                f"{self.api}: expected a wiki of the language {self.language.code!r}, found"
                f" {site.language!r}; use --language {site.language} or another --api"
            )

    def query(
        self, parameters: Mapping[str, str], start: Mapping[str, str] | None = None
    ) -> Iterator[Answer]:
        """Yield the answers of a query, following `continue`; `start` resumes at such a continuation."""
        token: Mapping[str, str] | None = start or {}
        count, equal, content = 0, 0, None
        while token is not None:
            answer = self.request({"action": "query", **parameters, **token})
            token, count = answer.continuation, count + 1
            content, previous = answer.query, content
            equal = equal + 1 if content == previous else 1
            if token is not None and (equal >= MAX_EQUAL_ANSWERS or count > MAX_ANSWERS):
                raise BuilderError(
                    f"{self.api}: the listing does not advance: {count:,} answers, the last {equal:,} with"
                    " the same content; this is an error in the wiki: run it again later"
                )
            yield answer

    def find(self, parameters: Mapping[str, str]) -> FoundPages:
        """Return the pages of a batch with their revisions.

        With `rvlimit` only the first revisions of each page are read, although `continue` offers more.
        """
        found = FoundPages()
        for answer in self.query({**PAGE_PARAMETERS, **parameters}):
            gather(found, answer.query)
            pages = found.pages.values()
            if max(len(pages), sum(len(page.revisions) for page in pages)) > BATCH_TITLES:
                raise not_mediawiki(self.api, f"more than {BATCH_TITLES} pages or revisions, unrequested")
            if "rvlimit" in parameters and all(page.revisions for page in pages):
                break
        return found
