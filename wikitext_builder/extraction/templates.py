"""Reads template calls: by a macro, as nothing if they are removed on purpose, or as unknown.

Macros that the user gives to `extract` take precedence over ours. They are functions of an mwparserfromhell
`Template`; the package is imported when such a macro is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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
from wikitext_builder.wiki.languages import Language

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Template

LIST_MARKS = frozenset("*#:;")
MAX_CACHED_CHARACTERS = 100  # of a call whose text is cached


class Meaning(NamedTuple):
    """What the name of a template leads to: a name that we know, its macro, or nothing on purpose."""

    name: str
    macro: Macro | None
    removed: bool


class TemplateReader:
    """Reads the template calls of one page; call it with the parts between the bars and the whole call."""

    def __init__(
        self,
        page: Page,
        expansions: Mapping[str, str],
        left_out: LeftOut,
        language: Language,
        user_macros: Mapping[str, Macro],
    ) -> None:
        self.page = page
        self.language = language
        self.user_macros = user_macros
        self.our_macros = macros_of(language)
        self.context = Context(page=page, language=language)
        self.expansions = expansions
        self.left_out = left_out
        self.read_link = LinkReader(language)
        self.cached: dict[str, str] = {}  # the texts of short calls, which pages repeat
        self.meanings: dict[str, Meaning] = {}

    def __call__(self, parts: list[Part], source: str) -> str:
        """Return the wikitext that a call stands for; a mark if it gives no text or is unknown."""
        if (cached := self.cached.get(source)) is not None:
            return cached
        text = self.text_of(parts, source)
        # The mark of an unknown call, also of one inside this call, belongs to one place.
        if len(source) <= MAX_CACHED_CHARACTERS and "{" not in source[2:] and UNKNOWN_START not in text:
            self.cached[source] = text
        return text

    def text_of(self, parts: list[Part], source: str) -> str:
        """Return the wikitext of a call that is not cached."""
        if source in self.expansions:
            text = trim(self.expansions[source])
            return resolve(text, lambda _parts, _source: GONE, self.read_link)
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
            return self.left_out.mark(source)  # the error comes from an unknown call in the arguments
        return result

    def invoked(self, call: str, parts: list[Part]) -> str:
        """Return the template that a call of a module stands for; empty if we know none."""
        head, _, module = call.partition(":")
        if head.strip().lower() != "#invoke" or len(parts) == 1 or not self.language.is_english:
            return ""
        template = template_of(module, parts[1].text().strip())
        return template if self.knows(template) else ""

    def gives_no_text(self, opener: str, first: str) -> bool:
        """Return True if a call of this name, or a link to this target, gives no text."""
        if opener == "[":
            return self.read_link.is_picture(first)
        if ":" in first:
            return False
        return self.meaning(template_name(first)).removed

    def function(self, call: str, parts: list[Part]) -> str:
        """Return the text of a parser function or variable.

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
        """Return the macro of a template: the user's, or ours in this language."""
        return self.user_macros.get(name) or self.our_macros.get(name)

    def meaning(self, name: str) -> Meaning:
        """Return what a name leads to, looked up once per page.

        If no template has the name as it is written, its capitals do not count: the English Wikipedia has
        redirects such as `ILL`.
        """
        if (meaning := self.meanings.get(name)) is None:
            target = self.language.redirects.get(name, name)
            macro = self.macro(target)
            if self.language.is_english and macro is None and not is_removed(target):
                target = folded_names().get(target.casefold(), target)
                macro = self.macro(target)
            meaning = Meaning(target, macro, macro is None and is_removed(target))
            self.meanings[name] = meaning
        return meaning

    def template(self, name: str, parts: list[Part], source: str) -> str:
        """Return the wikitext of a call of the template of this name."""
        result = self.known_text(name, lambda: _arguments(parts), one_line="\n" not in source)
        return self.left_out.mark(source) if result is None else result

    def knows(self, name: str) -> bool:
        """Return True if a template of this name has a macro, or gives no text on purpose."""
        _, macro, removed = self.meaning(name)
        return removed or macro is not None

    def known_text(
        self, name: str, arguments: Callable[[], Mapping[str, str]], *, one_line: bool = True
    ) -> str | None:
        """Return the text of a template; None if we know no text for it, or none with these arguments."""
        name, macro, removed = self.meaning(name)
        if removed:
            return GONE if is_mark(name) else BOX
        if macro is None:
            return None
        call = Call(name=name, arguments=arguments(), page=self.page)
        result = macro(call) if name in self.user_macros or is_read(name, call.arguments) else None
        # Most templates put their text in a span, where an asterisk at the start is not a list item.
        if result and result[0] in LIST_MARKS and one_line:
            return f"&#{ord(result[0])};{result[1:]}"
        return add_seams(result) if result and "'" in (result[0], result[-1]) else result


