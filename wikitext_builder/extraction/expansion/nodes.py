"""Wikitext as text, template calls and parameters, matched as in MediaWiki's preprocessor.

Braces close only what is on top of the stack, and what is never closed is text. Inside `[[ ]]` bars and
equals signs separate nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.expansion.inclusion import NAMES, closing_tag
from wikitext_builder.extraction.preprocessor import MAX_OPEN

TOKEN = re.compile(
    rf"\{{\{{+|\}}\}}+|\[\[+|\]\]+|\||=|<(?P<tag>{NAMES})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)


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
    """The calls and parameters of a text, in one pass.

    Raises:
        RejectedError: Too many openers are inside each other (`limit`).
    """
    return _Parser(text).run()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.stack: list[_Opener] = []
        self.parts: list[Part] = [Part()]  # the innermost part of each open pair of braces
        self.unclosed: set[str] = set()

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
                position = self.end_of_tag(match)
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

    def end_of_tag(self, match: re.Match[str]) -> int:
        """Where an extension tag ends with its content; without a closing tag it is text."""
        name = match["tag"].lower()
        if match[0].endswith("/>") or name in self.unclosed:
            return match.end()
        if closing := closing_tag(name).search(self.text, match.end()):
            return closing.end()
        self.unclosed.add(name)
        return match.end()

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
