"""Call: a template call whose arguments are plain text; Macro: a function from a call to its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from wikitext_builder.article import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A template call: its name as registered, its arguments by name or number."""

    name: str
    arguments: Mapping[str, str]
    page: Page

    def get(self, *names: str) -> str:
        """The first of these arguments that is not empty, without outer spaces; else an empty text."""
        for name in names:
            if value := self.arguments.get(name, "").strip():
                return value
        return ""

    def positional(self) -> list[str]:
        """The arguments 1, 2, … up to the first missing one, without outer spaces."""
        values: list[str] = []
        while (value := self.arguments.get(str(len(values) + 1))) is not None:
            values.append(value.strip())
        return values


# The wikitext that the call stands for; None if the macro does not know it.
Macro = Callable[[Call], str | None]
AnyMacro = TypeVar("AnyMacro", bound=Macro)

DECLARED: dict[str, Macro] = {}  # by `macro`; `registry.MACROS` has those of the tables too
SHARED: set[str] = set()  # names that the other Wikipedias have copied


def macro(*names: str, shared: bool = False) -> Callable[[AnyMacro], AnyMacro]:
    """Registers a macro under the names of its templates, each with a capital first letter.

    Args:
        names: The templates; other names of the same ones stand in `data/aliases.tsv`.
        shared: The other Wikipedias have copied the templates, and their text has no English words.

    Raises:
        ValueError: A name has a macro already.
    """

    def register(function: AnyMacro) -> AnyMacro:
        if known := [name for name in names if name in DECLARED]:
            raise ValueError(f"two macros for {', '.join(known)}; expected one")
        DECLARED.update(dict.fromkeys(names, function))
        if shared:
            SHARED.update(names)
        return function

    return register


def text(value: str) -> Macro:
    """A macro that always gives this text."""
    return lambda _call: value


def first(call: Call) -> str | None:
    """The first argument, for templates that only change the style of a text."""
    return call.get("1")


def argument(*names: str) -> Macro:
    """A macro that gives the first of these arguments that is not empty."""
    if len(names) == 1:  # the most frequent case, and the faster call
        return lambda call, name=names[0]: call.get(name)  # type: ignore[misc]
    return lambda call: call.get(*names)


def joined(separator: str) -> Macro:
    """A macro that joins its numbered arguments with this separator."""
    return lambda call: separator.join(value for value in call.positional() if value)


def around(before: str, after: str, *names: str) -> Macro:
    """A macro that gives an argument with text before and after it; nothing if it is empty."""

    def macro(call: Call) -> str:
        value = call.get(*(names or ("1",)))
        return f"{before}{value}{after}" if value else ""

    return macro
