"""Templates and links worked out from the inside to the outside, in one pass with a stack.

The matching of braces and brackets is MediaWiki's own (its preprocessor closes only what is on top of the
stack, and what is never closed is text), so that a page comes apart here where it does there. Each closed
pair is replaced by its text at once: no tree is built, nothing recurses, and unclosed openers by the hundred
thousand cost no more than other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from wikitext_builder.errors import RejectedError
from wikitext_builder.extract.markers import FORMULA
from wikitext_builder.extract.trim import OPAQUE_TAGS, ClosingTags

MAX_DEPTH = 100  # MediaWiki's limit on expansion depth; what is nested deeper is an attack
MAX_UNCLOSED = 1_000  # openers that nothing closes; the worst of the shared pages has far fewer

TOKEN = re.compile(
    rf"\{{\{{+|\}}\}}+|\[\[+|\]\]|\||<({'|'.join(sorted(OPAQUE_TAGS))})(?=[\s/>])[^<>]*>", re.IGNORECASE
)
LITERAL = str.maketrans({char: f"&#{ord(char)};" for char in "<>[]{}|'=*#:;~_\"-/!"} | {"\n": " "})

ReadTemplate = Callable[[list["Part"], str], str]
ReadLink = Callable[[list[str]], str]


class Expanded(str):
    """Text that was worked out already: an equals sign in it parts no argument's name from its value."""

    __slots__ = ()


@dataclass(slots=True)
class Part:
    """What stands between two bars of a template call or a link, in pieces."""

    pieces: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole of it."""
        return "".join(self.pieces)

    def named(self) -> tuple[str | None, str]:
        """The argument's name, if it has one, and its value: parted at the first equals sign of its own."""
        for index, piece in enumerate(self.pieces):
            if "=" in piece and not isinstance(piece, Expanded):
                left, right = piece.split("=", 1)
                return "".join([*self.pieces[:index], left]), "".join([right, *self.pieces[index + 1 :]])
        return None, self.text()


@dataclass(slots=True)
class Frame:
    """An opener that is not closed yet, and what came after it."""

    opener: str  # one of its characters
    count: int
    start: int
    parts: list[Part] = field(default_factory=lambda: [Part()])
    depth: int = 0  # of what is nested inside

    def literal(self) -> str:
        """What it is when nothing closes it."""
        return self.opener * self.count + "|".join(part.text() for part in self.parts)


def expand(text: str, *, read_template: ReadTemplate, read_link: ReadLink) -> str:
    """The text with every template call and link replaced by what the two readers make of it.

    Raises:
        RejectedError: too many openers are never closed (`malformed`), or calls nest too deep (`too-deep`).
    """
    return Expander(text, read_template, read_link).run()


