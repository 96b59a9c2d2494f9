"""What the readers of dumps hand on: pages, and what a file says about its wiki."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wikitext_builder.article import Page
from wikitext_builder.limits import WIKITEXT_BYTES
from wikitext_builder.store.rows import Rejected
from wikitext_builder.wiki.languages import code_of_wiki, names_in_dump

TOO_LARGE = f"its wikitext has more than {WIKITEXT_BYTES:,} bytes"
ID_EXPECTED = "an id of 1 to 18 digits, not 0"


@dataclass(slots=True, kw_only=True)
class DumpedSite:
    """What an export says about the wiki that it comes from."""

    xml_lang: str = ""
    dbname: str = ""  # enwiki; absent before export version 0.8
    base: str = ""  # https://en.wikipedia.org/wiki/Main_Page
    sitename: str = ""
    namespaces: dict[str, int] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """The code of the Wikipedia, see `code_of_wiki`."""
        return code_of_wiki(self.base, self.dbname, self.xml_lang)

    @property
    def names(self) -> dict[str, Any]:
        """What it says, for `with_names`."""
        return names_in_dump(self.base, self.sitename, self.namespaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedPage:
    """A page of a dump, or why it cannot be used."""

    namespace: int
    redirect: bool  # the dump says so about the page's newest revision, and this is that revision
    content: Page | Rejected
    created: str = ""  # its first revision, ISO 8601 in UTC; empty: the dump does not have it
    # Of an HTML snapshot only:
    html: str | None = None
    wikidata_id: str = ""  # such as Q1490
    templates: tuple[str, ...] = ()  # all that the page uses, with the name of their namespace
    categories: tuple[str, ...] = ()
