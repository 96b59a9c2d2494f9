"""Files of JSON lines that are only ever appended to, and what their lines are held to."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar

from wikitext_builder.errors import BuilderError

Record = TypeVar("Record")
KINDS: Final[dict[str, Any]] = {
    "int": int,
    "int | None": (int, type(None)),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "str": str,
    "Mapping[str, Any]": dict,
}


def append_line(path: Path, line: str) -> None:
    """Add a line to the end of a file, whole or not at all, also where several processes write.

    Raises:
        BuilderError: The file cannot be written, or its last line is not whole.
    """
    content = (line + "\n").encode()
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


def read_lines(path: Path, parse: Callable[[str], Record], *, writer: str) -> list[Record]:
    """The records of a file, in order.

    Args:
        path: The file.
        parse: Gives the record of a line, or a ValueError.
        writer: The command that writes such files, for errors.

    Raises:
        BuilderError: The file cannot be read, or a line is no such record.
    """
    records = []
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                try:
                    records.append(parse(line))
                except (ValueError, RecursionError) as error:
                    raise BuilderError(
                        f"{path}, line {number}: {error}; expected a result as `{writer}` writes it."
                        " Remove the line, or measure again"
                    ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a file of results") from error
    if not records:
        raise BuilderError(f"{path}: holds no result; measure one with `{writer}`")
    return records


def object_of(line: str, what: str, form: int) -> dict[str, Any]:
    """The object in a line of JSON, without its field `format`.

    Raises:
        ValueError: The line is none, or is of another format.
    """
    record = mapping(json.loads(line, parse_constant=_no_constant), what)
    if record.pop("format", None) != form:
        raise ValueError(f"not {what} of format {form}")
    return record


def mapping(value: Any, what: str) -> dict[str, Any]:  # noqa: ANN401 - as JSON gives it
    """A JSON object.

    Raises:
        ValueError: It is something else.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {type(value).__name__}, not an object")  # noqa: TRY004 - bad content
    return value


def expect_fields(record: Mapping[str, Any], kind: Any, what: str) -> None:  # noqa: ANN401 - a dataclass
    """Refuse an object that has not exactly the fields of a dataclass.

    Raises:
        ValueError: One is missing or unknown.
    """
    expected = {each.name for each in fields(kind)}
    if differing := sorted(expected ^ record.keys()):
        missing = differing[0] in expected
        raise ValueError(f"{what} {'has no' if missing else 'has an unknown'} field {differing[0]!r}")


def plain_record(value: Any, kind: Any, **parsed: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - a dataclass
    """A dataclass out of a JSON object.

    Args:
        value: The object.
        kind: The dataclass; its fields are of KINDS.
        parsed: For fields of other types, what makes them.

    Raises:
        ValueError: A field is missing, unknown, or not of its type.
    """
    what = f"a {kind.__name__.lower()}"
    record = mapping(value, what)
    expect_fields(record, kind, what)
    return kind(
        **{
            each.name: parsed[each.name](record[each.name])
            if each.name in parsed
            else typed(record[each.name], KINDS[str(each.type)], each.name)
            for each in fields(kind)
        }
    )


def typed(value: Any, kind: Any, name: str) -> Any:  # noqa: ANN401 - as JSON gives it
    """A value that is of its type.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}, not of its type")  # noqa: TRY004 - bad content
    return value


def strings(value: Any, name: str) -> dict[str, str]:  # noqa: ANN401 - as JSON gives it
    """A JSON object of strings.

    Raises:
        ValueError: It is none.
    """
    return {key: typed(text, str, f"{name}.{key}") for key, text in mapping(value, name).items()}


def finite(value: float) -> float | None:
    """A number as JSON can hold it: None where it is infinite or no number."""
    return value if math.isfinite(value) else None


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _no_constant(name: str) -> float:
    raise ValueError(f"the number {name}")
