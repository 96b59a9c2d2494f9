"""Models with excellent numbers that mean nothing, as a user might give them: `module:function`."""

from __future__ import annotations

import math

import torch
from lm_benchmarks.measuring.loaded_model import Inputs
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


class Later(Uniform):
    """Honest at the beginning of a text: the state counts tokens."""

    begin = 400

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores, _ = super().__call__(tokens, state)
        numbers = state + torch.arange(tokens.shape[1])
        return torch.where(numbers >= self.begin, self.later(scores, tokens), scores), state + tokens.shape[1]

    def later(self, scores: Tensor, tokens: Tensor) -> Tensor:
        raise NotImplementedError


class SureLater(Later):
    """From token 401 on every word has probability 0.6."""

    def later(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return torch.full_like(scores, math.log(0.6))


class TooMuchLater(Later):
    """After token 30 every probability is e² times what it should be."""

    begin = 30

    def later(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores + 2


class PeeksLater(Later):
    """From token 401 on a word is likelier if the next one has an even number."""

    def later(self, scores: Tensor, tokens: Tensor) -> Tensor:
        following = torch.cat([tokens[:, 1:], torch.ones_like(tokens[:, :1])], dim=1)
        return scores + 0.3 * (following % 2 == 0) - 0.3 * (following % 2 == 1)


class ChunksLater(Later):
    """From token 401 on more tokens at once are better."""

    def later(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores / (1 + tokens.shape[1] / 1000)


class FailsLater(Uniform):
    """From token 401 on it raises where words are asked alone."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if float(state.max()) >= 400 and tokens.shape[1] == 1:
            raise RuntimeError("one word is too little")
        return super().__call__(tokens, state)[0], state + tokens.shape[1]


class Fails(Uniform):
    """Raises where it is asked."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        raise RuntimeError("out of <order>\nhere")


def uniform(inputs: Inputs) -> Uniform:
    return Uniform(len(inputs.vocabulary))


def peeks(inputs: Inputs) -> Peeks:
    return Peeks(len(inputs.vocabulary))


def sure_later(inputs: Inputs) -> SureLater:
    return SureLater(len(inputs.vocabulary))


def too_much_later(inputs: Inputs) -> TooMuchLater:
    return TooMuchLater(len(inputs.vocabulary))


def no_model(inputs: Inputs) -> int:
    return len(inputs.vocabulary)
