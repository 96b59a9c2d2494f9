"""A measured number with all that decided it, and files of them: JSON lines, only ever appended to."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from benchmarks.metrics import Tally
from ps_models.signature import Signature
from wikitext_builder.errors import BuilderError

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
    log: str = ""  # the folder of the training run, if there is one

    @property
    def total(self) -> Tally:
        """Of the whole text."""
        return sum(self.articles, Tally())

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
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> Result:
    """The result of a line.

    Raises:
        ValueError: The line is no result of this format.
    """
    record = _object(json.loads(line, parse_constant=_no_constant), "a result")
    if record.pop("format", None) != FORMAT:
        raise ValueError(f"not a result of format {FORMAT}")
    _expect_fields(record, Result, "a result")
    checks = record["checks"]
    result = Result(
        model=_typed(record["model"], str, "model"),
        signature=Signature.parse(_typed(record["signature"], str, "signature")),
        articles=tuple(_record(part, Tally) for part in _typed(record["articles"], list, "articles")),
        groups=tuple(_record(part, Group) for part in _typed(record["groups"], list, "groups")),
        checks=None if checks is None else _strings(checks, "checks"),
        parameters=None if record["parameters"] is None else _typed(record["parameters"], int, "parameters"),
        seconds=float(_typed(record["seconds"], (int, float), "seconds")),
        versions=_strings(record["versions"], "versions"),
        **{
            name: _typed(record[name], str, name) for name in ("device", "command", "written", "log")
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
    content = (to_json(result) + "\n").encode()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":
                raise BuilderError(f"{path}: its last line is not whole; remove that line, then run again")
            try:
                _write_all(descriptor, content)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, length)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BuilderError(f"{path}: {error.strerror}; expected a file to add results to") from error


def read_results(path: Path) -> list[Result]:
    """The results of a file, in order.

    Raises:
        BuilderError: The file cannot be read, or a line is no result.
    """
    results = []
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                try:
                    results.append(from_json(line))
                except (ValueError, RecursionError) as error:
                    raise BuilderError(
                        f"{path}, line {number}: {error}; expected a result as `lm-benchmarks run` writes it."
                        " Remove the line, or measure again"
                    ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a file of results") from error
    if not results:
        raise BuilderError(f"{path}: holds no result; measure one with `lm-benchmarks run`")
    return results


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _object(value: Any, what: str) -> dict[str, Any]:  # noqa: ANN401 - as JSON gives it
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {type(value).__name__}, not an object")  # noqa: TRY004 - bad content
    return value


def _expect_fields(record: Mapping[str, Any], kind: Any, what: str) -> None:  # noqa: ANN401 - a dataclass
    expected = {each.name for each in fields(kind)}
    if differing := sorted(expected ^ record.keys()):
        missing = differing[0] in expected
        raise ValueError(f"{what} {'has no' if missing else 'has an unknown'} field {differing[0]!r}")


KINDS: Final[dict[str, Any]] = {"int": int, "float": (int, float), "str": str}


def _record(value: Any, kind: Any) -> Any:  # noqa: ANN401 - a dataclass of plain fields
    what = f"a {kind.__name__.lower()}"
    record = _object(value, what)
    _expect_fields(record, kind, what)
    return kind(
        **{each.name: _typed(record[each.name], KINDS[str(each.type)], each.name) for each in fields(kind)}
    )


def _typed(value: Any, kind: Any, name: str) -> Any:  # noqa: ANN401 - as JSON gives it
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}, not of its type")  # noqa: TRY004 - bad content
    return value


def _strings(value: Any, name: str) -> dict[str, str]:  # noqa: ANN401 - as JSON gives it
    return {key: _typed(text, str, f"{name}.{key}") for key, text in _object(value, name).items()}


def _no_constant(name: str) -> float:
    raise ValueError(f"the number {name}")
