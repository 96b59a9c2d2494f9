"""A dataset as a language model reads it: the ids of train, valid and test, article by article."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ps_models.errors import ModelError
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary


@dataclass(frozen=True, slots=True)
class Text:
    """The ids of an article, or of a text without articles, each line ended by `<eos>`."""

    tokens: Tensor  # int64, (time,)
    bytes: int  # UTF-8, tokens parted by a space, a newline a line


def read_texts(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Iterator[Text]:
    """The articles of a part, in order; a file without articles is one text.

    Raises:
        ModelError: The file is empty.
        BuilderError: The file is missing, or not of the format.
    """
    empty = True
    for article in dataset.articles(split):
        if article.lines:
            empty = False
            yield _text(article.lines, vocabulary)
    if empty:
        raise ModelError(f"{dataset.file(split)}: holds no line; expected a text to read")


def read_stream(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Tensor:
    """All ids of a part, in order, (time,).

    Raises:
        ModelError, BuilderError: As `read_texts`.
    """
    return torch.cat([text.tokens for text in read_texts(dataset, split, vocabulary)])


def vocabulary_hash(vocabulary: Vocabulary) -> str:
    """sha256 over the tokens in the order of their ids: two vocabularies that differ never share weights."""
    return hashlib.sha256("\n".join(vocabulary.tokens).encode()).hexdigest()


def _text(lines: tuple[str, ...], vocabulary: Vocabulary) -> Text:
    tokens = [token for line in lines for token in (*line.split(), EOS)]
    return Text(torch.tensor(vocabulary.encode(tokens)), sum(len(line.encode()) + 1 for line in lines))
