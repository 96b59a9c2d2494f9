"""Expands the calls of one page from the wikitext of templates, with limits against bombs.

`included` returns the part of a template page that pages include. `parse` reads it as `preprocessor` reads a
page, but returns a tree, because a template is evaluated each time that a page calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import NAMESPACE, parser_functions, template_name
from wikitext_builder.extraction.macros.php import ERROR, trimmed
from wikitext_builder.extraction.preprocessor import STARTS_LINE, Part, Resolved, Resolver
from wikitext_builder.extraction.preprocessor import Frame as Opened
from wikitext_builder.extraction.templates import TemplateReader, UserMacroError
from wikitext_builder.extraction.trim import CONTROLS, OPAQUE_TAGS, REMOVED_TAGS
from wikitext_builder.wiki.classify import ClosingTags, title_fault
from wikitext_builder.wiki.languages import Language, language_of

# Extension tags whose content is not template code; that of `section` is ordinary text.
TAG_NAMES = "|".join(sorted((REMOVED_TAGS | OPAQUE_TAGS) - {"includeonly", "section"}))
ONLY_START, ONLY_END = "<onlyinclude>", "</onlyinclude>"
INCLUSION_MARK = re.compile(
    rf"<!--|<(?P<noinclude>noinclude)(?:\s[^<>]*|/)?>|</?includeonly(?:\s[^<>]*|/)?>|"
    rf"<(?P<tag>{TAG_NAMES})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
MAX_INDENT = 100  # spaces before a comment on a line of its own
COMMENTS = re.compile(r"(?:<!--(?:(?!-->).)*+-->[ \t]*)*+\n", re.DOTALL)
REDIRECT = re.compile(r"\s*+[#＃][^\s\[\]]+\s*+:?\s*+\[\[([^\[\]|{}#\n]++)[^\[\]\n]*+\]\]")
TOKEN = re.compile(
    r"\[\[[^\[\]{}<]*\]\]|\{\{[^\[\]{}<]*\}\}|\{\{+|\}\}+|\[\[+|\]\]|\||"
    rf"<(?P<tag>{TAG_NAMES})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)


def included(wikitext: str) -> str:
    """Return the part of a template page that a call includes, without comments.

    As in MediaWiki's preprocessor, an unclosed comment or `<noinclude>` runs to the end, and the lines of a
    comment go if they have no other text.

    >>> included("a<noinclude>b</noinclude><includeonly>c</includeonly><!-- d -->e")
    'ace'
    >>> included("a<onlyinclude>b</onlyinclude>c<onlyinclude>d</onlyinclude>")
    'bd'
    """
    text = CONTROLS.sub("", wikitext.replace("\r\n", "\n").replace("\r", "\n"))
    if ONLY_START in text and ONLY_END in text:
        pieces = text.split(ONLY_START)[1:]
        return "".join(_without_marks(piece.split(ONLY_END, 1)[0]) for piece in pieces)
    return _without_marks(text)


def _without_marks(text: str) -> str:
    kept: list[str] = []
    closing = ClosingTags(text)
    position = 0
    while match := INCLUSION_MARK.search(text, position):
        start, after = match.span()
        kept.append(text[position:start])
        position = after
        name = (match["tag"] or match["noinclude"] or "").lower()
        if match[0] == "<!--":
            position = _end_of_comment(text, start, kept)
            continue
        if name and not match[0].endswith("/>"):
            end = closing.end_after(name, after)
            unclosed_end = len(text) if match["noinclude"] else after
            position = unclosed_end if end < 0 else end
        if match["tag"]:
            kept.append(text[start:position])
    return "".join([*kept, text[position:]])


def _end_of_comment(text: str, start: int, kept: list[str]) -> int:
    """Return where the text continues after a comment; on a line of its own, the spaces before it go too."""
    end = text.find("-->", start + 4)
    if end < 0:
        return len(text)
    before = text[max(0, start - MAX_INDENT) : start].rstrip(" \t")
    if before.endswith("\n") and (rest := COMMENTS.match(text, start)):
        kept[-1] = kept[-1].rstrip(" \t")
        return rest.end()
    return end + 3


def redirect_target(wikitext: str) -> str | None:
    """Return the title that a redirect leads to; None if the page is not a redirect.

    >>> redirect_target("#REDIRECT [[Template:Citation needed]] {{R from shortcut}}")
    'Template:Citation needed'
    >>> redirect_target("#WEITERLEITUNG [[Vorlage:Dokumentation]]"), redirect_target("# a [list]")
    ('Vorlage:Dokumentation', None)
    """
    match = REDIRECT.match(wikitext)
    return match[1].strip() if match else None


class Braced(Resolved):
    """A template call in two braces, a parameter in three, or a link; its own text is empty."""

    opener: str
    width: int
    parts: list[Part]
    starts_line: bool


Nodes = list[str]  # texts, and `Braced`


def parse(text: str) -> Nodes:
    """Return the calls, parameters and links of a text, in one pass.

    Raises:
        RejectedError: Too many openers are inside each other, or have too many parts (`limit`).
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
        """Keep a link or call without others inside."""
        parts = source[2:-2].split("|")
        self.count(len(parts))
        self.put(_braced(opener, 2, [Part([part]) for part in parts]), 0)

    def result_of(self, opened: Opened, _source: str, width: int) -> Braced:
        """Keep a closed pair."""
        return _braced(opened.opener, width, opened.parts)

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
        """Return nothing: `nodes` has the text, with openers that are never closed."""
        return ""

    def nodes(self) -> Nodes:
        """Return the pieces of the whole text, in which openers that are never closed are text."""
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


