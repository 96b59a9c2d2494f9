"""CallPlaces: where the template calls of pages stand: in running text, in references, or elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

from wikitext_builder.article import Page
from wikitext_builder.extraction.links import LinkReader
from wikitext_builder.extraction.markers import UNKNOWN, LeftOut
from wikitext_builder.extraction.names import template_name
from wikitext_builder.extraction.preprocessor import Part, resolve
from wikitext_builder.extraction.sections import cut_lists
from wikitext_builder.extraction.tables import remove_tables
from wikitext_builder.extraction.tags import flatten_tags
from wikitext_builder.extraction.templates import TemplateReader, is_function
from wikitext_builder.extraction.trim import trim
from wikitext_builder.wiki.languages import language_of

CALL = re.compile(r"\{\{\s*+([^\s{}|#][^{}|\n#]{0,99}?)\s*(?=[|}\n])")
REFERENCE = re.compile(r"<ref\b[^<>]*(?<!/)>", re.IGNORECASE)
LETTER = re.compile(r"[^\W_]")
TABLE_MARKS = ("|", "{|")
NO_EXPANSIONS: Mapping[str, str] = MappingProxyType({})


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

    def stands_in_sentences(self, name: str) -> bool:
        """True if most calls of a template that gives no text stand in sentences."""
        return self.removed[name] > self.alone[name]


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
        if len(parts) == 1 and macro is not None:
            shown = self.known.known_text(name, dict) or ""
            if shown.startswith(TABLE_MARKS):
                return shown
        inner = tuple(int(number) for part in parts for number in UNKNOWN.findall(part.text()))
        removed = bool(name) and macro is None and self.known.is_removed(name)
        self.calls.append(_Call(name, source, inner, removed))
        return self.marks.mark(source)
