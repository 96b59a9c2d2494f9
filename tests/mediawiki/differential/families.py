"""The families of templates: how random calls of them are made, and which differences are explained."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

from tests.cases import cases, read
from tests.mediawiki.differential import convert
from tests.mediawiki.differential.asking import SETS
from tests.mediawiki.differential.material import call_of, module, some_number, templates

Make = Callable[[random.Random], list[str]]  # some arguments of a call

WORDS: list[str] = read("differential")["others"]["words"]
YEAR = datetime.now(UTC).year


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
    """Templates of one kind; a row of the case file."""

    family: str
    modules: str  # what runs on the wiki, with its date
    explained: tuple[Explained, ...]
    dated: bool = False  # the texts depend on the day
    # How the arguments of new calls are made, by the names of templates, of which one is taken: each part is
    # the name of an entry of `PARTS`, or a list of lists of arguments, of which one is taken.
    new: dict[str, list[Any]] | None = None
    options: str = ""  # arguments that can be added, separated by spaces; `_` stands for a space

    def generate(self, generator: random.Random) -> str:
        """A random call."""
        if self.new is None:
            return convert.generated(generator)
        added = [option.replace("_", " ") for option in self.options.split()]
        names = generator.choice([*self.new])
        name = generator.choice(names.split("|"))
        parts = (
            PARTS[one](generator) if isinstance(one, str) else generator.choice(one)
            for one in self.new[names]
        )
        extra = generator.sample(added, min(len(added), generator.choice([0, 0, 1, 1, 2])))
        return call_of([name, *(argument for part in parts for argument in part), *extra])


def texts(least: int, most: int) -> Make:
    """Some arguments of words; one may be empty."""

    def make(generator: random.Random) -> list[str]:
        count = generator.randrange(least, most + 1)
        return ["" if generator.random() < 0.06 else generator.choice(WORDS) for _ in range(count)]

    return make


def day(generator: random.Random) -> list[str]:
    """Year, month and day."""
    month = str(generator.randrange(1, 13))
    year, number = str(generator.randrange(1880, 2026)), str(generator.randrange(1, 29))
    return [year, generator.choice([month, month, month.zfill(2)]), number.zfill(generator.choice([1, 1, 2]))]


def as_of(generator: random.Random) -> list[str]:
    """The date of a statement, in one to three arguments."""
    year, month, number = day(generator)
    name = generator.choice(["January", "Sep", month, month, month])
    return [year, name, number][: generator.randrange(1, 4)]


def written_dates(generator: random.Random) -> list[str]:
    """One or two dates as people write them."""
    forms = ["%Y", "%B %-d, %Y", "%-d %B %Y", "%B %Y", "%Y-%m-%d"]
    days = [date(*map(int, day(generator))) for _ in range(generator.randrange(1, 3))]
    return [when.strftime(generator.choice(forms)) for when in days]


@cache
def codes(prefix: str) -> list[str]:
    """What follows a prefix in the names of the real templates."""
    return [name.removeprefix(prefix) for name in templates() if name.startswith(prefix)]


def language(generator: random.Random) -> list[str]:
    """The code of a language, perhaps of one that the wiki has no name of."""
    named = PARTS["named language"](generator)
    return named if generator.random() < 0.6 else [generator.choice(["fr", "ja", "la", "ru"])]


@cache
def sounds() -> list[str]:
    """The codes of sounds that Module:IPAc-en knows."""
    source = module("Module:IPAc-en/phonemes")
    aliases = re.findall(r"aliases = \{(.*?)\}", source)
    return [*re.findall(r'code = "(.*?)"', source), *re.findall(r'"(.*?)"', " ".join(aliases))]


def ipa_english(generator: random.Random) -> list[str]:
    """Labels and sounds."""
    known = ["lang", "pron", "uk", "us", "local", "english", "aus", "ipa"]
    labels = generator.sample(known, generator.choice([0, 0, 1, 2]))
    return [*labels, *generator.choices(sounds(), k=generator.randrange(1, 8))]


def country(generator: random.Random) -> list[str]:
    """The name of a country that the wiki knows, and options of its flag."""
    known = ["name=Old", "size=30px", "variant=1937", "1937", "army", "naval"]
    options = generator.sample(known, generator.choice([0, 0, 1, 2]))
    return [generator.choice(codes("Country data ")), *options]


def degrees(generator: random.Random) -> list[str]:
    """Coordinates with marks, or as decimal numbers."""
    count = generator.choice([0, 1, 2, 3])
    if count:
        sides = ((90, "NS"), (180, "EW"))
        return [part for limit, letters in sides for part in degree(generator, limit, letters, count)]
    return [f"{generator.uniform(-size, size):.{generator.randrange(6)}f}" for size in (90, 180)]


def degree(generator: random.Random, limit: int, letters: str, count: int) -> list[str]:
    """Degrees, perhaps with minutes and seconds, the last one perhaps with decimals, and a letter."""
    parts = [str(generator.randrange(limit)), *(str(generator.randrange(60)) for _ in range(count - 1))]
    if generator.random() < 0.3:
        parts[-1] = f"{float(parts[-1]) + generator.random() * 0.9:.{generator.randrange(1, 5)}f}"
    return [*parts, generator.choice(letters)]


TAGS = ["ru", "fa-Latn", "en-GB", "sr-Cyrl", "ja", "de", "grc", "zh-Hant"]
PARTS: dict[str, Make] = {
    "text": lambda generator: [generator.choice(WORDS)],
    "one text": texts(1, 1),
    "two texts": texts(2, 2),
    "texts": texts(1, 5),
    "up to two texts": texts(1, 2),
    "up to three texts": texts(1, 3),
    "day": day,
    "two days": lambda generator: [*day(generator), *day(generator)],
    "one written date": lambda generator: written_dates(generator)[:1],
    "number": lambda generator: [some_number(generator)],
    "tag": lambda generator: [generator.choice(TAGS)],
    "as of": as_of,
    "written dates": written_dates,
    "language": language,
    "named language": lambda generator: [generator.choice(codes("ISO 639 name "))],
    "sounds": ipa_english,
    "country": country,
    "degrees": degrees,
}


def _family(row: dict[str, Any], templates: str) -> Family:
    row = row | (row.get("today", {}) if templates == "2026" else {})
    reasons = [
        {key: text.replace("{year}", str(YEAR)) for key, text in one.items() if key not in CHOICE}
        for one in cases("differential", "explained")
        if one["family"] == row["family"] and one.get("only", templates) == templates
    ]
    fields: dict[str, Any] = {key: row[key] for key in row.keys() - CHOICE | {"family"}}
    return Family(**fields, explained=tuple(Explained(**reason) for reason in reasons))


CHOICE = {"family", "only", "today"}  # what chooses a row for a set of templates, and what it has there
FAMILIES = {
    templates: {
        row["family"]: _family(row, templates)
        for row in cases("differential", "families")
        if row.get("only", templates) == templates
    }
    for templates in SETS
}
