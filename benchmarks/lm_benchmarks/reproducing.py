"""The commands that reproduce a published table: each row is trained, and then measured once.

A shell runs them in order. `train` and `run` resume what was stopped and skip what is done, so the same
commands can be run again until nothing is left.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.reporting.published import PUBLISHED, ROWS, published_on

TRAINED: Final = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")  # a model with its preset, in a recipe


def recipes_of(table: str, size: str, names: Sequence[str] = ()) -> list[str]:
    """The recipes of a table that can be run, in its order.

    Names, of rows or of recipes, choose some, in this order; without names it has those published there or
    nowhere, and models that only count.
    """
    elsewhere = {row.model for row in PUBLISHED} - published_on(table).keys()
    rows = [row for row in ROWS if row.recipe(table, size)]
    usual = [row for row in rows if row.name not in elsewhere or row.one_size]
    others = [row for row in rows if row not in usual and row.small]
    by_name = {
        key: row.recipe(table, size)
        for row in (*others, *reversed(usual))
        for key in (row.recipe(table, size), row.name.casefold())
    }
    if unknown := [name for name in names if name.casefold() not in by_name]:
        offered = "".join(f"\n  {row.name}" for row in usual)  # names have commas
        raise HarnessError(f"{unknown[0]}: no such row of {table} with --size {size}; there are{offered}")
    chosen = [by_name[name.casefold()] for name in names] or [row.recipe(table, size) for row in usual]
    return list(dict.fromkeys(chosen))


def reproduce(
    table: str,
    data: str | Path,
    out: str | Path,
    *,
    size: str = "own",
    rows: Sequence[str] = (),
    seeds: Sequence[int] = (1,),
    settings: Sequence[str] = (),
) -> list[str]:
    """Return the commands that train and measure the rows of a published table, in order.

    Each model is trained once, whatever the number of rows of it, and measured on valid and test.

    Args:
        table: `ptb` or `wikitext-2`.
        data: The dataset; only numbers on the official files compare with published ones.
        out: The folder for the runs, and for the results in `TABLE.jsonl`.
        size: `own`, `full` or `small`: see SIZES.
        rows: Only these rows, by name or by recipe; empty: all.
        seeds: Training seeds.
        settings: `key=value` for all trainings, such as `precision=bf16`.

    Raises:
        HarnessError: There is no such row, or an argument cannot be used.
    """
    if any(setting.partition("=")[0] == "seed" for setting in settings):
        raise HarnessError("seed in --set; use --seed for seeds")
    if {",", ":"} & set(str(out)):
        raise HarnessError(f"{out}: a comma or colon separates models; use an --out without one")
    folder, lines = Path(out), dict[str, None]()
    for recipe in recipes_of(table, size, rows):
        for seed in seeds:
            lines |= dict.fromkeys(_commands(recipe, seed, str(data), folder, table, settings))
    return list(lines)


def _commands(
    recipe: str, seed: int, data: str, folder: Path, table: str, settings: Sequence[str]
) -> Iterator[str]:
    model = recipe
    for trained in TRAINED.findall(recipe):
        name, _, preset = trained.partition("/")
        run = str(folder / f"{name}-{preset}-seed{seed}")
        words = ["ps-models", "train", name, data, "--preset", preset, "--out", run]
        yield shlex.join([*words, *(f"--set={one}" for one in (*settings, f"seed={seed}"))])
        model = model.replace(trained, run)
    words = ["lm-benchmarks", "run", model, "--data", data, "--results", str(folder / f"{table}.jsonl")]
    words += ["--seed", str(seed)] if model != recipe else []  # what only counts has no seed
    yield shlex.join([*words, "--split=valid", "--split=test"])
