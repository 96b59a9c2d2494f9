"""Pages that a wiki's API gave, each checked, and their past: one request per question, no question twice."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property

from wikitext_builder.article import Page
from wikitext_builder.errors import UNANSWERED, BuilderError, RejectedError, reject
from wikitext_builder.pages.rows import Dates, Revision, Wanted, sha1_of
from wikitext_builder.pages.rules import First, Past
from wikitext_builder.wiki.classify import classifier, title_fault
from wikitext_builder.wiki.client import Found, Wikipedia
from wikitext_builder.wiki.dates import is_timestamp
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import ApiError, FoundPage, FoundRevision, Json, expected_fields, moment

MAX_WIKITEXT_BYTES = 4 << 20  # MediaWiki's own limit is 2 MiB; a longer text is not an article
SERIES = 10  # pages that one user makes in a day, of nearly the same size
NEARLY = 0.1  # of the size


class WikiPast(Past):
    """Asks a wiki, in which pages of some categories are Good or Featured; used by several threads."""

    def __init__(self, wikipedia: Wikipedia, categories: Sequence[str]) -> None:
        self._wikipedia = wikipedia
        self._categories = categories
        self._first: dict[int, First] = {}
        self._promoted: dict[int, str] = {}
        self._days: dict[tuple[str, str], tuple[bool, list[int]]] = {}
        self._histories: dict[str, Mapping[str, str]] = {}
        self._lock = threading.Lock()

    def dates(self, page_id: int) -> Dates:
        """The dates of a page, as far as somebody asked for them."""
        first = self._first.get(page_id, First())
        return Dates(created=first.timestamp, promoted=self._promoted.get(page_id, ""))

    def _ask(self, parameters: Mapping[str, str]) -> Json:
        answer: Json = self._wikipedia.request({"action": "query", **parameters}).get("query", {})
        return answer

    # --- creation

    def first(self, page: Page) -> First:
        """The first revision of a page: that of the oldest timestamp, wherever it was written."""
        if page.page_id not in self._first:
            wanted = {"rvdir": "newer", "rvlimit": "1", "rvprop": "ids|timestamp|user|comment|size"}
            found = self._ask({"prop": "revisions", "pageids": str(page.page_id), **wanted})
            with expected_fields(self._wikipedia.api):
                rows = found["pages"][0].get("revisions") or [{}]
                self._first[page.page_id] = First(
                    timestamp=moment(rows[0].get("timestamp", "")),
                    user=rows[0].get("user", ""),
                    summary=rows[0].get("comment", ""),
                    size=rows[0].get("size", 0),
                )
        return self._first[page.page_id]

    def why_older(self, page: Page, since: str) -> str:
        """The reason of a log entry by which an older history came to the page; empty if there is none."""
        with self._lock:  # one thread asks, the others wait for the answer
            if since not in self._histories:
                self._histories[since] = self._history_log(since)
        return self._histories[since].get(page.title, "")

    def _history_log(self, since: str) -> dict[str, str]:
        """Titles that got a history since a date: by a merge, or by an import from another wiki."""
        reasons: dict[str, str] = {}
        for kind, reason in (("import", "imported-history"), ("merge", "merged-history")):
            parameters = {"list": "logevents", "letype": kind, "leprop": "title|details", "lelimit": "max"}
            for answer in self._wikipedia.query({**parameters, "ledir": "newer", "lestart": since}):
                with expected_fields(self._wikipedia.api):
                    for one in answer["query"]["logevents"]:
                        title = (one.get("params") or {}).get("dest_title") or one.get("title", "")
                        reasons[str(title)] = reason
        return reasons

    # --- series

    def series(self, first: First) -> str:
        """Why a page is one of a series that a program makes; empty if it is not, or its maker is hidden."""
        day = first.timestamp[:10]
        if not first.user or not day:
            return ""
        key = (first.user, day)
        if key not in self._days:
            self._days[key] = self._made(first.user, day)
        is_bot, sizes = self._days[key]
        if is_bot:
            return f"made by the bot {first.user}"
        alike = sum(abs(size - first.size) <= NEARLY * first.size for size in sizes)
        return f"one of {alike} pages alike that {first.user} made on {day}" if alike >= SERIES else ""

    def _made(self, user: str, day: str) -> tuple[bool, list[int]]:
        """Return True for a bot, and the sizes of the articles that the user made on a day."""
        edits = {"ucuser": user, "ucnamespace": "0", "ucshow": "new", "ucprop": "size", "uclimit": "max"}
        days = {"ucdir": "newer", "ucstart": f"{day}T00:00:00Z", "ucend": f"{day}T23:59:59Z"}
        groups = {"ususers": user, "usprop": "groups"}
        try:
            found = self._ask({"list": "usercontribs|users", **edits, **days, **groups})
        except ApiError as error:
            if not error.code.startswith("bad"):
                raise
            return False, []  # a name of another wiki, which came with an import
        with expected_fields(self._wikipedia.api):
            bot = any("bot" in one.get("groups", ()) for one in found["users"])
            return bot, [one.get("size", 0) for one in found["usercontribs"]]

    # --- quality

    def promoted(self, page: Page, since: str) -> tuple[str, str]:
        """Since when the categories list a page today (empty: they do not), and its text at a date."""
        found = self._standing({"pageids": str(page.page_id)}, since)
        listed = max(found.categories.values(), default="") if found else ""
        self._promoted[page.page_id] = listed
        return listed, self._text(found)

    def text_at(self, title: str, moment: str) -> str:
        """The text of a page at a moment; empty if there was none."""
        return self._text(self._standing({"titles": title}, moment))

    def _standing(self, which: Mapping[str, str], moment: str) -> FoundPage | None:
        names = "|".join(f"Category:{name}" for name in self._categories)
        categories = {"clprop": "timestamp", "clcategories": names, "cllimit": "max"}
        revision = {"rvstart": moment, "rvdir": "older", "rvlimit": "1"}
        found = self._wikipedia.find(
            {**which, "prop": "revisions|pageprops|categories", **revision, **categories}
        )
        return next(iter(found.pages.values()), None)

    def _text(self, found: FoundPage | None) -> str:
        if not found or not found.revisions:
            return ""
        return checked_text(found.revisions[0], found.revisions[0].sha1, "the API")

    @cached_property
    def _assesses(self) -> bool:
        helped = self._wikipedia.request({"action": "paraminfo", "modules": "query+pageassessments"})
        with expected_fields(self._wikipedia.api):
            return bool(helped["paraminfo"].get("modules"))

    def classes(self, page: Page) -> frozenset[str]:
        """The classes that WikiProjects give a page, such as B or GA."""
        if not self._assesses:
            raise BuilderError(
                f"{self._wikipedia.api}: has no assessments of pages; select by --include good or a category"
            )
        classes: set[str] = set()
        parameters = {"prop": "pageassessments", "pageids": str(page.page_id), "palimit": "max"}
        for answer in self._wikipedia.query(parameters):
            with expected_fields(self._wikipedia.api):
                for one in answer["query"]["pages"]:
                    classes.update(
                        found.get("class", "") for found in one.get("pageassessments", {}).values()
                    )
        return frozenset(classes)


# --- what the API gave


def titled_page(found: Found, wanted: Wanted, language: Language) -> Page:
    """Return the page that a title leads to; RejectedError: none that can be used."""
    page, classify = _resolved(found, wanted.title), classifier(language)
    name, as_of = repr(page.title), wanted.as_of
    fault = title_fault(page.title)  # with a fault no lock file could name it
    reject(
        ("invalid-title", page.invalid, page.invalid),
        ("invalid-title", fault, f"{name}: {fault}"),
        (
            "other-namespace",
            page.namespace,
            f"{name} is in namespace {page.namespace}, so it is not an article",
        ),
        ("missing", page.missing or not page.page_id, f"there is no page {name}"),
        ("list", classify.is_list(page.title), f"{name} is a list by its title"),
        ("disambiguation", page.disambiguation, f"{name} is a disambiguation page"),
        ("not-yet-created", as_of and not page.revisions, f"{name} has no revision up to {as_of}"),
        ("no-revision", not page.revisions, f"{name} came without a revision"),
    )
    newest = max(page.revisions, key=lambda revision: (revision.timestamp, revision.revision_id))
    number, text = newest.revision_id, checked_text(newest, newest.sha1, "the API")
    reject(
        ("was-redirect", classify.is_redirect(text), f"revision {number} of {name} is a redirect"),
        (
            "disambiguation",
            classify.is_disambiguation(text),
            f"revision {number} has a mark of disambiguation",
        ),
    )
    return Page(
        title=page.title, page_id=page.page_id, revision_id=number, timestamp=newest.timestamp, wikitext=text
    )


def _resolved(found: Found, title: str) -> FoundPage:
    """Follow a title through MediaWiki's spelling and redirects; RejectedError: to no page of this wiki."""
    chain = [found.renamed.get(title, title)]
    while (target := found.redirects.get(chain[-1])) is not None:
        if target in chain:
            raise RejectedError("redirect-loop", " → ".join([*chain, target]))
        chain.append(target)
    last = chain[-1]
    if last in found.other_wikis or title in found.other_wikis:
        raise RejectedError("other-wiki", f"{last!r} is a page of another wiki")
    if last not in found.pages:
        raise RejectedError(UNANSWERED, f"the API said nothing about {last!r}")
    return found.pages[last]


