"""Replaces templates and links by their text, the innermost first, in one pass with a stack.

Braces and brackets match as in MediaWiki, whose preprocessor only closes the top of the stack; an opener that
is never closed is text. Each closed pair is replaced by its text at once: there is no tree and no recursion,
and 100,000 unclosed openers cost no more than other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.markers import BLOCK, BREAK, FORMULA, MARGIN, SEAM, formula
from wikitext_builder.extraction.trim import OPAQUE_TAGS
from wikitext_builder.wiki.classify import ClosingTags

MAX_DEPTH = 100  # MediaWiki's limit on expansion depth; deeper pages are attacks
MAX_UNCLOSED = 1_000  # openers; real pages have far fewer
MAX_OPEN = MAX_UNCLOSED + MAX_DEPTH + 1  # openers inside each other: if closed, they are too deep
MAX_PARTS = 1_000_000  # of all calls and links; MediaWiki's limit on the nodes of a page

TOKEN = re.compile(
    r"\[\[(?P<link>[^\[\]{}<]*)\]\]|\{\{(?P<call>[^\[\]{}<]*)\}\}|\{\{+|\}\}+|\[\[+|\]\]|\||"
    rf"<(?P<opaque>{'|'.join(sorted(OPAQUE_TAGS))})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
DISPLAY_BLOCK = re.compile(
    r"\bdisplay\s*=\s*[\"']?block", re.IGNORECASE
)  # a formula that is a paragraph of its own
BLANK = " \t\n"
STARTS_LINE = ("{|", "*", "#", ":", ";")
CHARACTER_REFERENCES = str.maketrans(
    {char: f"&#{ord(char)};" for char in "<>[]{}|'=*#:;~_\"-/!"} | {"\n": " "}
)

ReadTemplate = Callable[[list["Part"], str], str]
ReadLink = Callable[[list[str]], str]
GivesNoText = Callable[
    [str, str], bool
]  # its arguments: an opener's character, the text before the first bar


class Resolved(str):
    """Text of a template or a link, in which an equals sign does not separate a name from a value."""

    __slots__ = ()


@dataclass(slots=True)
class Part:
    """The text between two bars of a template call or a link, in pieces."""

    pieces: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the whole text."""
        return "".join(self.pieces)

    def split(self) -> tuple[list[str] | None, list[str]]:
        """Return the pieces of an argument's name, or None, and of its value: around an equals sign."""
        for index, piece in enumerate(self.pieces):
            if "=" in piece and not isinstance(piece, Resolved):
                left, right = piece.split("=", 1)
                return [*self.pieces[:index], left], [right, *self.pieces[index + 1 :]]
        return None, self.pieces

    def named(self) -> tuple[str | None, str]:
        """Return an argument's name, or None, and its value."""
        name, value = self.split()
        return None if name is None else "".join(name), "".join(value)


@dataclass(slots=True)
class Frame:
    """An opener that is not closed yet, and the text after it."""

    opener: str  # its character
    count: int
    start: int
    parts: list[Part] = field(default_factory=lambda: [Part()])
    depth: int = 0  # of the calls and links inside
    silent: bool = False  # its name gives no text

    def literal(self) -> str:
        """Return the text of an opener that is never closed."""
        return self.opener * self.count + "|".join(part.text() for part in self.parts)


def never(_opener: str, _first: str) -> bool:
    """Return False: by default, every call and link may give text."""
    return False


def resolve(
    text: str, read_template: ReadTemplate, read_link: ReadLink, gives_no_text: GivesNoText = never
) -> str:
    """Return the text with every template call and link replaced by what its reader returns.

    The content of a call or link that `gives_no_text` is matched but not read: reading boxes and pictures
    would take a third of the time.

    Raises:
        RejectedError: Too many openers are never closed, calls and links have too many parts (`malformed`),
            or calls are nested too deep (`too-deep`).
    """
    return Resolver(text, read_template, read_link, gives_no_text).run()