def macros_of(language: Language) -> Mapping[str, Macro]:
    """Return our macros for a Wikipedia; if it is not English, those whose text has no English words."""
    return MACROS if language.is_english else COPIED


def is_known(name: str, language: Language) -> bool:
    """Return True if a template that we know has this name; redirects to it in our tables do not count.

    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> [is_known(name, LANGUAGES["en"]) for name in ("Convert", "Infobox person", "Conv", "Chess opening")]
    [True, True, False, False]
    """
    return name not in REDIRECTS and (name in macros_of(language) or is_removed(name))


def known_redirects(redirects: Mapping[str, str], language: Language) -> dict[str, str]:
    """Return the names that lead to templates that we know, each with the name that we know.

    Names that our tables have too are left out. If a wiki has renamed a template that we know, our name is a
    redirect, and the other names lead to the new one.

    >>> wiki = {"Cvrt": "Convert", "Convert": "Convert units", "Conv2": "Convert units", "Nbsp": "Spaces"}
    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> known_redirects(wiki, LANGUAGES["en"])
    {'Conv2': 'Convert', 'Convert units': 'Convert', 'Cvrt': 'Convert'}
    """
    known = partial(is_known, language=language)
    renamed = {target: name for name, target in redirects.items() if known(name) and not known(target)}
    targets = {name: renamed.get(target, target) for name, target in redirects.items() if not known(name)}
    targets = renamed | {name: target for name, target in targets.items() if known(target)}
    return {name: targets[name] for name in sorted(targets) if REDIRECTS.get(name) != targets[name]}


def is_function(name: str, parts: list[Part]) -> bool:
    """Return True if the text before the first bar is that of a parser function or a variable.

    >>> is_function("#if: a", [Part(), Part()]), is_function("PAGENAME", [Part()])
    (True, True)
    >>> is_function("Template", [Part()]), is_function("lc", [Part()])
    (False, False)
    """
    head, colon, _ = name.partition(":")
    return head.strip().lower() in PARSER_FUNCTIONS if colon else len(parts) == 1 and name in VARIABLES


def _arguments(parts: list[Part]) -> dict[str, str]:
    """Return arguments by name or number; the last of a name wins, and named ones have no outer spaces."""
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
    """Return an argument of a parser function in a page, whose calls are already replaced."""
    name, value = part.named()
    return Argument(part.text, lambda: value, (lambda: name) if name is not None else None)


def _text_of_tag(arguments: Arguments) -> str:
    """Return the text of `#tag` in a page."""
    name, content = arguments.first.lower(), arguments.text(1)
    if name in {"math", "chem", "ce"}:
        return opaque_text(name, content)
    return content if name in {"nowiki", "poem", "pre"} else ""


UserMacro = Callable[["Template"], str | None]


class UserMacroError(RejectedError):
    """A user's macro failed: the page is rejected, because nothing else can replace the text."""


def user_macros(functions: Mapping[str, UserMacro]) -> dict[str, Macro]:
    """Return macros from the user's functions, by the names of templates and of redirects to them."""
    macros: dict[str, Macro] = {}
    for name, function in functions.items():
        if not callable(function):
            raise BuilderError(f"`macros`: {name!r} is {function!r}; expected a function of a template")
        macros[template_name(name)] = _user_macro(name, function)
    return {alias: macros[name] for alias, name in REDIRECTS.items() if name in macros} | macros


def without_authority(language: Language) -> dict[str, UserMacro]:
    """Return macros that give no text, for templates of which no authority shows the text: a wiki is asked.

    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> sorted({"Circa", "Convert", "Abbr"} & without_authority(LANGUAGES["en"]).keys())
    ['Circa']
    """
    names = macros_of(language).keys() - authorities()
    return dict.fromkeys(names, lambda _call: None)


def _user_macro(name: str, function: UserMacro) -> Macro:
    def macro(call: Call) -> str | None:
        try:
            text = function(_template(call))
        except Exception as error:
            reason = f"the macro of {name!r} failed: {type(error).__name__}: {error}"
            raise UserMacroError("macro", reason) from error
        if not isinstance(text, str | None):
            raise UserMacroError("macro", f"the macro of {name!r} returned {text!r}; expected a str or None")
        return text

    return macro


def _template(call: Call) -> Template:
    """Return the call as mwparserfromhell has it; numbered arguments have no names where none is needed."""
    from mwparserfromhell.nodes import Template
    from mwparserfromhell.nodes.extras import Parameter

    parameters: list[Parameter] = []
    number = 1
    for name, value in call.arguments.items():
        positional = name == str(number) and "=" not in value
        number += name == str(number)
        parameters.append(Parameter(name, value, showkey=not positional))
    return Template(call.name, parameters)
