"""Published numbers, the rows of the paper's tables, and which of our models each row is.

Two data files: `published.toml` has the numbers with their sources and caveats, `rows.toml` the recipes. A
recipe says in each result what a model is: the name of a baseline (`kn-5`), a model with its preset
(`lstm/gal-large`), or a combination of these, as `lm-benchmarks run` writes it (`mc:lstm/gal-large`,
`mix:rnn-lda/mikolov,kn-5+cache`). Only recipes link published numbers to measured ones.

`reproduce` returns the commands that train and measure the rows. A shell runs them in order. `train` and
`run` resume what was stopped and skip what is done, so the same commands can be repeated until all is done.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from lm_benchmarks.choices import PAPER, HarnessError
from lm_benchmarks.records import Result

PAPER_FIELDS: Final = {"convention": PAPER, "text": "tokens", "context": "carried"}  # of signatures


class Published(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published number: a model on a dataset."""

    model: str
    data: str  # the name of the dataset's folder: ptb, wikitext-2, …
    perplexities: Mapping[str, float]  # by split
    parameters: str = ""
    source: str = ""  # a citation
    note: str = ""  # a caveat

    @property
    def valid_and_test(self) -> str:
        """The numbers of valid and test, as text."""
        return " / ".join(decimals(self.perplexities.get(split)) or "–" for split in ("valid", "test"))


