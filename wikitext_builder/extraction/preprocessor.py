"""Replaces templates and links by their text, the innermost first, in one pass with a stack.

Braces and brackets match as in MediaWiki: its preprocessor closes only what is on top of the stack, and what
is never closed is text. Each closed pair is replaced by its text at once: there is no tree and no recursion,
and 100,000 unclosed openers cost no more than other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.markers import BLOCK, BREAK, FORMULA, MARGIN, SEAM, formula
from wikitext_builder.extraction.trim import OPAQUE_TAGS, ClosingTags

MAX_DEPTH = 100  # MediaWiki's limit on expansion depth; deeper pages are attacks
MAX_UNCLOSED = 1_000  # openers that are never closed; real pages have far fewer
MAX_OPEN = MAX_UNCLOSED + MAX_DEPTH + 1  # at one place: if they are closed, they are too deep
MAX_PARTS = 1_000_000  # of all calls and links: MediaWiki's limit on the nodes of a page

TOKEN = re.compile(
    r"\[\[(?P<link>[^\[\]{}<]*)\]\]|\{\{(?P<call>[^\[\]{}<]*)\}\}|\{\{+|\}\}+|\[\[+|\]\]|\||"
    rf"<(?P<opaque>{'|'.join(sorted(OPAQUE_TAGS))})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
DISPLAYED = re.compile(r"\bdisplay\s*=\s*[\"']?block", re.IGNORECASE)  # of a formula: a paragraph of its own
BLANK = " \t\n"
STARTS_LINE = ("{|", "*", "#", ":", ";")
LITERAL = str.maketrans({char: f"&#{ord(char)};" for char in "<>[]{}|'=*#:;~_\"-/!"} | {"\n": " "})

ReadTemplate = Callable[[list["Part"], str], str]
ReadLink = Callable[[list[str]], str]
SaysNothing = Callable[[str, str], bool]  # from an opener's character and the text before the first bar


class Resolved(str):
    """Text of a template or a link: an equals sign in it does not separate a name from a value."""

    __slots__ = ()


@dataclass(slots=True)
class Part:
    """The text between two bars of a template call or a link, in pieces."""

    pieces: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The whole of it."""
        return "".join(self.pieces)

    def split(self) -> tuple[list[str] | None, list[str]]:
        """The pieces of an argument's name, if it has one, and of its value: around its first equals sign."""
        for index, piece in enumerate(self.pieces):
            if "=" in piece and not isinstance(piece, Resolved):
                left, right = piece.split("=", 1)
                return [*self.pieces[:index], left], [right, *self.pieces[index + 1 :]]
        return None, self.pieces

    def named(self) -> tuple[str | None, str]:
        """The argument's name, if it has one, and its value."""
        name, value = self.split()
        return None if name is None else "".join(name), "".join(value)


@dataclass(slots=True)
class Frame:
    """An opener that is not closed yet, and the text after it."""

    opener: str  # the first of its characters
    count: int
    start: int
    parts: list[Part] = field(default_factory=lambda: [Part()])
    depth: int = 0  # of the calls and links nested inside
    silent: bool = False  # its name says that it gives no text

    def literal(self) -> str:
        """The text that it is if it is never closed."""
        return self.opener * self.count + "|".join(part.text() for part in self.parts)


def never(_opener: str, _first: str) -> bool:
    """No call or link is known to give no text."""
    return False


def resolve(
    text: str, *, read_template: ReadTemplate, read_link: ReadLink, says_nothing: SaysNothing = never
) -> str:
    """The text with every template call and link replaced by what its reader gives for it.

    The content of a call or link that `says_nothing` is matched but not read: boxes and pictures would take
    a third of the time.

    Raises:
        RejectedError: Too many openers are never closed, calls and links have too many parts (`malformed`),
            or calls nest too deep (`too-deep`).
    """
    return Resolver(text, read_template, read_link, says_nothing).run()


