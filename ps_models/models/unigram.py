"""Frequencies of the training text, whatever came before: the least that a model must beat."""

from __future__ import annotations

import torch
from torch import Tensor


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
        """The frequencies in a training text of int64 ids, (time,)."""
        counts = torch.bincount(stream.cpu(), minlength=vocab_size).double() + 1
        return cls((counts / counts.sum()).log())

    def initial_state(self, batch_size: int) -> Tensor:
        """Nothing."""
        return torch.empty(batch_size, 0)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        return self.log_probs.to(tokens.device)[tokens], state

    def next_log_probs(self, state: Tensor) -> Tensor:
        """Natural log-probabilities of every word as the next token: (batch, vocabulary), in float64."""
        return self.log_probs.to(state.device).expand(len(state), -1)
