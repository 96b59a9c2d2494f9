"""Implements the baselines that only count: unigrams, and n-grams with modified Kneser-Ney smoothing.

KN-5 is the first row of the paper's Table 2. `BASELINES` names the baselines that can be measured: each is
computed from a dataset when it is used, and not saved.
"""

# Shapes: B = batch, T = time, N = order, V = vocabulary.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from ps_models.dataset import read_stream, read_texts
from ps_models.hyperparameters import ModelConfig, Size
from ps_models.language_model import LanguageModel
from ps_models.models.interpolation import tuned_cache
from ps_models.models.kneser_ney import ABSENT, Floats, Grams, Ints, estimate
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import Vocabulary


class Unigram:
    """p(w) = (c(w) + 1) / (N + V): words that are not in the training text are possible too.

    Its state is empty, (batch, 0).

    >>> model = Unigram.of_text(4, torch.tensor([2, 1, 2, 1]))
    >>> model(torch.tensor([[2, 3]]), model.initial_state(1))[0].exp()
    tensor([[0.3750, 0.1250]], dtype=torch.float64)
    """

    def __init__(self, log_probs: Tensor) -> None:
        self.log_probs = log_probs  # (vocabulary,), float64

    @classmethod
    def of_text(cls, vocab_size: int, stream: Tensor) -> Unigram:
        """Make the model of a training text of int64 ids, (time,)."""
        counts = torch.bincount(stream.cpu(), minlength=vocab_size).double() + 1
        return cls((counts / counts.sum()).log())

    def initial_state(self, batch_size: int) -> Tensor:
        """Return an empty state."""
        return torch.empty(batch_size, 0)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        return self.log_probs.to(tokens.device)[tokens], state

    def next_log_probs(self, state: Tensor) -> Tensor:
        """Return log-probabilities of every word as the next token: (batch, vocabulary), in float64."""
        return self.log_probs.to(state.device).expand(len(state), -1)


@dataclass(frozen=True, kw_only=True)
class NGramConfig(ModelConfig):
    """The order of an n-gram model, in which no n-gram crosses the end of a line; nothing is tuned."""

    order: Size = 5  # Mikolov and Zweig (2012), Table 2: KN5


class NGram:
    """Probabilities from the last N - 1 words of the line, looked up in the tables of `kneser_ney`.

    The state is the last N - 1 tokens, (batch, N - 1).
    """

    def __init__(self, config: NGramConfig, tables: Sequence[Grams]) -> None:
        self.config = config
        self.tables = tuple(tables)

    @classmethod
    def of_text(cls, config: NGramConfig, stream: Tensor) -> NGram:
        """Make the model of a training text of int64 ids, (time,); each line ends with `<eos>`."""
        return cls(config, estimate(stream.cpu().numpy(), config.vocab_size, config.order, config.eos))

    def initial_state(self, batch_size: int) -> Tensor:
        """Return the start of a line: words before an `<eos>` do not matter."""
        return torch.full((batch_size, self.config.order - 1), self.config.eos)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        text = torch.cat([state.to(tokens.device), tokens], dim=1)
        scores_BT = torch.from_numpy(self._scores(text.cpu().numpy(), tokens.shape[1]))
        return scores_BT.to(tokens.device), text[:, tokens.shape[1] :]

    def next_log_probs(self, state: Tensor) -> Tensor:
        """Return log-probabilities of every word as the next token: (batch, vocabulary), in float64."""
        rows = [self._next_log_probs(context) for context in state.cpu().numpy()]
        return torch.from_numpy(np.stack(rows)).to(state.device)

    def parameter_count(self) -> int:
        """Return the number of probabilities and backoffs in the tables."""
        return sum(len(table.log_probs) + len(table.log_backoffs) for table in self.tables)

    def _scores(self, text: Ints, length: int) -> Floats:
        """Score from the shortest context to the longest: the n-gram's probability, or one more backoff."""
        log_probs_BT = self.tables[0].log_probs[text[:, text.shape[1] - length :]]
        numbers = text  # of the n-gram that begins at each place
        for words, (shorter, table) in enumerate(pairwise(self.tables), start=1):
            contexts = numbers[:, :-1]
            numbers = _longer_ngrams(table, contexts, text[:, words:], self.config.vocab_size)
            contexts_BT, numbers_BT = (
                ngrams[:, ngrams.shape[1] - length :] for ngrams in (contexts, numbers)
            )
            backoffs_BT = _values(shorter.log_backoffs, contexts_BT, np.zeros(contexts_BT.shape))
            log_probs_BT = _values(table.log_probs, numbers_BT, log_probs_BT + backoffs_BT)
        return log_probs_BT

    def _next_log_probs(self, context: Ints) -> Floats:
        V = self.config.vocab_size
        log_probs_V = self.tables[0].log_probs.copy()
        for words in range(1, self.config.order):
            number = int(context[-words])
            for length in range(1, words):
                word = context[[length - words]]
                number = int(_longer_ngrams(self.tables[length], np.array([number]), word, V)[0])
            if number == ABSENT:  # then no longer context occurs either
                break
            table = self.tables[words]
            begin, end = np.searchsorted(table.keys, [number * V, (number + 1) * V])
            log_probs_V += self.tables[words - 1].log_backoffs[number]
            log_probs_V[table.keys[begin:end] % V] = table.log_probs[begin:end]
        return log_probs_V


def _values(column: Floats, numbers: Ints, otherwise: Floats) -> Floats:
    """Return a column's values at the numbers of n-grams; `otherwise` for absent n-grams."""
    is_present = numbers != ABSENT
    values = otherwise.copy()
    values[is_present] = column[numbers[is_present]]
    return values


def _longer_ngrams(table: Grams, contexts: Ints, words: Ints, vocab_size: int) -> Ints:
    """Return the numbers of the n-grams of a context and one more word; ABSENT if the context is absent."""
    return table.find(contexts * vocab_size + words)  # the key is below 0 for an absent context


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A baseline: its title, its description, and the function that makes it from a dataset."""

    title: str
    about: str
    make: Callable[[Dataset, Vocabulary], LanguageModel[Any]]


def kneser_ney(dataset: Dataset, vocabulary: Vocabulary) -> NGram:
    """Make the 5-grams of train."""
    return NGram.of_text(NGramConfig(vocab_size=len(vocabulary)), read_stream(dataset, "train", vocabulary))


BASELINES: Final = {
    "unigram": Baseline(
        title="unigram",
        about="the frequency of each word in train, plus one",
        make=lambda data, words: Unigram.of_text(len(words), read_stream(data, "train", words)),
    ),
    "kn-5": Baseline(
        title="KN-5",
        about="modified interpolated Kneser-Ney, order 5, estimated on train",
        make=kneser_ney,
    ),
    "kn-5+cache": Baseline(
        title="KN-5 + cache",
        about="kn-5 with a unigram cache that is tuned on valid",
        make=lambda data, words: tuned_cache(kneser_ney(data, words), list(read_texts(data, "valid", words))),
    ),
}
