"""Softmaxes over the vocabulary, always normalised in float32 or more.

Both give the log-probability of each target alone, which is all that a loss needs, also inside a mixture; and
all of them, for generation.
"""

# Shapes: N = positions, H = hidden, V = vocabulary.
# ruff: noqa: N803, N806 - names end in their shapes

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional


class Output(Protocol):
    """Turns hidden outputs into log-probabilities of words."""

    def __call__(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Natural log-probability of each target."""
        ...

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Natural log-probabilities of all words, (N, V)."""
        ...


class Softmax(nn.Module):
    """p(w) = softmax(U h), over all words."""

    def __init__(self, weight_VH: Tensor, *, bias: bool) -> None:
        super().__init__()
        self.weight = weight_VH  # a parameter, the embedding's where they are tied
        self.bias = nn.Parameter(torch.zeros(len(weight_VH))) if bias else None

    def forward(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Natural log-probability of each target."""
        logits_NV = wide(functional.linear(hidden_NH, self.weight, self.bias))
        return -functional.cross_entropy(logits_NV, targets_N, reduction="none")

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Natural log-probabilities of all words, (N, V)."""
        return wide(functional.linear(hidden_NH, self.weight, self.bias)).log_softmax(dim=-1)


class AdaptiveSoftmax(nn.Module):
    """A softmax over frequent words and clusters of rare ones (Grave et al. 2016, arXiv 1609.04309).

    It needs ids in order of frequency, as those of `wikitext_builder`'s vocabularies are.
    """

    def __init__(self, vocab_size: int, hidden_size: int, cutoffs: Sequence[int], *, bias: bool) -> None:
        super().__init__()
        self.words = nn.AdaptiveLogSoftmaxWithLoss(hidden_size, vocab_size, list(cutoffs), head_bias=bias)

    def forward(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Natural log-probability of each target."""
        with torch.autocast(hidden_NH.device.type, enabled=False):
            log_probs_N: Tensor = self.words(wide(hidden_NH), targets_N).output
            return log_probs_N

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Natural log-probabilities of all words, (N, V)."""
        with torch.autocast(hidden_NH.device.type, enabled=False):
            return self.words.log_prob(wide(hidden_NH))


def wide(value: Tensor) -> Tensor:
    """The value in float32, or in float64 where it was."""
    return value if value.dtype == torch.float64 else value.float()
