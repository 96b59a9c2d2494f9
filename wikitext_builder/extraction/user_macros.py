"""Macros of the user of `extract`: functions of an mwparserfromhell `Template`, which come before ours.

mwparserfromhell is imported when such a macro is first called: extraction itself does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.macros.call import Call, Macro
from wikitext_builder.extraction.macros.registry import REDIRECTS
from wikitext_builder.extraction.names import template_name

if TYPE_CHECKING:
    from mwparserfromhell.nodes import Template

UserMacro = Callable[["Template"], str | None]


class UserMacroError(RejectedError):
    """A macro of the user failed: no other text takes the place of what it would have given."""


def user_macros(functions: Mapping[str, UserMacro]) -> dict[str, Macro]:
    """The macros of these functions by the names of their templates, and by redirects to these.

    Raises:
        BuilderError: A value is not a function.
    """
    macros: dict[str, Macro] = {}
    for name, function in functions.items():
        if not callable(function):
            raise BuilderError(f"`macros`: {name!r} is {function!r}; expected a function of a template")
        macros[template_name(name)] = _macro(name, function)
    return {alias: macros[name] for alias, name in REDIRECTS.items() if name in macros} | macros


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
