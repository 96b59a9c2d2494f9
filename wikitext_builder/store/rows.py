"""Rows of a store that the package hands on: revisions, wishes, rejections, dates of pages."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """Which revision of which page: a line of a lock file."""

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # ISO 8601 in UTC
    sha1: str  # of the wikitext in UTF-8, 40 hexadecimal digits
    created: str = field(default="", compare=False)  # the page's first revision; empty: nobody asked


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Wanted:
    """What a selection asked for: a title's newest revision, its newest up to a date, or one revision."""

    title: str
    as_of: str = ""  # ISO 8601 in UTC; empty: the newest
    revision_id: int = 0  # 0: any revision

    def key(self, language: str) -> tuple[str, str, str, int]:
        """Return the key of its row."""
        return (language, self.title, self.as_of, self.revision_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A page that is not used, and why."""

    title: str
    page_id: int = 0  # 0: not known
    revision_id: int = 0
    reason: str  # a short stable word
    detail: str  # a sentence

    @classmethod
    def of(cls, page: Page, reason: str, detail: str) -> Self:
        """Reject a page."""
        error = RejectedError(reason, detail)
        return cls.by(error, page.title, page_id=page.page_id, revision_id=page.revision_id)

    @classmethod
    def by(cls, error: RejectedError, title: str, **ids: int) -> Self:
        """Reject the page of a title and ids, for the reason of an error."""
        return cls(title=title, **ids, reason=error.reason, detail=error.detail)


def sha1_of(wikitext: str) -> str:
    """Return the SHA-1 of a text in UTF-8, hexadecimal, as in MediaWiki's API."""
    return hashlib.sha1(wikitext.encode(), usedforsecurity=False).hexdigest()


def storable(path: str | Path) -> str:
    """Return a path or a part of it as text, which SQLite takes; bytes that are not UTF-8 as escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")
