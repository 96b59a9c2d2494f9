"""What the grammars are fed with: the real templates, and numbers as people write them."""

from __future__ import annotations

import bz2
import random
import re
from functools import cache
from html import unescape

from docs.generate_templates import templates_in
from tests.mediawiki.differential.asking import NEW, OLD


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
    if kind < 3:
        return str(generator.randrange(1, 100))
    if kind < 5:
        return str(generator.randrange(10_000))
    if kind == 5:
        return f"{generator.randrange(1_000, 10_000_000):,}"
    if kind < 8:
        return f"{generator.uniform(0, 10 ** generator.randrange(-2, 4)):.{generator.randrange(1, 4)}f}"
    return generator.choice(
        ["0", "1", "1.0", "2", "10", "100", "0.5", "1000", "0.001", "99.95", "1e6", "2.5e-3"]
    )
