"""Template calls: which are removed on purpose, which have a macro, and which are unknown.

Macros that the user gives to `extract` take precedence over ours. They are functions of an mwparserfromhell
`Template`; the package is imported when such a macro is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from wikitext_builder.article import Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.macros import Call, Macro, template_name
from wikitext_builder.extraction.macros.parser_functions import (
    PARSER_FUNCTIONS,
    VARIABLES,
    Argument,
    Arguments,
    Context,
)
from wikitext_builder.extraction.macros.php import ERROR, trimmed
from wikitext_builder.extraction.macros.registry import (
    COPIED,
    MACROS,
    REDIRECTS,
    authorities,
    folded_names,
    is_mark,
    is_read,
    is_removed,
    template_of,
)
from wikitext_builder.extraction.markers import BOX, GONE, UNKNOWN_START, LeftOut, add_seams
from wikitext_builder.extraction.markup import LinkReader
from wikitext_builder.extraction.preprocessor import Part, opaque_text, resolve
from wikitext_builder.extraction.trim import trim
from wikitext_builder.wiki.languages import Language, language_of

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Template

LIST_MARKS = frozenset("*#:;")
SHORT = 100  # characters of a call whose text is kept


class Meaning(NamedTuple):
    """What the name of a template leads to: a name that we know, its macro, or nothing on purpose."""

    name: str
    macro: Macro | None
    removed: bool


class TemplateReader:
    """Reads the template calls of one page. Called with the parts between the bars and the whole call."""

    def __init__(
        self,
        *,
        page: Page,
        expansions: Mapping[str, str],
        left_out: LeftOut,
        read_link: LinkReader,
        language: str | Language = "en",
        own: Mapping[str, Macro] = MappingProxyType({}),
    ) -> None:
        self.page = page
        self.own = own  # macros of the user
        names = language_of(language)
        self.macros = macros_of(names)
        self.redirects = names.redirects
        self.context = Context(page=page, language=names)
        self.expansions = expansions
        self.left_out = left_out
        self.read_link = read_link
        self.known: dict[str, str] = {}  # the texts of short calls: pages repeat them
        self.meanings: dict[str, Meaning] = {}

    def __call__(self, parts: list[Part], source: str) -> str:
        """The wikitext that a call stands for; a mark if it gives no text or is unknown."""
        if (known := self.known.get(source)) is not None:
            return known
        text = self.text_of(parts, source)
        # A mark belongs to one place, also one of a call within this one.
        if len(source) <= SHORT and "{" not in source[2:] and UNKNOWN_START not in text:
            self.known[source] = text
        return text

    def text_of(self, parts: list[Part], source: str) -> str:
        """The wikitext of a call that was not met before on this page."""
        if source in self.expansions:
            text = trim(self.expansions[source])
            return resolve(text, read_template=lambda _parts, _source: GONE, read_link=self.read_link)
        name = parts[0].text().strip()
        if not is_function(name, parts):
            return self.template(template_name(name), parts, source)
        if template := self.invoked(name, parts):
            return self.template(template, parts[1:], source)
        try:
            result = self.function(name, parts)
        except RejectedError:
            return self.left_out.mark(source)
        if ERROR.search(result) and any(UNKNOWN_START in part.text() for part in parts):
            return self.left_out.mark(source)  # the error is that of a call whose text is not known
        return result

    def invoked(self, call: str, parts: list[Part]) -> str:
        """The template that we know and a call of a module stands for; empty if there is none."""
        head, _, module = call.partition(":")
        if head.strip().lower() != "#invoke" or len(parts) == 1 or not self.context.language.is_english:
            return ""
        template = template_of(module, parts[1].text().strip())
        return template if self.knows(template) else ""

    def says_nothing(self, opener: str, first: str) -> bool:
        """True if a call of this name, or a link to this target, gives no text."""
        if opener == "[":
            return self.read_link.is_picture(first)
        if ":" in first:
            return False
        return self.meaning(template_name(first)).removed

    def function(self, call: str, parts: list[Part]) -> str:
        """The text of a parser function or variable.

        Raises:
            RejectedError: The text depends on a wiki or another page.
        """
        head, colon, first = call.partition(":")
        if not colon:
            return VARIABLES[call](self.context)
        name = head.strip().lower()
        arguments = Arguments(self.context, name, trimmed(first), [_argument(part) for part in parts[1:]])
        if name == "#tag":
            return _text_of_tag(arguments)
        return PARSER_FUNCTIONS[name](arguments)

    def macro(self, name: str) -> Macro | None:
        """The macro of a template: the user's, or one that the language has."""
        if self.own and (macro := self.own.get(name)) is not None:
            return macro
        return self.macros.get(name)

    def meaning(self, name: str) -> Meaning:
        """What a name leads to, looked up once per page.

        If no template has the name as it is written, its capitals do not count: the English Wikipedia has
        redirects such as `ILL`.
        """
        if (meaning := self.meanings.get(name)) is None:
            target = self.redirects.get(name, name)
            macro = self.macro(target)
            if self.macros is MACROS and macro is None and not is_removed(target):
                target = folded_names().get(target.casefold(), target)
                macro = self.macro(target)
            meaning = Meaning(target, macro, macro is None and is_removed(target))
            self.meanings[name] = meaning
        return meaning

    def template(self, name: str, parts: list[Part], source: str) -> str:
        """The wikitext of a call of the template of this name."""
        result = self.known_text(name, lambda: _arguments(parts), one_line="\n" not in source)
        return self.left_out.mark(source) if result is None else result

    def knows(self, name: str) -> bool:
        """True if a template of this name has a macro, or gives no text on purpose."""
        _, macro, removed = self.meaning(name)
        return removed or macro is not None

    def known_text(
        self, name: str, arguments: Callable[[], Mapping[str, str]], *, one_line: bool = True
    ) -> str | None:
        """The text of a template that `knows` accepts; None if the macro does not know these arguments."""
        name, macro, removed = self.meaning(name)
        if removed:
            return GONE if is_mark(name) else BOX
        if macro is None:
            return None
        call = Call(name=name, arguments=arguments(), page=self.page)
        result = macro(call) if name in self.own or is_read(name, call.arguments) else None
        # Most templates put their text in a span, where an asterisk at the start does not make a list item.
        if result and result[0] in LIST_MARKS and one_line:
            return f"&#{ord(result[0])};{result[1:]}"
        return add_seams(result) if result and "'" in (result[0], result[-1]) else result


