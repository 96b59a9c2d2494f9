"""What the grammars are fed with: the real templates, and numbers as people write them."""

from __future__ import annotations

import bz2
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from html import unescape
from pathlib import Path

from tests.mediawiki.differential.asking import NEW, OLD
from wikitext_builder.article import Page
from wikitext_builder.dumps.importing import TEMPLATE
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import template_name
from wikitext_builder.extraction.preprocessor import Part, resolve
from wikitext_builder.extraction.trim import trim


def pages_of(paths: Iterable[Path]) -> Iterator[Page]:
    """The pages of exports that could be read."""
    for path in paths:
        yield from (one.content for one in read_pages(path) if isinstance(one.content, Page))


def templates_in(path: Path) -> dict[str, str]:
    """The templates of an export by name."""
    found = (one.content for one in read_pages(path) if one.namespace == TEMPLATE)
    return {
        template_name(one.title.partition(":")[2]): one.wikitext for one in found if isinstance(one, Page)
    }


def calls_of(page: Page, templates: Mapping[str, str]) -> list[tuple[str, str]]:
    """The names and the wikitext of all calls of these templates in a page."""
    calls: list[tuple[str, str]] = []

    def note(parts: list[Part], source: str) -> str:
        name = template_name(parts[0].text())
        calls.extend([(name, source)] if name in templates else [])
        return ""

    with suppress(RejectedError):
        resolve(trim(page.wikitext), note, lambda _parts: "")
    return calls


@cache
def module(title: str) -> str:
    """The source of a Lua module, the newest one; the dump's reader skips modules."""
    for path in (NEW, OLD):
        _, found, source = bz2.decompress(path.read_bytes()).decode().partition(f"<title>{title}</title>")
        if found and (text := re.search(r"<text[^>]*>(.*?)</text>", source, re.DOTALL)):
            return unescape(text[1])
    raise LookupError(f"expected {title} in {OLD} or {NEW}")


@cache
def templates() -> dict[str, str]:
    """The wikitext of the real templates by name."""
    return templates_in(OLD) | templates_in(NEW)


def call_of(parts: list[str]) -> str:
    """A call of a name and arguments."""
    return "{{" + "|".join(parts) + "}}"


def some_number(generator: random.Random) -> str:
    """A number as people write it."""
    kind = generator.randrange(10)
    if kind < 5:
        return str(generator.randrange(1, 100) if kind < 3 else generator.randrange(10_000))
    if kind == 5:
        return f"{generator.randrange(1_000, 10_000_000):,}"
    if kind < 8:
        return f"{generator.uniform(0, 10 ** generator.randrange(-2, 4)):.{generator.randrange(1, 4)}f}"
    return generator.choice(
        ["0", "1", "1.0", "2", "10", "100", "0.5", "1000", "0.001", "99.95", "1e6", "2.5e-3"]
    )
