"""Sends HTTP requests as Wikimedia asks: a named operator or account, no redirects, an even pace."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.exceptions import ProxyError

from wikitext_builder import __version__
from wikitext_builder.errors import BuilderError

MAX_URL_CHARACTERS = 2_000  # longer queries use POST: servers and caches refuse URLs above about 8,000
READ_BYTES = 1 << 16
WIKIMEDIA = (  # https://meta.wikimedia.org/wiki/Wikimedia_projects, and the Foundation's cloud
    "wikipedia.org", "wikimedia.org", "wiktionary.org", "wikibooks.org", "wikidata.org", "wikifunctions.org",
    "wikinews.org", "wikiquote.org", "wikisource.org", "wikiversity.org", "wikivoyage.org", "mediawiki.org",
    "wmcloud.org", "wmflabs.org", "toolforge.org",
)  # fmt: skip
MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
WEB = re.compile(r"https?://[\w-]+(\.[\w-]+)+(:\d+)?(/[\w.~:/?#@!$&'*+,;=%-]*)?", re.ASCII)
ACCOUNT_VARIABLE = "WIKITEXT_BUILDER_TOKEN"
PER_MINUTE = 200  # of a named operator: https://www.mediawiki.org/wiki/Wikimedia_APIs/Rate_limits (2026)
MARGIN = 1.015  # factor of the time between two requests: after a late request, the next ones seem early
MAX_CATCH_UP = 0.1  # share of that time by which a request after a late one may be earlier
SLOWER, FASTER = 1.25, 0.999  # factors of that time after a refusal, and after an answer
MAX_INTERVAL = 6.0  # seconds between two requests: the limit of clients without a name
# The message of http.client if a proxy refuses a connection for good: RFC 9110, 15.5
REFUSED_BY_PROXY = re.compile(r"Tunnel connection failed: 4\d\d .*")
TOKEN_FORM = re.compile(r"[A-Za-z0-9._~+/-]{20,}=*")  # RFC 6750, 2.1; Wikimedia's are longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Limits on waiting for a server, in seconds, and on its answer; none of them is a rate limit."""

    attempts: int = 8  # per request
    first_wait: float = 1.0  # after the first failure; each further failure doubles it
    longest_wait: float = 60.0  # of those that we choose ourselves
    longest_asked_wait: float = 900.0  # a longer Retry-After ends the run, which the user resumes later
    connect: float = 20.0
    silence: float = 60.0  # without a byte
    request: float = 300.0  # from the first byte sent to the last byte of the answer
    answer_bytes: int = 64 << 20  # MediaWiki's own limit is 8 MiB of text, which JSON's escapes make longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer of a server to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TryAgainError(Exception):
    """A failure that may pass.

    Attributes:
        wait: The seconds that the server asks us to wait, if it does.
        unreachable: No connection was possible.
        refused: The server wants fewer requests.
    """

    def __init__(
        self, message: str, *, wait: float | None = None, unreachable: bool = False, refused: bool = False
    ) -> None:
        super().__init__(message)
        self.wait = wait
        self.unreachable = unreachable
        self.refused = refused


def checked_contact(contact: str) -> str:
    """Return the contact if it is a mail address or a URL.

    >>> checked_contact("jane@example.org")
    'jane@example.org'
    """
    if MAIL.fullmatch(contact) or WEB.fullmatch(contact):
        return contact
    raise BuilderError(
        f"the contact {contact!r} is neither an email address nor a URL; give one where you can be reached,"
        " such as --contact jane@example.org"
    )


