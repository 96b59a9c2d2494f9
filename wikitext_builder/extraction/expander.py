"""Expands the calls of one page from the wikitext of templates, with limits against bombs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import parser_functions
from wikitext_builder.extraction.macros.call import NAMESPACE, template_name
from wikitext_builder.extraction.macros.parser_functions import (
    PARSER_FUNCTIONS,
    VARIABLES,
    Arguments,
    Context,
)
from wikitext_builder.extraction.macros.php import ERROR, trimmed
from wikitext_builder.extraction.nodes import Braced, Nodes, included, parse, redirect_target
from wikitext_builder.extraction.preprocessor import STARTS_LINE, Part
from wikitext_builder.extraction.templates import TemplateReader, UserMacroError
from wikitext_builder.wiki.classify import title_fault
from wikitext_builder.wiki.languages import Language, language_of

MAX_DEPTH = 100  # MediaWiki's $wgMaxPPExpandDepth
MAX_PIECES = 200_000  # of one page: texts, calls and parameters; they take about a second
MAX_CHARACTERS = 2**22  # of one page, each level of nesting counted; MediaWiki takes 2 MiB of results
MAX_REDIRECTS = 2  # in a row, as in MediaWiki


class Templates(Protocol):
    """Wikitext of templates: a dict by name, or what reads them from a store."""

    def get(self, name: str, /) -> str | None:
        """Return the wikitext of a template by its name as in `template_name`; None if there is none."""


class Argument(NamedTuple):
    """An argument that is not expanded yet."""

    frame: Frame  # where it was written
    nodes: Nodes
    named: bool  # then it has no outer spaces


@dataclass(slots=True)
class Frame:
    """A template that is expanded, and its arguments, which are expanded when they are first used."""

    templates: tuple[str, ...] = ()  # the names of those around this one, and of this one
    arguments: dict[str, Argument] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)


class Expander:
    """Expands calls of one page.

    Names that `macros` knows have its text, also within templates; None: only the templates count.
    """

    def __init__(
        self,
        page: Page,
        templates: Templates,
        *,
        language: str | Language = "en",
        macros: TemplateReader | None = None,
    ) -> None:
        self._context = Context(
            page=page, language=language_of(language), exists=self._exists, skips_boxes=macros is not None
        )
        self._templates = templates
        self._macros = macros
        self._bodies: dict[str, tuple[str, Nodes]] = {}
        self._depth = 0
        self._pieces = 0
        self._characters = 0

    def expanded(self, calls: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the texts of calls, and the reasons why others have none; each call is in one of the two."""
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
            RejectedError: A call has no text: it needs Lua (`lua`), a function that we do not know
                (`function`), a template that is not there (`no-template`), or more than the limits allow
                (`limit`); or MediaWiki shows an error for it (`error`).
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
        """Return a link as it is, or a call or parameter because nothing can have its name."""
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
        if lower.startswith("subst:"):  # MediaWiki shows it
            return None
        if lower.startswith("safesubst:"):
            name = trimmed(name[10:])
        if len(node.parts) == 1 and (variable := VARIABLES.get(name)):
            return variable(self._context)
        head, colon, first = name.partition(":")
        function = head.lower()
        if colon and function in PARSER_FUNCTIONS:
            later = [self._later(part, frame) for part in node.parts[1:]]
            return PARSER_FUNCTIONS[function](Arguments(self._context, function, trimmed(first), later))
        if colon and name.startswith("#"):
            raise RejectedError("function", f"the function {function} needs a wiki")
        title = name[:1] + name[1:].partition("#")[0]
        return None if title_fault(title) else self._template(template_name(title), node.parts[1:], frame)

    def _later(self, part: Part, frame: Frame) -> parser_functions.Argument:
        """Return an argument of a parser function, expanded when it is asked for."""
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
            known = self._macros.known_text(name, lambda: inner.values)
            if known is not None:
                return known
        title, nodes = self._body(name)
        if title in frame.templates:
            return f'<span class="error">Template loop detected: [[Template:{title}]]</span>'
        inner.templates = (*frame.templates, title)
        return self.text(nodes, inner)

    def _arguments(self, parts: list[Part], frame: Frame) -> dict[str, Argument]:
        """Return the arguments by name or number; the last one with a name wins."""
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
        """Other pages than templates usually exist if a template checks for them."""
        return not NAMESPACE.match(title) or self._templates.get(template_name(title)) is not None

    def _body(self, name: str) -> tuple[str, Nodes]:
        """Return the name of a template after redirects, and what it gives to a page."""
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
