"""A client of one wiki: few requests at once, waits when the server asks, answers put together."""

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

MAX_PARALLEL = (
    3  # https://www.mediawiki.org/wiki/API:Etiquette asks for one request at once, and accepts three
)
BATCH = 50  # titles or revision ids per request: the API's limit for everyone except bots
ANSWERS = 100_000  # of one query: the longest listing of a large wiki has some ten thousand
ANSWERS_ALIKE = 100  # in a row; MediaWiki gives a few without content while it looks for more
QUIET_WARNINGS = frozenset({"truncatedresult"})  # `continue` brings the rest
MAXLAG = 5.0  # seconds; https://www.mediawiki.org/wiki/Manual:Maxlag_parameter asks for it
UNREACHABLE_ATTEMPTS = 3  # before the first answer: a wrong address is more likely than a busy server
SILENT = 4  # requests in a row, each with all its attempts: the wiki fails, and not only for one page

PAGE_PARAMETERS = {
    "prop": "revisions|pageprops",
    "ppprop": "disambiguation|wikibase_item",
    "rvprop": "ids|timestamp|sha1|slotsha1|content|contentmodel",
    "rvslots": "main",
}


def api_of(language: Language) -> str:
    """Return the address of the API of a language's Wikipedia."""
    return f"https://{language.code}.wikipedia.org/w/api.php"


