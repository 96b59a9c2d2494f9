"""What a table needs: trainings, and measurements of what they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.reporting.published import FILES, PUBLISHED, ROWS, TRAIN, TRAINED, PaperRow, trained_in
from ps_models.data.dataset import read_stream
from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import FILE
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.hashing import file_sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The sizes of a dataset, in tokens, and whether published numbers compare with it."""

    train: int
    valid: int
    vocabulary: int
    official: bool  # the files of which papers report numbers
    hashes: Mapping[str, str]  # sha256 of each split


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A model to train once, whatever the number of rows that need it."""

    model: str
    preset: str
    seed: int

    @property
    def recipe(self) -> str:
        """The model with its preset, as in records."""
        return f"{self.model}/{self.preset}"

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.model}-{self.preset}-seed{self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowJob:
    """A row to measure, once what it needs is trained."""

    row: str  # the name in the table
    recipe: str
    seed: int

    @property
    def trainings(self) -> tuple[TrainingJob, ...]:
        """What must be trained first."""
        found = (recipe.split("/") for recipe in trained_in(self.recipe))
        return tuple(TrainingJob(model=model, preset=preset, seed=self.seed) for model, preset in found)

    @property
    def measuring(self) -> str:
        """The name of the step that measures it."""
        plain = "".join(letter if letter.isalnum() else "-" for letter in self.recipe)
        return f"measure-{plain}-seed{self.seed}"

    def specification(self, folder: Path) -> str:
        """The model for `measure`, whose trainings are in a folder.

        >>> RowJob(row="", recipe="mix:rnn-lda/small,kn-5+cache", seed=1).specification(Path("runs"))
        'mix:runs/rnn-lda-small-seed1,kn-5+cache'
        """
        folders = {job.recipe: str(folder / job.name) for job in self.trainings}
        return TRAINED.sub(lambda match: folders[match[0]], self.recipe)


def plan(
    table: str, size: str, *, names: Sequence[str] = (), seeds: Sequence[int] = (1,)
) -> tuple[RowJob, ...]:
    """The rows of a table that can be run, in its order.

    Args:
        table: The dataset whose numbers are published: `ptb` or `wikitext-2`.
        size: A name in SIZES.
        names: Only these rows, by name or by recipe, in this order; if empty, those published there or
            nowhere, and models that only count.
        seeds: Of the trainings; what is not trained has one job.

    Raises:
        HarnessError: There is no such row, or it cannot be run at this size.
    """
    elsewhere = {row.model for row in PUBLISHED} - {row.model for row in PUBLISHED if row.data == table}
    chosen = [row for row in ROWS if row.name not in elsewhere or row.one_size]
    if names:
        every = [row for row in ROWS if row in chosen or row.small]
        chosen = [_row(name, every, table, size) for name in names]
    return tuple(
        RowJob(row=row.name, recipe=recipe, seed=seed)
        for row in chosen
        for number, seed in enumerate(dict.fromkeys(seeds))
        if (recipe := row.recipe(table, size)) and (number == 0 or trained_in(recipe))
    )


def _row(name: str, rows: Sequence[PaperRow], table: str, size: str) -> PaperRow:
    for row in rows:
        recipe = row.recipe(table, size)
        if name and (name == recipe or name.casefold() == row.name.casefold()):
            if recipe:
                return row
            raise HarnessError(f"{row.name}: no model of ours for --size {size}; choose another row or size")
    raise HarnessError(f"{name}: no such row of {table}; there are {', '.join(row.name for row in rows)}")


def read_texts(table: str, data: Path) -> Texts:
    """Read the sizes of a dataset for a table.

    Raises:
        ToolkitError: It is a single file, or cannot be read.
    """
    dataset = load_dataset(data)
    if dataset.layout == FILE:
        raise HarnessError(f"{data}: a single file; expected a folder with train, valid and test")
    words = dataset.vocabulary
    sizes = {split: len(read_stream(dataset, split, words)) for split in ("train", "valid")}
    hashes = {split: file_sha256(dataset.file(split)) for split in SPLITS}
    official = {"train": TRAIN[table], **FILES[table]} == {name: one[:8] for name, one in hashes.items()}
    return Texts(**sizes, vocabulary=len(words), official=official, hashes=hashes)
