"""Files of records: JSON lines that are only appended to, and the rules by which records can grow.

Fields are added after format 1, with defaults for older records. A field that a record has and this version
does not know may change what its numbers mean, so the record is refused: the error names the version that
wrote it. The texts in records are portable, and of one line.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeVar, get_args

import msgspec

from lm_benchmarks.errors import HarnessError
from ps_models.evaluation.signature import Signature
from wikitext_builder.addresses import without_secrets

FORMAT: Final = 1
Int63 = Annotated[int, msgspec.Meta(ge=-(2**63) + 1, le=2**63 - 1)]  # what every reader of JSON can hold


class UnknownFieldError(ValueError):
    """A record has a field that this version does not know."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a stored record."""

    ADDED: ClassVar[frozenset[str]] = frozenset()
    """Fields added after format 1: older records lack them. All others are required, defaults or not."""


def expect_fields(value: object, kind: type[Record]) -> None:
    """Refuse a JSON object that lacks fields of a record, or has others; the same for the records in it.

    Raises:
        ValueError: A field is missing.
        UnknownFieldError: A field is unknown.
    """
    if not isinstance(value, dict):
        return  # `msgspec.convert` refuses it
    what, known = f"a {kind.__name__.lower()}", {one.name: one.type for one in msgspec.structs.fields(kind)}
    for name in sorted(value.keys() - known.keys()):
        raise UnknownFieldError(f"{what} has an unknown field {name!r}")
    for name in known:
        if name not in value and name not in kind.ADDED:
            raise ValueError(f"{what} has no field {name!r}")
    for name, inner in known.items():
        for part in (inner, *get_args(inner)):  # `Tried | None`, `tuple[Sums, ...]`
            if isinstance(part, type) and issubclass(part, Record):
                found = value.get(name)
                for one in found if isinstance(found, list) else [found]:
                    expect_fields(one, part)


R = TypeVar("R", bound=Record)


def append_record(path: Path, record: Record) -> None:
    """Append a record to a file, whole or not at all, even if several processes write.

    A last line without an end gets one: who edited the file, or was killed, costs no other record.
    """
    content = (to_line(record) + "\n").encode()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":
                content = b"\n" + content
            try:
                while content:
                    content = content[os.write(descriptor, content) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, length)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror}; expected a file to add results to") from error


def to_line(record: Record) -> str:
    """A record in one line of JSON."""
    fields = msgspec.to_builtins(record, enc_hook=str)  # a signature is its text
    return json.dumps({"format": FORMAT, **fields}, ensure_ascii=False, allow_nan=False)


def of_line(line: str, kind: type[R], what: str) -> R:
    """The record of a class in a line of JSON; `what` it is, for errors.

    Raises:
        ValueError: The line is not such a record. It is an UnknownFieldError if a newer version wrote it.
    """
    found = msgspec.json.decode(line)
    if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
        raise ValueError(f"not {what} of format {FORMAT}")
    expect_fields(found, kind)
    return msgspec.convert(found, kind, dec_hook=_signature)


def _signature(kind: type, value: object) -> object:
    if kind is not Signature or not isinstance(value, str):
        raise ValueError(f"expected the text of a signature, found {value!r:.40}")
    return Signature.parse(value)


def has_lines(path: Path) -> bool:
    """Returns True if there is a file that is not empty, as it is if its writer was killed at once."""
    return path.exists() and path.stat().st_size > 0


def read_lines(path: Path, parse: Callable[[str], R], *, writer: str) -> list[R]:
    """The records of a file, in order, which `parse` makes of lines or refuses by ValueError.

    `writer` is the command that writes such files, for errors.
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
                    raise HarnessError(
                        f"{path}, line {number}: {error}; wikitext-builder {_version_of(line)} wrote it, this"
                        f" is {version('wikitext-builder')}. Install the newer version to read it"
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


def _version_of(line: str) -> str:
    versions: Any = msgspec.json.decode(line).get("versions")
    return str(versions.get("wikitext-builder", "unknown")) if isinstance(versions, Mapping) else "unknown"


def finite(value: float) -> float | None:
    """A number as JSON can hold it: None if it is infinite or NaN."""
    return value if math.isfinite(value) else None


def portable(argument: str) -> str:
    """An argument of a command without the folders of this machine, and without secrets in addresses.

    >>> portable("mix:/data/runs/lstm-small,kn-5+cache"), portable("../shared/data/ptb")
    ('mix:lstm-small,kn-5+cache', '../shared/data/ptb')
    >>> portable("mix:/data/my runs/lstm small,/my data/x")
    'mix:lstm small,x'
    >>> portable("python /a/b c/x.py /d/y")
    'python x.py y'
    >>> portable("command:awk -f '/data/me/x.awk'"), portable("completions:http://me:secret@host/v1/x")
    ("command:awk -f 'x.awk'", 'completions:http://host/v1/x')

    Bytes that are no UTF-8 are spelled out, because a record cannot hold them.
    """
    argument = without_secrets(argument.encode(errors="backslashreplace").decode())
    no = r"/,:\s" if "command:" in argument else "/,:"  # folders may have spaces; a program's line has words
    return re.sub(rf"(?<![^:,=\s'\"])/(?:[^{no}]*[^{no}\s]/)+(?=[^{no}])", "", argument)