class Resolver:
    """The state of one pass: the text, the stack, and where text is added."""

    token = TOKEN

    def __init__(
        self,
        text: str,
        read_template: ReadTemplate,
        read_link: ReadLink,
        says_nothing: SaysNothing = never,
    ) -> None:
        self.text = text
        self.read_template = read_template
        self.read_link = read_link
        self.says_nothing = says_nothing
        self.closing = ClosingTags(text)
        self.bottom = Part()
        self.stack: list[Frame] = []
        self.top = self.bottom.pieces  # of the innermost part
        self.parts = 0  # the number of parts so far
        self.silent = 0  # the number of open frames that give no text

    def run(self) -> str:
        """The whole text, read once from left to right."""
        text, position = self.text, 0
        for match in self.token.finditer(text):
            start, end = match.span()
            if start < position:  # inside a tag that was read as a whole
                continue
            if start > position and not self.silent:
                self.top.append(text[position:start])
            position = end
            marks = match[0]
            first, last = marks[0], marks[-1]
            if first == "[" or first == "{":
                if last == first:
                    self.open(Frame(first, end - start, start))
                else:
                    self.simple(first, marks)
            elif first == "|":
                self.bar()
            elif first == "<":
                position = self.opaque(match)
            else:
                position = self.close(marks, start)
                if position < end:  # braces that close the next call too
                    position = self.close_rest(position, end)
        self.top.append(text[position:])
        return self.flush()

    def open(self, frame: Frame) -> None:
        """Put an opener on top of the stack."""
        if len(self.stack) > MAX_OPEN:
            closers = self.text.count("}}") + self.text.count("]]")
            reason = "too-deep" if closers > MAX_OPEN - MAX_UNCLOSED else "malformed"
            raise RejectedError(reason, f"more than {MAX_OPEN:,} openers inside each other")
        self.stack.append(frame)
        self.top = frame.parts[-1].pieces

    def bar(self) -> None:
        """Begin a new part of the innermost call or link."""
        if not self.stack:
            self.top.append("|")
            return
        if self.silent:  # its parts are not looked at
            return
        frame = self.stack[-1]
        if len(frame.parts) == 1 and frame.count == 2:
            frame.silent = self.says_nothing(frame.opener, frame.parts[0].text())
            self.silent += frame.silent
        self.count(1)
        part = Part()
        frame.parts.append(part)
        self.top = part.pieces

    def count(self, parts: int) -> None:
        """Refuse more parts than a page can have."""
        self.parts += parts
        if self.parts > MAX_PARTS:
            raise RejectedError("malformed", f"more than {MAX_PARTS:,} parts of calls and links")

    def simple(self, opener: str, source: str) -> None:
        """Read a link or call with no other inside: the most frequent case."""
        if self.silent:
            self.put("", 1)
            return
        parts = source[2:-2].split("|")
        self.count(len(parts))
        if opener == "[":
            self.put(_text_of_link(self.read_link(parts)), 1)
        else:
            self.put(self.call([Part([part]) for part in parts], source), 1)

    def close_rest(self, position: int, end: int) -> int:
        """Let the remaining braces of a run close the openers below."""
        while position < end:
            position = self.close(self.text[position:end], position)
        return position

    def opaque(self, match: re.Match[str]) -> int:
        """Read a tag whose content is not wikitext: text or a formula. Return where to continue."""
        if match[0].endswith("/>"):
            return match.end()
        name = match["opaque"].lower()
        end = self.closing.end_after(name, match.end())
        if end < 0:
            return match.end()
        content = self.text[match.end() : self.text.rindex("<", match.end(), end)]
        shown = opaque_text(name, content)
        displayed = shown.startswith(FORMULA) and DISPLAYED.search(match[0])
        self.top.append(Resolved(f"{BREAK}{shown}{BREAK}" if displayed else shown))
        return end

    def close(self, marks: str, start: int) -> int:
        """Close the innermost opener if the marks fit; otherwise they are text. Return where to continue."""
        frame = self.stack[-1] if self.stack else None
        width = min(len(marks), frame.count, 2 if marks[0] == "]" else 3) if frame else 0
        if frame is None or (frame.opener == "{") != (marks[0] == "}") or width < 2:
            self.top.append(marks)
            return start + len(marks)
        self.stack.pop()
        self.silent -= frame.silent
        end = start + width
        frame.count -= width
        result = self.result_of(frame, self.text[frame.start + frame.count : end], width)
        self.top = self.stack[-1].parts[-1].pieces if self.stack else self.bottom.pieces
        if frame.count >= 2:
            self.open(Frame(frame.opener, frame.count, frame.start, depth=frame.depth + 1))
        elif frame.count:
            self.top.append(frame.opener)
        self.put(result, frame.depth + 1)
        return end

    def result_of(self, frame: Frame, source: str, width: int) -> str:
        """The text of a closed pair."""
        if frame.depth > MAX_DEPTH:
            raise RejectedError(
                "too-deep", f"templates or links nested over {MAX_DEPTH} deep at {source[:40]!r}"
            )
        if self.silent:
            return ""
        if frame.opener == "[":
            parts = source[2:-2].split("|") if frame.silent else [part.text() for part in frame.parts]
            return _text_of_link(self.read_link(parts))
        if width == 3:  # a parameter of a template, which has no value in an article: its default
            return frame.parts[1].text() if len(frame.parts) > 1 else ""
        return self.call(frame.parts, source)

    def call(self, parts: list[Part], source: str) -> str:
        """The text of a template call."""
        result = self.read_template(parts, source)
        # A call may repeat an argument; if every level repeats it, the text doubles at each.
        return result if len(result) <= 2 * len(source) + 5_000 else ""

    def put(self, result: str, depth: int) -> None:
        """Add the text of a closed pair to the part around it."""
        if self.stack and self.stack[-1].depth < depth:
            self.stack[-1].depth = depth
        if self.silent:
            return
        if result == MARGIN:
            _strip_end(self.top)
            return
        if result.startswith(STARTS_LINE) and not _at_line_start(self.top):
            result = "\n" + result  # as in MediaWiki, so that a list or a table begins its line
        self.top.append(Resolved(result))

    def flush(self) -> str:
        """The text at the end, with the openers that are never closed."""
        if len(self.stack) > MAX_UNCLOSED:
            raise RejectedError(
                "malformed",
                f"{len(self.stack)} unclosed openers, expected at most {MAX_UNCLOSED}",
            )
        if self.silent:  # an opener that was never closed hid text: read all again
            return Resolver(self.text, self.read_template, self.read_link).run()
        return self.bottom.text() + "".join(frame.literal() for frame in self.stack)


