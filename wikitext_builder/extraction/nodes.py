"""Template pages: what one gives to the pages that call it, as text, calls and parameters.

`included` takes the text, and `parse` reads it as `preprocessor` reads a page, but keeps what it reads as a
tree: a template is evaluated each time that a page calls it.
"""

from __future__ import annotations

import re

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.preprocessor import Frame, Part, Resolved, Resolver
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
TOKEN = re.compile(
    r"\[\[[^\[\]{}<]*\]\]|\{\{[^\[\]{}<]*\}\}|\{\{+|\}\}+|\[\[+|\]\]|\||"
    rf"<(?P<tag>{NAMES})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)


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


class Braced(Resolved):
    """A template call in two braces, a parameter in three, or a link; as a piece of text it is empty."""

    opener: str
    width: int
    parts: list[Part]
    starts_line: bool


Nodes = list[str]  # texts, and `Braced`


def parse(text: str) -> Nodes:
    """Return the calls, parameters and links of a text, in one pass.

    Raises:
        RejectedError: Too many openers are inside each other, or they have too many parts (`limit`).
    """
    tree = _Tree(text, lambda _parts, _source: "", lambda _parts: "")
    try:
        tree.run()
    except RejectedError as error:
        raise RejectedError("limit", error.detail) from error
    return tree.nodes()


class _Tree(Resolver):
    """Keeps calls, parameters and links in place of their texts."""

    token = TOKEN

    def simple(self, opener: str, source: str) -> None:
        """Keep a link or call with no other inside."""
        parts = source[2:-2].split("|")
        self.count(len(parts))
        self.put(_braced(opener, 2, [Part([part]) for part in parts]), 0)

    def result_of(self, frame: Frame, _source: str, width: int) -> Braced:
        """Keep a closed pair."""
        return _braced(frame.opener, width, frame.parts)

    def put(self, result: str, _depth: int) -> None:
        """Add a pair to the part around it."""
        if isinstance(result, Braced):
            before = self.top[-1] if self.top else ""
            result.starts_line = before.endswith("\n") and not isinstance(before, Resolved)
        self.top.append(result)

    def opaque(self, match: re.Match[str]) -> int:
        """Keep an extension tag with its content; without a closing tag it is text."""
        end = max(self.closing.end_of(match, match["tag"].lower()), match.end())
        self.top.append(Resolved(self.text[match.start() : end]))
        return end

    def flush(self) -> str:
        """Accept openers that are never closed: they are text."""
        return ""

    def nodes(self) -> Nodes:
        """Return the pieces of the whole text."""
        pieces = self.bottom.pieces
        for frame in self.stack:
            pieces.append(frame.opener * frame.count)
            for index, part in enumerate(frame.parts):
                pieces += ["|"] * (index > 0) + part.pieces
        return pieces


def _braced(opener: str, width: int, parts: list[Part]) -> Braced:
    node = Braced()
    node.opener, node.width, node.parts, node.starts_line = opener, width, parts, False
    return node
