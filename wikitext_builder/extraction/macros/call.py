"""Call: a template call whose arguments are plain text; Macro: a function from a call to its text.

`template_name` is the one rule for the name of a template, which counts, lookups and comparisons share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from wikitext_builder.article import Page
from wikitext_builder.extraction.macros import read_table
from wikitext_builder.wiki.languages import LANGUAGES, with_first

LONGEST_KEY = 300  # characters; a title has 255 bytes at most, and a longer name is not worth its memory
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)  # without an end it runs to the end, as in MediaWiki
MODIFIERS = re.compile(r"(?:(?:safesubst|subst|msgnw|msg|raw) ?: ?)+", re.IGNORECASE)
_NAMESPACES = sorted({name for one in LANGUAGES.values() for name in one.template_namespaces})
NAMESPACE = re.compile(rf"(?:: ?)?(?:{'|'.join(map(re.escape, _NAMESPACES))}) ?: ?", re.IGNORECASE)


def template_name(name: str) -> str:
    """The name of a template, from what stands before the first bar of a call, or from its title.

    It has no namespace, no `subst:`, no comments, single spaces and a capital first letter. A colon in front
    stays: `{{:Tokyo}}` transcludes the article, not a template.

    >>> template_name("Template:birth_date and  age"), template_name("subst:Vorlage:lang-de<!-- x -->")
    ('Birth date and age', 'Lang-de')
    >>> template_name(": tokyo"), template_name("Wikipedia:Help")
    (':Tokyo', 'Wikipedia:Help')
    """
    return (_template_name if len(name) <= LONGEST_KEY else _template_name.__wrapped__)(name)


@lru_cache(maxsize=2**14)
def _template_name(name: str) -> str:
    if "<!--" in name:
        name = COMMENT.sub("", name)
    name = " ".join(name.replace("_", " ").split())
    start = 0
    if ":" in name:
        for prefix in (MODIFIERS, NAMESPACE):
            if match := prefix.match(name, start):
                start = match.end()
        name = name[start:]
        if name.startswith(":") and name != ":":
            return ":" + with_first(name[1:].lstrip(), upper=True)
    return with_first(name, upper=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A template call: its name as registered, its arguments by name or number."""

    name: str
    arguments: Mapping[str, str]
    page: Page

    def get(self, *names: str) -> str:
        """The first of these arguments that is not empty, without outer spaces; else an empty text."""
        for name in names:
            if value := self.arguments.get(name, "").strip():
                return value
        return ""

    def positional(self) -> list[str]:
        """The arguments 1, 2, … up to the first missing one, without outer spaces."""
        values: list[str] = []
        while (value := self.arguments.get(str(len(values) + 1))) is not None:
            values.append(value.strip())
        return values

    def given(self) -> list[str]:
        """The numbered arguments that are not empty."""
        return [value for value in self.positional() if value]

    def numbered(self, last: int, first: int = 1) -> list[str]:
        """The arguments from one number to another; a missing one is empty."""
        return [self.get(str(number)) for number in range(first, last + 1)]


def series(items: list[str], last: str = " and ") -> str:
    """The items with commas between them and a word before the last one.

    >>> series(["a", "b", "c"]), series(["a", "b"], " & "), series(["a"]), series([])
    ('a, b and c', 'a & b', 'a', '')
    """
    return last.join(filter(None, (", ".join(items[:-1]), *items[-1:])))


CHANGES = {family: since for family, since, _source in read_table("changes")}


def changed(call: Call, family: str) -> bool:
    """True if a family of templates already had today's text when the page was saved, by `changes.tsv`.

    Wikitext without a time has the text of 2016, the time of the official files.
    """
    return call.page.timestamp >= CHANGES[family]


# The wikitext that the call stands for; None if the macro does not know it.
Macro = Callable[[Call], str | None]
AnyMacro = TypeVar("AnyMacro", bound=Macro)

DECLARED: dict[str, Macro] = {}  # by `macro`; `registry.MACROS` has those of the tables too
SHARED: set[str] = set()  # names that the other Wikipedias have copied


def macro(*names: str, shared: bool = False) -> Callable[[AnyMacro], AnyMacro]:
    """Registers a macro under the names of its templates, each with a capital first letter.

    Args:
        names: The templates; other names of the same ones stand in `data/aliases.tsv`.
        shared: The other Wikipedias have copied the templates, and their text has no English words.

    Raises:
        ValueError: A name has a macro already.
    """

    def register(function: AnyMacro) -> AnyMacro:
        if known := [name for name in names if name in DECLARED]:
            raise ValueError(f"two macros for {', '.join(known)}; expected one")
        DECLARED.update(dict.fromkeys(names, function))
        if shared:
            SHARED.update(names)
        return function

    return register


def text(value: str) -> Macro:
    """A macro that always gives this text."""
    return lambda _call: value
