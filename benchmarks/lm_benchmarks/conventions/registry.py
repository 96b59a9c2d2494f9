"""Reads `conventions.toml`: all conventions, by name."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, Final

from lm_benchmarks.conventions.convention import Convention, Rule
from lm_benchmarks.conventions.rules import NUMBERS, PREPARE, WINDOWS


def _convention(
    name: str, *, prepare: str = "", windows: str = "", number: str = "", **said: Any
) -> Convention:
    rule = (
        Rule(prepare=PREPARE[prepare], windows=WINDOWS[windows], number=NUMBERS[number]) if prepare else None
    )
    return Convention(name=name, rule=rule, **said | {"known": tuple(said.get("known", ()))})


REGISTRY: Final[dict[str, Convention]] = {
    name: _convention(name, **table)
    for name, table in tomllib.loads(
        files("lm_benchmarks.conventions").joinpath("conventions.toml").read_text(encoding="utf-8")
    ).items()
}
