"""The families of templates: how to make calls of them, and which differences are explained."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.cases import cases
from tests.mediawiki.differential import convert, others

YEAR = datetime.now(UTC).year
Generator = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference that stays, and why: a call in which a pattern is found, and perhaps one in both texts."""

    why: str
    call: str
    texts: str = ""  # searched in our text, a line end, and the wiki's text
    without: str = ""  # what both texts are equal without

    def holds(self, call: str, ours: str | None, theirs: str) -> bool:
        """True if it explains the difference of a call."""
        both = f"{ours}\n{theirs}"
        if self.without and re.sub(self.without, "", ours or "") != re.sub(self.without, "", theirs):
            return False
        return re.search(self.call, call) is not None and re.search(self.texts, both, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Family:
    """Templates of one kind."""

    generate: Generator
    modules: str  # what runs on the wiki, with its date
    names: tuple[str, ...] = ()  # of the templates whose real calls are compared too
    explained: tuple[Explained, ...] = field(default=())
    dated: bool = False  # the texts depend on the day


def _family(family: str, modules: str, names: list[str], dated: bool = False) -> Family:
    """A family as the case file has it."""
    explained = (
        Explained(**{key: text.replace("{year}", str(YEAR)) for key, text in row.items() if key != "family"})
        for row in cases("differential", "explained")
        if row["family"] == family
    )
    generate = GENERATORS[family]
    return Family(generate, modules, tuple(names), explained=tuple(explained), dated=dated)


GENERATORS: dict[str, Generator] = {"convert": convert.generated, **others.GRAMMARS}
FAMILIES = {row["family"]: _family(**row) for row in cases("differential", "families")}
