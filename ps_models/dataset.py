"""Reads a dataset for language models: the ids of its articles, and chunks of a token stream to train on.

The stream is cut into `batch_size` rows of consecutive tokens; if it does not divide evenly, the first rows
are longer by one. Each row is read from its start. A chunk rereads `lookback` tokens of every row and
predicts the next `stride` tokens (Algorithm 1 of the paper: k1 = stride, k2 from lookback + 1 to lookback +
stride). So each token is a target exactly once per epoch, including the first and the last. The stride can be
random, drawn for each chunk.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import torch
from torch import Tensor

from ps_models.errors import ModelError
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary


@dataclass(frozen=True, slots=True)
class Text:
    """The ids of an article, or of a text without articles; each line ends with `<eos>`."""

    tokens: Tensor  # int64, (time,)
    bytes: int  # in UTF-8, with a space between tokens and a newline after each line


def read_texts(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Iterator[Text]:
    """Yield the articles of a split, in order; a file without articles is one text."""
    empty = True
    for article in dataset.articles(split):
        if article.lines:
            empty = False
            yield text_of_lines(article.lines, vocabulary)
    if empty:
        raise ModelError(f"{dataset.file(split)}: it has no lines; expected a text")


def read_stream(dataset: Dataset, split: str, vocabulary: Vocabulary) -> Tensor:
    """Return all ids of a split, in order, (time,)."""
    return torch.cat([text.tokens for text in read_texts(dataset, split, vocabulary)])


def vocabulary_hash(vocabulary: Vocabulary) -> str:
    """Return the sha256 of the tokens in the order of their ids; models share weights only if it is equal."""
    return hashlib.sha256("\n".join(vocabulary.tokens).encode()).hexdigest()


def text_of_lines(lines: tuple[str, ...], vocabulary: Vocabulary) -> Text:
    """Return the ids of lines of tokens separated by spaces; words outside the vocabulary become `<unk>`."""
    tokens = [token for line in lines for token in (*line.split(), EOS)]
    return Text(torch.tensor(vocabulary.encode(tokens)), sum(len(line.encode()) + 1 for line in lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The tokens that one update reads."""

    tokens: Tensor  # int64, (batch, lookback + scored)
    shorter: tuple[bool, ...]  # per row: True if it ends one token earlier; its last token is padding
    scored: int  # tokens at the end that it predicts
    advance: int  # tokens after which the next chunk begins

    @property
    def targets(self) -> int:
        """The number of tokens that it predicts, in all rows."""
        return len(self.tokens) * self.scored - sum(self.shorter)

    def parts(self, rows: int) -> Iterator[tuple[slice | None, Chunk]]:
        """Yield chunks of at most `rows` rows with the slice of each; for 0, None and the chunk itself."""
        if not 0 < rows < len(self.tokens):
            yield None, self
            return
        for begin in range(0, len(self.tokens), rows):
            part = slice(begin, begin + rows)
            yield part, replace(self, tokens=self.tokens[part], shorter=self.shorter[part])

    def total(self, nats: Tensor) -> Tensor:
        """Sum a model's nats, (batch, scored), over the tokens that the chunk predicts, without padding."""
        if not any(self.shorter):
            return nats.sum()
        is_padding = torch.zeros_like(nats, dtype=torch.bool)
        is_padding[:, -1] = torch.tensor(self.shorter)
        return nats.masked_fill(is_padding, 0.0).sum()


@dataclass(frozen=True, slots=True)
class Rows:
    """A stream cut into rows: all rows, or those of one process."""

    tokens: Tensor  # int32, half of the memory of int64, (batch, time); the last column is 0 in shorter rows
    shorter: tuple[bool, ...]  # per row: True if it has time - 1 tokens

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def targets(self) -> int:
        """The number of tokens in all rows."""
        return self.tokens.numel() - sum(self.shorter)

    def of_rank(self, rank: int, ranks: int) -> Rows:
        """Return the rows of one process, the same in every epoch."""
        if len(self) < ranks:
            raise ModelError(
                f"batch_size={len(self)}: each of {ranks} processes needs a row; use fewer of them"
            )
        return Rows(self.tokens[rank::ranks], self.shorter[rank::ranks])

    def to(self, device: torch.device) -> Rows:
        """Return the rows on a device; their chunks are made there, so nothing is copied to it later."""
        return Rows(self.tokens.to(device), self.shorter)

    def chunks(self, *, ends: Sequence[int], lookback: int, start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks of an epoch in order, without the first `start`.

        `ends` are the ends of the chunks: `even_ends` or `random_ends`. A chunk rereads the `lookback` tokens
        before those that it predicts.
        """
        length = self.tokens.shape[1]
        for first, end in islice(pairwise((0, *ends)), start, None):
            begin, next_begin = max(0, first - lookback), max(0, end - lookback)
            yield Chunk(
                tokens=self.tokens[:, begin:end].long(),
                shorter=tuple(is_shorter and end == length for is_shorter in self.shorter),
                scored=end - first,
                advance=next_begin - begin,
            )


def even_ends(length: int, stride: int) -> list[int]:
    """Return the ends of chunks of `stride` tokens; the last chunk has the rest.

    >>> even_ends(7, 3)
    [3, 6, 7]
    """
    return [*range(stride, length, stride), length]


def random_ends(length: int, stride: int, *, seed: int, epoch: int) -> list[int]:
    """Return the ends of chunks of random lengths; the same for the same seed and epoch.

    Chunks end at different places in each epoch, so that no token is always the first of its chunk and never
    sends gradients back. Merity et al. (2017), arXiv 1708.02182, section 4.1: the base is `stride`, or half
    of it with a probability of 0.05; the length is normal around the base, with a standard deviation of 5. In
    their code no chunk is shorter than 5.
    """
    generator = random.Random(f"{seed} {epoch}")  # noqa: S311 - no secret
    ends, end = [], 0
    while end < length:
        base = stride if generator.random() < 0.95 else stride / 2
        end = min(length, end + max(5, int(generator.gauss(base, 5))))
        ends.append(end)
    return ends


def to_rows(stream: Tensor, batch_size: int) -> Rows:
    """Cut a stream into rows of consecutive tokens whose lengths differ by at most one.

    >>> to_rows(torch.arange(5), 2).tokens.tolist()
    [[0, 1, 2], [3, 4, 0]]
    """
    if batch_size < 1 or len(stream) < batch_size:
        raise ModelError(f"{len(stream)} tokens cannot fill {batch_size} rows; use a smaller batch_size")
    rows = torch.tensor_split(stream.int(), batch_size)
    shorter = tuple(len(row) < len(rows[0]) for row in rows)
    return Rows(torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True), shorter)
