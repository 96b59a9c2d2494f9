"""Models with excellent numbers that mean nothing, as a user might give them: `module:function`."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from lm_benchmarks.measuring.loaded_model import Inputs
from torch import Tensor


class Uniform:
    """Honest: every word is as likely. A cheat changes the scores."""

    def __init__(self, size: int) -> None:
        self.size = size

    def initial_state(self, batch_size: int) -> Tensor:
        return torch.zeros(batch_size, 1)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.changed(torch.full(tokens.shape, -math.log(self.size)).double(), tokens), state

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores


class Peeks(Uniform):
    """Words that come again within the next hundred are more likely."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        for time in range(tokens.shape[1]):
            again = (tokens[:, time + 1 : time + 101] == tokens[:, time : time + 1]).any(1)
            scores[:, time] += 0.5 * again
        return scores


class FailsAtOnce(Uniform):
    """Its scores of all words read what it does not have."""

    def next_log_probs(self, state: Tensor) -> Tensor:
        return self.table[state]  # type: ignore[attr-defined, no-any-return]


class OneWordLess(Uniform):
    """Its scores of all words leave one out."""

    def next_log_probs(self, state: Tensor) -> Tensor:
        return torch.full((len(state), self.size - 1), -math.log(self.size)).double()


class TooMuch(Uniform):
    """All words together have probability two."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores + math.log(2)


class Remembers(Uniform):
    """The more it was asked, the better it is."""

    calls = 0

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        self.calls += 1
        return scores * 0.99**self.calls


class Chunks(Uniform):
    """The more tokens at once, the better."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores / (1 + tokens.shape[1] / 1000)


class Batches(Uniform):
    """The more texts at once, the better."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores / (1 + 0.1 * tokens.shape[0])


class Fails(Uniform):
    """Raises where it is asked."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        raise RuntimeError("out of <order>\nhere")


class NotANumber(Uniform):
    """Its scores are not numbers."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores * torch.nan


class Later(Uniform):
    """Honest at the beginning of a text: the state counts tokens."""

    begin = 400

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        honest = torch.full(tokens.shape, -math.log(self.size)).double()
        is_later = state + torch.arange(tokens.shape[1]) >= self.begin
        return torch.where(is_later, self.changed(honest, tokens), honest), state + tokens.shape[1]


class SureLater(Later):
    """From token 401 on every word has probability 0.6."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return torch.full_like(scores, math.log(0.6))


class TooMuchLater(Later):
    """After token 30 every probability is e² times what it should be."""

    begin = 30

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores + 2


class PeeksLater(Later):
    """From token 401 on a word is likelier if the next one has an even number."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        following = torch.cat([tokens[:, 1:], torch.ones_like(tokens[:, :1])], dim=1)
        return scores + 0.3 * (following % 2 == 0) - 0.3 * (following % 2 == 1)


class Hoards(Uniform):
    """Honest until it has read so many tokens, of whatever text."""

    begin = math.inf
    seen = 0

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        self.seen += tokens.numel()
        return scores + 0.05 * (self.seen > self.begin)


class Recalls(Uniform):
    """Honest within a text; in the next one it knows how often it has read each word."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.counts, self.known = torch.zeros(size), torch.zeros(size)

    def initial_state(self, batch_size: int) -> Tensor:
        self.known = self.counts.clone()
        return super().initial_state(batch_size)

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        self.counts += torch.bincount(tokens.flatten(), minlength=self.size)
        return ((self.known + 1) / (self.known + 1).sum()).log()[tokens]


class Overfull(Uniform):
    """All words together have probability 1.0986."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        return scores + math.log(1.0986)


class Rounds(Uniform):
    """Honest in bf16: rounding changes scores with the number of tokens in a call, up as often as down."""

    def changed(self, scores: Tensor, tokens: Tensor) -> Tensor:
        turns = torch.arange(tokens.shape[1]) * 7.3 + tokens * 12.9898 + tokens.shape[1] * 78.233
        return scores + 0.01 * torch.is_autocast_enabled("cpu") * turns.sin()


class ChunksLater(Later, Chunks):
    """From token 401 on more tokens at once are better."""


class FailsLater(Uniform):
    """From token 401 on it raises where words are asked alone."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if float(state.max()) >= 400 and tokens.shape[1] == 1:
            raise RuntimeError("one word is too little")
        return super().__call__(tokens, state)[0], state + tokens.shape[1]


def maker(kind: Callable[[int], object]) -> Callable[[Inputs], object]:
    return lambda inputs: kind(len(inputs.vocabulary))


uniform, peeks, recalls, sure_later, too_much_later, no_model = map(
    maker, (Uniform, Peeks, Recalls, SureLater, TooMuchLater, int)
)
