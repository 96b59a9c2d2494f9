"""What a store holds, lacks and refused, a Wikipedia at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from wikitext_builder.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """The counts of one Wikipedia's pages in a store."""

    language: str
    wiki: str  # what it calls itself; empty where nothing was fetched from an API
    pages: int
    revisions: int  # those besides `pages` are older ones of the same pages or titles, which no build takes
    wanted: int
    missing: int  # wanted, and neither here nor rejected
    rejected: Mapping[str, int]  # by reason
    redirects: int
    rendered: int  # revisions with their HTML
    not_rendered: Mapping[str, int]  # by reason
    expanded: int  # template calls
    not_expanded: Mapping[str, int]  # by reason


def status(store: Store, language: str) -> StoreStatus:
    """Count what a store has of one Wikipedia."""
    expansions, rendered = store.expansion_counts(language), store.rendered_counts(language)
    return StoreStatus(
        language=language,
        wiki=store.progress(f"{language} wiki") or "",
        pages=len(store.revisions(language)),
        revisions=len(store.all_revisions(language)),
        wanted=store.wanted_count(language),
        missing=len(store.missing(language)),
        rejected=dict(sorted(Counter(one.reason for one in store.rejected(language)).items())),
        redirects=len(store.redirects(language)),
        rendered=rendered.pop("", 0),
        not_rendered=rendered,
        expanded=expansions.pop("", 0),
        not_expanded=expansions,
    )
