"""The categories that a page names in its own wikitext."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from wikitext_builder.wiki.classify import without_comments_and_verbatim
from wikitext_builder.wiki.languages import language_of
from wikitext_builder.wiki.titles import tidy_title, title_fault


def own_categories(wikitext: str, language: str = "en") -> tuple[str, ...]:
    """The categories of a page, without their namespace, each once and in the order of the wikitext.

    Categories that templates add are not among them: only the wiki knows these.

    Args:
        wikitext: Of the page.
        language: Code of the Wikipedia.

    Raises:
        BuilderError: The language is unknown.

    >>> own_categories("Tea [[:Category:Drinks]] [[Category:tea_culture|*]] <!-- [[Category:Old]] -->")
    ('Tea culture',)
    """
    return tuple(dict.fromkeys(_names(wikitext, _link(language))))


def _names(wikitext: str, link: re.Pattern[str]) -> Iterator[str]:
    for match in link.finditer(without_comments_and_verbatim(wikitext)):
        name = tidy_title(match[1])
        if name and not title_fault(name):
            yield name[0].upper() + name[1:]


@cache
def _link(language: str) -> re.Pattern[str]:
    """A link to a category; the lengths are bounded, so that a search is linear."""
    names = dict.fromkeys((*language_of(language).category_namespaces, "Category"))
    namespace = "|".join(re.escape(name) for name in names)
    space, name, sort_key = r"[ _\t]{0,9}", r"([^\[\]{}|<>#\n]{1,300})", r"(?:\|[^\[\]]{0,300})?"
    return re.compile(rf"\[\[{space}(?:{namespace}){space}:{name}{sort_key}\]\]", re.IGNORECASE)
