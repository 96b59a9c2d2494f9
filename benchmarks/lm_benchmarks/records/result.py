"""A measured number with all that decided it, and files of them: JSON lines, only ever appended to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final

from lm_benchmarks.metrics import Tally
from lm_benchmarks.records.lines import (
    append_line,
    expect_fields,
    object_of,
    plain_record,
    read_lines,
    strings,
    typed,
)
from lm_benchmarks.records.trained import Trained, trained_of_json
from ps_models.evaluation.signature import Signature

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The tokens of a text that have something in common, and how they were predicted."""

    by: str  # a name in GROUPINGS
    label: str
    tokens: int
    nats: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a model predicted a text, and what is needed to do it again."""

    model: str  # its name in tables
    recipe: str = ""  # what of ours it is: see lm_benchmarks.reporting.rows; "" for other people's models
    signature: Signature
    articles: tuple[Tally, ...]
    groups: tuple[Group, ...] = ()
    checks: Mapping[str, str] | None = None  # by law, what broke it, or "" where it is kept; None: not tried
    parameters: int | None = None
    seconds: float = 0.0
    device: str = "unknown"
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    written: str = ""  # ISO 8601, UTC
    trained: tuple[Trained, ...] = ()  # how each checkpoint in it was trained

    @property
    def total(self) -> Tally:
        """Of the whole text."""
        return sum(self.articles, Tally())

    @property
    def as_presets(self) -> bool:
        """Whether each checkpoint in it was trained as its preset says; true where nothing was trained."""
        return all(one.as_preset for one in self.trained)

    @property
    def broken(self) -> tuple[str, ...]:
        """The laws that the model was found to break."""
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
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> Result:
    """The result of a line.

    Raises:
        ValueError: The line is no result of this format.
    """
    record = object_of(line, "a result", FORMAT)
    expect_fields(record, Result, "a result")
    checks = record["checks"]
    result = Result(
        signature=Signature.parse(typed(record["signature"], str, "signature")),
        articles=tuple(plain_record(part, Tally) for part in typed(record["articles"], list, "articles")),
        groups=tuple(plain_record(part, Group) for part in typed(record["groups"], list, "groups")),
        checks=None if checks is None else strings(checks, "checks"),
        parameters=None if record["parameters"] is None else typed(record["parameters"], int, "parameters"),
        seconds=float(typed(record["seconds"], (int, float), "seconds")),
        versions=strings(record["versions"], "versions"),
        trained=tuple(map(trained_of_json, typed(record["trained"], list, "trained"))),
        **{
            name: typed(record[name], str, name)
            for name in ("model", "recipe", "device", "command", "written")
        },  # all that are text
    )
    unsound = [number for number, article in enumerate(result.articles, start=1) if not article.is_sound]
    if unsound or not result.articles:
        raise ValueError(f"article {unsound[0]} counts less than nothing" if unsound else "no article")
    return result


def append_result(path: Path, result: Result) -> None:
    """Add a result to the end of a file, whole or not at all, also where several processes write.

    Raises:
        BuilderError: The file cannot be written, or its last line is not whole.
    """
    append_line(path, to_json(result))


def read_results(path: Path) -> list[Result]:
    """The results of a file, in order.

    Raises:
        BuilderError: The file cannot be read, or a line is no result.
    """
    return read_lines(path, from_json, writer="lm-benchmarks run")
