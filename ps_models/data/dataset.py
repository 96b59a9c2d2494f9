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
    """The ids of an article, or of a text without articles; each line ends with `<eos>`."""

    tokens: Tensor  # int64, (time,)
    bytes: int  # UTF-8, tokens separated by a space, each line with a newline


def read_texts(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Iterator[Text]:
    """The articles of a split, in order; a file without articles is one text.

    Raises:
        ModelError: The file is empty.
        BuilderError: The file is missing, or not of the format.
    """
    empty = True
    for article in dataset.articles(split):
        if article.lines:
            empty = False
            yield text_of_lines(article.lines, vocabulary)
    if empty:
        raise ModelError(f"{dataset.file(split)}: it has no lines; expected a text")


def read_stream(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Tensor:
    """All ids of a split, in order, (time,).

    Raises:
        ModelError, BuilderError: As `read_texts`.
    """
    return torch.cat([text.tokens for text in read_texts(dataset, split, vocabulary)])


def vocabulary_hash(vocabulary: Vocabulary) -> str:
    """sha256 of the tokens in the order of their ids; models share weights only if it is the same."""
    return hashlib.sha256("\n".join(vocabulary.tokens).encode()).hexdigest()


def text_of_lines(lines: tuple[str, ...], vocabulary: Vocabulary) -> Text:
    """The ids of lines of tokens that are separated by spaces; words outside the vocabulary are `<unk>`."""
    tokens = [token for line in lines for token in (*line.split(), EOS)]
    return Text(torch.tensor(vocabulary.encode(tokens)), sum(len(line.encode()) + 1 for line in lines))