MAX_DEPTH = 100  # MediaWiki's $wgMaxPPExpandDepth
MAX_PIECES = 200_000  # per page: texts, calls and parameters; these take about a second
MAX_CHARACTERS = 2**22  # per page, counted at each level of nesting; MediaWiki accepts results of 2 MiB
MAX_REDIRECTS = 2  # in a row, as in MediaWiki


class Templates(Protocol):
    """Wikitext of templates by name: a dict, or a reader of a store."""

    def get(self, name: str, /) -> str | None:
        """Return the wikitext of a template by its name as in `template_name`; None if there is none."""


class Argument(NamedTuple):
    """An argument that is not expanded yet."""

    frame: Frame  # of the template that contains it
    nodes: Nodes
    named: bool  # a named argument has no outer spaces


@dataclass(slots=True)
class Frame:
    """A template that is being expanded, and its arguments, each expanded when it is first used."""

    templates: tuple[str, ...] = ()  # those around it, and itself
    arguments: dict[str, Argument] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)


class Expander:
    """Expands calls of one page.

    Templates that `macros` knows have its text, also within other templates.
    """

    def __init__(
        self,
        page: Page,
        templates: Templates,
        *,
        language: str | Language = "en",
        macros: TemplateReader | None = None,
    ) -> None:
        self._context = parser_functions.Context(
            page=page, language=language_of(language), exists=self._exists, skips_boxes=macros is not None
        )
        self._templates = templates
        self._macros = macros
        self._bodies: dict[str, tuple[str, Nodes]] = {}
        self._depth = 0
        self._pieces = 0
        self._characters = 0

    def expanded(self, calls: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the texts of calls, and the reasons why the other calls have none."""
        texts: dict[str, str] = {}
        reasons: dict[str, str] = {}
        for call in calls:
            try:
                texts[call] = self.expand(call)
            except UserMacroError:
                raise
            except RejectedError as error:
                reasons[call] = error.reason
        return texts, reasons

    def expand(self, wikitext: str) -> str:
        """Return the wikitext with all its calls expanded.

        Raises:
            RejectedError: A call has no text: it needs Lua (`lua`), an unknown function (`function`), a
                missing template (`no-template`), or more than the limits allow (`limit`); or MediaWiki shows
                an error for it (`error`).
        """
        self._depth = 0
        text = self.text(parse(wikitext), Frame())
        if ERROR.search(text):
            raise RejectedError("error", "the templates give an error")
        return text

    def text(self, nodes: Nodes, frame: Frame) -> str:
        """Return the text of nodes in a template."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise RejectedError("limit", f"calls nested over {MAX_DEPTH} deep")
        pieces = []
        for node in nodes:
            piece = self._braced(node, frame) if isinstance(node, Braced) else node
            self._spend(len(piece))
            pieces.append(piece)
        self._depth -= 1
        return "".join(pieces)

    def _spend(self, characters: int) -> None:
        self._pieces += 1
        self._characters += characters
        if self._pieces > MAX_PIECES or self._characters > MAX_CHARACTERS:
            raise RejectedError("limit", "the calls of the page expand to too much")

    def _braced(self, node: Braced, frame: Frame) -> str:
        """Return the text of a call or a parameter; a link stays."""
        head = self.text(node.parts[0].pieces, frame)
        if node.opener == "[":
            return self._literal(head, node, frame)
        if node.width == 3:
            value = self._argument(trimmed(head), frame)
            if value is None and len(node.parts) > 1:
                return self.text(node.parts[1].pieces, frame)
            return self._literal(head, node, frame) if value is None else value
        result = self._call(trimmed(head), node, frame)
        if result is None:
            return self._literal(head, node, frame)
        # A list or a table begins a line.
        return f"\n{result}" if result.startswith(STARTS_LINE) and not node.starts_line else result

    def _literal(self, head: str, node: Braced, frame: Frame) -> str:
        """Return the wikitext of a link, or of a call or parameter whose name is not possible."""
        parts = [head, *(self.text(part.pieces, frame) for part in node.parts[1:])]
        closer = "]" if node.opener == "[" else "}"
        return f"{node.opener * node.width}{'|'.join(parts)}{closer * node.width}"

    def _argument(self, name: str, frame: Frame) -> str | None:
        if name in frame.values or name not in frame.arguments:
            return frame.values.get(name)
        argument = frame.arguments[name]
        value = self.text(argument.nodes, argument.frame)
        frame.values[name] = trimmed(value) if argument.named else value
        return frame.values[name]

    def _call(self, name: str, node: Braced, frame: Frame) -> str | None:
        """Return the text of a call; None if no template can have this name."""
        lower = name.lower()
        if lower.startswith("subst:"):  # MediaWiki shows the call
            return None
        if lower.startswith("safesubst:"):
            name = trimmed(name[10:])
        if len(node.parts) == 1 and (variable := parser_functions.VARIABLES.get(name)):
            return variable(self._context)
        head, colon, first = name.partition(":")
        function = head.lower()
        if colon and function in parser_functions.PARSER_FUNCTIONS:
            later = [self._later(part, frame) for part in node.parts[1:]]
            return parser_functions.PARSER_FUNCTIONS[function](
                parser_functions.Arguments(self._context, function, trimmed(first), later)
            )
        if colon and name.startswith("#"):
            raise RejectedError("function", f"the function {function} needs a wiki")
        title = name[:1] + name[1:].partition("#")[0]
        return None if title_fault(title) else self._template(template_name(title), node.parts[1:], frame)

    def _later(self, part: Part, frame: Frame) -> parser_functions.Argument:
        """Return an argument of a parser function, which expands it when it needs it."""
        name, value = part.split()
        return parser_functions.Argument(
            text=partial(self.text, part.pieces, frame),
            value=partial(self.text, value, frame),
            name=None if name is None else partial(self.text, name, frame),
        )

    def _template(self, name: str, parts: list[Part], frame: Frame) -> str:
        """Return the text of a template: that of our macro, or of its wikitext."""
        arguments = self._arguments(parts, frame)
        inner = Frame(frame.templates, arguments)
        if self._macros is not None and self._macros.knows(name):
            for key in arguments:
                self._argument(key, inner)
            text = self._macros.known_text(name, lambda: inner.values)
            if text is not None:
                return text
        title, nodes = self._body(name)
        if title in frame.templates:
            return f'<span class="error">Template loop detected: [[Template:{title}]]</span>'
        inner.templates = (*frame.templates, title)
        return self.text(nodes, inner)

    def _arguments(self, parts: list[Part], frame: Frame) -> dict[str, Argument]:
        """Return the arguments by name or number; the last one of a name wins."""
        arguments: dict[str, Argument] = {}
        number = 0
        for part in parts:
            name, value = part.split()
            if name is None:
                number += 1
                arguments[str(number)] = Argument(frame, value, named=False)
            else:
                arguments[trimmed(self.text(name, frame))] = Argument(frame, value, named=True)
        return arguments

    def _exists(self, title: str) -> bool:
        """Return True if a page exists; pages that are not templates usually do if a template asks."""
        return not NAMESPACE.match(title) or self._templates.get(template_name(title)) is not None

    def _body(self, name: str) -> tuple[str, Nodes]:
        """Return the name of a template after redirects, and the part of it that pages include."""
        if name not in self._bodies:
            title, wikitext = name, self._templates.get(name)
            for _ in range(MAX_REDIRECTS):
                target = redirect_target(wikitext) if wikitext is not None else None
                if target is None:
                    break
                title = template_name(target)
                wikitext = self._templates.get(title)
            if wikitext is None:
                raise RejectedError("no-template", f"there is no template {title!r}")
            self._spend(len(wikitext))
            self._bodies[name] = title, parse(included(wikitext))
        return self._bodies[name]
