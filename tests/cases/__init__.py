"""Reads the case files of this folder: tables of cases, each with a label, and a source or a reason.

A text of many repetitions is written as `{"pieces": [["(", 1000], "x"]}`: a thousand brackets, then an x.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wikitext_builder.errors import BuilderError

FOLDER = Path(__file__).parent


def read(name: str) -> dict[str, Any]:
    """A case file: its tables by name, and what they share."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def cases(name: str, table: str = "cases") -> list[dict[str, Any]]:
    """The cases of a table: `cases("extract/markup")`."""
    return [whole(case) for case in read(name)[table]]


def each(name: str, fields: str, table: str = "cases") -> pytest.MarkDecorator:
    """Parametrizes a test with fields of each case of a table; its label, or its first field, names it."""
    keys = fields.split(", ")
    rows = [
        pytest.param(*(case[key] for key in keys), id=str(case.get("label", case[keys[0]]))[:60])
        for case in cases(name, table)
    ]
    return pytest.mark.parametrize(keys, rows)


def wrong(
    name: str, table: str, expected: str, gives: Callable[[dict[str, Any]], object]
) -> list[tuple[dict[str, Any], object]]:
    """The cases for which a function gives another value than the expected field, each with that value."""
    results = [(case, gives(case)) for case in cases(name, table)]
    assert results
    return [(case, result) for case, result in results if result != case[expected]]


def refusal(function: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """The error with which a function refuses what it gets; empty if it takes it."""
    try:
        function(*arguments, **options)
    except BuilderError as error:
        return str(error)
    return ""


def whole(value: Any) -> Any:
    """A value of a case, with its texts of repetitions written out."""
    if isinstance(value, dict) and value.keys() == {"pieces"}:
        return "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in value["pieces"])
    return {key: whole(one) for key, one in value.items()} if isinstance(value, dict) else value
