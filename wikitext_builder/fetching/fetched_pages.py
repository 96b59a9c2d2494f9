"""Pages that a wiki's API gave, each checked, and their first revisions."""

from __future__ import annotations

from wikitext_builder.article import Page
from wikitext_builder.errors import UNANSWERED, RejectedError, reject
from wikitext_builder.fetching.page_filters import FirstRevision
from wikitext_builder.limits import WIKITEXT_BYTES
from wikitext_builder.store.rows import Revision, Wanted, sha1_of
from wikitext_builder.wiki.classify import classifier, title_fault
from wikitext_builder.wiki.client import Found, Wikipedia
from wikitext_builder.wiki.dates import is_timestamp
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import FoundPage, FoundRevision


class FirstRevisions:
    """Asks a wiki for first revisions, each once; used by several threads."""

    def __init__(self, wikipedia: Wikipedia) -> None:
        self._wikipedia = wikipedia
        self._by_page = dict[int, FirstRevision]()

    def __call__(self, page: Page) -> FirstRevision:
        """The first revision of a page: that of the oldest timestamp, wherever it was written."""
        if page.page_id not in self._by_page:
            oldest = {"rvdir": "newer", "rvlimit": "1", "rvprop": "ids|timestamp|comment"}
            query = {"action": "query", "prop": "revisions", "pageids": str(page.page_id), **oldest}
            pages = self._wikipedia.request(query).query.pages
            revisions = [revision for found in pages for revision in found.revisions]
            first = FirstRevision()
            if revisions and is_timestamp(revisions[0].timestamp):
                first = FirstRevision(timestamp=revisions[0].timestamp, summary=revisions[0].comment)
            self._by_page[page.page_id] = first
        return self._by_page[page.page_id]

    def created(self, page_id: int) -> str:
        """When a page was created; empty if nobody asked, or the wiki did not say."""
        return self._by_page.get(page_id, FirstRevision()).timestamp


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
    revisions = (revision for page in found.pages.values() for revision in page.revisions)
    revision = next((revision for revision in revisions if revision.revision_id == number), None)
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
    size, found = len(text.encode()), sha1_of(text)
    limit = f"revision {number} has {size:,} bytes, more than {WIKITEXT_BYTES:,}"
    differs = f"revision {number}: expected sha1 {sha1} of {source}, found {found}"
    reject(("too-large", size > WIKITEXT_BYTES, limit), ("sha1-mismatch", sha1 and found != sha1, differs))
    return text
