"""Fields of records that are newer than the first records."""

from __future__ import annotations

from dataclasses import Field, field
from typing import Any, Final

ADDED: Final = "added"


def added(default: Any) -> Any:  # noqa: ANN401 - as dataclasses.field
    """A field that records have from some version on; older ones are read with its default."""
    return field(default=default, metadata={ADDED: True})


def is_added(one: Field[Any]) -> bool:
    """Returns True if a record may be without the field."""
    return bool(one.metadata.get(ADDED))