def exact_page(found: Found, locked: Revision) -> Page:
    """Return the revision that a lock file names, with its title; RejectedError: gone, or another text."""
    number = locked.revision_id
    revisions = (one for page in found.pages.values() for one in page.revisions if one.revision_id == number)
    revision = next(revisions, None)
    if revision is None:
        if number not in found.bad_revisions:
            raise RejectedError(UNANSWERED, f"the API said nothing about revision {number}")
        raise RejectedError("missing-revision", f"revision {number}: the wiki no longer has it")
    return Page(
        title=locked.title,
        page_id=locked.page_id,
        revision_id=number,
        timestamp=locked.timestamp,
        wikitext=checked_text(revision, locked.sha1, "the lock file"),
    )


def checked_text(revision: FoundRevision, sha1: str, source: str) -> str:
    """Return the wikitext of a revision; RejectedError: there is none that can be kept.

    `source` says that its sha1 is this one; an empty one is not compared.
    """
    number, text, when = revision.revision_id, revision.text, revision.timestamp
    reject(
        ("malformed", not is_timestamp(when), f"revision {number} has the timestamp {when!r}"),
        ("hidden", revision.hidden, f"the wiki's administrators hid the text of revision {number}"),
        ("no-text", text is None, f"the wiki has lost the text of revision {number}"),
        (
            "content-model",
            revision.model != "wikitext",
            f"revision {number} is {revision.model!r}, not wikitext",
        ),
    )
    text = text or ""
    try:
        size, found = len(text.encode()), sha1_of(text)
    except UnicodeEncodeError as error:
        raise RejectedError(
            "not-unicode", f"revision {number} has a lone surrogate at {error.start}"
        ) from error
    limit = f"revision {number} has {size:,} bytes, more than {MAX_WIKITEXT_BYTES:,}"
    differs = f"revision {number}: expected sha1 {sha1} of {source}, found {found}"
    reject(
        ("too-large", size > MAX_WIKITEXT_BYTES, limit), ("sha1-mismatch", sha1 and found != sha1, differs)
    )
    return text
