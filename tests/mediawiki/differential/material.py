"""What the grammars are fed with: the real templates, and the real calls of the shared pages."""

from __future__ import annotations

import bz2
import json
import random
import re
from collections.abc import Sequence
from functools import cache
from html import unescape

from docs.generate_templates import calls_of, pages_of, templates_in
from tests.mediawiki.differential.asking import NEW, OLD, folder

LONGEST = 400  # characters of a real call that is used
NUMBER = re.compile(r"\d+(?:\.\d+)?")


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


@cache
def real_calls() -> dict[str, list[str]]:
    """The calls in the shared pages by name of the template, each once, without calls and tags in it.

    They are kept in a file.
    """
    path = folder("2026") / "calls.json"
    if not path.exists():
        calls: dict[str, dict[str, None]] = {}
        for page in pages_of(sorted(file for set_ in (OLD, NEW) for file in set_.parent.glob("pages-*.bz2"))):
            for name, call in calls_of(page, templates()):
                if len(call) <= LONGEST and "{{" not in call[2:] and "<" not in call:
                    calls.setdefault(name, {})[call] = None
        path.write_text(json.dumps({name: [*texts] for name, texts in calls.items()}), encoding="utf-8")
    kept: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def arguments_of(call: str) -> list[str]:
    """The name and the arguments of a call as they are written; a link's bar does not split."""
    inner = re.sub(r"\[\[[^\[\]]*\]\]", lambda link: link[0].replace("|", "\0"), call[2:-2])
    return [part.replace("\0", "|") for part in inner.split("|")]


def call_of(parts: list[str]) -> str:
    """A call of a name and arguments."""
    return "{{" + "|".join(parts) + "}}"


def mutated(
    generator: random.Random, calls: list[str], options: list[str], changes: Sequence[int] = range(6)
) -> str:
    """A real call with one to three changes.

    Args:
        generator: Decides.
        calls: Real calls of a template.
        options: Arguments that can be added.
        changes: Which changes are made; 0 drops an argument, 1 adds one of another call, 2 replaces one with
            one of another call, 3 changes a number, 4 and 5 add an option.
    """
    parts = arguments_of(generator.choice(calls))
    for _ in range(generator.randrange(1, 4)):
        kind = generator.choice(changes)
        place = generator.randrange(1, len(parts)) if len(parts) > 1 else 0
        if kind == 0 and len(parts) > 2:
            del parts[place]
        elif kind == 1:
            other = arguments_of(generator.choice(calls))
            if len(other) > 1:
                parts.insert(generator.randrange(1, len(parts) + 1), generator.choice(other[1:]))
        elif kind == 2 and place:
            other = arguments_of(generator.choice(calls))
            if len(other) > 1:
                parts[place] = generator.choice(other[1:])
        elif kind == 3 and place:
            parts[place] = NUMBER.sub(lambda _: some_number(generator), parts[place], count=1)
        elif options:
            parts.append(generator.choice(options))
    return call_of(parts)


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
