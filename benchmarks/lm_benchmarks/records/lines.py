"""Files of JSON lines that are only ever appended to, and the rules for their lines.

Records can grow. A field that is new is declared with `added`: stored records do not have it and are read
with its default. A field that a record has and this version does not know may change what its numbers mean,
so the record is refused: the error names the version that wrote it.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import Field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.fields import is_added

Record = TypeVar("Record")
Json = Any  # what json.loads gives
JSON_TYPES: Final[dict[str, Any]] = {
    "int": int,
    "int | None": (int, type(None)),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "str": str,
    "Mapping[str, Any]": dict,
}


class UnknownFieldError(ValueError):
    """A record has a field that this version does not know."""


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, whole or not at all, even if several processes write.

    Raises:
        HarnessError: The file cannot be written, or its last line is incomplete.
    """
    content = (line + "\n").encode()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":
                raise HarnessError(f"{path}: its last line is incomplete; remove that line, then run again")
            try:
                _write_all(descriptor, content)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, length)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror}; expected a file to add results to") from error


def has_lines(path: Path) -> bool:
    """Returns True if there is a file that is not empty, as it is if its writer was killed at once."""
    return path.exists() and path.stat().st_size > 0


def read_lines(path: Path, parse: Callable[[str], Record], *, writer: str) -> list[Record]:
    """The records of a file, in order.

    Args:
        path: The file.
        parse: Returns the record of a line, or raises ValueError.
        writer: The command that writes such files, for errors.

    Raises:
        HarnessError: The file cannot be read, or a line is not such a record.
    """
    records = []
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            with suppress(OSError):  # not each file system has locks
                fcntl.flock(file, fcntl.LOCK_SH)  # the last line may still be written
            for number, line in enumerate(file, start=1):
                try:
                    records.append(parse(line))
                except UnknownFieldError as error:
                    writing, ours = _version_of(line), version("wikitext-builder")
                    raise HarnessError(
                        f"{path}, line {number}: {error}; wikitext-builder {writing} wrote it, this is"
                        f" {ours}. Install the newer version to read it"
                    ) from error
                except (ValueError, RecursionError) as error:
                    raise HarnessError(
                        f"{path}, line {number}: {error}; expected a result as `{writer}` writes it."
                        " Remove the line, or measure again"
                    ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"{path}: {error}; expected a file of results") from error
    if not records:
        raise HarnessError(f"{path}: holds no result; measure one with `{writer}`")
    return records


def object_of(line: str, what: str, form: int) -> dict[str, Any]:
    """The object in a line of JSON, without its field `format`.

    Raises:
        ValueError: The line is not an object, or has a different format.
    """
    record = mapping(json.loads(line, parse_float=_finite, parse_constant=_no_constant), what)
    if record.pop("format", None) != form:
        raise ValueError(f"not {what} of format {form}")
    return record


def mapping(value: Json, what: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        ValueError: It is not an object.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {type(value).__name__}, not an object")  # noqa: TRY004 - bad content
    return value


def plain_record(value: Json, kind: Any, **parsed: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - a dataclass
    """A dataclass from a JSON object.

    Args:
        value: The object.
        kind: The dataclass. Its fields are of JSON_TYPES.
        parsed: For fields of other types, functions that make their values.

    Raises:
        ValueError: A field is missing, unknown, or not of its type.
    """
    what = f"a {kind.__name__.lower()}"
    record = mapping(value, what)
    known = {each.name: each for each in fields(kind)}
    for name in sorted(record.keys() - known.keys()):
        raise UnknownFieldError(f"{what} has an unknown field {name!r}")
    values = {}
    for name, each in known.items():
        if name in record:
            values[name] = _parsed(record[name], each, parsed)
        elif not is_added(each):
            raise ValueError(f"{what} has no field {name!r}")
    return kind(**values)


def _parsed(value: Json, each: Field[Any], parsed: Mapping[str, Callable[[Any], Any]]) -> Any:  # noqa: ANN401
    if each.name in parsed:
        return parsed[each.name](value)
    return typed(value, JSON_TYPES[str(each.type)], each.name)


def typed(value: Json, kind: Any, name: str) -> Any:  # noqa: ANN401 - of the kind
    """A value, if it is of its type.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}, not of its type")  # noqa: TRY004 - bad content
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError(f"{name} has more than 63 bits")
    if isinstance(value, str):
        value.encode()  # half a pair of surrogates cannot be printed
    return value


def strings(value: Json, name: str) -> dict[str, str]:
    """A JSON object of strings.

    Raises:
        ValueError: It is not one.
    """
    return {key: typed(text, str, f"{name}.{key}") for key, text in mapping(value, name).items()}


def finite(value: float) -> float | None:
    """A number as JSON can hold it: None if it is infinite or NaN."""
    return value if math.isfinite(value) else None


def _version_of(line: str) -> str:
    """The version of wikitext-builder that wrote a record."""
    versions = json.loads(line).get("versions")
    return str(versions.get("wikitext-builder", "unknown")) if isinstance(versions, dict) else "unknown"


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _finite(number: str) -> float:
    return value if math.isfinite(value := float(number)) else _no_constant(number)


def _no_constant(number: str) -> float:
    raise ValueError(f"the number {number}, not a finite one")
