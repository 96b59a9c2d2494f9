"""What the name of a template leads to: a macro, nothing on purpose, or neither.

A macro comes from a function of a family's module (`@macro("Convert")`), or from a row of
`data/patterns.tsv`; `data/aliases.tsv` has more names of both, and `data/removed.tsv` those that are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from wikitext_builder.extraction.macros import (
    citations,
    convert,
    dates,
    languages,
    numbers,
    places,
    read_table,
    references,
    science,
    wrappers,
)
from wikitext_builder.extraction.macros.call import (
    DECLARED,
    LONGEST_KEY,
    SHARED,
    Call,
    Macro,
    argument,
    macro,
    text,
)
from wikitext_builder.extraction.markers import formula

# Each declares its macros as it is imported.
MODULES = (
    citations, convert, dates, languages, numbers, places, references, science, wrappers,
)  # fmt: skip
REFERENCE = re.compile(r"\{([\w|-]+)(?::(\w+))?\}")
FILTERS: dict[str, Callable[[str], str]] = {
    "grouped": numbers.grouped,
    "minus": lambda value: value.replace("-", "−"),
    "formula": formula,
}
PAGE: dict[str, Callable[[Call], str]] = {
    "TEMPLATE": lambda call: call.name,
    "PAGENAME": lambda call: call.page.title,
    "PAGENAMEBASE": lambda call: call.page.title.partition(" (")[0],
}


def pattern(written: str, without: str = "") -> Macro:
    """The macro of a text with arguments in braces.

    `{2|1}` is the first of these arguments that is not empty, `{1:grouped}` one with commas between
    thousands, and `{PAGENAME}` the title of the page. `␣` is a space at an end, `⏎` a new line.

    Args:
        written: The text.
        without: What the call gives if the last argument of the text is empty: `-` nothing, `?` it is
            unknown, or this text; by default the text without it.

    >>> tilde = pattern("~{1:grouped} {unit|2}", "?")
    >>> [tilde(Call(name="~", arguments=one, page=None)) for one in ({"1": "1500", "2": "km"}, {"1": "5"})]
    ['~1,500 km', None]
    """
    first, *pieces = REFERENCE.split(written)
    if not pieces:
        return text(_visible(first))
    names = [piece.split("|") for piece in pieces[::3]]
    if REFERENCE.fullmatch(written) and not pieces[1] and not without and names[0][-1] not in PAGE:
        return argument(*names[0])
    filters = [FILTERS[piece] if piece else str for piece in pieces[1::3]]
    texts = [_visible(piece) for piece in pieces[2::3]]
    instead = {"-": "", "?": None}.get(without, without)
    before = _visible(first)

    def filled(call: Call) -> str | None:
        values = [_value(call, one) for one in names]
        if without and not values[-1]:
            return instead
        parts = zip(values, filters, texts, strict=True)
        inner = "".join(change(value) + after for value, change, after in parts)
        shown = before + inner
        return shown if written[0] == "␣" or written[-1] == "␣" else shown.strip(" ")

    return filled


def _visible(written: str) -> str:
    return written.replace("␣", " ").replace("⏎", "\n")


def _value(call: Call, names: list[str]) -> str:
    value = call.get(*names)
    return PAGE[names[-1]](call) if not value and names[-1] in PAGE else value


def _declare_tables() -> None:
    for names, written, without, shared, _source in read_table("patterns"):
        macro(*names.split("|"), shared=bool(shared))(pattern(written, without))
    for name, redirects, others in read_table("aliases"):
        aliases = [alias for alias in (redirects + "|" + others).split("|") if alias]
        macro(*aliases, shared=name in SHARED)(DECLARED[name])
        REDIRECTS.update(dict.fromkeys(filter(None, redirects.split("|")), name))


REDIRECTS: dict[str, str] = {}  # other names of the same templates
_declare_tables()
MACROS: dict[str, Macro] = DECLARED
COPIED: dict[str, Macro] = {name: MACROS[name] for name in SHARED}


# --- removed templates


def _rows(where: str) -> list[str]:
    return [text.replace("␣", " ") for one, text in read_table("removed") if one == where]


REMOVED = frozenset(_rows("name"))
# Families of removed templates, by the beginning or the end of their names.
REMOVED_FAMILIES = re.compile(
    rf"(?:(?:{'|'.join(_rows('word'))})(?=$|[ \d/-])|{'|'.join(_rows('start'))}).*"
    rf"|.*(?:{'|'.join(_rows('end'))})"
)
# Removed templates that are marks in a sentence: notes, doubts, anchors. All others are boxes.
MARKS = re.compile(
    r"(?:Sf[nb]|Efn|Harv|Ref|Rp?$|RP$|Notetag|Note|Cref|Fn|Cite|Citation|Vcite|Anchor|Fact|Cn$|Mcn$|Vague|"
    r"Clarif|Dubious|Disputed|By whom|Who|When|Where|Which|Why|How|Failed|Verify|Better|Unreliable|Dead|"
    r"Update|Webarchive|Wayback|Shy).*|"
    r".*(?:-inline| inline| needed|\?|-fn)"
)


def is_removed(name: str) -> bool:
    """True if a template of this name gives no text on purpose, in a Wikipedia that has no macro for it.

    Some have a macro of the English Wikipedia alone: `{{YouTube}}` is text there, and a box elsewhere.

    >>> is_removed("Infobox person"), is_removed("Reflist"), is_removed("Convert"), is_removed("Shy")
    (True, True, False, False)
    """
    return (_is_removed if len(name) <= LONGEST_KEY else _is_removed.__wrapped__)(name)


@lru_cache(maxsize=2**14)
def _is_removed(name: str) -> bool:
    return name in REMOVED or (name not in COPIED and REMOVED_FAMILIES.fullmatch(name) is not None)


@lru_cache(maxsize=2**12)
def is_mark(name: str) -> bool:
    """True if a removed template is a mark in a sentence, and not a box between paragraphs.

    >>> is_mark("Citation needed"), is_mark("Quote box")
    (True, False)
    """
    return MARKS.fullmatch(name) is not None
