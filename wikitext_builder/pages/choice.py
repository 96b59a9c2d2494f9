"""Combines page selections with include and exclude filters, and checks each page that comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.pages.database import sha1_of
from wikitext_builder.pages.lookup import Lookup, Selected, Selection
from wikitext_builder.pages.page_filters import FILTERS, Named
from wikitext_builder.pages.rules import (
    ASKS,
    Filter,
    Kind,
    Past,
    Rule,
    Texts,
    WhyNot,
    arguments,
    first_fault,
    parse_kind,
)
from wikitext_builder.pages.selections import SELECTIONS
from wikitext_builder.pages.store import Rejected, Revision, Wanted
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.client import Found
from wikitext_builder.wiki.dates import is_timestamp
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import FoundPage, FoundRevision
from wikitext_builder.wiki.titles import title_fault

MAX_WIKITEXT_BYTES = 4 << 20  # MediaWiki's own limit is 2 MiB; a longer text is not an article


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What each page must be, or none may be, as a user wrote it: a filter, or another selection."""

    text: str
    include: bool
    choice: Filter | Selection

    def rule(self, lookup: Lookup) -> Rule:
        """The rule; of a selection the titles that it finds."""
        found = self.choice
        if isinstance(found, Selection):
            found = Named.of(one.title for one in found.find(lookup).wanted)
        return Rule(text=self.text, condition=found, include=self.include)


