"""HTTP as Wikimedia asks for it: a named operator, no redirects, and a limit on what is read."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from threading import Timer, local
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

from wikitext_builder import __version__
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.token import Token

URL_LENGTH = 2_000  # longer queries use POST: servers and caches refuse addresses longer than about 8,000
PIECE = 1 << 16  # bytes that are read at a time
WIKIMEDIA = (  # https://meta.wikimedia.org/wiki/Wikimedia_projects, and the Foundation's cloud
    "wikipedia.org", "wikimedia.org", "wiktionary.org", "wikibooks.org", "wikidata.org", "wikifunctions.org",
    "wikinews.org", "wikiquote.org", "wikisource.org", "wikiversity.org", "wikivoyage.org", "mediawiki.org",
    "wmcloud.org", "wmflabs.org", "toolforge.org",
)  # fmt: skip
MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
WEB = re.compile(r"https?://[\w-]+(\.[\w-]+)+(:\d+)?(/[\w.~:/?#@!$&'*+,;=%-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long we wait for a server, in seconds, and how much we read; no number is a server's rate limit."""

    attempts: int = 8  # per request
    first_wait: float = 1.0  # after the first failure; each further failure doubles it
    longest_wait: float = 60.0  # that we choose ourselves
    longest_asked_wait: float = 900.0  # a longer Retry-After ends the run, and the user resumes it later
    connect: float = 20.0
    silence: float = 60.0  # without a byte
    request: float = 300.0  # for one request, from its connection to the last byte of its answer
    answer_bytes: int = 64 << 20  # MediaWiki's own limit is 8 MiB of text, which JSON's escapes make longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer of a server to one request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TryAgainError(Exception):
    """A failure that may pass.

    Attributes:
        wait: The seconds that the server asks us to wait; None if it does not.
        unreachable: There was no connection at all.
        refused: The server answered that it wants fewer requests.
    """

    def __init__(
        self, what: str, *, wait: float | None = None, unreachable: bool = False, refused: bool = False
    ) -> None:
        super().__init__(what)
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
    """Return the address of an API if we may ask it: https or this machine; Wikimedia only with a contact.

    >>> checked_api("https://en.wikipedia.org/w/api.php", "jane@example.org")
    'https://en.wikipedia.org/w/api.php'
    """
    shown = api if "://" in api else api.rpartition("@")[2]
    try:
        parts = urlsplit(api)
        host, _port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BuilderError(f"the API's address {shown!r} cannot be read: {error}") from error
    if not host or parts.query or parts.fragment or parts.username is not None or not api.isprintable():
        raise BuilderError(f"the API's address {shown!r} is not like https://en.wikipedia.org/w/api.php")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise BuilderError(
            f"the API's address {shown!r} does not begin with https://; only a wiki on this machine may use"
            " http://"
        )
    if is_wikimedia(host) and not contact:
        raise BuilderError(
            f"{host} belongs to Wikimedia, which asks tools to name their operator; give an email address or"
            " URL where you can be reached: --contact jane@example.org"
        )
    return api


def is_wikimedia(host: str) -> bool:
    """True if a host belongs to the Wikimedia Foundation.

    >>> is_wikimedia("en.wikipedia.org"), is_wikimedia("wikipedia.org.example.com")
    (True, False)
    """
    host = host.lower().rstrip(".")
    return any(host == name or host.endswith(f".{name}") for name in WIKIMEDIA)


def is_trusted(api: str) -> bool:
    """True if a wiki belongs to Wikimedia or is on this machine."""
    host = urlsplit(api).hostname or ""
    return is_wikimedia(host) or is_loopback(host)


