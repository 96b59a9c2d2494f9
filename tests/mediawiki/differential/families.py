"""The families of templates: how to make calls of them, and which differences are explained."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.mediawiki.differential import convert

Generator = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference that stays, and why: a call in which a pattern is found, and perhaps one in both texts."""

    why: str
    call: str
    texts: str = ""  # searched in our text, a line end, and the wiki's text

    def holds(self, call: str, ours: str | None, theirs: str) -> bool:
        """True if it explains the difference of a call."""
        both = f"{ours}\n{theirs}"
        return re.search(self.call, call) is not None and re.search(self.texts, both, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Family:
    """Templates of one kind."""

    generate: Generator
    modules: str  # what runs on the wiki, with its date
    names: tuple[str, ...] = ()  # of the templates whose real calls are compared too
    explained: tuple[Explained, ...] = field(default=())
    dated: bool = False  # the texts depend on the day


FAMILIES = {
    "convert": Family(
        generate=convert.generated,
        modules="Module:Convert of 2014-09, its data of 2014-10 and its text of 2014-07",
        names=("Convert",),
        explained=(
            Explained("numbers in words need Module:ConvertNumeric, which is not at hand", r"spell="),
            Explained("cells of a table need a table around them", r"disp *= *table"),
            Explained("abbr=unit is of a later version", r"abbr=unit"),
            Explained("no space before /km2, as in later versions", r"", r"\d/"),
            Explained("a link has U.S. or imperial before some units", r"lk=", r"U\.?S\.?|imp"),
            Explained("no number and no unit is asked for", r"abbr=values.*disp=u|disp=u.*abbr=values"),
            Explained("no words after the unit: two spaces", r"adj=mid", r" ,"),
            Explained(
                "the module counts the point of `0.25em` in its own HTML as a decimal point",
                r"comma=gaps",
                r"\d{3}\.0+ ",
            ),
        ),
    ),
}
