"""Asks a wiki where the names of templates lead that pages call and we do not know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from wikitext_builder.extraction.macros.call import template_name
from wikitext_builder.extraction.macros.parser_functions import VARIABLES
from wikitext_builder.extraction.templates import is_known
from wikitext_builder.pages.store import Store
from wikitext_builder.pages.store_languages import add_redirects, redirects_of
from wikitext_builder.wiki.classify import title_fault
from wikitext_builder.wiki.client import BATCH, Wikipedia
from wikitext_builder.wiki.languages import Language
from wikitext_builder.wiki.responses import expected_fields

TEMPLATE = 10  # the namespace, which every wiki also calls Template
CALLED = re.compile(r"(?<!\{)\{\{([^{}|\[\]<>#:]{1,300}?)\s*[|}]")
REDIRECTS = {"prop": "redirects", "rdprop": "title", "rdnamespace": "10", "rdlimit": "max", "redirects": "1"}


def fetch_redirects(
    store: Store, wikipedia: Wikipedia, revision_ids: Sequence[int], *, renew: bool = False
) -> None:
    """Keep where the names lead that pages call; the wiki is asked once for each name, 50 at a time."""
    language = wikipedia.language
    batches = to_ask(store, language, revision_ids, renew=renew)
    for found in wikipedia.map(lambda some: _ask(wikipedia, some), batches):
        today = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        add_redirects(store, language.code, {name: (target, today) for name, target in found.items()})


def to_ask(
    store: Store, language: Language, revision_ids: Sequence[int], *, renew: bool = False
) -> list[list[str]]:
    """The names for one request each: those that pages call, we do not know and the wiki did not tell."""
    asked = set() if renew else {*redirects_of(store, language.code)}
    called = {name for page in store.pages(language.code, revision_ids) for name in names_in(page.wikitext)}
    names = sorted(name for name in called - asked if not is_known(name, language))
    return [names[start : start + BATCH] for start in range(0, len(names), BATCH)]


def names_in(wikitext: str) -> Iterator[str]:
    r"""The names of templates that a wikitext calls.

    >>> sorted(names_in("{{bda|1|{{ Foo_bar\n|x}}}} {{{1|}}} {{#if:a|b}} {{PAGENAME}}"))
    ['Bda', 'Foo bar']
    """
    names = (template_name(name) for name in CALLED.findall(wikitext))
    return (name for name in names if name not in VARIABLES and not title_fault(name))


def _ask(wikipedia: Wikipedia, names: Sequence[str]) -> Mapping[str, str]:
    """Where each name leads, itself if nowhere, and the older names of these templates that we know."""
    spelled, moved, found = dict[str, str](), dict[str, str](), {name: name for name in names}
    older = dict[str, str]()
    titles = "|".join(f"Template:{name}" for name in names)
    for answer in wikipedia.query({"titles": titles, **REDIRECTS}):
        with expected_fields(wikipedia.api):
            query = answer.get("query", {})
            spelled |= {one["from"]: one["to"] for one in query.get("normalized", ())}
            moved |= {one["from"]: one["to"] for one in query.get("redirects", ())}
            for page in query.get("pages", ()):
                for one in page.get("redirects", ()):
                    older[_name(one["title"])] = _name(page["title"])
    for name in names:
        title = spelled.get(f"Template:{name}", f"Template:{name}")
        found[name] = _name(moved.get(title, title))
    known = {name: target for name, target in older.items() if is_known(name, wikipedia.language)}
    return {**known, **found}


def _name(title: str) -> str:
    return template_name(title.partition(":")[2])
