"""Pages for the tests of extraction: made-up pages and the shared real ones."""

import bz2
import json
from collections.abc import Iterator
from functools import cache

import regex

from tests.conftest import data
from wikitext_builder.article import Article, Page
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.extraction.page import extract

INVISIBLE = regex.compile(r"[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]|[^\S ]")


def page(wikitext: str, title: str = "Tokyo", number: int = 1) -> Page:
    when = "2016-04-16T17:15:34Z"
    return Page(title=title, page_id=number, revision_id=number, timestamp=when, wikitext=wikitext)


def body(wikitext: str) -> list[str]:
    """The lines between the title and the end, with holes, so that macros can be tried alone."""
    return list(extract(page(wikitext), incomplete="keep").lines[3:-1])


def text(wikitext: str) -> str:
    return " ".join(line for line in body(wikitext) if line)


def has_only_visible_characters(line: str) -> bool:
    """True if a line has no controls, formats, surrogates, private use, and only plain spaces."""
    return INVISIBLE.search(line) is None


@cache
def real_articles(month: str) -> tuple[Article, ...]:
    return tuple(extract(one) for one in real_pages(month))


@cache
def real_pages(month: str) -> tuple[Page, ...]:
    return tuple(_real_pages(month))


def _real_pages(month: str) -> Iterator[Page]:
    for dumped in read_pages(data(f"pages/pages-{month}.xml.bz2")):
        assert isinstance(dumped.content, Page)
        assert dumped.namespace == 0
        yield dumped.content


@cache
def lines_of(wikitext: str) -> tuple[str, ...]:
    return extract(page(wikitext)).lines


def expansions() -> list[dict[str, str]]:
    with bz2.open(data("template_expansions.jsonl.bz2"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
