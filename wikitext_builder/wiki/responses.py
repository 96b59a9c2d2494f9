"""Answers of the MediaWiki API: errors in a body of status 200, pages in several pieces, hidden texts.

Structs name the fields that we read, and an answer is checked once, when it comes. After that no reader needs
to expect another type, a number that the store cannot hold, or text that is not Unicode. Only texts of pages
are checked page by page, so that a bad one costs only its page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.dates import is_timestamp
from wikitext_builder.wiki.http import Reply, TryAgainError, asked_wait

ITEM = re.compile(r"Q[1-9][0-9]{0,17}")
Json = dict[str, Any]  # an API has no types but its documentation
BUSY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
BUSY_CODES = frozenset(
    {"maxlag", "ratelimited", "readonly", "cirrussearch-too-busy-error", "concurrency-limit"}
)
TOO_MANY = frozenset({"maxlag", "ratelimited", "concurrency-limit"})  # of them: fewer requests would help
# They are about our token, whatever we ask: no fault of a page, for which it could be noted.
REFUSES_US = ("mwoauth-", "assert")
LONGEST_NUMBER = 20  # digits and sign
BUSY_PREFIXES = ("internal_api_error",)  # the database is gone, or a bug; both can pass

LARGEST: Final = 2**63 - 1  # that SQLite stores
Number = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Id = Annotated[int, Meta(ge=0, le=LARGEST)]
Text = Annotated[str, Meta(pattern=r"\A[^\ud800-\udfff]*\Z")]  # no lone surrogate
Digits = Annotated[str, Meta(pattern=r"\A\d{1,18}\Z")]
Time = Annotated[str, Meta(pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?\Z")]


# --- the fields that we read


class _Warned(Struct):
    module: Text = ""
    code: Text = ""
    text: Text = ""


class _General(Struct):
    generator: Text
    wikiid: Text
    lang: Text
    case: Text = "first-letter"
    server: Text = ""


class _Namespace(Struct):
    id: Number
    name: Text
    canonical: Text = ""


class _Alias(Struct):
    id: Number
    alias: Text


class _Renamed(Struct, rename={"source": "from"}):  # how MediaWiki spells a title, or where a redirect leads
    source: Text
    to: Text
    fromencoded: bool = False


class _Titled(Struct):  # a page of a list, or on another wiki
    title: Text
    ns: Number = 0
    exists: bool = False


class _Moved(Struct):  # in the logs of moves and merges
    target_ns: Number = 0
    target_title: Text = ""
    dest_title: Text = ""


class _Logged(_Titled):  # of a hidden entry only the kind is there
    title: Text = ""
    logpage: Id = 0
    timestamp: Time = ""
    params: _Moved | list[Any] = msgspec.field(default_factory=_Moved)  # PHP writes nothing as a list


class _Listed(_Titled):  # a category of a page, since when it is there
    timestamp: Time = ""


class _Named(Struct):
    groups: list[Text] = msgspec.field(default_factory=list)


class _Contributed(Struct):
    size: Id = 0


class _Assessed(Struct, rename={"grade": "class"}):
    grade: Text = ""


class _Slot(Struct):
    content: Any = None  # a page without a text is rejected, not the answer
    contentmodel: Text = ""
    sha1: Text = ""
    texthidden: bool = False


class _Slots(Struct):
    main: _Slot = msgspec.field(default_factory=_Slot)


class FoundRevision(Struct, rename={"revision_id": "revid", "sha1_of_slots": "sha1"}):
    """A revision."""

    revision_id: Id
    timestamp: Time = ""
    sha1_of_slots: Text = ""
    user: Text = ""
    comment: Text = ""
    size: Id = 0
    texthidden: bool = False
    slots: _Slots = msgspec.field(default_factory=_Slots)

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
    text: Text


class FoundPage(Struct, rename={"page_id": "pageid", "namespace": "ns"}):
    """A page, with some of its revisions; one that was asked for by its id and is gone has no title."""

    title: Text = ""
    page_id: Id = 0  # 0: there is no such page
    namespace: Number = 0
    absent: bool = msgspec.field(default=False, name="missing")
    special: bool = False
    is_invalid: bool = msgspec.field(default=False, name="invalid")
    invalidreason: Text | _Reason = ""
    pageprops: dict[str, Any] = msgspec.field(default_factory=dict)
    redirect: bool = False
    redirects: list[_Titled] = msgspec.field(default_factory=list)  # that lead to it
    listed: list[_Listed] = msgspec.field(default_factory=list, name="categories")
    pageassessments: dict[Text, _Assessed] = msgspec.field(default_factory=dict)
    revisions: list[FoundRevision] = msgspec.field(default_factory=list)

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

    @property
    def categories(self) -> dict[str, str]:
        """Categories without their namespace → since when; empty if they were not asked for."""
        return {one.title.partition(":")[2]: moment(one.timestamp) for one in self.listed}


class _Query(Struct):
    general: _General | None = None
    namespaces: dict[str, _Namespace] | None = None
    namespacealiases: list[_Alias] | None = None
    normalized: list[_Renamed] = msgspec.field(default_factory=list)
    converted: list[_Renamed] = msgspec.field(default_factory=list)
    redirects: list[_Renamed] = msgspec.field(default_factory=list)
    interwiki: list[_Titled] = msgspec.field(default_factory=list)
    badrevids: dict[Digits, Any] = msgspec.field(default_factory=dict)
    pages: list[FoundPage] = msgspec.field(default_factory=list)
    categorymembers: list[_Titled] = msgspec.field(default_factory=list)
    logevents: list[_Logged] = msgspec.field(default_factory=list)
    users: list[_Named] = msgspec.field(default_factory=list)
    usercontribs: list[_Contributed] = msgspec.field(default_factory=list)


class _Expanded(Struct):
    wikitext: str


class _Parsed(Struct):
    text: Text
    pageid: Id = 0
    revid: Id = 0
    templates: list[_Titled] = msgspec.field(default_factory=list)


class Answer(Struct):
    """An answer of the API."""

    query: _Query | None = None
    expandtemplates: _Expanded | None = None
    parse: _Parsed | None = None
    warnings: list[_Warned] = msgspec.field(default_factory=list)
    continues: dict[Text, Text | Number] | None = msgspec.field(default=None, name="continue")


# --- one answer


class ApiError(BuilderError):
    """The API refused a request.

    Attributes:
        code: MediaWiki's word for the reason, such as `badcontinue`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_answer(api: str, reply: Reply, now: float) -> Json:
    """Return the JSON of an answer that has no errors.

    Raises:
        TryAgainError: The server is busy, or the answer is incomplete.
        ApiError: MediaWiki refused the request.
        BuilderError: The answer is not from MediaWiki.
    """
    answer, rest = _json(reply.body)
    wait = asked_wait(reply.headers, now)
    if isinstance(answer, dict) and (answer.get("errors") or answer.get("error")):
        _raise_for_errors(api, answer.get("errors") or [answer["error"]], wait, reply.status)
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
    if not reply.body.strip():
        raise TryAgainError("an empty answer", wait=wait)
    if rest or (answer is None and reply.body.lstrip().startswith(b"{")):
        what = f"is followed by {rest[:60]!r}" if rest else f"breaks off after {len(reply.body):,} bytes"
        raise TryAgainError(f"the JSON {what}", wait=wait)
    if not isinstance(answer, dict):
        raise BuilderError(
            f"{api}: expected JSON of MediaWiki, found {_glimpse(reply.body)}; the address should end in"
            " api.php, such as https://en.wikipedia.org/w/api.php"
        )
    try:
        msgspec.convert(answer, Answer, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise _not_mediawiki(api, str(error)) from error
    return answer


def continuation(api: str, answer: Json) -> dict[str, str] | None:
    """Return the parameters that continue a query; None at its end."""
    token = answer.get("continue")
    if token is None:
        return None
    with expected_fields(api):
        return {str(name): str(value) for name, value in token.items()}


def _raise_for_errors(api: str, errors: list[Json], wait: float | None, status: int) -> None:
    with expected_fields(api):
        code = _printable(errors[0]["code"])
        text = _printable(errors[0].get("text") or errors[0].get("info", ""))  # the latter in the old format
    if code in BUSY_CODES or code.startswith(BUSY_PREFIXES) or status in BUSY_STATUS:
        raise TryAgainError(f"{code}: {text}", wait=wait, refused=code in TOO_MANY or status == 429)
    code = code or "unnamed"  # an empty one means no failure where reasons are stored
    said = f"{api}: MediaWiki refuses: {text} ({code})"
    raise BuilderError(said) if code.startswith(REFUSES_US) else ApiError(code, said)


def _json(body: bytes) -> tuple[object, str]:
    """Return the JSON, None if there is none, and what follows it: MediaWiki adds HTML if it fails late."""
    try:
        text = body.decode("utf-8").strip()
        value, end = json.JSONDecoder(parse_int=_number).raw_decode(text)
    except (ValueError, RecursionError):
        return None, ""
    return value, text[end:]


def _number(digits: str) -> int | float:
    """An integer; one that is longer than any of MediaWiki's is a float, which the schema refuses."""
    return int(digits) if len(digits) <= LONGEST_NUMBER else float(digits)


def _printable(value: object) -> str:
    """A value for an error: one line, without control characters and lone surrogates."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def _glimpse(body: bytes) -> str:
    text = " ".join(body[:2_000].decode("utf-8", "replace").split())
    return repr(text[:120]) if text else "an empty answer"


@contextmanager
def expected_fields(api: str) -> Iterator[None]:
    """Turn Python's errors about missing fields of an answer into one that the user understands."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise _not_mediawiki(api, f"{type(error).__name__}: {error}") from error


def _not_mediawiki(api: str, why: str) -> BuilderError:
    return BuilderError(f"{api}: answers with JSON, but not as MediaWiki does: {why}; check the address")


def moment(timestamp: str) -> str:
    """The timestamp of an entry; empty if it has none, or one that no calendar has.

    >>> moment("2020-02-29T00:00:00Z"), moment("2020-02-31T00:00:00Z")
    ('2020-02-29T00:00:00Z', '')
    """
    return timestamp if is_timestamp(timestamp) else ""