class Expander:
    """The state of one pass: the text, the stack, and how far the text has been read."""

    def __init__(self, text: str, read_template: ReadTemplate, read_link: ReadLink) -> None:
        self.text = text
        self.read_template = read_template
        self.read_link = read_link
        self.closing = ClosingTags(text)
        self.bottom = Part()
        self.stack: list[Frame] = []

    def run(self) -> str:
        """The whole text, read once from the left to the right."""
        text, position = self.text, 0
        match = TOKEN.search(text)
        while match:
            if match.start() > position:
                self.top().pieces.append(text[position : match.start()])
            position = self.read(match)
            match = TOKEN.search(text, position)
        self.top().pieces.append(text[position:])
        return self.flush()

    def top(self) -> Part:
        """Where text goes now."""
        return self.stack[-1].parts[-1] if self.stack else self.bottom

    def read(self, match: re.Match[str]) -> int:
        """Acts on one token; returns where to read on."""
        marks = match[0]
        if marks == "|":
            return self.bar(match.end())
        if marks[0] in "{[":
            self.stack.append(Frame(marks[0], len(marks), match.start()))
            return match.end()
        if marks[0] == "<":
            return self.opaque(match)
        return self.close(marks, match.start())

    def bar(self, end: int) -> int:
        """A bar begins a new part of the innermost call or link."""
        if self.stack:
            self.stack[-1].parts.append(Part())
        else:
            self.bottom.pieces.append("|")
        return end

    def opaque(self, match: re.Match[str]) -> int:
        """A tag whose content is no wikitext: it is made to pass as text, or becomes a formula."""
        name = match[1].lower()
        end = self.closing.end_after(name, match.end())
        if match[0].endswith("/>") or end < 0:
            return match.end()
        content = self.text[match.end() : self.text.rindex("<", match.end(), end)]
        self.top().pieces.append(Expanded(opaque_text(name, content)))
        return end

    def close(self, marks: str, start: int) -> int:
        """Closes the innermost opener if the marks fit it; else they are text."""
        frame = self.stack[-1] if self.stack else None
        width = min(len(marks), frame.count, 2 if marks[0] == "]" else 3) if frame else 0
        if frame is None or (frame.opener == "{") != (marks[0] == "}") or width < 2:
            self.top().pieces.append(marks)
            return start + len(marks)
        self.stack.pop()
        end = start + width
        frame.count -= width
        opened = frame.start + frame.count
        result = self.result_of(frame, self.text[opened:end], width)
        if frame.count >= 2:
            self.stack.append(Frame(frame.opener, frame.count, frame.start, depth=frame.depth + 1))
        elif frame.count:
            self.top().pieces.append(frame.opener)
        self.put(result, frame.depth + 1)
        return end

    def result_of(self, frame: Frame, source: str, width: int) -> str:
        """The text of a closed pair."""
        if frame.depth > MAX_DEPTH:
            raise RejectedError(
                "too-deep", f"templates or links nested over {MAX_DEPTH} deep at {source[:40]!r}"
            )
        if frame.opener == "[":
            return self.read_link([part.text() for part in frame.parts])
        if width == 3:  # a template's own parameter, which has no value in an article: its default
            return frame.parts[1].text() if len(frame.parts) > 1 else ""
        result = self.read_template(frame.parts, source)
        # A call may repeat an argument; repeated at every level that would double and double again.
        return result if len(result) <= 2 * len(source) + 5_000 else ""

    def put(self, result: str, depth: int) -> None:
        """Adds the text of a closed pair to what encloses it."""
        part = self.top()
        if result.startswith(("{|", "*", "#", ":", ";")) and not _at_line_start(part):
            result = "\n" + result  # as MediaWiki does, so that a list or a table begins its line
        part.pieces.append(Expanded(result))
        if self.stack:
            self.stack[-1].depth = max(self.stack[-1].depth, depth)

    def flush(self) -> str:
        """What is never closed is text."""
        if len(self.stack) > MAX_UNCLOSED:
            raise RejectedError(
                "malformed", f"{len(self.stack)} openers that nothing closes, expected at most {MAX_UNCLOSED}"
            )
        return self.bottom.text() + "".join(frame.literal() for frame in self.stack)


def _at_line_start(part: Part) -> bool:
    for piece in reversed(part.pieces):
        if piece:
            return piece.endswith("\n")
    return True


def opaque_text(name: str, content: str) -> str:
    """The text of a tag whose content is no wikitext.

    >>> opaque_text("nowiki", "''a''") == "&#39;&#39;a&#39;&#39;", opaque_text("math", "x^2") == FORMULA
    (True, True)
    """
    if name in {"math", "chem", "ce"}:
        return FORMULA
    if name == "nowiki":
        return content.translate(LITERAL)
    if name == "pre":
        lines = content.replace("<nowiki>", "").replace("</nowiki>", "").split("\n")
        return "\n\n" + "\n\n".join(line.strip().translate(LITERAL) for line in lines) + "\n\n"
    return "" if "\n" in content else content.translate(LITERAL)  # a block of source code is no running text
