"""Template calls of pages: where they stand, what a reader sees of removed ones, what others should give."""

from __future__ import annotations

import bz2
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.blocks import cut_lists
from wikitext_builder.extraction.expander import Expander, Templates
from wikitext_builder.extraction.macros.call import template_name
from wikitext_builder.extraction.macros.citations import CITATIONS
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.macros.registry import MACROS, is_removed
from wikitext_builder.extraction.markers import UNKNOWN, LeftOut
from wikitext_builder.extraction.markup import LinkReader, flatten_tags, remove_tables
from wikitext_builder.extraction.page import NO_EXPANSIONS, extract
from wikitext_builder.extraction.preprocessor import Part, resolve
from wikitext_builder.extraction.templates import TemplateReader, is_function
from wikitext_builder.extraction.trim import trim
from wikitext_builder.pages.expansions import expand_calls
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.languages import language_of

CALL = re.compile(r"\{\{\s*+([^\s{}|#][^{}|\n#]{0,99}?)\s*(?=[|}\n])")
REFERENCE = re.compile(r"<ref\b[^<>]*(?<!/)>", re.IGNORECASE)
LETTER = re.compile(r"[^\W_]")
TABLE_MARKS = ("|", "{|")


@dataclass(frozen=True, slots=True)
class _Call:
    name: str  # empty for a parser function
    source: str
    inner: tuple[int, ...]  # the calls in its arguments
    removed: bool  # it gives no text on purpose


@dataclass(slots=True)
class CallPlaces:
    """Counts the template calls of pages, by name and by where they stand.

    >>> text = "It is {{nowrap|{{convert|1|m}} long}}.{{cn}}<ref>{{cite web}}</ref>"
    >>> places = CallPlaces()
    >>> places.add(Page(title="A", page_id=1, revision_id=1, timestamp="", wikitext=text), "en")
    ['{{cn}}']
    >>> places.text == {"Nowrap": 1, "Convert": 1}, places.references == {"Cite web": 1}
    (True, True)
    """

    text: Counter[str] = field(default_factory=Counter)  # in running text, also in a call that stands there
    removed: Counter[str] = field(default_factory=Counter)  # in a sentence, without text on purpose
    alone: Counter[str] = field(default_factory=Counter)  # without text on purpose, in lines of their own
    references: Counter[str] = field(default_factory=Counter)
    all: Counter[str] = field(default_factory=Counter)

    def add(self, page: Page, language: str) -> list[str]:
        """Count in the calls of a page. Return the calls in sentences that give no text on purpose."""
        self.all.update(names_of_calls(page.wikitext))
        for piece in REFERENCE.split(page.wikitext)[1:]:
            inside, end, _ = piece.partition("</ref")
            self.references.update(names_of_calls(inside if end else ""))
        found = []
        for call, in_sentence in _placed(page, language):
            if not call.removed:
                self.text.update([call.name] if call.name else [])
            elif in_sentence:
                self.removed[call.name] += 1
                found.append(call.source)
            else:
                self.alone[call.name] += 1
        return found

    def totals(self) -> dict[str, int]:
        """The number of calls by place."""
        return {one.name: getattr(self, one.name).total() for one in fields(self)}


def names_of_calls(wikitext: str) -> list[str]:
    """The names of all template calls in a wikitext, wherever they stand.

    >>> names_of_calls("{{convert|1|m}} {{Convert |{{x}}}}")
    ['Convert', 'Convert', 'X']
    """
    return [template_name(name) for name in CALL.findall(wikitext)]


def calls_in_text(page: Page, language: str) -> list[str]:
    """The wikitext of the template calls in running text, also in other calls there; not those without text.

    >>> text = "It is {{nowrap|{{abbr|a|b}}}}.{{cn}}<ref>{{cite web}}</ref>"
    >>> calls_in_text(Page(title="A", page_id=1, revision_id=1, timestamp="", wikitext=text), "en")
    ['{{nowrap|{{abbr|a|b}}}}', '{{abbr|a|b}}']
    """
    return [call.source for call, _ in _placed(page, language) if call.name and not call.removed]


def _placed(page: Page, language: str) -> Iterator[tuple[_Call, bool]]:
    """The calls outside of references, tables and removed sections, and whether each stands in a sentence."""
    reader = _Reader(page, language)
    for line in reader.lines():
        marks = [int(number) for number in UNKNOWN.findall(line)]
        shown = not all(reader.calls[one].removed for one in marks)
        in_sentence = shown or LETTER.search(UNKNOWN.sub("", line)) is not None
        while marks:
            call = reader.calls[marks.pop()]
            if not call.removed:
                marks += call.inner
            yield call, in_sentence


