"""What is in a store, missing and rejected, for each Wikipedia."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wikitext_builder.pages.store import Store
from wikitext_builder.pages.stored_templates import StoredTemplates


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """The counts of one Wikipedia's pages in a store."""

    language: str
    wiki: str  # the name that it gives itself; empty if nothing was fetched from an API
    pages: int
    revisions: int  # those beyond `pages` are older ones of the same pages or titles, which no build takes
    wanted: int
    missing: int  # wanted, and neither here nor rejected
    rejected: Mapping[str, int]  # by reason
    redirects: int
    rendered: int  # revisions with their HTML
    not_rendered: Mapping[str, int]  # by reason
    expanded: int  # template calls
    not_expanded: Mapping[str, int]  # by reason
    templates: int  # from dumps, redirects included


def status(store: str | Path) -> list[StoreStatus]:
    """Count what is in a store, once per Wikipedia, in the order of language codes.

    Args:
        store: Path of the store.

    Raises:
        BuilderError: There is no such store.
    """
    with Store.open(Path(store)) as opened:
        return [status_of(opened, language) for language in opened.languages()]


def status_of(store: Store, language: str) -> StoreStatus:
    """Count what an open store has of one Wikipedia."""
    expansions, rendered = store.expansion_counts(language), store.rendered_counts(language)
    return StoreStatus(
        language=language,
        wiki=store.wiki(language),
        pages=len(store.revisions(language)),
        revisions=store.revision_count(language),
        wanted=store.wanted_count(language),
        missing=len(store.missing(language)),
        rejected=dict(sorted(Counter(one.reason for one in store.rejected(language)).items())),
        redirects=len(store.redirects(language)),
        rendered=rendered.pop("", 0),
        not_rendered=rendered,
        expanded=expansions.pop("", 0),
        not_expanded=expansions,
        templates=StoredTemplates(store, language).count(),
    )
