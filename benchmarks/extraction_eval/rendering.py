"""Pages that a wiki renders from given wikitext, without the calls of templates that it does not have."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from wikitext_builder.article import Page
from wikitext_builder.extraction.macros.call import template_name
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.trim import ClosingTags
from wikitext_builder.pages.expansions import parse_page
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.responses import expected_fields

TEMPLATE_NAMESPACE = 10
# What opens and closes calls, and what contains no call.
TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(nowiki|pre|math|source|syntaxhighlight)\b[^<>]*(?<!/)>|\{\{+|\}\}+",
    re.DOTALL | re.IGNORECASE,
)
LONGEST_NAME = 1_000  # characters, comments included; a title has 255 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A page's HTML, and the page with the wikitext that it was rendered from."""

    page: Page
    html: str


def render_page(wikipedia: Wikipedia, page: Page) -> Rendering:
    """Let the wiki render a page's wikitext, whether the wiki has such a page or not.

    Calls of templates that the wiki does not have are removed first, also from the page of the result, so
    that both sides miss the same text.

    Raises:
        RejectedError: The wiki cannot render it; the reason is MediaWiki's word.
    """
    answer = parse_page(wikipedia, _given(page))
    with expected_fields(wikipedia.api):
        missing = {
            template_name(str(one["title"]))
            for one in answer["templates"]
            if one["ns"] == TEMPLATE_NAMESPACE and not one["exists"]
        }
    wikitext = without_templates(page.wikitext, missing)
    if wikitext != page.wikitext:
        page = replace(page, wikitext=wikitext)
        answer = parse_page(wikipedia, _given(page))
    return Rendering(page=page, html=str(answer["text"]))


def _given(page: Page) -> Mapping[str, str]:
    text = {"title": page.title, "text": page.wikitext, "contentmodel": "wikitext"}
    return {**text, "prop": "text|templates"}


def without_templates(wikitext: str, names: Container[str]) -> str:
    """Remove the calls of the templates of these names, and all that is inside these calls.

    >>> without_templates("a {{b|{{c}}}} {{d|{{b}}<!-- {{b}} -->}}{{b", {"B"})
    'a  {{d|<!-- {{b}} -->}}{{b'
    """
    cuts: list[tuple[int, int]] = []
    opened: list[list[int]] = []  # where runs of braces are, and how many of their braces are still open
    closing, position = ClosingTags(wikitext), 0
    while token := TOKEN.search(wikitext, position):
        position = token.end()
        if token[1]:
            position = max(position, closing.end_after(token[1].lower(), position))
        elif token[0].startswith("{"):
            opened.append([token.start(), len(token[0])])
        elif token[0].startswith("}"):
            cuts += _closed(wikitext, opened, token.start(), len(token[0]), names)
    kept, position = list[str](), 0
    for start, end in sorted(cuts):
        if start >= position:
            kept.append(wikitext[position:start])
        position = max(position, end)
    return "".join([*kept, wikitext[position:]])


def _closed(
    wikitext: str, opened: list[list[int]], start: int, count: int, names: Container[str]
) -> list[tuple[int, int]]:
    """Return the calls of these names that a run of closing braces ends."""
    cuts = []
    while opened and count >= 2:
        first, left = opened[-1]
        width = min(left, count, 3)
        start, count, left = start + width, count - width, left - width
        opened[-1][1] = left
        if left < 2:
            opened.pop()
        call = wikitext[first + left : min(start, first + left + LONGEST_NAME)]
        if width == 2 and call_name(call) in names:
            cuts.append((first + left, start))
    return cuts
