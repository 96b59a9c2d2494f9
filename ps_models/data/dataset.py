"""A dataset as a language model reads it: the ids of train, valid and test, article by article."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ps_models.errors import ModelError
from wikitext_builder.dataset.files import read_articles, read_lines
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary

SPLITS = ("train", "valid", "test")
LAYOUTS = {  # name of a file; the first that has a train file is taken
    "WikiText": "wiki.{split}.tokens",
    "Penn Treebank": "ptb.{split}.txt",
    "plain": "{split}.txt",
}


@dataclass(frozen=True, slots=True)
class Text:
    """The ids of an article, or of a text without articles, each line ended by `<eos>`."""

    tokens: Tensor  # int64, (time,)
    bytes: int  # UTF-8, tokens parted by a space, a newline a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Where the parts of a dataset lie."""

    name: str
    layout: str
    files: dict[str, Path]

    def file(self, split: str) -> Path:
        """The file of a part.

        Raises:
            ModelError: There is none.
        """
        if split not in self.files:
            raise ModelError(f"{self.name}: no {split} file; found {', '.join(self.files) or 'none'}")
        return self.files[split]


def find_dataset(path: Path) -> Dataset:
    """The dataset in a folder of WikiText's, Penn Treebank's or plain layout; a file is all its parts.

    Raises:
        ModelError: There is none.
    """
    if path.is_file():
        return Dataset(name=path.stem, layout="file", files=dict.fromkeys(SPLITS, path))
    for layout, pattern in LAYOUTS.items():
        names = {split: path / pattern.format(split=split) for split in SPLITS}
        files = {split: file for split, file in names.items() if file.is_file()}
        if files:
            return Dataset(name=path.resolve().name, layout=layout, files=files)
    expected = ", ".join(pattern.format(split="train") for pattern in LAYOUTS.values())
    raise ModelError(f"{path}: no dataset; expected a folder with {expected}, or a file of tokens")


def read_texts(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Iterator[Text]:
    """The articles of a part, in order; a file without articles is one text.

    Raises:
        ModelError: The file is missing, empty, or not of the format.
    """
    path = dataset.file(split)
    articles = read_articles(path) if _has_articles(path) else iter([tuple(read_lines(path))])
    empty = True
    for lines in articles:
        if lines:
            empty = False
            yield _text(lines, vocabulary)
    if empty:
        raise ModelError(f"{path}: holds no line; expected a text to read")


def read_stream(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Tensor:
    """All ids of a part, in order, (time,).

    Raises:
        ModelError: As `read_texts`.
    """
    return torch.cat([text.tokens for text in read_texts(dataset, split, vocabulary)])


def vocabulary_hash(vocabulary: Vocabulary) -> str:
    """sha256 over the tokens in the order of their ids: two vocabularies that differ never share weights."""
    return hashlib.sha256("\n".join(vocabulary.tokens).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(lines: tuple[str, ...], vocabulary: Vocabulary) -> Text:
    tokens = [token for line in lines for token in (*line.split(), EOS)]
    return Text(torch.tensor(vocabulary.encode(tokens)), sum(len(line.encode()) + 1 for line in lines))


def _has_articles(path: Path) -> bool:
    """Whether a file begins as WikiText's do: a blank line, a title, a blank line."""
    lines = read_lines(path)
    first = [line for _, line in zip(range(3), lines, strict=False)]
    return len(first) == 3 and not first[0] and not first[2] and first[1].startswith("= ")
