"""A measured number with all that decided it, and files of such results: JSON lines, only appended to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from lm_benchmarks.choices import BEGINNING, MUST_AGREE, PAPER
from lm_benchmarks.fields import added
from lm_benchmarks.metrics import Sums
from lm_benchmarks.records.lines import (
    Json,
    append_line,
    object_of,
    plain_record,
    read_lines,
    strings,
    typed,
)
from lm_benchmarks.records.trained import Trained, decisive_settings, trained_of_json
from ps_models.evaluation.signature import Signature

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGroup:
    """Tokens of a text that have something in common, and how a model predicted them."""

    by: str  # a name in GROUPINGS
    label: str
    tokens: int
    nats: float
    # (tokens, nats) in each of PARTS consecutive parts of the text, for error bars; older records have none.
    parts: tuple[tuple[int, float], ...] = added(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """At how many random places of a run the laws were tried."""

    seed: int
    tokens: int  # of the run
    places: int  # at each: a sum, a stretch scored again, and a changed future
    whole: int  # places whose sum is over the whole vocabulary
    fewest: int | None  # words of the smallest other sum; None: there is no other
    deepest: int  # tokens before the deepest place
    predictions: int  # that the trials cost
    unit: str = added("tokens")  # of the run; pieces: windows were tried, and nothing at the beginning

    @property
    def hidden(self) -> float:
        """The fraction of places at which a break can still hide, with a confidence of 95%."""
        return float(1 - 0.05 ** (1 / self.places)) if self.places else 1.0

    def __str__(self) -> str:
        """Where the laws were tried, and what can still hide, in a few sentences."""
        sums, excess = f"{self.whole} of the sums over the whole vocabulary", ""
        if self.fewest is not None:
            words = "words" if self.unit == "tokens" else "pieces"
            sums += f", the others over {self.fewest} {words} or more"
            where = f", except at {self.whole} of the places" if self.whole else ""
            excess = f" an excess that shows only in the sum over all {words}{where};"
        beginning = f"on the first {min(BEGINNING, self.tokens)} tokens and " if self.unit == "tokens" else ""
        return (
            f"The laws were tried {beginning}at {self.places} random places (seed {self.seed}) of"
            f" {self.tokens:,} {self.unit}, the deepest after {self.deepest:,}; {sums};"
            f" {self.predictions:,} predictions. What can still hide: a break at fewer than {self.hidden:.1%}"
            f" of the places (with a confidence of 95%) or after the deepest of them;{excess} a model that"
            " recognises that it is being tested."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a model predicted a text, and what is needed to measure it again."""

    model: str  # its name in tables
    recipe: str = ""  # which model of ours it is, see lm_benchmarks.reporting.rows; "": not ours
    signature: Signature
    articles: tuple[Sums, ...]
    groups: tuple[TokenGroup, ...] = ()
    checks: Mapping[str, str] | None = None  # by law, what breaks it, or "" if it is kept; None: not tried
    parameters: int | None = None
    seconds: float = 0.0
    device: str = "unknown"
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    written: str = ""  # ISO 8601, UTC
    trained: tuple[Trained, ...] = ()  # how each checkpoint in it was trained
    # None: the laws were tried only at the beginning, or not at all
    tried: Tried | None = added(None)  # noqa: RUF009 - as `field`
    specification: str = added("")  # what the user called the model, without this machine's folders
    number: float | None = added(None)

    @property
    def total(self) -> Sums:
        """The sums over the whole text."""
        return sum(self.articles, Sums())

    @property
    def as_presets(self) -> bool:
        """Returns True if each checkpoint in it was trained as its preset says, or if nothing was trained."""
        return all(one.as_preset for one in self.trained)

    @property
    def decisive_settings(self) -> tuple[frozenset[str], ...]:
        """The settings that make each checkpoint in it another one than its preset."""
        return tuple(decisive_settings(one.settings) for one in self.trained)

    @property
    def broken(self) -> tuple[str, ...]:
        """The laws that the model breaks."""
        return tuple(law for law, found in (self.checks or {}).items() if found)


def to_json(result: Result) -> str:
    """A result in one line."""
    record = {
        "format": FORMAT,
        **{each.name: getattr(result, each.name) for each in fields(result)},
        "signature": str(result.signature),
        "checks": None if result.checks is None else dict(result.checks),
        "versions": dict(result.versions),
        "articles": [asdict(article) for article in result.articles],
        "groups": [asdict(group) for group in result.groups],
        "trained": [asdict(one) for one in result.trained],
        "tried": None if result.tried is None else asdict(result.tried),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> Result:
    """The result of a line.

    Raises:
        ValueError: The line is not a result of this format.
    """
    result: Result = plain_record(object_of(line, "a result", FORMAT), Result, **PARSED)
    unsound = [number for number, article in enumerate(result.articles, start=1) if not article.is_sound]
    if missing := [name for name in (*MUST_AGREE, "model") if name not in result.signature]:
        raise ValueError(f"a signature without {', '.join(missing)}")
    if any(
        count < 0 for group in result.groups for count in (group.tokens, *(part[0] for part in group.parts))
    ):
        raise ValueError("a group has counts below zero")
    total = result.total
    if not math.isfinite(total.nats):
        raise ValueError(f"the nats of all articles sum to {total.nats}")
    if unsound or not result.articles:
        raise ValueError(f"article {unsound[0]} has counts below zero" if unsound else "no article")
    if not total.tokens and (result.groups or result.signature["convention"] == PAPER):
        raise ValueError("no token")
    return result


def _list_of(kind: Any, name: str) -> Callable[[Any], tuple[Any, ...]]:  # noqa: ANN401 - a dataclass
    return lambda items: tuple(plain_record(item, kind) for item in typed(items, list, name))


def _parts(value: Json) -> tuple[tuple[int, float], ...]:
    found = []
    for pair in typed(value, list, "parts"):
        if len(typed(pair, list, "parts")) != 2:
            raise ValueError(f"parts has {pair!r:.40}, not a number of tokens and nats")
        tokens, nats = typed(pair[0], int, "parts"), float(typed(pair[1], (int, float), "parts"))
        found.append((tokens, nats))
    return tuple(found)


PARSED: Final[dict[str, Callable[[Any], Any]]] = {  # of fields that are not plain
    "signature": lambda value: Signature.parse(typed(value, str, "signature")),
    "articles": _list_of(Sums, "articles"),
    "groups": lambda items: tuple(
        plain_record(item, TokenGroup, parts=_parts) for item in typed(items, list, "groups")
    ),
    "checks": lambda value: None if value is None else strings(value, "checks"),
    "tried": lambda value: None if value is None else plain_record(value, Tried),
    "versions": lambda value: strings(value, "versions"),
    "trained": lambda items: tuple(map(trained_of_json, typed(items, list, "trained"))),
}


def append_result(path: Path, result: Result) -> None:
    """Append a result to a file, whole or not at all, even if several processes write.

    Raises:
        HarnessError: The file cannot be written, or its last line is incomplete.
    """
    append_line(path, to_json(result))


def read_results(path: str | Path) -> list[Result]:
    """The results of a file, in order.

    Raises:
        HarnessError: The file cannot be read, or a line is not a result.
    """
    return read_lines(Path(path), from_json, writer="lm-benchmarks run")