def parse_wishes(include: Texts, exclude: Texts, language: Language) -> tuple[Wish, ...]:
    """Return what two arguments ask for, in the forms of `FILTERS` and of selections that are no filter.

    Raises:
        BuilderError: A text has none of the forms.
    """
    kinds: Mapping[str, Kind[Filter | Selection]] = {**SELECTIONS, **FILTERS}
    return tuple(
        Wish(text=text, choice=parse_kind(name, text, language, kinds), include=name == "include")
        for name, text in arguments(include, exclude)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The pages to ask for, and what each of them must be when it is here."""

    selected: Selected
    rules: tuple[Rule, ...] = ()
    unless: Mapping[Wanted, tuple[Filter, ...]] = field(default_factory=dict)  # one of these must hold

    def check(self, wanted: Wanted, page: Page, past: Past) -> None:
        """Check a page that came; rules that need no request go first.

        Raises:
            RejectedError: It is not taken.
        """
        cheap = [rule for rule in self.rules if rule.condition.cost < ASKS]
        dear = [rule for rule in self.rules if rule.condition.cost >= ASKS]
        found = (
            first_fault(cheap, page, past) or self._unmet(wanted, page, past) or first_fault(dear, page, past)
        )
        if found:
            raise RejectedError(*found)

    def _unmet(self, wanted: Wanted, page: Page, past: Past) -> WhyNot:
        """Why the selections that found a page do not take it; None if one of them does."""
        found = None
        for condition in self.unless.get(wanted, ()):
            if (found := condition.why_not(page, past)) is None:
                break
        return found

    @property
    def shown(self) -> str:
        """All that decides, as a text: it differs if another choice may take another page."""
        conditions = {repr(one) for several in self.unless.values() for one in several}
        return repr((self.rules, sorted(conditions))) if self.rules or conditions else ""


def select_pages(
    lookup: Lookup,
    selections: Sequence[Selection],
    *,
    wishes: Sequence[Wish] = (),
    limit: int | None = None,
) -> Choice:
    """Return all pages of selections, each once, in the order of titles (by code point) and revision ids.

    Args:
        lookup: What selections find their pages with.
        selections: One or more.
        wishes: What else decides; a title that may not be taken is rejected here, without a request.
        limit: Take only the first ones of this order, so that a larger limit only adds pages.

    Raises:
        BuilderError: Nothing is selected, or a selection cannot be read.
    """
    conditions: dict[Wanted, tuple[Filter, ...] | None] = {}  # None: a selection takes it without one
    locked: dict[int, Revision] = {}
    rejected: list[Rejected] = []
    for selection in selections:
        found = selection.find(lookup)
        for one in found.wanted:
            before = conditions.get(one, ())
            if before is None or found.condition is None:
                conditions[one] = None
            else:
                conditions[one] = (*before, found.condition)
        locked |= found.locked
        rejected += found.rejected
    if not conditions and not rejected:
        raise BuilderError("nothing is selected; check the names in --select")
    rules = tuple(wish.rule(lookup) for wish in wishes)
    excluded = [
        (rule, rule.condition.titles)
        for rule in rules
        if not rule.include and isinstance(rule.condition, Named)
    ]
    wanted = []
    for one in sorted(conditions)[:limit]:
        rule = next((rule for rule, titles in excluded if one.title in titles), None)
        if rule is None:
            wanted.append(one)
        else:
            detail = f"--exclude {rule.text}"
            rejected.append(Rejected(title=one.title, reason=rule.reason, detail=detail))
    selected = Selected(wanted=tuple(wanted), locked=locked, rejected=tuple(rejected))
    return Choice(
        selected=selected,
        rules=rules,
        unless={one: several for one in wanted if (several := conditions[one])},
    )


# --- what the API gave


def titled_page(found: Found, wanted: Wanted, language: Language) -> Page:
    """Return the page that a title leads to.

    Raises:
        RejectedError: It leads to no page that can be used.
    """
    page, classify = _resolved(found, wanted.title), classifier(language)
    name, as_of = repr(page.title), wanted.as_of
    fault = title_fault(page.title)  # with a fault no lock file could name it
    _reject(
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
    _reject(
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
    """Follow a title through MediaWiki's spelling of it and through redirects.

    Raises:
        RejectedError: It does not lead to a page of this wiki.
    """
    chain = [found.renamed.get(title, title)]
    while (target := found.redirects.get(chain[-1])) is not None:
        if target in chain:
            raise RejectedError("redirect-loop", " → ".join([*chain, target]))
        chain.append(target)
    last = chain[-1]
    if last in found.other_wikis or title in found.other_wikis:
        raise RejectedError("other-wiki", f"{last!r} is a page of another wiki")
    if last not in found.pages:
        raise RejectedError("unanswered", f"the API said nothing about {last!r}")
    return found.pages[last]


def exact_page(found: Found, locked: Revision) -> Page:
    """Return the revision that a lock file names, with the title and ids of the lock file.

    Raises:
        RejectedError: It is gone, or its text has changed.
    """
    number = locked.revision_id
    revisions = (one for page in found.pages.values() for one in page.revisions if one.revision_id == number)
    revision = next(revisions, None)
    if revision is None:
        gone = number in found.bad_revisions
        reason = "the wiki no longer has it" if gone else "the API said nothing about it"
        raise RejectedError("missing-revision", f"revision {number}: {reason}")
    return Page(
        title=locked.title,
        page_id=locked.page_id,
        revision_id=number,
        timestamp=locked.timestamp,
        wikitext=checked_text(revision, locked.sha1, "the lock file"),
    )


def checked_text(revision: FoundRevision, sha1: str, source: str) -> str:
    """Return the wikitext of a revision.

    Args:
        revision: As the API gave it.
        sha1: Of the text; empty: it is not compared.
        source: Who says so.

    Raises:
        RejectedError: There is no text that can be kept.
    """
    number, text, when = revision.revision_id, revision.text, revision.timestamp
    _reject(
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
    _reject(
        ("too-large", size > MAX_WIKITEXT_BYTES, limit), ("sha1-mismatch", sha1 and found != sha1, differs)
    )
    return text


def _reject(*faults: tuple[str, object, str]) -> None:
    """Raise for the first fault that is there: its reason, whether it is there, and what was found."""
    for reason, is_there, detail in faults:
        if is_there:
            raise RejectedError(reason, detail)
