"""Template pages: what one gives to the pages that call it, as text, calls and parameters.

`included` takes the text, and `parse` matches its braces as MediaWiki's preprocessor does: braces close only
what is on top of the stack, and what is never closed is text. Inside `[[ ]]` bars and equals signs separate
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.preprocessor import MAX_OPEN
from wikitext_builder.extraction.trim import CONTROLS, OPAQUE_TAGS, REMOVED_TAGS
from wikitext_builder.wiki.classify import ClosingTags

# Extension tags whose content is no template code. `section` marks a part of a page, which is ordinary text.
EXTENSION_TAGS = (REMOVED_TAGS | OPAQUE_TAGS) - {"includeonly", "section"}
NAMES = "|".join(sorted(EXTENSION_TAGS))
ONLY_START, ONLY_END = "<onlyinclude>", "</onlyinclude>"
MARK = re.compile(
    rf"<!--|<(?P<without>noinclude)(?:\s[^<>]*|/)?>|</?includeonly(?:\s[^<>]*|/)?>|"
    rf"<(?P<name>{NAMES})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
MAX_INDENT = 100  # spaces before a comment that has its line alone
COMMENTS = re.compile(r"(?:<!--(?:(?!-->).)*+-->[ \t]*)*+\n", re.DOTALL)
REDIRECT = re.compile(r"\s*+[#＃][^\s\[\]]+\s*+:?\s*+\[\[([^\[\]|{}#\n]++)[^\[\]\n]*+\]\]")
TOKEN = re.compile(rf"\{{\{{+|\}}\}}+|\[\[+|\]\]+|\||=|<(?P<tag>{NAMES})(?=[\s/>])[^<>]*>", re.IGNORECASE)


def included(wikitext: str) -> str:
    """Return the part of a template page that a call of the template stands for, without comments.

    Follows MediaWiki's preprocessor: an unclosed comment or `<noinclude>` runs to the end, and a comment that
    has lines of its own takes them with it.

    >>> included("a<noinclude>b</noinclude><includeonly>c</includeonly><!-- d -->e")
    'ace'
    >>> included("a<onlyinclude>b</onlyinclude>c<onlyinclude>d</onlyinclude>")
    'bd'
    """
    text = CONTROLS.sub("", wikitext.replace("\r\n", "\n").replace("\r", "\n"))
    if ONLY_START in text and ONLY_END in text:
        after = text.split(ONLY_START)[1:]
        return "".join(_without_marks(piece.split(ONLY_END, 1)[0]) for piece in after)
    return _without_marks(text)


def _without_marks(text: str) -> str:
    kept: list[str] = []
    closing = ClosingTags(text)
    position = 0
    while match := MARK.search(text, position):
        start, after = match.span()
        kept.append(text[position:start])
        position = after
        name = (match["name"] or match["without"] or "").lower()
        if match[0] == "<!--":
            position = _end_of_comment(text, start, kept)
        elif match[0].endswith("/>") or not name:
            kept.append(match[0] if match["name"] else "")
        elif (end := closing.end_after(name, after)) < 0:
            position = len(text) if match["without"] else after
            kept.append("" if match["without"] else match[0])
        else:
            position = end
            kept.append("" if match["without"] else text[start:position])
    return "".join([*kept, text[position:]])


def _end_of_comment(text: str, start: int, kept: list[str]) -> int:
    """Where the text continues after a comment; spaces before it are removed if it has its line alone."""
    end = text.find("-->", start + 4)
    if end < 0:
        return len(text)
    before = text[max(0, start - MAX_INDENT) : start].rstrip(" \t")
    if before.endswith("\n") and (rest := COMMENTS.match(text, start)):
        kept[-1] = kept[-1].rstrip(" \t")
        return rest.end()
    return end + 3


def redirect_target(wikitext: str) -> str | None:
    """Return the title that a redirect leads to; None if a page is not a redirect.

    >>> redirect_target("#REDIRECT [[Template:Citation needed]] {{R from shortcut}}")
    'Template:Citation needed'
    >>> redirect_target("#WEITERLEITUNG [[Vorlage:Dokumentation]]"), redirect_target("# a [list]")
    ('Vorlage:Dokumentation', None)
    """
    match = REDIRECT.match(wikitext)
    return match[1].strip() if match else None


@dataclass(slots=True)
class Part:
    """The text between two bars, and where its first equals sign is."""

    pieces: Nodes = field(default_factory=list)
    equals: int = -1  # the index of the piece; -1: there is none

    @property
    def name(self) -> Nodes | None:
        """What stands before the equals sign; None without one."""
        return None if self.equals < 0 else self.pieces[: self.equals]

    @property
    def value(self) -> Nodes:
        """What stands after the equals sign, or everything."""
        return self.pieces[self.equals + 1 :]


@dataclass(slots=True)
class Braced:
    """A template call in two braces, or a parameter in three."""

    width: int
    parts: list[Part]
    starts_line: bool


Nodes = list[str | Braced]


@dataclass(slots=True)
class _Opener:
    mark: str
    count: int
    starts_line: bool = False
    parts: list[Part] = field(default_factory=list)  # of braces; text in brackets is in the part around


def parse(text: str) -> Nodes:
    """Return the calls and parameters of a text, in one pass."""
    return _Parser(text).run()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.stack: list[_Opener] = []
        self.parts: list[Part] = [Part()]  # the innermost part of each open pair of braces
        self.closing = ClosingTags(text)

    def run(self) -> Nodes:
        text, position = self.text, 0
        for match in TOKEN.finditer(text):
            start, end = match.span()
            if start < position:  # inside an extension tag
                continue
            if start > position:
                self.add(text[position:start])
            position = end
            mark = text[start]
            if mark == "<":
                # Without a closing tag it is text.
                position = max(self.closing.end_of(match, match["tag"].lower()), end)
                self.add(text[start:position])
            elif mark in "[{":
                self.open(mark, end - start, text[start - 1 : start] == "\n")
            elif mark in "]}":
                self.close(mark, end - start)
            else:
                self.separate(mark)
        self.add(text[position:])
        pieces = self.parts[0].pieces
        for opener in self.stack:  # they are never closed
            pieces += _literal(opener)
        return pieces

    def add(self, piece: str | Braced) -> None:
        self.parts[-1].pieces.append(piece)

    def open(self, mark: str, count: int, starts_line: bool) -> None:
        if len(self.stack) > MAX_OPEN:
            raise RejectedError("limit", f"more than {MAX_OPEN:,} openers inside each other")
        if mark == "[":
            self.add(mark * count)
            self.stack.append(_Opener(mark, count))
        else:
            self.parts.append(Part())
            self.stack.append(_Opener(mark, count, starts_line, [self.parts[-1]]))

    def separate(self, mark: str) -> None:
        """Begin a part at a bar, and note the first equals sign of an argument."""
        opener = self.stack[-1] if self.stack else None
        if opener is None or opener.mark == "[":
            self.add(mark)
        elif mark == "|":
            self.parts[-1] = Part()
            opener.parts.append(self.parts[-1])
        else:
            part = self.parts[-1]
            if len(opener.parts) > 1 and part.equals < 0:
                part.equals = len(part.pieces)
            part.pieces.append(mark)

    def close(self, mark: str, left: int) -> None:
        """Let a run of closing marks close openers, the innermost first."""
        while left:
            opener = self.stack[-1] if self.stack else None
            fits = opener is not None and opener.mark == {"}": "{", "]": "["}[mark]
            width = min(left, opener.count, 3 if mark == "}" else 2) if opener and fits else 0
            if opener is None or width < 2:
                self.add(mark * left)
                return
            self.stack.pop()
            left -= width
            rest = opener.count - width
            if mark == "]":
                self.add("]]")
                if rest >= 2:
                    self.stack.append(_Opener("[", rest))
            else:
                self.put(opener, width, rest)

    def put(self, opener: _Opener, width: int, rest: int) -> None:
        """Add closed braces to the part around them; braces that are left open a new pair."""
        self.parts.pop()
        braced = Braced(width, opener.parts, opener.starts_line and not rest)
        if rest == 1:
            self.add("{")
        elif rest:
            self.open("{", rest, opener.starts_line)
        self.add(braced)


def _literal(opener: _Opener) -> Nodes:
    """What an opener is as text; that of a bracket is in the part around it already."""
    pieces: Nodes = []
    for index, part in enumerate(opener.parts):
        pieces.append("|" if index else opener.mark * opener.count)
        pieces += part.pieces
    return pieces