class _Reader:
    """Leaves a mark for each template call of a page, with the calls inside of it."""

    def __init__(self, page: Page, language: str) -> None:
        self.page = page
        self.names = language_of(language)
        self.read_link = LinkReader(self.names)
        self.marks = LeftOut()
        self.calls: list[_Call] = []
        self.known = TemplateReader(
            page=page,
            expansions=NO_EXPANSIONS,
            left_out=self.marks,
            read_link=self.read_link,
            language=language,
        )

    def lines(self) -> list[str]:
        """The lines of running text that have a mark."""
        text = cut_lists(trim(self.page.wikitext), self.names.removed_sections)
        text = resolve(text, read_template=self, read_link=self.read_link)
        return [line for line in remove_tables(flatten_tags(text)).split("\n") if UNKNOWN.search(line)]

    def __call__(self, parts: list[Part], source: str) -> str:
        """The mark of a call; pieces of tables come out as they are."""
        first = parts[0].text().strip()
        name = "" if is_function(first, parts) else template_name(first)
        macro = self.known.macro(name)
        if len(parts) == 1 and (macro is not None or not name):  # `{{!}}` is a variable
            shown = self.known.known_text(name, dict) if name else self.known.function(first, parts)
            if shown and shown.startswith(TABLE_MARKS):
                return shown
        inner = tuple(int(number) for part in parts for number in UNKNOWN.findall(part.text()))
        removed = bool(name) and macro is None and is_removed(name)
        self.calls.append(_Call(name, source, inner, removed))
        return self.marks.mark(source)


CHECKS = 3  # calls of each template that are expanded
# Marks of references and of editors, which are small and raised: `[1]`, `: 35`, `[citation needed]`.
RAISED = re.compile(
    r"<sup\b[^<>]*\b(?:reference|noprint|Inline-Template)\b[^<>]*>(?:(?!</?sup).)*</sup>",
    re.IGNORECASE | re.DOTALL,
)
MARK = re.compile(r"\[[^\[\]]{1,60}\]|:.{1,60}")
# The wikitext that calls stand for, where it is known.
Expand = Callable[[Page, Sequence[str]], Mapping[str, str]]


@dataclass(slots=True)
class RemovedTemplate:
    """A template that gives no text on purpose, and stands in sentences."""

    name: str
    calls: int = 0  # in sentences
    checked: int = 0  # calls whose text is known, at most three
    seen: int = 0  # those of them whose text a reader sees
    wikitext: str = ""  # an example of these, and its text
    text: str = ""


@dataclass(slots=True)
class RemovedCheck:
    """Checks removed calls over pages, one page at a time."""

    expand: Expand
    language: str
    _found: dict[str, RemovedTemplate] = field(default_factory=dict)

    def add(self, page: Page, calls: Sequence[str]) -> None:
        """Count the removed calls in sentences of one page, and check some."""
        names = {call: call_name(call) for call in calls}
        for name, count in Counter(names[call] for call in calls).items():
            self._found.setdefault(name, RemovedTemplate(name)).calls += count
        asked = [call for call, name in names.items() if self._found[name].checked < CHECKS]
        for call, wikitext in (self.expand(page, asked) if asked else {}).items():
            one = self._found[names[call]]
            if one.checked < CHECKS:
                one.checked += 1
                if text := visible_text(wikitext, page, self.language):
                    one.seen += 1
                    one.wikitext, one.text = call, text

    def result(self) -> tuple[RemovedTemplate, ...]:
        """All templates, those with text that a reader sees first, then the most frequent."""
        return tuple(sorted(self._found.values(), key=lambda one: (-one.seen, -one.calls, one.name)))


def visible_text(wikitext: str, page: Page, language: str) -> str:
    """The text in a sentence that an expanded call shows; empty for marks of references and editors.

    >>> page = Page(title="A", page_id=1, revision_id=1, timestamp="", wikitext="")
    >>> visible_text("<sup class='reference'>: 35</sup>", page, "en"), visible_text("'''Ox'''", page, "en")
    ('', 'Ox')
    """
    try:
        article = extract(replace(page, wikitext=RAISED.sub("", wikitext)), language=language)
    except RejectedError:
        return ""
    text = " ".join(line for line in article.lines[3:] if line)
    return "" if MARK.fullmatch(text) else text


def expand_with(templates: Templates | None, wikipedia: Wikipedia | None, language: str) -> Expand:
    """What expands calls: the templates of a store first, then a wiki."""

    def texts(page: Page, calls: Sequence[str]) -> Iterator[tuple[str, str]]:
        known: dict[str, str] = {}
        if templates is not None:
            known, _ = Expander(page, templates, language=language).expanded(calls)
            yield from known.items()
        if wikipedia is not None:
            rest = tuple(call for call in calls if call not in known)
            yield from expand_calls(wikipedia, page, rest).texts.items()

    return lambda page, calls: dict(texts(page, calls))


