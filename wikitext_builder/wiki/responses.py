"""Answers of the MediaWiki API: errors in a body of status 200, pages in several pieces, hidden texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.dates import is_timestamp
from wikitext_builder.wiki.http import Reply, TryAgainError, asked_wait
from wikitext_builder.wiki.schema import check_answer

ITEM = re.compile(r"Q[1-9][0-9]{0,17}")
Json = dict[str, Any]  # an API has no types but its documentation
BUSY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
BUSY_CODES = frozenset({"maxlag", "ratelimited", "readonly", "cirrussearch-too-busy-error"})
LONGEST_NUMBER = 20  # digits and sign
BUSY_PREFIXES = ("internal_api_error",)  # the database is gone, or a bug; both can pass


class ApiError(BuilderError):
    """The API refused a request.

    Attributes:
        code: MediaWiki's word for the reason, such as `badcontinue`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a wiki says about itself."""

    wiki: str  # enwiki
    language: str
    namespaces: Mapping[str, int]  # names and aliases in lower case
    capital_first: bool  # every title begins with a capital letter


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRevision:
    """A revision in an answer of the API."""

    revision_id: int
    timestamp: str
    sha1: str  # empty if it is hidden
    model: str
    text: str | None  # None if it is hidden or lost
    hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """A page in an answer of the API, with the revisions that we asked for."""

    title: str
    page_id: int  # 0: there is no such page
    namespace: int
    missing: bool
    invalid: str  # why no page can have the title; empty for other titles
    disambiguation: bool
    wikidata_id: str  # such as Q1490; empty if the wiki does not say it
    categories: Mapping[str, str]  # without their namespace → since when; empty if they were not asked for
    revisions: tuple[FoundRevision, ...]


@dataclass(slots=True, kw_only=True)
class Found:
    """All pages of one batch of titles or revision ids."""

    pages: dict[str, FoundPage] = field(default_factory=dict)  # by title
    renamed: dict[str, str] = field(default_factory=dict)  # our spelling → that of MediaWiki
    redirects: dict[str, str] = field(default_factory=dict)
    other_wikis: set[str] = field(default_factory=set)
    bad_revisions: set[int] = field(default_factory=set)


def read_answer(api: str, reply: Reply, now: float) -> Json:
    """Return the JSON of an answer that has no errors.

    Raises:
        TryAgainError: The server is busy, or the answer is incomplete.
        ApiError: MediaWiki refused the request.
        BuilderError: The answer is not from MediaWiki.
    """
    answer, rest = _json(reply.body)
    wait = asked_wait(reply.headers, now)
    if isinstance(answer, dict) and answer.get("errors"):
        _raise_for_errors(api, answer["errors"], wait, reply.status)
    if reply.status in BUSY_STATUS:
        raise TryAgainError(f"status {reply.status}: {_glimpse(reply.body)}", wait=wait)
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
    check_answer(api, answer)
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
        code, text = _printable(errors[0]["code"]), _printable(errors[0].get("text", ""))
    if code in BUSY_CODES or code.startswith(BUSY_PREFIXES) or status in BUSY_STATUS:
        raise TryAgainError(f"{code}: {text}", wait=wait)
    code = code or "unnamed"  # an empty one means no failure where reasons are stored
    raise ApiError(code, f"{api}: MediaWiki refuses: {text} ({code})")


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
        raise BuilderError(
            f"{api}: answers with JSON, but not as MediaWiki does ({type(error).__name__}: {error});"
            " check the address"
        ) from error


def site_of(query: Json) -> Site:
    """Read the answer to `meta=siteinfo`."""
    general = query["general"]
    if not str(general["generator"]).startswith("MediaWiki"):
        raise ValueError(f"generator {general['generator']!r}")
    names = {str(space["name"]).lower(): int(space["id"]) for space in query["namespaces"].values()}
    names |= {
        str(space.get("canonical", "")).lower(): int(space["id"]) for space in query["namespaces"].values()
    }
    names |= {str(alias["alias"]).lower(): int(alias["id"]) for alias in query["namespacealiases"]}
    return Site(
        wiki=str(general["wikiid"]),
        language=str(general["lang"]),
        namespaces={name: number for name, number in names.items() if name},
        capital_first=general.get("case", "first-letter") == "first-letter",
    )


def gather(found: Found, raw: dict[str, Json], query: Json) -> None:
    """Add one piece of an answer: texts come in any piece, and a page can come in several."""
    for change in (*query.get("normalized", ()), *query.get("converted", ())):
        asked = unquote(change["from"]) if change.get("fromencoded") else change["from"]
        found.renamed[asked] = change["to"]
    for redirect in query.get("redirects", ()):
        found.redirects[redirect["from"]] = redirect["to"]
    found.other_wikis.update(link["title"] for link in query.get("interwiki", ()))
    found.bad_revisions.update(int(number) for number in query.get("badrevids", {}))
    for page in query.get("pages", ()):
        known = raw.setdefault(page["title"], {**page, "revisions": []})
        known.update({name: value for name, value in page.items() if name != "revisions"})
        have = {revision["revid"] for revision in known["revisions"]}
        known["revisions"] += [r for r in page.get("revisions", ()) if r["revid"] not in have]


def moment_of(raw: Json) -> str:
    """The timestamp of an entry; empty if it has none, or one that no calendar has.

    >>> moment_of({"timestamp": "2020-02-29T00:00:00Z"}), moment_of({"timestamp": "2020-02-31T00:00:00Z"})
    ('2020-02-29T00:00:00Z', '')
    """
    timestamp = str(raw.get("timestamp", ""))
    return timestamp if is_timestamp(timestamp) else ""


def page_of_answer(raw: Json) -> FoundPage:
    """Read a page after all pieces of an answer were put together."""
    reason = raw.get("invalidreason", "")
    return FoundPage(
        title=str(raw["title"]),
        page_id=int(raw.get("pageid", 0)),
        namespace=int(raw.get("ns", 0)),
        missing=bool(raw.get("missing") or raw.get("special")),
        invalid=str(reason["text"] if isinstance(reason, dict) else reason) if raw.get("invalid") else "",
        disambiguation="disambiguation" in raw.get("pageprops", {}),
        wikidata_id=item
        if ITEM.fullmatch(item := str(raw.get("pageprops", {}).get("wikibase_item", "")))
        else "",
        categories={str(one["title"]).partition(":")[2]: moment_of(one) for one in raw.get("categories", ())},
        revisions=tuple(_found_revision(revision) for revision in raw["revisions"]),
    )


def _found_revision(raw: Json) -> FoundRevision:
    slot = raw.get("slots", {}).get("main", {})
    text = slot.get("content")
    return FoundRevision(
        revision_id=int(raw["revid"]),
        timestamp=str(raw.get("timestamp", "")),
        sha1=str(slot.get("sha1") or raw.get("sha1") or ""),
        model=str(slot.get("contentmodel", "")),
        text=text if isinstance(text, str) else None,
        hidden=bool(slot.get("texthidden") or raw.get("texthidden")),
    )
