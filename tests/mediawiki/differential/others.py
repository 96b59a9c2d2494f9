"""Random calls of the other families: real calls of the shared pages with changes, and new ones."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache

from tests.cases import read
from tests.mediawiki.differential.material import (
    arguments_of,
    call_of,
    module,
    mutated,
    real_calls,
    templates,
)

Make = Callable[[random.Random], list[str]]  # the arguments of a call

MATERIAL = read("differential")["others"]
WORDS: list[str] = MATERIAL["words"]
COUNTRY_CODES: list[str] = MATERIAL["countries"]
OF_CITATIONS = " ".join(MATERIAL["options of citations"])
OF_LANGUAGES = " ".join(MATERIAL["options of languages"])


def of(
    new: dict[str, Make], chance: float, options: str, *, changes: Sequence[int] = range(6)
) -> Callable[[random.Random], str]:
    """A grammar of some templates.

    Args:
        new: What makes the arguments of a new call, by the name of the template.
        chance: How often a real call is changed, where there are some.
        options: Arguments that can be added, separated by spaces; `_` stands for a space.
        changes: Which changes are made; see `mutated`.
    """
    added = [option.replace("_", " ") for option in options.split()]

    def generate(generator: random.Random) -> str:
        name = generator.choice([*new])
        calls = real_calls().get(name, [])
        if calls and generator.random() < chance:
            return mutated(generator, calls, added, changes)
        extra = generator.sample(added, min(len(added), generator.choice([0, 0, 1, 1, 2])))
        return call_of([name, *new[name](generator), *extra])

    return generate


def one_of(*choices: list[str]) -> Make:
    """One of these lists of arguments."""
    return lambda generator: [*generator.choice(choices)]


def text(generator: random.Random) -> str:
    """Some words."""
    return generator.choice(WORDS)


def texts(least: int, most: int) -> Make:
    """Some arguments of words; one may be empty."""

    def make(generator: random.Random) -> list[str]:
        count = generator.randrange(least, most + 1)
        return ["" if generator.random() < 0.06 else text(generator) for _ in range(count)]

    return make


def day(generator: random.Random) -> list[str]:
    """Year, month and day."""
    month = str(generator.randrange(1, 13))
    year, number = str(generator.randrange(1880, 2026)), str(generator.randrange(1, 29))
    return [year, generator.choice([month, month, month.zfill(2)]), number.zfill(generator.choice([1, 1, 2]))]


def ages(generator: random.Random) -> list[str]:
    """One or two dates."""
    first = day(generator)
    return first if generator.random() < 0.5 else [*first, "2026", "3", "15"]


def as_of(generator: random.Random) -> list[str]:
    """The date of a statement, in one to three arguments."""
    year, month, number = day(generator)
    name = generator.choice(["January", "Sep", month, month, month])
    return [year, name, number][: generator.randrange(1, 4)]


def written_date(generator: random.Random) -> str:
    """A date as people write it."""
    when = date(*(int(part) for part in day(generator)))
    return when.strftime(generator.choice(["%Y", "%B %-d, %Y", "%-d %B %Y", "%B %Y", "%Y-%m-%d"]))


def marriage(generator: random.Random) -> list[str]:
    """A name and one or two dates."""
    count = generator.randrange(1, 3)
    return [generator.choice(["[[Ann Lee]]", "", "Bo"]), *(written_date(generator) for _ in range(count))]


@cache
def codes(prefix: str) -> list[str]:
    """What follows a prefix in the names of the real templates."""
    return [name.removeprefix(prefix) for name in templates() if name.startswith(prefix)]


def language(generator: random.Random) -> str:
    """The code of a language; the wiki has the names of three."""
    named = codes("ISO 639 name ") if generator.random() < 0.6 else ["fr", "ja", "la", "ru"]
    return generator.choice(named)


def phrase(generator: random.Random) -> list[str]:
    """A language and words of it."""
    return [language(generator), text(generator)]


def named_language(generator: random.Random) -> list[str]:
    """The code of a language that the wiki has the name of."""
    return [generator.choice(codes("ISO 639 name "))]


def named_phrase(generator: random.Random) -> list[str]:
    """A language that the wiki has the name of, and words of it."""
    return [*named_language(generator), text(generator)]


def transliteration(generator: random.Random) -> list[str]:
    """A language, perhaps a system, and words."""
    return [language(generator), *generator.choice([[], ["ISO"], ["IAST"], ["DIN"]]), text(generator)]


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
    return [*labels, *(generator.choice(sounds()) for _ in range(generator.randrange(1, 8)))]


def transcription(generator: random.Random) -> list[str]:
    """IPA."""
    return [generator.choice(["ˈtoːkʲoː", "/ˈbɜːr.lɪn/", "pɑːkɪstaːn", "ɦɪnd̪iː"])]


def hindustani(generator: random.Random) -> list[str]:
    """IPA with a label."""
    labels = ["lang", "pron", "hi", "ur", "IPA", "langur", "langhi", "", "x"]
    return [*transcription(generator), *generator.sample(labels, generator.randrange(2))]


def country(generator: random.Random) -> str:
    """A flag with or without the name of a country that the wiki knows, or the code of a country."""
    if generator.random() < 0.4:
        return call_of([generator.choice(COUNTRY_CODES)])
    known = ["name=Old", "size=30px", "variant=1937", "1937", "army", "naval"]
    options = generator.sample(known, generator.choice([0, 0, 1, 2]))
    return call_of(
        [generator.choice(["flag", "flagicon"]), generator.choice(codes("Country data ")), *options]
    )


def degrees(generator: random.Random) -> list[str]:
    """Coordinates with marks, or as decimal numbers."""
    more = generator.choice([[], [], ["type:city"], ["region:GB_type:landmark"]])
    count = generator.choice([0, 1, 2, 3])
    if count:
        sides = ((90, "NS"), (180, "EW"))
        return [*(part for side in sides for part in degree(generator, *side, count)), *more]
    return [f"{generator.uniform(-size, size):.{generator.randrange(6)}f}" for size in (90, 180)] + more


def degree(generator: random.Random, limit: int, letters: str, count: int) -> list[str]:
    """Degrees, perhaps with minutes and seconds, the last one perhaps with decimals, and a letter."""
    parts = [str(generator.randrange(limit)), *(str(generator.randrange(60)) for _ in range(count - 1))]
    if generator.random() < 0.3:
        parts[-1] = f"{float(parts[-1]) + generator.random() * 0.9:.{generator.randrange(1, 5)}f}"
    return [*parts, generator.choice(letters)]


def citation(generator: random.Random) -> list[str]:
    """The arguments of a citation, taken from several real ones."""
    names = ["Cite book", "Cite journal", "Cite web", "Cite news"]
    calls = [call for name in names for call in generator.sample(real_calls()[name], 3)]
    pieces = [piece for call in calls for piece in arguments_of(call)[1:] if "=" in piece]
    chosen = generator.sample(pieces, min(len(pieces), generator.randrange(3, 10)))
    unique = {piece.partition("=")[0].strip(): piece for piece in chosen}
    unique.setdefault("title", "title=A title")
    return [*unique.values()]


def address(generator: random.Random) -> list[str]:
    """An address and perhaps a text."""
    known = [
        "http://example.com",
        "example.com/a/b",
        "https://www.example.org/",
        "www.Example.com",
        "a.org/b/",
    ]
    where = generator.choice(
        [*known, f"http://E{generator.randrange(10**6)}.com/a?{generator.randrange(99)}"]
    )
    return [where, *generator.choice([[], [], [text(generator)]])]


NOTHING = one_of([])
GRAMMARS: dict[str, Callable[[random.Random], str]] = {
    "ages": of(
        {"Age": ages, "Birth date and age": day, "As of": as_of, "Marriage": marriage},
        0.3, "df=y df=yes", changes=(4,),
    ),
    "languages": of(
        {
            "Lang": phrase, "Transl": transliteration, "Native name": named_phrase,
            "Native phrase": named_phrase, "Link language": named_language, "Language icon": named_language,
            "De icon": NOTHING, "Pt icon": NOTHING, "Nastaliq": texts(1, 1), "Nq": texts(1, 1),
            "Lang-ur": texts(1, 1),
        },
        0.2, OF_LANGUAGES, changes=(0, 3, 4, 4),
    ),
    "pronunciation": of(
        {"IPA": transcription, "IPAc-en": ipa_english, "IPA-hns": hindustani, "IPA-ur": hindustani},
        0.4, "audio=A.ogg",
    ),
    "flags": country,
    "lists": of(
        {
            "Hlist": texts(1, 5), "Ubl": texts(1, 5), "Unbulleted list": texts(1, 5),
            "Br separated entries": texts(1, 5),
        },
        0.5, "class=a style=color:red list_style=x indent=2 ul_style=x",
    ),
    "citations": of(
        {"Cite book": citation, "Cite journal": citation, "Cite news": citation, "Cite web": citation},
        0.6, OF_CITATIONS,
    ),
    "coordinates": of(
        {"Coord": degrees}, 0.3,
        "display=inline display=inline,title display=title format=dms format=dec name=A", changes=(4,),
    ),
    "text": of(
        {
            "Abbr": texts(2, 2), "Nowrap": texts(1, 1), "Small": texts(1, 1), "Nobold": texts(1, 1),
            "Sic": texts(1, 3), "Not a typo": texts(1, 2), "Color": lambda g: ["red", text(g)],
            "Spaces": one_of([], ["2"], ["5"]), "Nbsp": one_of([], ["3"]), "Lower": texts(1, 1),
            "Longitem": texts(1, 1), "Allow wrap": texts(1, 1), "Trim": texts(1, 1), "Steady": NOTHING,
            "PAGENAMEBASE": NOTHING, "Quote": texts(1, 1), "As written": texts(1, 2), "H:title": texts(2, 2),
        },
        0.4, "",
    ),
    "sites": of(
        {
            "URL": address, "Official website": address, "IMDb name": lambda g: ["0000158", text(g)],
            "YouTube": lambda g: ["dQw4w9WgXcQ", text(g)],
        },
        0.2, "", changes=(4,),
    ),
}  # fmt: skip