def shown(parameters: Mapping[str, str]) -> str:
    """Describe a request in a line; of long values the beginning.

    >>> shown({"action": "query", "titles": "Octopus|Ocean", "rvslots": "main"})
    'query titles=Octopus|Ocean rvslots=main'
    """
    parts = (f"{name}={value[:60]}" + "…" * (len(value) > 60) for name, value in parameters.items())
    return " ".join(parts).removeprefix("action=").replace("\n", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a wiki says about itself."""

    wiki: str  # enwiki
    language: str
    namespaces: Mapping[str, int]  # names and aliases in lower case
    capital_first: bool  # every title begins with a capital letter


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
class Found:
    """All pages of one batch of titles or revision ids."""

    pages: dict[str, FoundPage] = field(default_factory=dict)  # by title
    renamed: dict[str, str] = field(default_factory=dict)  # our spelling → that of MediaWiki
    redirects: dict[str, str] = field(default_factory=dict)
    other_wikis: set[str] = field(default_factory=set)
    bad_revisions: set[int] = field(default_factory=set)


def gather(found: Found, query: Query) -> None:
    """Add one piece of an answer: texts come in any piece, and a page can come in several."""
    for change in (*query.normalized, *query.converted):
        asked = unquote(change.source) if change.fromencoded else change.source
        found.renamed[asked] = change.to
    found.redirects.update({redirect.source: redirect.to for redirect in query.redirects})
    found.other_wikis.update(link.title for link in query.interwiki)
    found.bad_revisions.update(map(int, query.badrevids))
    for page in query.pages:
        before = found.pages.setdefault(page.title, page)
        if before is not page:
            before.pageprops |= page.pageprops
            have = {revision.revision_id for revision in before.revisions}
            before.revisions += [new for new in page.revisions if new.revision_id not in have]


class NoAnswerError(BuilderError):
    """A wiki that answers other requests gave no answer to this one."""


class Wikipedia(AbstractContextManager["Wikipedia"]):
    """One wiki.

    Args:
        api: Address of its api.php.
        language: Which Wikipedia it is; a wiki of another language is refused.
        contact: Mail address or URL of the operator; Wikimedia's wikis require it.
        maxlag: Ask the wiki not to answer if its databases lag by more seconds than this; None: do not ask.
        parallel: The number of requests at once, 1 to 3; Wikimedia's wikis allow more than 1 with a token.
        per_minute: Requests per minute, of all that are sent at once; None: 200, on this machine any number.
        token: Names an account to the wiki; it is sent over https, or to this machine, and to nobody else.
        patience: How long we wait for the server.
        on_wait: Called before each wait with a few words that say why, from the thread that waits.

    Raises:
        BuilderError: An argument is wrong, or we may not ask this wiki.
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
                f" token with --token-file or {ACCOUNT_VARIABLE}, or take --parallel 1"
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
        self._silent = 0  # requests without an answer since the last one that had one
        self._site: Site | None = None

    def close(self) -> None:
        """Close the connections and end all waiting."""
        self._stopped.set()
        self._transport.close()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until this client is closed."""
        self._stopped.wait(seconds)

    def clock(self) -> float:
        """Return the seconds that waits and answers are measured with."""
        return time.monotonic()

    @property
    def seconds_per_request(self) -> float:
        """The seconds between two requests, by the pace."""
        return self._pace.seconds

    # --- one request

    def request(self, parameters: Mapping[str, str]) -> Answer:
        """Send one request, again and with growing waits while the server is busy, and return the answer.

        Raises:
            ApiError: MediaWiki refused it.
            NoAnswerError: The wiki is there, but failed each time.
            BuilderError: The server is gone or stays busy, has answered none of the last four requests, or
                it is not a MediaWiki.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._once(parameters)
            except TryAgainError as error:
                if not self._stopped.is_set():
                    self._give_up_or_wait(attempt, error)

    def _once(self, parameters: Mapping[str, str]) -> Answer:
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
        LOG.info("%s: %d, %d bytes, %.2f s", shown(parameters), reply.status, len(reply.body), seconds)
        self._answered = True
        answer = read_answer(self.api, reply, time.time())
        self._pace.answered()
        with self._lock:
            self._silent = 0
            self.warnings.update(
                f"{warning.module}: {warning.text}"
                for warning in answer.warnings
                if warning.code not in QUIET_WARNINGS
            )
        return answer

    def _give_up_or_wait(self, attempt: int, error: TryAgainError) -> None:
        patience = self._patience
        unknown = error.unreachable and not self._answered
        attempts = min(UNREACHABLE_ATTEMPTS, patience.attempts) if unknown else patience.attempts
        if attempt >= attempts:
            advice = "check the address" if unknown else "run it again later to resume"
            what = f"{self.api}: no answer after {attempt} attempts ({error})"
            if not self._answered or error.unreachable:
                raise BuilderError(f"{what}; {advice}") from error
            with self._lock:
                self._silent += 1
            if self._silent >= SILENT:
                raise BuilderError(
                    f"{what}, nor to the {self._silent - 1} requests before it; {advice}"
                ) from error
            raise NoAnswerError(f"{what}; {advice}") from error
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
            why = str(error).removeprefix("status ").partition(":")[0][:40]
            self._on_wait(f"waiting {math.ceil(wait)} s ({why}), attempt {attempt + 1} of {attempts}")

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call a function that asks this wiki for each item, `parallel` at once; yield results in order.

        If a call fails, or the caller stops, the client is closed, so that the other calls end soon.
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
        """Return what the wiki says about itself; it is asked once.

        Raises:
            BuilderError: It is not a MediaWiki, or has another language.
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
        # lang of no.wikipedia.org is nb, of simple.wikipedia.org en: there the name of the host decides
        wikipedia = host.endswith(".wikipedia.org")
        name = host.partition(".")[0] if wikipedia else site.language
        codes = {self.language.code, self.language.code if wikipedia else self.language.text_language}
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
        count, alike, content = 0, 0, None
        while token is not None:
            answer = self.request({"action": "query", **parameters, **token})
            token, count = answer.continuation, count + 1
            content, before = answer.query, content
            alike = alike + 1 if content == before else 1
            if token is not None and (alike >= ANSWERS_ALIKE or count > ANSWERS):
                raise BuilderError(
                    f"{self.api}: the listing does not advance: {count:,} answers, the last {alike:,} with"
                    " the same content; this is an error in the wiki: run it again later"
                )
            yield answer

    def find(self, parameters: Mapping[str, str]) -> Found:
        """Return the pages of one batch with their revisions.

        With `rvlimit` only the first revisions of a page are wanted, although `continue` offers the others.
        """
        found = Found()
        for answer in self.query({**PAGE_PARAMETERS, **parameters}):
            gather(found, answer.query)
            pages = found.pages.values()
            if max(len(pages), sum(len(page.revisions) for page in pages)) > BATCH:
                raise not_mediawiki(self.api, f"more than {BATCH} pages or revisions, which nobody asked for")
            if "rvlimit" in parameters and all(page.revisions for page in pages):
                break
        return found
