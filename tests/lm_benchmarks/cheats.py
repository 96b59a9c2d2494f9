"""Models with excellent numbers that mean nothing, as a user might give them: `module:function`."""

from __future__ import annotations

import math

import torch
from lm_benchmarks.measuring.models import Inputs
from torch import Tensor


class Uniform:
    """Honest: every word is as likely."""

    def __init__(self, size: int) -> None:
        self.size = size

    def initial_state(self, batch_size: int) -> Tensor:
        return torch.zeros(batch_size, 1)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return torch.full(tokens.shape, -math.log(self.size)).double(), state


class Peeks(Uniform):
    """Words that come again within the next hundred are more likely."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores, _ = super().__call__(tokens, state)
        for time in range(tokens.shape[1]):
            again = (tokens[:, time + 1 : time + 101] == tokens[:, time : time + 1]).any(1)
            scores[:, time] += 0.5 * again
        return scores, state


class TooMuch(Uniform):
    """All words together have probability two."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores, _ = super().__call__(tokens, state)
        return scores + math.log(2), state


class Remembers(Uniform):
    """The more it was asked, the better it is."""

    calls = 0

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += 1
        scores, _ = super().__call__(tokens, state)
        return scores * 0.99**self.calls, state


class Chunks(Uniform):
    """The more tokens at once, the better."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores, _ = super().__call__(tokens, state)
        return scores / (1 + tokens.shape[1] / 1000), state


class Batches(Uniform):
    """The more texts at once, the better."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores, _ = super().__call__(tokens, state)
        return scores / (1 + 0.1 * tokens.shape[0]), state


class Fails(Uniform):
    """Raises where it is asked."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        raise RuntimeError("out of <order>\nhere")


def uniform(inputs: Inputs) -> Uniform:
    return Uniform(len(inputs.vocabulary))


def peeks(inputs: Inputs) -> Peeks:
    return Peeks(len(inputs.vocabulary))


def no_model(inputs: Inputs) -> int:
    return len(inputs.vocabulary)
