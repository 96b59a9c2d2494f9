"""Macros: the text of templates. `registry.MACROS` has them all, by the name of the template.

A macro is a function from a call to its text. Texts with arguments are rows of `data/patterns.tsv`; a macro
that computes is a function of its family's module, with its names in the decorator `@macro`. `template_name`
is the one rule for the name of a template, which counts, lookups and comparisons share. The functions that
read tables read those in `data/`: tab-separated files with a line of column names after the comments.

`convert` is Module:Convert: `convert_arguments` reads the numbers and options of a call, `convert_units` has
the units of `data/convert/`, `convert_rounding` converts and decides the number of digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TypeVar

from wikitext_builder.article import Page
from wikitext_builder.wiki.languages import LANGUAGES, with_first


def read_table(name: str) -> list[list[str]]:
    """Return the rows of a table; empty cells at the end may be missing.

    Raises:
        ValueError: A row has more cells than the table has columns, or its first cell is empty.
    """
    path = files("wikitext_builder.extraction.macros") / "data" / f"{name}.tsv"
    text = path.read_text(encoding="utf-8")
    columns, *rows = [line.split("\t") for line in text.splitlines() if line[:2] != "# "]
    for place, row in enumerate(rows):
        if not row[0] or len(row) > len(columns):
            raise ValueError(f"{path}: expected a name and at most {len(columns)} cells: {row}")
        if len(row) < len(columns):
            rows[place] = row + [""] * (len(columns) - len(row))
    return rows


@cache
def _by_kind(table: str) -> dict[str, list[list[str]]]:
    rows: dict[str, list[list[str]]] = {}
    for kind, *cells in read_table(table):
        rows.setdefault(kind, []).append(cells)
    return rows


def lookup(kind: str) -> dict[str, str]:
    """Return the values of one kind in `lookups.tsv` by their keys, such as symbols by elements.

    >>> lookup("element")["iron"], lookup("country")["NED"]
    ('Fe', 'Netherlands')
    """
    return {key: value.replace("␣", " ") for key, value in _by_kind("lookups")[kind]}


def words(name: str) -> tuple[str, ...]:
    """Return the words of a set of `words.tsv`, in order.

    >>> words("months")[:2]
    ('January', 'February')
    """
    return tuple(word for (text,) in _by_kind("words")[name] for word in text.split())


MAX_CACHED_CHARACTERS = 300  # of a name; titles have 255 bytes at most
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)  # without an end it runs to the end, as in MediaWiki
MODIFIERS = re.compile(r"(?:(?:safesubst|subst|msgnw|msg|raw) ?: ?)+", re.IGNORECASE)
_NAMESPACES = sorted({name for wiki in LANGUAGES.values() for name in wiki.template_namespaces})
NAMESPACE = re.compile(rf"(?:: ?)?(?:{'|'.join(map(re.escape, _NAMESPACES))}) ?: ?", re.IGNORECASE)


def template_name(name: str) -> str:
    """Return the name of a template from its title, or from the text before the first bar of a call.

    The name has no namespace, `subst:` or comments, but single spaces and a capital first letter. A colon in
    front stays: `{{:Tokyo}}` transcludes the article, not a template.

    >>> template_name("Template:birth_date and  age"), template_name("subst:Vorlage:lang-de<!-- x -->")
    ('Birth date and age', 'Lang-de')
    >>> template_name(": tokyo"), template_name("Wikipedia:Help")
    (':Tokyo', 'Wikipedia:Help')
    """
    return (_template_name if len(name) <= MAX_CACHED_CHARACTERS else _template_name.__wrapped__)(name)


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
        """Return the first of these arguments that is not empty, without outer spaces; else an empty text."""
        for name in names:
            if value := self.arguments.get(name, "").strip():
                return value
        return ""

    def positional(self) -> list[str]:
        """Return the arguments 1, 2, … up to the first missing one, without outer spaces."""
        values: list[str] = []
        while (value := self.arguments.get(str(len(values) + 1))) is not None:
            values.append(value.strip())
        return values

    def given(self) -> list[str]:
        """Return the numbered arguments that are not empty."""
        return [value for value in self.positional() if value]

    def numbered(self, last: int, first: int = 1) -> list[str]:
        """Return the arguments from one number to another; missing ones are empty."""
        return [self.get(str(number)) for number in range(first, last + 1)]


def series(items: list[str], last: str = " and ") -> str:
    """Join items with commas, and with a word before the last one.

    >>> series(["a", "b", "c"]), series(["a", "b"], " & "), series(["a"]), series([])
    ('a, b and c', 'a & b', 'a', '')
    """
    return last.join(filter(None, (", ".join(items[:-1]), *items[-1:])))


CHANGES = {family: since for family, since, _source in read_table("changes")}


def changed(call: Call, family: str) -> bool:
    """Return True if a family of templates already had today's text at the page's date, by `changes.tsv`.

    Wikitext without a time has the text of 2016, the time of the official files.
    """
    return call.page.timestamp >= CHANGES[family]


# Returns the wikitext that the call stands for; None if it is unknown.
Macro = Callable[[Call], str | None]
AnyMacro = TypeVar("AnyMacro", bound=Macro)

DECLARED: dict[str, Macro] = {}  # by `macro`; `registry.MACROS` has those of the tables too
READS: dict[str, frozenset[str]] = {}  # the parameters that each of them reads
SHARED: set[str] = set()  # names that the other Wikipedias have copied


def macro(*names: str, reads: str, shared: bool = False) -> Callable[[AnyMacro], AnyMacro]:
    """Register a macro under the names of its templates, each with a capital first letter.

    Args:
        names: The templates; `data/aliases.tsv` has other names of them.
        reads: The parameters that the macro reads, separated by bars: `*` for numbered ones, `**` for all.
            The text of a call with any other parameter is unknown.
        shared: The other Wikipedias have copied the templates, and their text has no English words.

    Raises:
        ValueError: A name has a macro already.
    """

    def register(function: AnyMacro) -> AnyMacro:
        if repeated := [name for name in names if name in DECLARED]:
            raise ValueError(f"two macros for {', '.join(repeated)}; expected one")
        DECLARED.update(dict.fromkeys(names, function))
        READS.update(dict.fromkeys(names, frozenset(reads.split("|"))))
        if shared:
            SHARED.update(names)
        return function

    return register
