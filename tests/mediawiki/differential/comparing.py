"""Compares generated calls, shrinks a difference to a smallest call, and groups what has the same cause."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.mediawiki.differential.asking import Reader, ours
from tests.mediawiki.differential.families import Family
from tests.mediawiki.differential.material import arguments_of, call_of

MAX_ROUNDS = 12  # of shrinking
AT_ONCE = 500  # generated calls


@dataclass(frozen=True, slots=True)
class Difference:
    """A call that gives different texts."""

    call: str
    ours: str | None
    theirs: str

    @property
    def shape(self) -> str:
        """What differences of one cause have in common: where the texts differ, and the options."""
        mine = self.ours or ""
        start = next(
            (place for place, (a, b) in enumerate(zip(mine, self.theirs, strict=False)) if a != b),
            min(len(mine), len(self.theirs)),
        )
        cut = [re.sub(r"\d+", "0", text[start : start + 12]) for text in (mine, self.theirs)]
        name = arguments_of(self.call)[0].strip().lower()
        named = sorted(re.findall(r"\|\s*([a-z_ ]+=)", self.call))
        return f"{name} none {named}" if self.ours is None else f"{name} {cut[0]!r} {cut[1]!r}"


@dataclass(slots=True)
class Comparison:
    """What a run found."""

    calls: int = 0
    equal: int = 0
    refused: int = 0  # the wiki shows an error, and so do we, or give nothing
    lenient: int = 0  # the wiki shows an error, and we give a text
    explained: Counter[str] = field(default_factory=Counter)
    different: list[Difference] = field(default_factory=list)

    @property
    def shown(self) -> int:
        """The calls for which the wiki shows no error."""
        return self.equal + self.explained.total() + len(self.different)


def generated_calls(family: Family, count: int, seed: int) -> list[str]:
    """Different random calls; the same ones for the same seed."""
    generator = random.Random(seed)
    calls: dict[str, None] = {}
    for _ in range(20 * count):
        if len(calls) == count:
            break
        calls[family.generate(generator)] = None
    return [*calls]


def compare(family: Family, calls: list[str], reader: Reader) -> Iterator[Comparison]:
    """Compare calls, some hundreds at a time; the same comparison grows."""
    found = Comparison()
    for first in range(0, len(calls), AT_ONCE):
        some = calls[first : first + AT_ONCE]
        for call, answer in zip(some, reader.answers(some), strict=True):
            mine = ours(call, reader.templates, dated=family.dated)
            found.calls += 1
            if mine == answer.text:
                found.equal += 1
            elif answer.failed:
                found.refused += mine is None
                found.lenient += mine is not None
            elif why := explanation(family, call, mine, answer.text):
                found.explained[why] += 1
            else:
                found.different.append(Difference(call, mine, answer.text))
        yield found


def explanation(family: Family, call: str, mine: str | None, theirs: str) -> str:
    """Why a difference stays; empty if nothing explains it."""
    return next((one.why for one in family.explained if one.holds(call, mine, theirs)), "")


def shrunk(difference: Difference, family: Family, reader: Reader) -> Difference:
    """The smallest call found that still differs: arguments are dropped, and numbers made simpler."""
    for _ in range(MAX_ROUNDS):
        candidates = [*dict.fromkeys(_simpler(difference.call))]
        for call, answer in zip(candidates, reader.answers(candidates), strict=True):
            mine = ours(call, reader.templates, dated=family.dated)
            if mine != answer.text and not answer.failed and not explanation(family, call, mine, answer.text):
                difference = Difference(call, mine, answer.text)
                break
        else:
            break
    return difference


def _simpler(call: str) -> Iterator[str]:
    name, *arguments = arguments_of(call)
    for place in range(len(arguments) - 1, -1, -1):
        yield call_of([name, *arguments[:place], *arguments[place + 1 :]])
    for place, argument in enumerate(arguments):
        for number in re.findall(r"\d[\d,.]*", argument):
            for simple in ("1", "2", "10", "1.5"):
                if len(simple) < len(number) and ("." in number) >= ("." in simple):
                    changed = argument.replace(number, simple, 1)
                    yield call_of([name, *arguments[:place], changed, *arguments[place + 1 :]])


def grouped(differences: list[Difference]) -> list[tuple[Difference, int]]:
    """One difference per cause, with their number; the most frequent first, and of each the shortest call."""
    groups: dict[str, list[Difference]] = {}
    for difference in differences:
        groups.setdefault(difference.shape, []).append(difference)
    sizes = [(min(group, key=lambda one: len(one.call)), len(group)) for group in groups.values()]
    return sorted(sizes, key=lambda one: -one[1])