def checked_api(api: str, contact: str) -> str:
    """Return the URL of an API if we may ask it: https or this machine; Wikimedia only with a contact.

    >>> checked_api("https://en.wikipedia.org/w/api.php", "jane@example.org")
    'https://en.wikipedia.org/w/api.php'
    """
    without_user = api if "://" in api else api.rpartition("@")[2]
    try:
        parts = urlsplit(api)
        host, _port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BuilderError(f"the API's address {without_user!r} cannot be read: {error}") from error
    if not host or parts.query or parts.fragment or parts.username is not None or not api.isprintable():
        raise BuilderError(
            f"the API's address {without_user!r} is not like https://en.wikipedia.org/w/api.php"
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise BuilderError(
            f"the API's address {without_user!r} does not begin with https://; only a wiki on this machine"
            " may use http://"
        )
    if is_wikimedia(host) and not contact:
        raise BuilderError(
            f"{host} belongs to Wikimedia, which asks tools to name their operator; give an email address or"
            " URL where you can be reached: --contact jane@example.org"
        )
    return api


def is_wikimedia(host: str) -> bool:
    """Return True if a host belongs to the Wikimedia Foundation.

    >>> is_wikimedia("en.wikipedia.org"), is_wikimedia("wikipedia.org.example.com")
    (True, False)
    """
    host = host.lower().rstrip(".")
    return any(host == name or host.endswith(f".{name}") for name in WIKIMEDIA)


def is_trusted(api: str) -> bool:
    """Return True if a wiki belongs to Wikimedia or is on this machine."""
    host = urlsplit(api).hostname or ""
    return is_wikimedia(host) or is_loopback(host)


def is_loopback(host: str) -> bool:
    """Return True if a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def user_agent(contact: str) -> str:
    """Return our user agent, see https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy ."""
    operator = f" ({contact})" if contact else ""
    return f"WikiTextBuilder/{__version__}{operator} requests/{requests.__version__}"


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that Retry-After asks for, counted from `now`; None if it is absent or unreadable.

    >>> asked_wait({"Retry-After": "5"}, 0.0)
    5.0
    >>> asked_wait({"Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0)
    10.0
    """
    value = next((text.strip() for name, text in headers.items() if name.lower() == "retry-after"), "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


class Token(AuthBase):
    """A token, whose text is never in its repr.

    >>> Token("eyJ0eXAiOiJKV1QiLCJh")
    Token()
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Token()"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the token to a request."""
        request.headers["Authorization"] = f"Bearer {self._text}"
        return request


def read_token(file: str | Path | None, *, trusted: bool) -> Token | None:
    """Return the token in a file; without a file, the token in the environment, if any.

    Args:
        file: A text file with the token and nothing else.
        trusted: The wiki may get the token of the environment. A file is given together with its wiki.
    """
    if file is None:
        source, text = ACCOUNT_VARIABLE, os.environ.get(ACCOUNT_VARIABLE, "") if trusted else ""
        if not text:
            return None
    else:
        source = f"--token-file {file}"
        try:
            text = Path(file).read_text(encoding="ascii", errors="replace")
        except OSError as error:
            raise BuilderError(f"{source}: {error.strerror or error}; give a file with a token") from error
    if not TOKEN_FORM.fullmatch(text.strip()):  # the error does not quote the text, which may contain a token
        raise BuilderError(
            f"{source}: expected one OAuth 2 access token and nothing else (20 or more of the characters"
            f" A-Z a-z 0-9 . _ ~ + / -), found something else of {len(text):,} characters"
        )
    return Token(text.strip())


class Transport:
    """Sends requests to a server, over a few connections that stay open."""

    def __init__(
        self,
        api: str,
        *,
        contact: str,
        connections: int,
        patience: Patience,
        token: Token | None = None,
    ) -> None:
        self.contact = checked_contact(contact) if contact else ""
        self.api = checked_api(api, self.contact)
        self._patience = patience
        self._session = requests.Session()
        self._session.auth = token or (
            lambda request: request
        )  # otherwise requests sends the password in ~/.netrc
        host = urlsplit(self.api).hostname or ""
        # Otherwise requests to this machine could go to a proxy.
        self._proxies = {"no_proxy": host} if is_loopback(host) else None
        self._session.headers.update({"User-Agent": user_agent(self.contact), "Accept-Encoding": "gzip"})
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=connections))

    def close(self) -> None:
        """Close the idle connections."""
        self._session.close()

    def send(self, parameters: Mapping[str, str]) -> Reply:
        """Send one request.

        Raises:
            TryAgainError: No complete answer arrived. BuilderError: The server's certificate is invalid, its
            answer is too long, or the environment names a
                proxy or certificates that cannot be used, or a proxy that refuses.
        """
        deadline = time.monotonic() + self._patience.request
        try:
            with self._open(urlencode(parameters)) as response:
                body = self._body(response, deadline)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise self._failure(error) from error
        return Reply(status=response.status_code, headers=response.headers, body=body)

    def _failure(self, error: Exception) -> BuilderError | TryAgainError:
        """Return our error for an error of the network."""
        causes = _causes(error)
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            return BuilderError(
                f"{self.api}: its certificate is not valid: {causes[-1]}; if an authority of your own signed"
                " it, name the file with that authority's certificate in REQUESTS_CA_BUNDLE"
            )
        if REFUSED_BY_PROXY.fullmatch(str(causes[-1])):
            return BuilderError(
                f"{self.api}: the proxy refuses: {causes[-1]}; check the address, user and password that"
                " HTTPS_PROXY names, or name this host in NO_PROXY"
            )
        # How requests reports a proxy that it cannot use, and missing certificates.
        is_invalid_url = isinstance(error, ValueError)
        if is_invalid_url or (type(error) is OSError and error.errno is None):
            fault = str(causes[-1])
            if is_invalid_url:  # after the colon comes the URL, perhaps with a password
                fault = fault.partition(": ")[0]
            return BuilderError(
                f"{self.api}: nothing can be sent: {fault}; check what the environment names, such as"
                " HTTPS_PROXY or REQUESTS_CA_BUNDLE"
            )
        unreachable = any(isinstance(cause, (ConnectionRefusedError, socket.gaierror)) for cause in causes)
        at_proxy = "at the proxy that HTTPS_PROXY names, " if isinstance(error, ProxyError) else ""
        return TryAgainError(f"{at_proxy}{type(causes[-1]).__name__}: {causes[-1]}", unreachable=unreachable)

    def _open(self, query: str) -> requests.Response:
        options: dict[str, Any] = {
            "timeout": (self._patience.connect, self._patience.silence),
            "stream": True,
            "allow_redirects": False,
            "proxies": self._proxies,
        }
        if len(self.api) + len(query) < MAX_URL_CHARACTERS:
            return self._session.get(f"{self.api}?{query}", **options)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            # The request only reads, so any of Wikimedia's data centres may answer:
            # https://www.mediawiki.org/wiki/API:Etiquette
            "Promise-Non-Write-API-Action": "true",
        }
        return self._session.post(self.api, data=query, headers=headers, **options)

    def _body(self, response: requests.Response, deadline: float) -> bytes:
        """Read an answer up to a deadline, which is checked between reads."""
        encoding = response.headers.get("Content-Encoding", "identity").strip()
        # Others, and several at once, can decompress to any size in one step.
        if encoding.lower() not in ("gzip", "identity"):
            raise BuilderError(
                f"{self.api}: the answer is compressed as {encoding[:40]!r}; we asked for gzip"
            )
        body = bytearray()
        while chunk := response.raw.read1(READ_BYTES, decode_content=True):
            body += chunk
            if len(body) > self._patience.answer_bytes:
                raise BuilderError(
                    f"{self.api}: the answer has more than {self._patience.answer_bytes:,} bytes, and none of"
                    " MediaWiki has; check the address"
                )
            if time.monotonic() > deadline:
                raise TryAgainError(f"the answer was not complete after {self._patience.request:g} seconds")
        return bytes(body)


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, the innermost and most telling one last."""
    causes = [error]
    while (inner := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(inner)
    return causes


# --- pace


class Pace:
    """Decides when the next request of a client may be sent, for all its threads.

    Each refusal makes the pace slower by a quarter, each answer faster by a thousandth, up to the requested
    pace: a wiki that allows less has to refuse about one request in 220. Without `per_minute` the number of
    requests is unlimited, even after refusals.
    """

    def __init__(self, per_minute: int | None, clock: Callable[[], float]) -> None:
        self._min_interval = 60 / per_minute * MARGIN if per_minute else 0.0
        self._interval = self._min_interval
        self._clock = clock
        self._next = self._not_before = float("-inf")
        self._has_begun = False
        self._lock = threading.Lock()

    def wait(self) -> float:
        """Return the seconds until the next request; 0 counts as a request that is sent now."""
        with self._lock:
            now = self._clock()
            due = max(self._next, self._not_before)
            if due > now:
                return due - now
            self._next = max(due, now - MAX_CATCH_UP * self._interval) + self._interval
            return 0.0

    def hold(self, seconds: float, *, refused: bool) -> None:
        """Delay all requests for some seconds; `refused`: the server reported too many requests."""
        with self._lock:
            now = self._clock()
            if (
                refused and now >= self._not_before
            ):  # earlier, it is the refusal of a request sent at the same time
                self._interval = min(max(MAX_INTERVAL, self._min_interval), self._interval * SLOWER)
            self._not_before = max(self._not_before, now + seconds)

    def answered(self) -> None:
        """Increase the pace after an answer; the first answer starts it, because connecting takes time."""
        with self._lock:
            if not self._has_begun:
                self._has_begun, self._next = True, self._clock() + self._interval
            self._interval = max(self._min_interval, self._interval * FASTER)

    @property
    def seconds(self) -> float:
        """The seconds between two requests."""
        return self._interval


def pace_of(api: str, per_minute: int | None) -> int | None:
    """Return the requested pace, or the usual pace; None, without a pace, for a wiki on this machine.

    A wiki on this machine belongs to the user, so nobody else waits for its answers.

    >>> pace_of("https://en.wikipedia.org/w/api.php", None), pace_of("http://localhost/api.php", None)
    (200, None)
    """
    if per_minute is None:
        return None if is_loopback(urlsplit(api).hostname or "") else PER_MINUTE
    if per_minute < 1:
        raise BuilderError(f"--per-minute {per_minute}: give 1 or more; {PER_MINUTE} is usual")
    return per_minute
