"""Random calls of `{{convert}}`."""

from __future__ import annotations

import random
import re
from functools import cache

from tests.cases import read
from tests.mediawiki.differential.material import call_of, module, some_number

MATERIAL = read("differential")["convert"]
OPTIONS: list[str] = MATERIAL["options"]
WORDS: list[str] = MATERIAL["words"]
PREFIXES: list[str] = MATERIAL["prefixes"]
OWN_WORDS: list[str] = MATERIAL["own words"]
AROUND: list[str] = MATERIAL["around"]
COMMON: dict[str, str] = MATERIAL["common units"]
SMALLER: dict[str, list[list[str]]] = MATERIAL["smaller units"]


@cache
def units() -> dict[str, list[str]]:
    """The codes of Module:Convert/data by kind; codes of combinations too."""
    source = module("Module:Convert/data").partition("local default_exceptions")[0]
    rows = re.findall(r'^ {4}\["(.*?)"\] = \{\n(.*?)^ {4}\},', source, re.DOTALL | re.MULTILINE)
    kinds = {code: re.search(r'utype\s*= "(.*?)"', fields) for code, fields in rows}
    targets = {code: re.search(r'target\s*= "(.*?)"', fields) for code, fields in rows}
    found: dict[str, list[str]] = {}
    for code, fields in rows:
        target = targets[code]
        kind = kinds[target[1]] if target and target[1] in kinds else kinds[code]
        if kind and "combination" not in fields:
            found.setdefault(kind[1], []).append(code)
            if "prefixes" in fields:
                found[kind[1]] += [prefix + code for prefix in PREFIXES[2:]]
    return found


@cache
def combinations() -> dict[str, list[str]]:
    """The codes that stand for several units, by kind."""
    source = module("Module:Convert/data")
    rows = re.findall(
        r'^ {4}\["([^"]*)"\] = \{\n\tcombination.*?utype\s*= "(.*?)"', source, re.DOTALL | re.MULTILINE
    )
    found: dict[str, list[str]] = {}
    for code, kind in rows:
        found.setdefault(kind, []).append(code)
    return found


def number(generator: random.Random) -> str:
    """A value: perhaps with a sign or a fraction."""
    kind = generator.randrange(14)
    if kind == 0:
        whole = generator.choice(["", "", "1+", "2+", "12+", "-", "-3-"])
        return whole + generator.choice(["1/2", "3/4", "5/8", "1/3", "7//8"])
    if kind == 1:
        return generator.choice(["-", "−", "+", "&minus;"]) + some_number(generator)
    return some_number(generator)


def code(generator: random.Random, kind: str) -> str:
    """The code of a unit of a kind, more often a common one."""
    if kind in COMMON and generator.random() < 0.5:
        return generator.choice(COMMON[kind].split())
    found = generator.choice(units()[kind])
    return f"{generator.choice(['e3', 'e6', 'e9', 'e12'])}{found}" if generator.random() < 0.08 else found


def generated(generator: random.Random) -> str:
    """A random call."""
    kind = generator.choice([*COMMON, *COMMON, *units()])
    options = [
        one.replace("_", " ") for one in generator.sample(OPTIONS, generator.choice([0, 0, 1, 1, 2, 3]))
    ]
    parts = ["convert", *values(generator, kind)]
    if generator.random() < 0.7:
        several = combinations().get(kind, []) if generator.random() < 0.2 else []
        codes = [code(generator, kind) for _ in range(generator.choice([1, 1, 1, 1, 2, 3]))]
        parts.append(generator.choice(several) if several else " ".join(codes))
    if generator.random() < 0.25:
        parts.append(str(generator.randrange(-3, 5)))
    if "adj=mid" in options or "adj=pre" in options:
        parts.append(generator.choice(OWN_WORDS))
    if "disp=x" in options or "disp=preunit" in options:
        parts += [generator.choice(AROUND if "disp=x" in options else OWN_WORDS) for _ in range(2)]
    return call_of(parts + options)


def values(generator: random.Random, kind: str) -> list[str]:
    """Values, the words between them, and the unit."""
    if kind in SMALLER and generator.random() < 0.2:
        large, small = generator.choice(SMALLER[kind])
        return [str(generator.randrange(1, 30)), large, str(generator.randrange(12)), small]
    count = generator.choice([1, 1, 1, 1, 2, 2, 3])
    numbers = [number(generator) for _ in range(count)]
    words = [generator.choice(WORDS) for _ in numbers[1:]]
    if count == 2 and generator.random() < 0.3:
        before, after = generator.choices([" ", ""], k=2)
        return [f"{numbers[0]}{before}{words[0]}{after}{numbers[1]}", code(generator, kind)]
    mixed = [text for pair in zip(numbers, [*words, ""], strict=True) for text in pair]
    return [*mixed[:-1], code(generator, kind)]
