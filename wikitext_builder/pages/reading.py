"""Reads a store: its counts, and pages with all that their lines are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.store import Store, item_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page, the texts of its template calls, and its HTML."""

    page: Page
    expansions: Mapping[str, str] = field(default_factory=dict)  # text of a template call by its wikitext
    html: str | None = None  # None: the store has none, or nobody asked for it
    wikidata_id: str = ""  # such as Q1490; empty if it is not known


def stored_pages(
    store: Store, language: str, revision_ids: Sequence[int], *, html: bool = False
) -> Iterator[StoredPage]:
    """Read pages one by one, in the order of `revision_ids`.

    Args:
        store: An open store.
        language: Code of the Wikipedia.
        revision_ids: Which revisions.
        html: Read the HTML of each page too, where the store has it.

    Raises:
        BuilderError: A revision is absent or damaged.
    """
    for page in store.pages(language, revision_ids):
        yield StoredPage(
            page=page,
            expansions=store.expansions(language, page.revision_id),
            html=store.rendered(language, page.revision_id) if html else None,
            wikidata_id=item_of(store, language, page.page_id),
        )


def read_page(store: str | Path, *, title: str, language: str = "en", html: bool = False) -> StoredPage:
    """Read the newest revision of one page from a store file.

    Args:
        store: Path of the store.
        title: The title as Wikipedia writes it.
        language: Code of the Wikipedia.
        html: Read the HTML of the page too, if the store has it.

    Raises:
        BuilderError: There is no such store or page, or the page is damaged.
    """
    with Store.open(Path(store)) as opened:
        numbers = [one.revision_id for one in opened.revisions(language) if one.title == title]
        if not numbers:
            raise BuilderError(
                f"{store}: no article {title!r} of {language}; write the title as Wikipedia does,"
                " `wikitext-builder lock` lists the titles of a store"
            )
        return next(stored_pages(opened, language, numbers[:1], html=html))
