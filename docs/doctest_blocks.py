"""An extension of griffe: examples in docstrings (`>>> …`) are shown as code."""

from __future__ import annotations

import re

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*\n(?:\1.*\S.*(?:\n|\Z))*", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Puts a fence around each example, which the Google style wants only under a heading."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Changes the docstring of one object."""
        if obj.docstring and "```" not in obj.docstring.value:
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