def macros_of(language: Language) -> Mapping[str, Macro]:
    """The macros of a Wikipedia: in other languages those whose text has no English words."""
    return MACROS if language.is_english else COPIED


def is_known(name: str, language: Language) -> bool:
    """True if a template has this name that we know, and the name is not only a redirect that ships.

    >>> english = language_of("en")
    >>> [is_known(name, english) for name in ("Convert", "Infobox person", "Conv", "Chess opening")]
    [True, True, False, False]
    """
    return name not in REDIRECTS and (name in macros_of(language) or is_removed(name))


def known_redirects(redirects: Mapping[str, str], language: Language) -> dict[str, str]:
    """The name of a template that we know, for each other name that leads to it.

    Names that ship as those of the same template are left out. A template that we know can have been renamed:
    then it is a redirect, and the others lead to its new name.

    >>> wiki = {"Cvrt": "Convert", "Convert": "Convert units", "Conv2": "Convert units", "Nbsp": "Spaces"}
    >>> known_redirects(wiki, language_of("en"))
    {'Conv2': 'Convert', 'Convert units': 'Convert', 'Cvrt': 'Convert'}
    """
    known = partial(is_known, language=language)
    renamed = {target: name for name, target in redirects.items() if known(name) and not known(target)}
    found = {name: renamed.get(target, target) for name, target in redirects.items() if not known(name)}
    found = renamed | {name: target for name, target in found.items() if known(target)}
    return {name: found[name] for name in sorted(found) if REDIRECTS.get(name) != found[name]}


def is_function(name: str, parts: list[Part]) -> bool:
    """True if a call is one of a parser function or a variable, by the text before its first bar.

    >>> is_function("#if: a", [Part(), Part()]), is_function("PAGENAME", [Part()])
    (True, True)
    >>> is_function("Template", [Part()]), is_function("lc", [Part()])
    (False, False)
    """
    head, colon, _ = name.partition(":")
    return head.strip().lower() in PARSER_FUNCTIONS if colon else len(parts) == 1 and name in VARIABLES


def _arguments(parts: list[Part]) -> dict[str, str]:
    """The arguments by name or number. The last one with a name wins; named ones have no outer spaces."""
    arguments: dict[str, str] = {}
    number = 0
    for part in parts[1:]:
        name, value = part.named()
        if name is None:
            number += 1
            arguments[str(number)] = value
        else:
            arguments[name.strip()] = value.strip()
    return arguments


def _argument(part: Part) -> Argument:
    """An argument of a parser function in running text, whose calls are replaced already."""
    name, value = part.named()
    return Argument(part.text, lambda: value, (lambda: name) if name is not None else None)


def _text_of_tag(arguments: Arguments) -> str:
    """An extension tag in running text, where tags have been cut already."""
    name, content = arguments.first.lower(), arguments.text(1)
    if name in {"math", "chem", "ce"}:
        return opaque_text(name, content)
    return content if name in {"nowiki", "poem", "pre"} else ""


UserMacro = Callable[["Template"], str | None]


class UserMacroError(RejectedError):
    """A user's macro failed, and no other text replaces its result."""


def user_macros(functions: Mapping[str, UserMacro]) -> dict[str, Macro]:
    """The macros of these functions by the names of their templates, and by redirects to these."""
    macros: dict[str, Macro] = {}
    for name, function in functions.items():
        if not callable(function):
            raise BuilderError(f"`macros`: {name!r} is {function!r}; expected a function of a template")
        macros[template_name(name)] = _macro(name, function)
    return {alias: macros[name] for alias, name in REDIRECTS.items() if name in macros} | macros


def without_authority(language: Language) -> dict[str, UserMacro]:
    """Macros that know no text, for templates whose text nothing shows: where there is a wiki, it is asked.

    >>> sorted({"Circa", "Convert", "Abbr"} & without_authority(language_of("en")).keys())
    ['Circa']
    """
    shown = authorities()
    return dict.fromkeys((name for name in macros_of(language) if name not in shown), lambda _call: None)


def _macro(name: str, function: UserMacro) -> Macro:
    def macro(call: Call) -> str | None:
        try:
            text = function(_template(call))
        except Exception as error:
            reason = f"the macro of {name!r} failed: {type(error).__name__}: {error}"
            raise UserMacroError("macro", reason) from error
        if not isinstance(text, str | None):
            raise UserMacroError("macro", f"the macro of {name!r} gave {text!r}; expected a text or None")
        return text

    return macro


def _template(call: Call) -> Template:
    """The call as mwparserfromhell has it; numbered arguments have no names if they can be without."""
    from mwparserfromhell.nodes import Template
    from mwparserfromhell.nodes.extras import Parameter

    parameters: list[Parameter] = []
    number = 1
    for name, value in call.arguments.items():
        positional = name == str(number) and "=" not in value
        number += name == str(number)
        parameters.append(Parameter(name, value, showkey=not positional))
    return Template(call.name, parameters)