class OwnTraining(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training of the published size with our settings."""

    recipe: str
    differs: str  # how it differs from the published one
    on: tuple[str, ...] = ("ptb",)  # its datasets


class PaperRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row: a published model, and the recipes of our models for it."""

    name: str  # the model of `Published`, if a number is published
    small: str = ""  # recipe; "": no such size
    full: str = ""  # recipe of the published size; "": no preset
    full_on: Mapping[str, str] = msgspec.field(default_factory=dict)  # by dataset, where it differs
    own_trainings: tuple[OwnTraining, ...] = ()  # the first one of a dataset is the one to reproduce
    one_size: bool = False  # True: it only counts, so there is no smaller size

    def full_recipe(self, data: str) -> str:
        """Return the recipe of the published size on a dataset."""
        return self.full_on.get(data, self.full)

    def recipe(self, data: str, size: str) -> str:
        """Return the recipe of a size: `small`, `full`, or `own` (`full` if there is no training of ours).

        A model that only counts has one size.
        """
        if size == "own" and (trainings := self.own_trainings_on(data)):
            return trainings[0].recipe
        return self.small if size == "small" and not self.one_size else self.full_recipe(data)

    def own_trainings_on(self, data: str) -> list[OwnTraining]:
        """Return our trainings on a dataset."""
        return [training for training in self.own_trainings if data in training.on]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a data file beside this module."""

    texts: dict[str, str]
    official: dict[str, dict[str, str]] = {}
    table_2: tuple[Published, ...] = ()
    table_3: tuple[Published, ...] = ()
    later: tuple[Published, ...] = ()
    rows: tuple[PaperRow, ...] = ()


def _read(name: str) -> _File:
    """Read a file; a name in braces stands for that text of its table `texts`."""
    content = files("lm_benchmarks.reporting").joinpath(name).read_text(encoding="utf-8")
    texts = msgspec.toml.decode(content)["texts"]
    return msgspec.toml.decode(re.sub(r"\{(\w+)\}", lambda match: texts[match[1]], content), type=_File)


_NUMBERS: Final = _read("published.toml")
OFFICIAL: Final = {data: file["vocabulary"] for data, file in _NUMBERS.official.items()}
FILES: Final = {
    data: {split: file[split] for split in ("valid", "test")} for data, file in _NUMBERS.official.items()
}
TRAIN: Final = {data: file["train"] for data, file in _NUMBERS.official.items()}
PENN_TREEBANK: Final = _NUMBERS.table_2
WIKITEXT_2: Final = _NUMBERS.table_3
LATER: Final = _NUMBERS.later
PUBLISHED: Final = (*PENN_TREEBANK, *WIKITEXT_2, *LATER)
ROWS: Final = _read("rows.toml").rows


def published_on(data: str) -> dict[str, Published]:
    """Return the published numbers of a dataset, by model."""
    return {row.model: row for row in PUBLISHED if row.data == data}


def decimals(value: float | None) -> str:
    """Format a published number with the decimals that the paper prints: one or two."""
    return "" if value is None else f"{value:,.1f}" if round(value, 1) == value else f"{value:,.2f}"


def note(name: str, *parts: str) -> str:
    """Join remarks about a row in one line.

    >>> note("KN5", "Mikolov and Zweig (2012).", "", "An estimate")
    'KN5: Mikolov and Zweig (2012). An estimate.'
    """
    return f"{name}: {'. '.join(part.rstrip('.') for part in parts if part)}."


def published_name(recipe: str, data: str) -> str:
    """Return the published model of a recipe of the full size; "" if there is none.

    >>> published_name("lstm/gal-large", "ptb"), published_name("lstm/gal-small", "ptb")
    ('LSTM Gal large', '')
    """
    return next((row.name for row in ROWS if recipe and row.full_recipe(data) == recipe), "")


def is_trained_on(result: Result, train: str) -> bool:
    """Return True if all parts of our model come from the train file whose hash begins with `train`."""
    counting_models = [part for part in result.recipe.removeprefix("mix:").split(",") if "/" not in part]
    return all(training.train_sha256.startswith(train) for training in result.trained) and all(
        f"{part}+{train}" in result.signature["model"] for part in counting_models
    )


def is_as_papers(result: Result) -> bool:
    """Return True if a result is counted as papers do, on an official file with its vocabulary."""
    data, file = result.data
    is_official = FILES.get(data, {}).get(result.signature["split"]) == file
    fields = {**PAPER_FIELDS, "vocabulary": OFFICIAL.get(data)}
    return is_official and fields.items() <= dict(result.signature).items()


TRAINED_MODEL: Final = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")  # a model with its preset, in a recipe


def recipes_of(table: str, size: str, names: Sequence[str] = ()) -> list[str]:
    """Return the recipes of a table that can be run, in its order.

    Names of rows or recipes choose recipes, in this order. Without names, these are rows published there or
    nowhere, and models that only count.
    """
    elsewhere = {row.model for row in PUBLISHED} - published_on(table).keys()
    rows = [row for row in ROWS if row.recipe(table, size)]
    default_rows = [row for row in rows if row.name not in elsewhere or row.one_size]
    further_rows = [row for row in rows if row not in default_rows and row.small]
    by_name = {
        key: row.recipe(table, size)
        for row in (*further_rows, *reversed(default_rows))
        for key in (row.recipe(table, size), row.name.casefold())
    }
    if unknown := [name for name in names if name.casefold() not in by_name]:
        offered = "".join(f"\n  {row.name}" for row in default_rows)  # names have commas
        raise HarnessError(f"{unknown[0]}: no such row of {table} with --size {size}; there are{offered}")
    chosen = [by_name[name.casefold()] for name in names] or [row.recipe(table, size) for row in default_rows]
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

    Each model is trained once, even if it has several rows, and measured on valid and test.

    Args:
        table: `ptb` or `wikitext-2`.
        data: The dataset; only numbers on the official files compare with published ones.
        out: The folder for the runs, and for the results in `TABLE.jsonl`.
        size: `own`, `full` or `small`: see SIZES.
        rows: Only these rows, by name or by recipe; empty: all.
        seeds: Training seeds.
        settings: `key=value` for all trainings, such as `precision=bf16`.

    Raises:
        HarnessError: A row does not exist, or an argument cannot be used.
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
    for training in TRAINED_MODEL.findall(recipe):
        name, _, preset = training.partition("/")
        run = str(folder / f"{name}-{preset}-seed{seed}")
        words = ["ps-models", "train", name, data, "--preset", preset, "--out", run]
        yield shlex.join([*words, *(f"--set={setting}" for setting in (*settings, f"seed={seed}"))])
        model = model.replace(training, run)
    words = ["lm-benchmarks", "run", model, "--data", data, "--results", str(folder / f"{table}.jsonl")]
    words += ["--seed", str(seed)] if model != recipe else []  # models that only count have no seed
    yield shlex.join([*words, "--split=valid", "--split=test"])
