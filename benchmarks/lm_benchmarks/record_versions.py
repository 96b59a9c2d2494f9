"""Rules by which records can grow: fields added after format 1, with defaults for older records.

A field that a record has and this version does not know may change what its numbers mean, so the record is
refused: the error names the version that wrote it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, get_args

import msgspec

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