class Resolver:
    """One pass over a text, with the stack of openers that are not closed yet."""

    token = TOKEN

    def __init__(
        self, text: str, read_template: ReadTemplate, read_link: ReadLink, gives_no_text: GivesNoText = never
    ) -> None:
        self.text = text
        self.read_template = read_template
        self.read_link = read_link
        self.gives_no_text = gives_no_text
        self.closing = ClosingTags(text)
        self.bottom = Part()
        self.stack: list[Frame] = []
        self.top = self.bottom.pieces  # the innermost part, to which text is added
        self.parts = 0  # their number so far
        self.silent = 0  # the number of open frames that give no text

    def run(self) -> str:
        """Read the text from left to right, and return what it shows."""
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
        if self.silent:  # nothing reads its parts
            return
        frame = self.stack[-1]
        if len(frame.parts) == 1 and frame.count == 2:
            frame.silent = self.gives_no_text(frame.opener, frame.parts[0].text())
            self.silent += frame.silent
        self.count(1)
        part = Part()
        frame.parts.append(part)
        self.top = part.pieces

    def count(self, parts: int) -> None:
        """Count parts, and reject a page with too many."""
        self.parts += parts
        if self.parts > MAX_PARTS:
            raise RejectedError("malformed", f"more than {MAX_PARTS:,} parts of calls and links")

    def simple(self, opener: str, source: str) -> None:
        """Read a link or call without others inside, which is the most frequent case."""
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
        """Read a tag whose content is not wikitext but text or a formula; return where to continue."""
        if match[0].endswith("/>"):
            return match.end()
        name = match["opaque"].lower()
        end = self.closing.end_after(name, match.end())
        if end < 0:
            return match.end()
        content = self.text[match.end() : self.text.rindex("<", match.end(), end)]
        shown = opaque_text(name, content)
        displayed = shown.startswith(FORMULA) and DISPLAY_BLOCK.search(match[0])
        self.top.append(Resolved(f"{BREAK}{shown}{BREAK}" if displayed else shown))
        return end

    def close(self, marks: str, start: int) -> int:
        """Close the innermost opener if the marks fit, or keep them as text; return where to continue."""
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
        """Return the text of a closed pair."""
        if frame.depth > MAX_DEPTH:
            raise RejectedError(
                "too-deep", f"templates or links nested over {MAX_DEPTH} deep at {source[:40]!r}"
            )
        if self.silent:
            return ""
        if frame.opener == "[":
            parts = source[2:-2].split("|") if frame.silent else [part.text() for part in frame.parts]
            return _text_of_link(self.read_link(parts))
        if width == 3:  # a parameter of a template; in an article it has its default value
            return frame.parts[1].text() if len(frame.parts) > 1 else ""
        return self.call(frame.parts, source)

    def call(self, parts: list[Part], source: str) -> str:
        """Return the text of a template call."""
        result = self.read_template(parts, source)
        # A call may repeat an argument; if every level of nesting does, the text doubles at each.
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
            result = "\n" + result  # as in MediaWiki: a list or a table begins its line
        self.top.append(Resolved(result))

    def flush(self) -> str:
        """Return the whole text, in which openers that are never closed are text."""
        if len(self.stack) > MAX_UNCLOSED:
            detail = f"{len(self.stack)} unclosed openers, expected at most {MAX_UNCLOSED}"
            raise RejectedError("malformed", detail)
        if self.silent:  # an opener that is never closed hid text: read the text again
            return Resolver(self.text, self.read_template, self.read_link).run()
        return self.bottom.text() + "".join(frame.literal() for frame in self.stack)


def _at_line_start(pieces: list[str]) -> bool:
    for piece in reversed(pieces):
        if piece:
            return piece.endswith("\n")
    return True


def _strip_end(pieces: list[str]) -> None:
    """Remove the blank space before a link in the margin, as MediaWiki does, so that its line disappears.

    A heading still ends its line, because MediaWiki reads headings earlier.
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
    """Return a link's label so that it is not a list item at the start of a line: `[[#History]]`."""
    return f"&#{ord(label[0])};{label[1:]}" if label.startswith(("*", "#", ":", ";")) else label


def opaque_text(name: str, content: str) -> str:
    """Return the text of a tag whose content is not wikitext.

    >>> opaque_text("nowiki", "''a''") == "&#39;&#39;a&#39;&#39;", opaque_text("math", "x") == formula("x")
    (True, True)
    """
    if name == "math":
        return formula(content)
    if name in {"chem", "ce"}:
        return formula(f"\\ce{{{content}}}" if content.strip() else "")
    if name == "nowiki":
        return content.translate(CHARACTER_REFERENCES) or SEAM  # `''a''<nowiki/>'s`
    if name == "pre":
        lines = content.replace("<nowiki>", "").replace("</nowiki>", "").split("\n")
        return "\n\n" + "\n\n".join(line.strip().translate(CHARACTER_REFERENCES) for line in lines) + "\n\n"
    # Source code of several lines is a block, not running text.
    return BLOCK if "\n" in content else content.translate(CHARACTER_REFERENCES)
