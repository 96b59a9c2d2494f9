"""Decodes answers of the MediaWiki API, and raises the errors that they report, even with status 200.

Structs name the fields that we read, and decoding checks an answer once. Afterwards no reader needs to expect
another type, a number that the store cannot hold, or text that is not Unicode.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.http import Reply, TryAgainError, asked_wait

Part = TypeVar("Part")
ITEM = re.compile(r"Q[1-9][0-9]{0,17}")
BUSY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
BUSY_CODES = frozenset(
    {"maxlag", "ratelimited", "readonly", "cirrussearch-too-busy-error", "concurrency-limit"}
)
TOO_MANY_REQUESTS_CODES = frozenset({"maxlag", "ratelimited", "concurrency-limit"})
# Errors about our token, whatever is asked, so they are never noted as the failure of a page.
TOKEN_ERROR_PREFIXES = ("mwoauth-", "assert")
BUSY_PREFIXES = ("internal_api_error",)  # no database, or a bug; both can pass

MAX_INTEGER: Final = 2**63 - 1  # that SQLite stores
Number = Annotated[int, Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Id = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Time = Annotated[str, Meta(pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?\Z")]
Digits = Annotated[str, Meta(pattern=r"\A\d{1,18}\Z")]


# --- the fields that we read


class _Warning(Struct):  # of a module of the API
    module: str = ""
    code: str = ""
    text: str = ""


class General(Struct):
    """General facts that a wiki reports."""

    generator: str
    wikiid: str
    lang: str
    case: str = "first-letter"
    sitename: str = ""
    server: str = ""
    base: str = ""
    script: str = ""


class _Namespace(Struct):  # a namespace
    id: Number
    name: str
    canonical: str = ""


class _NamespaceAlias(Struct):  # a second name of a namespace
    id: Number
    alias: str


class _MagicWord(Struct):  # a word of the wiki's syntax, in its languages
    name: str
    aliases: list[str]


class _Renamed(
    Struct, rename={"source": "from"}
):  # MediaWiki's spelling of a title, or the target of a redirect
    source: str
    to: str
    fromencoded: bool = False


class Titled(Struct):
    """A page of a list, or a page on another wiki."""

    title: str
    ns: Number = 0
    exists: bool = False


class _Move(Struct):  # an entry of the log of moves
    target_ns: Number = 0
    target_title: str = ""


class LogEntry(Struct):
    """An entry of a log; a hidden entry has only its kind."""

    title: str = ""
    ns: Number = 0
    logpage: Id = 0
    timestamp: Time = ""
    params: _Move | list[Any] = field(default_factory=_Move)  # PHP writes an empty object as a list


class _Slot(Struct):
    content: Any = None  # any type, so that a page without a text is rejected, not the whole answer
    contentmodel: str = ""
    sha1: str = ""
    texthidden: bool = False


class _Slots(Struct):
    main: _Slot = field(default_factory=_Slot)


class FoundRevision(Struct, rename={"revision_id": "revid", "sha1_of_slots": "sha1"}):
    """A revision."""

    revision_id: Id
    timestamp: Time = ""
    sha1_of_slots: str = ""
    comment: str = ""
    texthidden: bool = False
    slots: _Slots = field(default_factory=_Slots)

    @property
    def sha1(self) -> str:
        """The SHA-1 of the text; empty if it is hidden."""
        return self.slots.main.sha1 or self.sha1_of_slots

    @property
    def model(self) -> str:
        """The content model, such as wikitext."""
        return self.slots.main.contentmodel

    @property
    def text(self) -> str | None:
        """The wikitext; None if it is hidden or lost."""
        content = self.slots.main.content
        return content if isinstance(content, str) else None

    @property
    def hidden(self) -> bool:
        """True if administrators hid the text."""
        return self.slots.main.texthidden or self.texthidden


class _Reason(Struct):  # why a title is invalid
    text: str


class FoundPage(Struct, rename={"page_id": "pageid", "namespace": "ns"}):
    """A page with some of its revisions; a deleted page that was requested by its id has no title."""

    title: str = ""
    page_id: Id = 0  # 0 if the page does not exist
    namespace: Number = 0
    absent: bool = field(default=False, name="missing")
    special: bool = False
    is_invalid: bool = field(default=False, name="invalid")
    invalidreason: str | _Reason = ""
    pageprops: dict[str, Any] = field(default_factory=dict)
    redirect: bool = False
    redirects: list[Titled] = field(default_factory=list)  # to this page
    revisions: list[FoundRevision] = field(default_factory=list)

    @property
    def missing(self) -> bool:
        """True if the page does not exist."""
        return self.absent or self.special

    @property
    def invalid(self) -> str:
        """The reason why no page can have the title; empty if a page can."""
        reason = self.invalidreason
        return (reason.text if isinstance(reason, _Reason) else reason) if self.is_invalid else ""

    @property
    def disambiguation(self) -> bool:
        """True if the extension Disambiguator marks the page."""
        return "disambiguation" in self.pageprops

    @property
    def wikidata_id(self) -> str:
        """The item, such as Q1490; empty if the wiki does not report it."""
        item = str(self.pageprops.get("wikibase_item", ""))
        return item if ITEM.fullmatch(item) else ""


class Query(Struct):
    """The answer to `action=query`; None for a part that was not requested, or that the wiki left out."""

    general: General | None = None
    namespaces: dict[str, _Namespace] = field(default_factory=dict)
    namespacealiases: list[_NamespaceAlias] = field(default_factory=list)
    magicwords: list[_MagicWord] = field(default_factory=list)
    normalized: list[_Renamed] = field(default_factory=list)
    converted: list[_Renamed] = field(default_factory=list)
    redirects: list[_Renamed] = field(default_factory=list)
    interwiki: list[Titled] = field(default_factory=list)
    badrevids: dict[Digits, Any] = field(default_factory=dict)
    pages: list[FoundPage] = field(default_factory=list)
    categorymembers: list[Titled] | None = None
    pageswithprop: list[Titled] | None = None
    logevents: list[LogEntry] | None = None


class _Expanded(Struct):
    wikitext: str


class Parsed(Struct):
    """The HTML of a page."""

    text: str
    page_id: Id = field(default=0, name="pageid")
    revision_id: Id = field(default=0, name="revid")
    templates: list[Titled] = field(default_factory=list)


class _Error(Struct):
    code: str
    text: str = ""
    info: str = ""  # in place of `text`, in the old format


class Answer(Struct):
    """An answer of the API."""

    query: Query = field(default_factory=Query)
    expandtemplates: _Expanded | None = None
    parse: Parsed | None = None
    warnings: list[_Warning] = field(default_factory=list)
    continues: dict[str, str | Number] | None = field(default=None, name="continue")
    errors: list[_Error] = field(default_factory=list)
    error: _Error | None = None

    @property
    def continuation(self) -> dict[str, str] | None:
        """The parameters that continue a query; None at its end."""
        if self.continues is None:
            return None
        return {name: str(value) for name, value in self.continues.items()}


DECODER: Final = msgspec.json.Decoder(Answer)


# --- one answer


class ApiError(BuilderError):
    """The API refused a request.

    Attributes:
        code: MediaWiki's word for the reason, such as `badcontinue`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_answer(api: str, reply: Reply, now: float) -> Answer:
    """Return an answer without errors.

    Raises:
        TryAgainError: The server is busy, or the answer is incomplete.
        ApiError: MediaWiki refused the request.
        BuilderError: The answer is not from MediaWiki.
    """
    answer, fault = _decoded(reply.body)
    wait = asked_wait(reply.headers, now)
    errors = answer.errors or ([answer.error] if answer.error else [])
    if errors:
        _raise_for_error(api, errors[0], wait, reply.status)
    if reply.status in BUSY_STATUS:
        refused = reply.status == 429 or wait is not None
        raise TryAgainError(f"status {reply.status}: {_excerpt(reply.body)}", wait=wait, refused=refused)
    if 300 <= reply.status < 400:
        target = next(
            (value for name, value in reply.headers.items() if name.lower() == "location"), "elsewhere"
        )
        raise BuilderError(
            f"{api}: redirects to {target}; redirects are not followed: if you trust that address, give it as"
            " --api"
        )
    if reply.status != 200:
        raise BuilderError(
            f"{api}: expected status 200, found status {reply.status}: {_excerpt(reply.body)};"
            " check the address and the contact"
        )
    if isinstance(fault, msgspec.ValidationError):
        raise not_mediawiki(api, str(fault)) from fault
    if fault and (not reply.body.strip() or reply.body.lstrip().startswith(b"{")):
        # Cut off, or followed by the HTML that MediaWiki adds if it fails late.
        raise TryAgainError(f"the JSON is incomplete or followed by something else: {fault}", wait=wait)
    if fault:
        raise BuilderError(
            f"{api}: expected JSON of MediaWiki, found {_excerpt(reply.body)}; the address should end in"
            " api.php, such as https://en.wikipedia.org/w/api.php"
        )
    return answer


