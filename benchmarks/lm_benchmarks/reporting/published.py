"""Published numbers, the rows of the paper's tables, and which of our models each row is.

Two files have the knowledge: `published.toml` the numbers with their sources and what they do not show,
`rows.toml` the recipes. A recipe says in each result what a model is: the name of a baseline (`kn-5`), a
model with its preset (`lstm/gal-large`), or one of these with what is around it, as `lm-benchmarks run`
writes it (`mc:lstm/gal-large`, `mix:rnn-lda/mikolov,kn-5+cache`). Only recipes link published numbers to
measured ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import msgspec

from lm_benchmarks.choices import PAPER
from lm_benchmarks.records import Result

COUNTED: Final = {"convention": PAPER, "text": "tokens", "context": "carried"}  # as papers do


class Published(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published number: a model on a dataset."""

    model: str
    data: str  # the name of the dataset's folder: ptb, wikitext-2, …
    perplexities: Mapping[str, float]  # by split
    parameters: str = ""
    source: str = ""  # a citation
    note: str = ""  # what the number does not show

    @property
    def both(self) -> str:
        """The numbers of valid and test."""
        return " / ".join(decimals(self.perplexities.get(split)) or "–" for split in ("valid", "test"))


class OwnTraining(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training of the published size with our settings."""

    recipe: str
    differs: str  # from the published one
    on: tuple[str, ...] = ("ptb",)  # the datasets that it is made for


class PaperRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row: a published model, and which of our models it is."""

    name: str  # as the model of `Published`, if a number is published
    small: str = ""  # recipe; "": no such size
    full: str = ""  # recipe of the published size; "": no preset
    full_on: Mapping[str, str] = msgspec.field(default_factory=dict)  # by dataset, if it differs
    own: tuple[OwnTraining, ...] = ()  # the first one of a dataset is the one to reproduce
    one_size: bool = False  # it only counts: there is no smaller size

    def full_recipe(self, data: str) -> str:
        """The recipe of the published size on a dataset."""
        return self.full_on.get(data, self.full)

    def recipe(self, data: str, size: str) -> str:
        """The recipe of a size: `small`, `full`, or `own` (as `full` if we have no training of our own).

        What only counts has one size.
        """
        if size == "own" and (own := self.own_on(data)):
            return own[0].recipe
        return self.small if size == "small" and not self.one_size else self.full_recipe(data)

    def own_on(self, data: str) -> list[OwnTraining]:
        """Our own trainings of a dataset."""
        return [one for one in self.own if data in one.on]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """A file beside this module."""

    texts: dict[str, str]
    official: dict[str, dict[str, str]] = {}
    table_2: tuple[Published, ...] = ()
    table_3: tuple[Published, ...] = ()
    later: tuple[Published, ...] = ()
    rows: tuple[PaperRow, ...] = ()


def _read(name: str) -> _File:
    """The content of a file; a name in braces stands for that text of its table `texts`."""
    content = files("lm_benchmarks.reporting").joinpath(name).read_text(encoding="utf-8")
    texts = msgspec.toml.decode(content)["texts"]
    return msgspec.toml.decode(re.sub(r"\{(\w+)\}", lambda match: texts[match[1]], content), type=_File)


_NUMBERS: Final = _read("published.toml")
OFFICIAL: Final = {data: one["vocabulary"] for data, one in _NUMBERS.official.items()}
FILES: Final = {
    data: {split: one[split] for split in ("valid", "test")} for data, one in _NUMBERS.official.items()
}
TRAIN: Final = {data: one["train"] for data, one in _NUMBERS.official.items()}
PENN_TREEBANK: Final = _NUMBERS.table_2
WIKITEXT_2: Final = _NUMBERS.table_3
LATER: Final = _NUMBERS.later
PUBLISHED: Final = (*PENN_TREEBANK, *WIKITEXT_2, *LATER)
ROWS: Final = _read("rows.toml").rows


def published_on(data: str) -> dict[str, Published]:
    """The published numbers of a dataset, by model."""
    return {row.model: row for row in PUBLISHED if row.data == data}


def decimals(value: float | None) -> str:
    """A published number with the decimals that the paper prints: one or two."""
    return "" if value is None else f"{value:,.1f}" if round(value, 1) == value else f"{value:,.2f}"


def note(name: str, *parts: str) -> str:
    """What is to say about a row, in one line.

    >>> note("KN5", "Mikolov and Zweig (2012).", "", "An estimate")
    'KN5: Mikolov and Zweig (2012). An estimate.'
    """
    return f"{name}: {'. '.join(part.rstrip('.') for part in parts if part)}."


def published_name(recipe: str, data: str) -> str:
    """The published model of a recipe of the full size; "" if there is none.

    >>> published_name("lstm/gal-large", "ptb"), published_name("lstm/gal-small", "ptb")
    ('LSTM Gal large', '')
    """
    return next((row.name for row in ROWS if recipe and row.full_recipe(data) == recipe), "")


def is_trained_on(result: Result, train: str) -> bool:
    """Returns True if all of a model of ours was made from the train file whose hash begins so."""
    counted = [part for part in result.recipe.removeprefix("mix:").split(",") if "/" not in part]
    return all(one.train_sha256.startswith(train) for one in result.trained) and all(
        f"{part}+{train}" in result.signature["model"] for part in counted
    )


def is_papers(result: Result) -> bool:
    """Returns True if a result is counted as papers do, on an official file with the official vocabulary."""
    data, file = result.data
    is_official = FILES.get(data, {}).get(result.signature["split"]) == file
    counted = {**COUNTED, "vocabulary": OFFICIAL.get(data)}
    return is_official and counted.items() <= dict(result.signature).items()
