"""An extension of griffe: what the API reference shows beyond docstrings as Google wrote them down."""

from __future__ import annotations

import re

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*\n(?:\1.*\S.*(?:\n|\Z))*", re.MULTILINE)
COMMENT = re.compile(r"^[^\"'#]*(?:(?:\"[^\"]*\"|'[^']*')[^\"'#]*)*#:? (?!noqa|type:)(.*)$")

MARKUP = re.compile(r"`[^`]*`|[\[\]<*_]")


class Docstrings(griffe.Extension):
    """Shows examples as code, and the comment behind an attribute as its docstring."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Changes the docstring of one object."""
        if obj.is_attribute and not obj.docstring:
            if comment := comment_behind(obj.source):
                obj.docstring = griffe.Docstring(comment, parent=obj)
        elif obj.docstring and "```" not in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Object, **_: object) -> None:
        """Changes the docstring of a package, for which griffe does not call `on_object`."""
        self.on_object(obj=pkg)


def fenced(docstring: str) -> str:
    r"""The docstring with a fence around each example.

    >>> fenced("Adds.\n\n>>> 1 + 1\n2\n")
    'Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n'
    """
    return EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0].rstrip()}\n{found[1]}```\n", docstring)


def comment_behind(source: str) -> str:
    r"""The comment at the end of the first line of an assignment, as a sentence in Markdown.

    >>> comment_behind("seed: str = '#1'  # of `a[0]`, a[1]")
    'Of `a[0]`, a\\[1\\].'
    """
    found = COMMENT.match(source.partition("\n")[0])
    if not found:
        return ""
    text = MARKUP.sub(lambda match: match[0] if match[0][0] == "`" else f"\\{match[0]}", found[1])
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