def _at_line_start(pieces: list[str]) -> bool:
    for piece in reversed(pieces):
        if piece:
            return piece.endswith("\n")
    return True


def _strip_end(pieces: list[str]) -> None:
    """Remove the blank space before a link in the margin, as MediaWiki does, so that its line is none.

    A heading still ends its line: MediaWiki has read it before.
    """
    removed = ""
    while pieces and not pieces[-1][-1:].strip(BLANK):
        piece = pieces.pop()
        kept = piece.rstrip(BLANK)
        removed += piece[len(kept) :]
        if kept:
            pieces.append(type(piece)(kept))
            break
    if "\n" in removed and pieces and pieces[-1].endswith("="):
        pieces.append("\n")


def _text_of_link(label: str) -> str:
    """A link's label that does not become a list item at the start of a line: `[[#History]]`."""
    return f"&#{ord(label[0])};{label[1:]}" if label.startswith(("*", "#", ":", ";")) else label


def opaque_text(name: str, content: str) -> str:
    """The text of a tag whose content is not wikitext.

    >>> opaque_text("nowiki", "''a''") == "&#39;&#39;a&#39;&#39;", opaque_text("math", "x") == formula("x")
    (True, True)
    """
    if name == "math":
        return formula(content)
    if name in {"chem", "ce"}:
        return formula(f"\\ce{{{content}}}" if content.strip() else "")
    if name == "nowiki":
        return content.translate(LITERAL) or SEAM  # `''a''<nowiki/>'s`
    if name == "pre":
        lines = content.replace("<nowiki>", "").replace("</nowiki>", "").split("\n")
        return "\n\n" + "\n\n".join(line.strip().translate(LITERAL) for line in lines) + "\n\n"
    # A block of source code is not running text.
    return BLOCK if "\n" in content else content.translate(LITERAL)