def is_loopback(host: str) -> bool:
    """True if a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def user_agent(contact: str) -> str:
    """Return our name, see https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy ."""
    named = f" ({contact})" if contact else ""
    return f"WikiTextBuilder/{__version__}{named} requests/{requests.__version__}"


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


class Transport:
    """One server, over a few connections that stay open."""

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
        self._token = token
        self._session = requests.Session()
        self._session.auth = token or (lambda request: request)  # else requests sends what ~/.netrc has
        host = urlsplit(self.api).hostname or ""
        # Else what goes to this machine could leave it.
        self._proxies = {"no_proxy": host} if is_loopback(host) else None
        self._session.headers.update({"User-Agent": user_agent(self.contact), "Accept-Encoding": "gzip"})
        self._exchanges: set[_Exchange] = set()
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, _Adapter(pool_maxsize=connections))

    def close(self) -> None:
        """Close the connections, also those that wait for an answer."""
        self._session.close()
        for exchange in tuple(self._exchanges):
            exchange.cut()

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """What is sent and received in this block, by this thread, ends in time."""
        exchange = EXCHANGE.now = _Exchange()
        self._exchanges.add(exchange)
        timer = Timer(self._patience.request, exchange.cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, HTTPException, urllib3.exceptions.HTTPError):
            if not exchange.is_cut:
                raise
        finally:
            timer.cancel()
            self._exchanges.discard(exchange)
        if exchange.is_cut:  # what was cut off can look complete, or like a lost connection
            raise TryAgainError(f"the answer was not complete after {self._patience.request:g} seconds")

    def send(self, parameters: Mapping[str, str]) -> Reply:
        """Send one request.

        Raises:
            TryAgainError: There was no complete answer.
            BuilderError: The server's certificate is wrong, its answer has no end, or the environment names a
                proxy or certificates that cannot be used.
        """
        try:
            with self._exchange(), self._open(urlencode(parameters)) as response:
                body = self._body(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            causes = _causes(error)
            if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
                raise BuilderError(f"{self.api}: its certificate is not valid: {causes[-1]}") from error
            # What requests says of a proxy that it cannot use, and of certificates that are not there.
            wrong_address = isinstance(error, ValueError)
            if wrong_address or (type(error) is OSError and error.errno is None):
                found = str(causes[-1])
                if wrong_address:  # after the colon comes the address, perhaps with a password
                    found = found.partition(": ")[0]
                raise BuilderError(
                    f"{self.api}: nothing can be sent: {found}; check what the environment names, such as"
                    " HTTPS_PROXY or REQUESTS_CA_BUNDLE"
                ) from error
            unreachable = any(isinstance(c, (ConnectionRefusedError, socket.gaierror)) for c in causes)
            what = self._hidden(f"{type(causes[-1]).__name__}: {causes[-1]}")
            raise TryAgainError(what, unreachable=unreachable) from (None if self._token else error)
        headers = {name: self._hidden(value) for name, value in response.headers.items()}
        return Reply(
            status=response.status_code, headers=headers, body=self._token.hide(body) if self._token else body
        )

    def _hidden(self, text: str) -> str:
        return self._token.hide(text.encode()).decode() if self._token else text

    def _open(self, query: str) -> requests.Response:
        how: dict[str, Any] = {
            "timeout": (self._patience.connect, self._patience.silence),
            "stream": True,
            "allow_redirects": False,
            "proxies": self._proxies,
        }
        if len(self.api) + len(query) < URL_LENGTH:
            return self._session.get(f"{self.api}?{query}", **how)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._session.post(self.api, data=query, headers=form, **how)

    def _body(self, response: requests.Response) -> bytes:
        packing = response.headers.get("Content-Encoding", "identity").strip()
        # Others, and several at once, can unpack to any size in one step.
        if packing.lower() not in ("gzip", "identity"):
            shown = self._hidden(packing)[:40]
            raise BuilderError(f"{self.api}: the answer is compressed as {shown!r}; we asked for gzip")
        pieces: list[bytes] = []
        size = 0
        while piece := response.raw.read1(PIECE, decode_content=True):
            pieces.append(piece)
            size += len(piece)
            if size > self._patience.answer_bytes:
                raise BuilderError(
                    f"{self.api}: the answer has more than {self._patience.answer_bytes:,} bytes, and none of"
                    " MediaWiki has; check the address"
                )
        return b"".join(pieces)


@dataclass(eq=False)
class _Exchange:
    """A request and its answer, which another thread can cut off anywhere: even if bytes come one by one."""

    connection: HTTPConnection | None = None
    opening: socket.socket | None = None  # its socket before TLS takes it away
    socket: socket.socket | None = None  # http.client forgets it if the answer ends its connection
    is_cut: bool = False

    def cut(self) -> None:
        self.is_cut = True
        for one in (self.connection and self.connection.sock, self.opening, self.socket):
            with suppress(OSError):  # it is already closed
                if one:
                    one.shutdown(socket.SHUT_RDWR)


class _Now(local):
    """The exchange of a thread."""

    now = _Exchange()


EXCHANGE: Final = _Now()


class _Connection(HTTPConnection):
    def connect(self) -> None:
        exchange = EXCHANGE.now
        exchange.connection = self
        try:
            super().connect()
        finally:
            if exchange.opening:
                exchange.opening.close()
        if exchange.is_cut:  # while it had no socket
            raise TimeoutError("cut off before it was connected")

    def _new_conn(self) -> socket.socket:
        made = super()._new_conn()
        EXCHANGE.now.opening = made.dup()
        return made

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own
        EXCHANGE.now.connection, EXCHANGE.now.socket = self, self.sock
        return super().getresponse()


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    """Connections that know their exchange, also those to a proxy."""

    def init_poolmanager(self, *words: Any, **options: Any) -> None:
        super().init_poolmanager(*words, **options)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> urllib3.PoolManager:
        manager: urllib3.PoolManager = super().proxy_manager_for(proxy, **options)
        if isinstance(manager, urllib3.ProxyManager):  # one of SOCKS has connections of its own
            manager.pool_classes_by_scheme = POOLS
        return manager


POOLS: Final = {"http": _Pool, "https": _SecurePool}


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, the innermost last: it says more than those of urllib3 and requests."""
    causes = [error]
    while (inner := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(inner)
    return causes
