"""Answers of the MediaWiki API: errors in a body of status 200, pages in several pieces, hidden texts.

Structs name the fields that we read, and an answer is checked once, when it is decoded. After that no reader
needs to expect another type, a number that the store cannot hold, or text that is not Unicode.
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
TOO_MANY = frozenset({"maxlag", "ratelimited", "concurrency-limit"})  # of them: fewer requests would help
# They are about our token, whatever we ask: no fault of a page, for which it could be noted.
REFUSES_US = ("mwoauth-", "assert")
BUSY_PREFIXES = ("internal_api_error",)  # the database is gone, or a bug; both can pass

LARGEST: Final = 2**63 - 1  # that SQLite stores
Number = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Id = Annotated[int, Meta(ge=0, le=LARGEST)]
Time = Annotated[str, Meta(pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?\Z")]
Digits = Annotated[str, Meta(pattern=r"\A\d{1,18}\Z")]


# --- the fields that we read


class _Warned(Struct):  # a warning of a module of the API
    module: str = ""
    code: str = ""
    text: str = ""


class General(Struct):
    """What a wiki says of itself."""

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


class _Renamed(Struct, rename={"source": "from"}):  # how MediaWiki spells a title, or where a redirect leads
    source: str
    to: str
    fromencoded: bool = False


class Titled(Struct):
    """A page of a list, or on another wiki."""

    title: str
    ns: Number = 0
    exists: bool = False


class _Moved(Struct):  # what the log of moves has of a move
    target_ns: Number = 0
    target_title: str = ""


class LogEntry(Struct):
    """An entry of a log; of a hidden one only the kind is there."""

    title: str = ""
    ns: Number = 0
    logpage: Id = 0
    timestamp: Time = ""
    params: _Moved | list[Any] = field(default_factory=_Moved)  # PHP writes nothing as a list


class _Slot(Struct):
    content: Any = None  # a page without a text is rejected, not the answer
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
    """A page, with some of its revisions; one that was asked for by its id and is gone has no title."""

    title: str = ""
    page_id: Id = 0  # 0: there is no such page
    namespace: Number = 0
    absent: bool = field(default=False, name="missing")
    special: bool = False
    is_invalid: bool = field(default=False, name="invalid")
    invalidreason: str | _Reason = ""
    pageprops: dict[str, Any] = field(default_factory=dict)
    redirect: bool = False
    redirects: list[Titled] = field(default_factory=list)  # that lead to it
    revisions: list[FoundRevision] = field(default_factory=list)

    @property
    def missing(self) -> bool:
        """True if there is no such page."""
        return self.absent or self.special

    @property
    def invalid(self) -> str:
        """Why no page can have the title; empty for other titles."""
        reason = self.invalidreason
        return (reason.text if isinstance(reason, _Reason) else reason) if self.is_invalid else ""

    @property
    def disambiguation(self) -> bool:
        """True if the extension Disambiguator says so."""
        return "disambiguation" in self.pageprops

    @property
    def wikidata_id(self) -> str:
        """Such as Q1490; empty if the wiki does not say it."""
        item = str(self.pageprops.get("wikibase_item", ""))
        return item if ITEM.fullmatch(item) else ""


class Query(Struct):
    """What `action=query` found; None: a part that nobody asked for, or that the wiki left out."""

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
    """HTML of a page."""

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
    warnings: list[_Warned] = field(default_factory=list)
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
    """Return an answer that has no errors.

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
        raise TryAgainError(f"status {reply.status}: {_glimpse(reply.body)}", wait=wait, refused=refused)
    if 300 <= reply.status < 400:
        target = next((v for name, v in reply.headers.items() if name.lower() == "location"), "elsewhere")
        raise BuilderError(
            f"{api}: redirects to {target}; redirects are not followed: if you trust that address, give it as"
            " --api"
        )
    if reply.status != 200:
        raise BuilderError(
            f"{api}: expected status 200, found status {reply.status}: {_glimpse(reply.body)};"
            " check the address and the contact"
        )
    if isinstance(fault, msgspec.ValidationError):
        raise not_mediawiki(api, str(fault)) from fault
    if fault and (not reply.body.strip() or reply.body.lstrip().startswith(b"{")):
        # Cut off, or followed by HTML: MediaWiki adds it if it fails late.
        raise TryAgainError(f"the JSON is incomplete or followed by something else: {fault}", wait=wait)
    if fault:
        raise BuilderError(
            f"{api}: expected JSON of MediaWiki, found {_glimpse(reply.body)}; the address should end in"
            " api.php, such as https://en.wikipedia.org/w/api.php"
        )
    return answer


def _decoded(body: bytes) -> tuple[Answer, Exception | None]:
    """Return the answer, or an empty one and what is wrong with the body."""
    try:
        return DECODER.decode(body), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Answer(), error


def _raise_for_error(api: str, error: _Error, wait: float | None, status: int) -> None:
    code, text = _printable(error.code), _printable(error.text or error.info)
    if code in BUSY_CODES or code.startswith(BUSY_PREFIXES) or status in BUSY_STATUS:
        raise TryAgainError(f"{code}: {text}", wait=wait, refused=code in TOO_MANY or status == 429)
    code = code or "unnamed"  # an empty one means no failure where reasons are stored
    message = f"{api}: MediaWiki refuses: {text} ({code})"
    raise BuilderError(message) if code.startswith(REFUSES_US) else ApiError(code, message)


def _printable(text: str) -> str:
    """A text for an error: one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _glimpse(body: bytes) -> str:
    text = " ".join(body[:2_000].decode("utf-8", "replace").split())
    return repr(text[:120]) if text else "an empty answer"


def expected(api: str, part: Part | None, name: str) -> Part:
    """Return a part of an answer that must be there."""
    if part is None:
        raise not_mediawiki(api, f"Object missing required field `{name}`")
    return part


def not_mediawiki(api: str, why: str) -> BuilderError:
    """Return the error of a server that is not a MediaWiki."""
    return BuilderError(f"{api}: answers with JSON, but not as MediaWiki does: {why}; check the address")
