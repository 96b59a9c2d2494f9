"""What an answer of the MediaWiki API says: errors in a body of status 200, pages in parts, hidden texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.http import Reply, TryAgainError, asked_wait

Json = dict[str, Any]  # what an API says is as typed as its documentation
BUSY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
BUSY_CODES = frozenset({"maxlag", "ratelimited", "readonly", "cirrussearch-too-busy-error"})
BUSY_PREFIXES = ("internal_api_error",)  # the database is gone, or a bug; it may be better in a moment


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
    """What a wiki says of itself."""

    wiki: str  # enwiki
    language: str
    namespaces: Mapping[str, int]  # names and aliases in lower case
    capital_first: bool  # of every title's first letter
    max_article_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRevision:
    """A revision as the API gave it."""

    revision_id: int
    timestamp: str
    sha1: str  # empty where it is hidden
    model: str
    text: str | None  # None where it is hidden or lost
    hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """A page as the API gave it, with those of its revisions that were asked for."""

    title: str
    page_id: int  # 0: there is none
    namespace: int
    missing: bool
    invalid: str  # why the title is none; empty for others
    disambiguation: bool
    revisions: tuple[FoundRevision, ...]


@dataclass(slots=True, kw_only=True)
class Found:
    """All that one batch of titles or revision ids brought, its parts put together."""

    pages: dict[str, FoundPage] = field(default_factory=dict)  # by title
    renamed: dict[str, str] = field(default_factory=dict)  # as asked → as MediaWiki writes it
    redirects: dict[str, str] = field(default_factory=dict)
    other_wikis: set[str] = field(default_factory=set)
    bad_revisions: set[int] = field(default_factory=set)


def read_answer(api: str, reply: Reply, now: float) -> Json:
    """The JSON of an answer without errors.

    Raises:
        TryAgainError: The server is busy, or the answer is broken off.
        ApiError: MediaWiki refused the request.
        BuilderError: This is not an answer of MediaWiki.
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
            f"{api}: redirects to {target}; redirects are not followed, name that address with --api if you"
            " trust it"
        )
    if reply.status != 200:
        raise BuilderError(
            f"{api}: status {reply.status} where 200 was expected: {_glimpse(reply.body)};"
            " check the address and the contact"
        )
    if not reply.body.strip():
        raise TryAgainError("an empty answer", wait=wait)
    if rest or (answer is None and reply.body.lstrip().startswith(b"{")):
        what = f"is followed by {rest[:60]!r}" if rest else f"breaks off after {len(reply.body):,} bytes"
        raise TryAgainError(f"the JSON {what}", wait=wait)
    if not isinstance(answer, dict):
        raise BuilderError(
            f"{api}: no JSON of a MediaWiki but {_glimpse(reply.body)}; the address should end in api.php,"
            " such as https://en.wikipedia.org/w/api.php"
        )
    return answer


def continuation(api: str, answer: Json) -> dict[str, str] | None:
    """Where a query goes on, None where it has ended."""
    token = answer.get("continue")
    if token is None:
        return None
    with expected_parts(api):
        return {str(name): str(value) for name, value in token.items()}


def _raise_for_errors(api: str, errors: list[Json], wait: float | None, status: int) -> None:
    with expected_parts(api):
        code, text = str(errors[0]["code"]), str(errors[0].get("text", ""))
    if code in BUSY_CODES or code.startswith(BUSY_PREFIXES) or status in BUSY_STATUS:
        raise TryAgainError(f"{code}: {text}", wait=wait)
    raise ApiError(code, f"{api}: MediaWiki refuses: {text} ({code})")


def _json(body: bytes) -> tuple[object, str]:
    """The JSON (None where there is none) and what follows it: MediaWiki adds HTML when it fails late."""
    try:
        text = body.decode("utf-8").strip()
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None, ""
    return value, text[end:]


def _glimpse(body: bytes) -> str:
    text = " ".join(body[:2_000].decode("utf-8", "replace").split())
    return repr(text[:120]) if text else "an empty answer"


@contextmanager
def expected_parts(api: str) -> Iterator[None]:
    """Say plainly that an answer lacks its parts, whatever Python says of it."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise BuilderError(
            f"{api}: answers JSON, but not as MediaWiki does ({type(error).__name__}: {error});"
            " check the address"
        ) from error


def site_of(query: Json) -> Site:
    """What `meta=siteinfo` says."""
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
        max_article_bytes=int(general.get("maxarticlesize", 2 << 20)),
    )


def gather(found: Found, raw: dict[str, Json], query: Json) -> None:
    """Add one part of an answer: texts come in any part, and pages can come in several."""
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


def page_of_answer(raw: Json) -> FoundPage:
    """The page that all parts of an answer together describe."""
    str(raw["title"]).encode()  # a lone surrogate in a title is a ValueError: no wiki has such a page
    reason = raw.get("invalidreason", "")
    return FoundPage(
        title=str(raw["title"]),
        page_id=int(raw.get("pageid", 0)),
        namespace=int(raw.get("ns", 0)),
        missing=bool(raw.get("missing") or raw.get("special")),
        invalid=str(reason["text"] if isinstance(reason, dict) else reason) if raw.get("invalid") else "",
        disambiguation="disambiguation" in raw.get("pageprops", {}),
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
        text=None if text is None else str(text),
        hidden=bool(slot.get("texthidden") or raw.get("texthidden")),
    )