def _decoded(body: bytes) -> tuple[Answer, Exception | None]:
    """Return the answer, or an empty answer with the fault of the body."""
    try:
        return DECODER.decode(body), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Answer(), error


def _raise_for_error(api: str, error: _Error, wait: float | None, status: int) -> None:
    code, text = _printable(error.code), _printable(error.text or error.info)
    if code in BUSY_CODES or code.startswith(BUSY_PREFIXES) or status in BUSY_STATUS:
        raise TryAgainError(
            f"{code}: {text}", wait=wait, refused=code in TOO_MANY_REQUESTS_CODES or status == 429
        )
    code = code or "unnamed"  # in the store, an empty reason means success
    message = f"{api}: MediaWiki refuses: {text} ({code})"
    raise BuilderError(message) if code.startswith(TOKEN_ERROR_PREFIXES) else ApiError(code, message)


def _printable(text: str) -> str:
    """Return a text for an error: one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _excerpt(body: bytes) -> str:
    text = " ".join(body[:2_000].decode("utf-8", "replace").split())
    return repr(text[:120]) if text else "an empty answer"


def expected(api: str, part: Part | None, name: str) -> Part:
    """Return a part of an answer, which must be present."""
    if part is None:
        raise not_mediawiki(api, f"Object missing required field `{name}`")
    return part


def not_mediawiki(api: str, fault: str) -> BuilderError:
    """Return the error for a server that is not a MediaWiki."""
    return BuilderError(f"{api}: answers with JSON, but not as MediaWiki does: {fault}; check the address")
