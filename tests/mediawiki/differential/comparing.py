"""Makes calls and compares what our macros and a wiki show."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import mwparserfromhell

from tests.mediawiki.differential.asking import Reader, ours
from tests.mediawiki.differential.families import Family
from wikitext_builder.extraction.macros import READS, registry, template_name


class Difference(NamedTuple):
    """A call that gives different texts."""

    call: str
    ours: str | None
    theirs: str


@dataclass(slots=True)
class Comparison:
    """What a run found."""

    calls: int = 0
    equal: int = 0
    refused: int = 0  # the wiki shows an error
    unread: int = 0  # left out, because a macro does not read a parameter
    explained: Counter[str] = field(default_factory=Counter)
    different: list[Difference] = field(default_factory=list)


def generated_calls(family: Family, count: int, seed: int) -> list[str]:
    """Different random calls; the same ones for the same seed."""
    generator = random.Random(seed)
    calls = dict.fromkeys(family.generate(generator) for _ in range(20 * count))
    return [*calls][:count]


def all_read(call: str) -> bool:
    """True if the macros of a call read each of its parameters, also in calls within it."""
    for template in mwparserfromhell.parse(call).filter_templates():
        name = template_name(str(template.name))
        name = registry.ALIASES.get(name, registry.REDIRECTS.get(name, name))
        arguments = {str(parameter.name).strip(): str(parameter.value) for parameter in template.params}
        if name in READS and not registry.is_read(name, arguments):
            return False
    return True


def compare(family: Family, calls: list[str], reader: Reader) -> Comparison:
    """Compare calls."""
    found = Comparison(calls=len(calls))
    for call, answer in zip(calls, reader.answers(calls), strict=True):
        mine = ours(call, reader.templates, dated=family.dated)
        if mine == answer.text:
            found.equal += 1
        elif answer.failed:
            found.refused += 1
        elif mine is None and not all_read(call):
            found.unread += 1
        elif why := next((one.why for one in family.explained if one.holds(call, mine, answer.text)), ""):
            found.explained[why] += 1
        else:
            found.different.append(Difference(call, mine, answer.text))
    return found
