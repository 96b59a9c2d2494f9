"""Counts plain words of wikitext that do not come out, for pages without a reference.

Plain words stand between markup, and are read without the code of extraction: by a simple reader on purpose,
which counts only what every reader of the page certainly sees. What templates, tables, references,
pictures, formulas, boxes, removed sections and lists between `{{refbegin}}` and `{{refend}}` contain is not
read.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from heapq import nsmallest
from itertools import chain
from typing import Any

import regex

from extraction_eval.compare import anchors
from wikitext_builder.article import Page
from wikitext_builder.extraction.blocks import name_matcher
from wikitext_builder.extraction.macros import template_name
from wikitext_builder.extraction.markup import BLOCK_TAGS, INLINE_TAGS
from wikitext_builder.extraction.trim import OPAQUE_TAGS, REMOVED_TAGS
from wikitext_builder.wiki.classify import ClosingTags
from wikitext_builder.wiki.languages import LANGUAGES, Language, language_of

LONG_RUN_WORDS = 8  # lost words in a row that count as a long run
MAX_LISTED = 100  # pages and runs


@dataclass(frozen=True, slots=True)
class LostOfPage:
    """The lost words of a page."""

    lost: int
    words: int
    title: str


@dataclass(frozen=True, slots=True)
class LostRun:
    """Plain words in a row that do not come out."""

    size: int
    title: str
    text: str


@dataclass(slots=True)
class LostWords:
    """Counts lost words over pages, one at a time; it keeps only the worst pages and the longest runs.

    >>> page = Page(title="A", page_id=1, revision_id=1, timestamp="", wikitext="It is very old.")
    >>> count = LostWords()
    >>> count.add(page, ["It is old."], "en")
    >>> count.words, count.lost, count.runs[0].text
    (4, 1, 'very')
    """

    words: int = 0
    lost: int = 0
    long_runs: int = 0  # of 8 words or more
    pages: list[LostOfPage] = field(default_factory=list)  # those that lose most, worst first
    runs: list[LostRun] = field(default_factory=list)  # longest first

    def add(self, page: Page, lines: Sequence[str], language: str) -> None:
        """Count in one page and our lines of it, before tokenization."""
        plain = plain_words(page.wikitext, language_of(language))
        places = lost_places(plain, words("\n".join(lines)))
        self.words += len(plain)
        self.lost += len(places)
        if not places:
            return
        runs = [LostRun(len(run), page.title, " ".join(plain[run.start : run.stop])) for run in _runs(places)]
        self.long_runs += sum(run.size >= LONG_RUN_WORDS for run in runs)
        self.runs = nsmallest(MAX_LISTED, self.runs + runs, key=lambda run: (-run.size, run.title, run.text))
        self.pages.append(LostOfPage(len(places), len(plain), page.title))
        self.pages = nsmallest(MAX_LISTED, self.pages, key=lambda lost: (-lost.lost, lost.title))

    @property
    def share(self) -> float:
        """The fraction of plain words that are lost."""
        return self.lost / self.words if self.words else 0.0

    def figures(self, count: int) -> dict[str, Any]:
        """Return the figures for JSON, with `count` pages and runs."""
        figures = asdict(self)
        listed = {name: figures[name][:count] for name in ("pages", "runs")}
        return figures | {"share": self.share} | listed


def lost_places(plain: Sequence[str], ours: Sequence[str]) -> list[int]:
    """Return the places of the plain words that ours lacks, in almost linear time.

    Runs of words that occur once in each align the texts. Between them order does not count: a word is lost
    if ours has fewer of it.

    >>> lost_places("a b c d x e f g h".split(), "a b c d e f g h".split())
    [4]
    """
    places: list[int] = []
    if not Counter(plain) - Counter(ours):  # most pages
        return places
    a = b = 0
    for c, d in chain(anchors(plain, ours), [(len(plain), len(ours))]):
        if plain[a:c] != ours[b:d]:
            left = Counter(ours[b:d])
            for place in range(a, c):
                left[plain[place]] -= 1
                if left[plain[place]] < 0:
                    places.append(place)
        a, b = c, d
    return places


def _runs(places: Sequence[int]) -> Iterator[range]:
    """Yield neighbouring places as ranges."""
    start = 0
    for index in range(1, len(places) + 1):
        if index == len(places) or places[index] != places[index - 1] + 1:
            yield range(places[start], places[index - 1] + 1)
            start = index


HOLE = "\0"  # in place of what is not read; words that touch it do not count
LIST_START, LIST_END = "\x01", "\x02"  # around a list of sources
SKIPPED = REMOVED_TAGS | OPAQUE_TAGS
TOKEN = re.compile(
    r"<!--|<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]*)(?P<attributes>[^<>]*)>|"
    r"^[ \t:*#;]*(?P<table>\{\|)|^[ \t]*\|\}(?!\})|(?P<open>\{\{|\[\[)|\}\}|\]\]",
    re.MULTILINE,
)
CLOSED = {"}}": "{{", "]]": "[[", "|}": "{|"}
BOX = re.compile(r"\bclass\s*=|display\s*:\s*none", re.IGNORECASE)
CONTAINERS = frozenset(["div", "span", "table"])  # tags that can be a box
TEMPLATE_TEXTS = {  # of others: HOLE
    **dict.fromkeys(("Refbegin", "Ref begin", "Refstart", "Begin refs"), LIST_START),
    **dict.fromkeys(("Refend", "Ref end", "End refs"), LIST_END),
}
MAX_NAME_CHARACTERS = 30  # of a template
MAX_LABEL_CHARACTERS = 1_000  # of a link; so nested links take linear time
HEADING = re.compile(r"^(={1,6})(.+?)\1[ \t\0]*$", re.MULTILINE)
ROW = re.compile(r"^[ \t]*[|!].*$", re.MULTILINE)
ADDRESS = re.compile(r"(?:\b(?:https?|ftp|mailto|news|irc)://?|(?<=\[)//)[^\s\[\]<>\"]*", re.IGNORECASE)
MAGIC_WORD = re.compile(r"__[A-Z]+__|-\{[^{}\n]*\}-")
SOURCES = re.compile(f"{LIST_START}[^{LIST_START}{LIST_END}]*{LIST_END}")
QUOTES = re.compile("''+")
APOSTROPHE = re.compile(r"(?<=\w)''{2,}(?=\w)")  # bold, or an apostrophe and italics
INVISIBLE = regex.compile(r"[\p{Cf}\p{Co}\p{Cs}]")
MARKS = re.compile(f"[{HOLE}{LIST_START}{LIST_END}]")
WORD = re.compile(rf"(?:[^\W_]|{HOLE})+")
FILES_AND_CATEGORIES = frozenset(
    name.lower()
    for language in LANGUAGES.values()
    for name in (*language.file_namespaces, *language.category_namespaces)
)


def plain_words(wikitext: str, names: Language) -> list[str]:
    r"""Return the words between markup, in order, in time linear in the length of the wikitext.

    >>> names = LANGUAGES["en"]
    >>> plain_words("'''Ox''' {{box|a}} is [[cattle|''big'' cattle]]s.<ref>b</ref>\n== Notes ==\nc", names)
    ['Ox', 'is', 'big', 'cattles']
    """
    text = html.unescape(SOURCES.sub(HOLE, _Reader(MARKS.sub("", wikitext)).run()))
    text = "\n".join(ADDRESS.sub(HOLE, line) if "//" in line else line for line in text.split("\n"))
    text = QUOTES.sub("", APOSTROPHE.sub(HOLE, MAGIC_WORD.sub(HOLE, ROW.sub("", text))))
    return [word for piece in _sections(text, names) for word in words(piece) if HOLE not in word]


def words(text: str) -> list[str]:
    """Return the words of a text: runs of letters and digits, without invisible characters."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", INVISIBLE.sub("", text))
    return WORD.findall(text)