INVOKED = re.compile(r"\{\{\s*+#invoke:([^{}|]*)[|}]")
PIECE = "(a piece of a page)"  # in place of a name, if the wikitext is not one call
BRACES = re.compile(r"\{\{|\}\}")
OF_THE_TITLE = "Coordinates:"  # begins coordinates beside the title, which are in no line
INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")
# Rendered text for editors, listeners and references, which is in no line of ours.
FOR_EDITORS = re.compile(r"\[update\]|\(listen\)|\[[\w ]+ needed\]|\[\d{1,3}\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedCall:
    """A template call and what Wikipedia rendered for it."""

    wikitext: str
    text: str
    page: str


@dataclass(slots=True, kw_only=True)
class TemplateShare:
    """How many calls of one template give the expected text."""

    name: str
    kind: str  # text or citation (a macro), removed (no text is expected, except in sentences) or unknown
    calls: int = 0
    equal: int = 0
    weight: int = 0  # calls in running text of the pages; without pages, the number of calls in the file
    differences: list[tuple[str, str, str]] = field(default_factory=list)  # wikitext, ours, theirs


def read_calls(path: Path) -> Iterator[RenderedCall]:
    """The calls of a file of JSON lines, plain or compressed with bzip2."""
    try:
        data = path.read_bytes()
        lines = (bz2.decompress(data) if path.suffix == ".bz2" else data).decode().splitlines()
        for record in map(json.loads, lines):
            text, wikitext = str(record["text"]), str(record["wikitext"])
            yield RenderedCall(wikitext=wikitext, text=text, page=str(record.get("page", "")))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BuilderError(
            f"{path}: {type(error).__name__}: {error}; expected JSON lines with wikitext, text and page,"
            " plain or .bz2"
        ) from error


def compare_calls(
    calls: Iterable[RenderedCall], *, language: str = "en", places: CallPlaces | None = None
) -> list[TemplateShare]:
    """How many calls give what Wikipedia rendered, by template, the most frequent first.

    White space is collapsed. Boxes, navigation and marks are expected to give no text; but if most calls of
    such a template stand in sentences of the pages, the text that a reader sees is expected. Without `places`
    each call of the file counts once.
    """
    found: dict[str, TemplateShare] = {}
    for call in calls:
        name = _name(call.wikitext.strip())
        share = found.setdefault(name, TemplateShare(name=name, kind=_kind(name)))
        ours, expected = _text_of(call, language), _collapse(call.text)
        in_sentences = places is not None and places.removed[name] > places.alone[name]  # most of them
        is_seen = in_sentences and not MARK.fullmatch(expected)
        if call.text.startswith(OF_THE_TITLE) or (share.kind == "removed" and not is_seen):
            expected = ""
        share.calls += 1
        share.equal += ours == expected
        if ours != expected:
            share.differences.append((call.wikitext, ours, expected))
    for share in found.values():
        share.weight = share.calls
        if places is not None:
            share.weight = (places.removed if share.kind == "removed" else places.text)[share.name]
    return sorted(found.values(), key=lambda one: (-one.weight, one.name))


def _text_of(call: RenderedCall, language: str) -> str:
    """The text of a call by our macros, on one line."""
    page = Page(
        title=call.page.replace("_", " ") or "A",
        page_id=1,
        revision_id=1,
        timestamp="2022-01-01T00:00:00Z",
        wikitext=call.wikitext,
    )
    return _collapse(" ".join(line for line in extract(page, language=language).lines[3:] if line))


def _collapse(text: str) -> str:
    """The text with single spaces, without invisible characters and marks for editors.

    >>> _collapse("10\u00a0km\u200b [update]")
    '10 km'
    """
    visible = FOR_EDITORS.sub("", INVISIBLE.sub("", unicodedata.normalize("NFC", text)))
    return " ".join(visible.split())


def _name(wikitext: str) -> str:
    if not _is_one_call(wikitext):
        return PIECE
    if match := INVOKED.match(wikitext):
        return f"#invoke:{match[1].strip()}"
    return call_name(wikitext)


def _is_one_call(wikitext: str) -> bool:
    """True if the text opens with braces that are closed at its end, and not before."""
    if not wikitext.startswith("{{"):
        return False
    depth = 0
    for braces in BRACES.finditer(wikitext):
        depth += 1 if braces[0] == "{{" else -1
        if depth <= 0:
            return depth == 0 and braces.end() == len(wikitext)
    return False


def _kind(name: str) -> str:
    name = template_name(name.removeprefix("#invoke:"))
    if name in MACROS:
        return "citation" if name in CITATIONS else "text"
    return "removed" if is_removed(name) else "unknown"


def weighted_share(found: Iterable[TemplateShare]) -> float:
    """The share of equal calls, with each template weighted by its `weight`."""
    found = [one for one in found if one.weight]
    total = sum(one.weight for one in found)
    return sum(one.weight * one.equal / one.calls for one in found) / total if total else 1.0
