"""Says what the name of a template leads to: a macro, no text on purpose, or neither.

A macro comes from a function of a family's module (`@macro("Convert")`), or from a row of
`data/patterns.tsv`; `data/aliases.tsv` has more names of both, and `data/removed.tsv` those that are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from wikitext_builder.extraction.macros import (  # noqa: F401 - each declares its macros as it is imported
    DECLARED,
    MAX_CACHED_CHARACTERS,
    READS,
    SHARED,
    Call,
    Macro,
    changed,
    convert,
    dates,
    languages,
    lookup,
    macro,
    numbers,
    read_table,
    template_name,
)
from wikitext_builder.extraction.markers import GONE, formula
from wikitext_builder.wiki.languages import with_first


def _visible(written: str) -> str:
    return written.replace("␣", " ").replace("⏎", "\n").replace("∅", GONE)


REFERENCE = re.compile(r"\{([\w|+*-]+)(?::(=?[\w/ ]+))?\}")
OPTIONAL = re.compile("⟦(.*?)⟧")
BELOW_ZERO = re.compile("[-−][0-9]{1,2}")
GIVEN = "\0"  # stands for an argument that the call has and the text does not show
FILTERS: dict[str, Callable[[str], str]] = {
    "grouped": numbers.grouped,
    "minus": lambda value: value.replace("-", "−"),
    "formula": formula,
    "base": lambda value: value.partition(" (")[0],
    "ordinal": lambda value: numbers.ordinal(value) if value.isdecimal() else "",
    "ordinal below zero": lambda value: numbers.ordinal(value[1:]) if BELOW_ZERO.fullmatch(value) else "",
    "decade": lambda value: f"{value[:-1]}0s" if value.isdecimal() else "",
    "upper": str.upper,
    "given": lambda value: value and GIVEN,
    "absent": lambda value: "" if value else GIVEN,
}
JOINS = {name: _visible(joint) for name, joint in lookup("joint").items()}
PAGE: dict[str, Callable[[Call], str]] = {
    "TEMPLATE": lambda call: call.name,
    "PAGENAME": lambda call: call.page.title,
    "PAGENAMEBASE": lambda call: call.page.title.partition(" (")[0],
    "YEAR": lambda call: str(dates.today(call).year),
    "SECOND": lambda call: call.arguments.get("2", call.get("1")),
    "LAST": lambda call: "".join(call.positional()[-1:]),
}
PAGE_READS = {"SECOND": "12", "LAST": "*", **dict.fromkeys(PAGE.keys() - {"SECOND", "LAST"}, "")}
NOTHING: dict[str, str | None] = {"-": "", "?": None}
Value = Callable[[Call], str]


def pattern(written: str) -> Macro:
    """Return the macro of a text with arguments in braces, which the head of `data/patterns.tsv` describes.

    >>> tilde = pattern("~{1:grouped} {unit|2}⟦ ({3+4:comma})⟧ ¦ ?")
    >>> calls = {"1": "1500", "2": "km"}, {"1": "5"}, {"1": "5", "unit": "m", "3": "a", "4": "b"}
    >>> [tilde(Call(name="~", arguments=arguments, page=None)) for arguments in calls]
    ['~1,500 km', None, '~5 m (a, b)']
    """
    *alternatives, last = map(_visible, written.split(" ¦ "))
    if not alternatives and not REFERENCE.search(last):
        return lambda _call: last
    keeps_spaces = "␣" in (written[0], written[-1])

    def filled(call: Call) -> str | None:
        for alternative in alternatives:
            text, is_complete = _filled(alternative, call)
            if is_complete:
                break
        else:
            if last in NOTHING:
                return NOTHING[last]
            text, _ = _filled(last, call)
        return text if keeps_spaces else text.strip(" ")

    return filled


Segments = list[tuple[str, list[tuple[Value, str]]]]  # a text, then arguments, each with the text after it


@cache
def _segments(written: str) -> Segments:
    """Return the pieces that `_filled` joins; every second one is optional."""
    segments: Segments = []
    for piece in OPTIONAL.split(written):
        first, *rest = REFERENCE.split(piece)
        values = map(_value, rest[::3], rest[1::3])
        segments.append((first, list(zip(values, rest[2::3], strict=True))))
    return segments


def _filled(written: str, call: Call) -> tuple[str, bool]:
    """Return the text of a call, and True if it has all arguments that are not optional."""
    text, is_complete = "", True
    for place, (piece, arguments) in enumerate(_segments(written)):
        is_optional, has_all = place % 2 == 1, True
        for value, after in arguments:
            argument = value(call)
            has_all = has_all and bool(argument)
            piece += after if argument == GIVEN else argument + after
        is_complete = is_complete and (has_all or is_optional)
        text += piece if has_all or not is_optional else ""
    return text, is_complete


def _value(written: str, change: str | None) -> Value:
    if written == "*":
        separator = JOINS[change or "space"]
        return lambda call: separator.join(call.given())
    if change in JOINS:
        values, separator = [_value(name, None) for name in written.split("+")], JOINS[change]
        return lambda call: separator.join(filter(None, [value(call) for value in values]))
    names = written.split("|")
    page = PAGE.get(names[-1])
    given: Value = (lambda call: call.get(*names) or page(call)) if page else lambda call: call.get(*names)
    if change in FILTERS:
        filtered = FILTERS[change]
        return lambda call: filtered(given(call))
    if change and change[0] == "=":
        wanted = {*change[1:].split("/")}
        return lambda call: GIVEN if given(call) in wanted else ""
    if change is not None:
        table = languages.LANGUAGE_NAMES if change == "language" else lookup(change)
        return lambda call: _looked_up(table, given(call))
    return given


def _looked_up(table: Mapping[str, str], key: str) -> str:
    """Return the value of a key, which a table may write as given, in lower case, or without spaces."""
    lower = key.lower()
    return table.get(key) or table.get(lower) or table.get(lower.replace(" ", ""), "")


def _declare_tables() -> None:
    for cell, written, shared, source, family in read_table("patterns"):
        names = _names_in(cell)
        PATTERNS.append((names, written, source))
        if family:  # today's text; the row before has the older one
            now = pattern(written)
            DECLARED.update({name: _dated(family, now, DECLARED[name]) for name in names})
        else:
            macro(*names, reads="", shared=bool(shared))(pattern(written))
        READS.update({name: READS[name] | _read_by(written) for name in names})
    for name, redirects, others, _source in read_table("aliases"):
        aliases = [alias for alias in (redirects + "|" + others).split("|") if alias]
        macro(*aliases, reads="|".join(READS[name]), shared=name in SHARED)(DECLARED[name])
        REDIRECTS.update(dict.fromkeys(filter(None, redirects.split("|")), name))
        ALIASES.update(dict.fromkeys(aliases, name))


@cache
def authorities() -> dict[str, str]:
    """Return the sources that show that our texts are those of the templates, by names of templates."""
    sources: dict[str, str] = {}
    for names, written, source in PATTERNS:
        alone = "" if re.search(r"\w", REFERENCE.sub("", written)) else "its arguments alone"
        if (authority := source or alone) not in {"", "?"}:
            sources.update(dict.fromkeys(names, authority))
    for authority, cell in read_table("authorities"):
        sources.update(dict.fromkeys(_all_of(cell), authority))
    return sources | {alias: sources[name] for alias, name in REDIRECTS.items() if name in sources}


def _names_in(cell: str) -> list[str]:
    """Return the names of a row of patterns; for `*table`, all keys of the table that have no macro."""
    if cell[:1] != "*" or cell[:2] == "*|":
        return cell.split("|")
    return [name for key in lookup(cell[1:]) if (name := with_first(key, upper=True)) not in DECLARED]


def _all_of(cell: str) -> list[str]:
    """Return the names in a cell, where `*` ends a beginning of names, and the redirects to them."""
    names: dict[str, None] = {}
    for name in cell.split("|"):
        matching = [key for key in DECLARED if key.startswith(name[:-1])] if name[-1] == "*" else [name]
        names |= dict.fromkeys(matching)
    return [*names, *(alias for alias, name in REDIRECTS.items() if name in names)]


def _dated(family: str, now: Macro, then: Macro) -> Macro:
    return lambda call: (now if changed(call, family) else then)(call)


def _read_by(written: str) -> set[str]:
    """Return the parameters that a text reads, and all numbers below the last; all if it has no words."""
    references = REFERENCE.findall(written)
    if not references and not re.search(r"\w", written):
        return {"**"}
    names = [name for cell, _ in references for name in re.split(r"[|+]", cell)]
    read = {parameter for name in names for parameter in PAGE_READS.get(name, (name,))}
    last = max((int(name) for name in read if name.isdecimal()), default=0)
    return read | set(map(str, range(1, last)))


@lru_cache(maxsize=2**12)
def _parameters(name: str) -> frozenset[str]:
    """Return the parameters that a macro reads, and those that are harmless."""
    return READS[name].union(HARMLESS["*"], HARMLESS.get(name, ()), HARMLESS.get(ALIASES.get(name, ""), ()))


def is_read(name: str, arguments: Mapping[str, str]) -> bool:
    """True if a macro knows what each of these arguments does to the text: no other one has a value.

    >>> is_read("Circa", {"1": "1600", "lk": "no"}), is_read("Circa", {"1": "1600", "era": "BC"})
    (True, False)
    """
    read = _parameters(name)
    if arguments.keys() <= read or "**" in read:
        return True
    given = [key for key, value in arguments.items() if key not in read and value.strip()]
    return not given or ("*" in read and all(map(str.isdecimal, given)))


PATTERNS: list[tuple[list[str], str, str]] = []  # names, text and source of each row of patterns
REDIRECTS: dict[str, str] = {}  # other names of the same templates
ALIASES: dict[str, str] = {}  # these, and the names of other templates that the same macro reads
_declare_tables()
MACROS: dict[str, Macro] = DECLARED
COPIED: dict[str, Macro] = {name: MACROS[name] for name in SHARED}
# Parameters that leave a reader's text as it is, by the name of a template.
HARMLESS = {
    name: cell.split("|")
    for names, cell, _source in read_table("harmless")
    for name in (_all_of(names) if names != "*" else names)
}
OF_MODULES = {(module, function): template for module, function, template, _source in read_table("modules")}


def template_of(module: str, function: str) -> str:
    """Return the template that a function of a module stands for, by `data/modules.tsv`; empty if unknown.

    >>> template_of("flag", "icon"), template_of("Flag", "fb"), template_of("Flag's", "fb")
    ('Flagicon', 'Fb', '')
    """
    name, function = template_name(module), function.replace("_", " ")
    return OF_MODULES.get((name, function)) or template_name(function if (name, "*") in OF_MODULES else "")


# --- removed templates


def _rows(where: str) -> list[str]:
    return [text.replace("␣", " ") for place, text in read_table("removed") if place == where]


REMOVED = frozenset(_rows("name"))
# Families of removed templates, by the beginning or the end of their names.
REMOVED_FAMILIES = re.compile(
    rf"(?:(?:{'|'.join(_rows('word'))})(?=$|[ \d/-])|{'|'.join(_rows('start'))}).*"
    rf"|.*(?:{'|'.join(_rows('end'))})"
)
# Removed templates that are marks in a sentence: notes, doubts, anchors. All others are boxes.
MARKS = re.compile(rf"(?:{'|'.join(_rows('mark'))}).*|.*(?:{'|'.join(_rows('mark end'))})")


def is_removed(name: str) -> bool:
    """Return True if a template of this name gives no text on purpose, where it has no macro.

    Some have a macro only in the English Wikipedia: `{{YouTube}}` is text there, and a box elsewhere.

    >>> is_removed("Infobox person"), is_removed("Reflist"), is_removed("Convert"), is_removed("Shy")
    (True, True, False, False)
    """
    return (_is_removed if len(name) <= MAX_CACHED_CHARACTERS else _is_removed.__wrapped__)(name)


@lru_cache(maxsize=2**14)
def _is_removed(name: str) -> bool:
    return name in REMOVED or (name not in COPIED and REMOVED_FAMILIES.fullmatch(name) is not None)


@cache
def folded_names() -> dict[str, str]:
    """Return the names that we know by their form without capitals, if it is unique; no abbreviations.

    >>> folded_names()["ill"], "ss" in folded_names(), "mrt station" in folded_names()
    ('Ill', False, False)
    """
    names: dict[str, set[str]] = {}
    for name in (*MACROS, *REMOVED):
        if not name[1:].isupper():
            names.setdefault(name.casefold(), set()).add(name)
    macros = {folded: {MACROS.get(name) for name in alike} for folded, alike in names.items()}
    return {folded: min(alike) for folded, alike in names.items() if len(macros[folded]) == 1}


@lru_cache(maxsize=2**12)
def is_mark(name: str) -> bool:
    """Return True if a removed template is a mark in a sentence, not a box between paragraphs.

    >>> is_mark("Citation needed"), is_mark("Quote box")
    (True, False)
    """
    return MARKS.fullmatch(name) is not None