def _sections(text: str, names: Language) -> Iterator[str]:
    """Yield the text and the headings of the sections that are not removed."""
    is_removed = name_matcher(names.removed_sections)
    position, is_kept = 0, True
    for heading in HEADING.finditer(text):
        if is_kept:
            yield text[position : heading.start()]
        name = heading[2].replace(HOLE, "").strip("= \t")
        position, is_kept = heading.end(), not is_removed(name)
        if is_kept:
            yield name if HOLE not in heading[2] else ""
    if is_kept:
        yield text[position:]


class _Reader:
    """Reads wikitext in a pass, with a stack of open marks and the text before them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.closing = ClosingTags(text)
        self.opened: list[tuple[str, list[str]]] = []
        self.pieces: list[str] = []  # since the last mark that is open

    def run(self) -> str:
        """Return the text outside of templates, tables and boxes, with labels of links, quotes and lists."""
        position = 0
        token = TOKEN.search(self.text)
        while token:
            self.pieces.append(self.text[position : token.start()])
            position = self.read(token)
            token = TOKEN.search(self.text, position)
        self.pieces.append(self.text[position:])
        while self.opened:
            mark, before = self.opened.pop()
            inside = "".join(self.pieces)
            self.pieces = before
            if mark == "{|":  # an unclosed table hides what follows, up to the next heading
                inside = inside[heading.start() :] if (heading := HEADING.search(inside)) else ""
            self.pieces += [HOLE, inside]
        return "".join(self.pieces)

    def read(self, token: re.Match[str]) -> int:
        """Read a piece of markup. Return where to continue."""
        if token[0] == "<!--":
            end = self.text.find("-->", token.end())
            return len(self.text) if end < 0 else end + 3
        if name := (token["tag"] or "").lower():
            return self.tag(token, name)
        if mark := token["open"] or token["table"]:
            self.open(mark)
        else:
            self.close(token[0].strip())
        return token.end()

    def open(self, mark: str) -> None:
        """Put a mark on the stack."""
        self.opened.append((mark, self.pieces))
        self.pieces = []

    def close(self, mark: str) -> None:
        """Replace what the innermost mark opened by its text; a mark that does not match is a hole."""
        while self.opened and self.opened[-1][0].startswith("<"):  # an unclosed tag
            self.pieces = [*self.opened.pop()[1], HOLE, *self.pieces]
        if not self.opened or self.opened[-1][0] != CLOSED[mark]:
            self.pieces.append(HOLE)
            return
        content = "".join(self.pieces)
        text = (
            _link_text(content)
            if mark == "]]"
            else TEMPLATE_TEXTS.get(template_name(content[:MAX_NAME_CHARACTERS].partition("|")[0]), HOLE)
        )
        self.pieces = self.opened.pop()[1]
        self.pieces.append(f"\n{HOLE}\n" if mark == "|}" else text)

    def tag(self, token: re.Match[str], name: str) -> int:
        """Read a tag. Return where to continue."""
        if name in SKIPPED and not token["end"]:
            end = -1 if token[0].endswith("/>") else self.closing.end_after(name, token.end())
            self.pieces.append("" if name in {"ref", "references"} else HOLE)
            return max(end, token.end())
        if name in CONTAINERS and not token[0].endswith("/>"):
            if not token["end"]:
                self.open(token[0])
            elif self.opened and self.opened[-1][0][1:].lower().startswith(name):
                start, before = self.opened.pop()
                is_box = name == "table" or BOX.search(start)
                before.append(HOLE if is_box else "".join(self.pieces))
                self.pieces = before
        edge = "\n" if name in BLOCK_TAGS or name == "br" else ""
        self.pieces.append(edge if edge or name in INLINE_TAGS else HOLE)
        return token.end()


def _link_text(content: str) -> str:
    """Return the label of a link; a hole if the label is uncertain."""
    target, bar, label = content.partition("|")
    prefix, colon, _ = target.strip().partition(":")
    if prefix.strip().lower() in FILES_AND_CATEGORIES or len(content) > MAX_LABEL_CHARACTERS:
        return HOLE
    if not bar:
        return HOLE if colon else target
    return label if label.strip() and "|" not in label else HOLE
