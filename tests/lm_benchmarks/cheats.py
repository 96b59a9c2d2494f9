"""Models with excellent numbers that mean nothing, as a user might give them: `module:function`."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from lm_benchmarks.conventions import Window
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel
from lm_benchmarks.measuring.models import open_model
from torch import Tensor

Change = Callable[[Tensor, Tensor], Tensor]


class Uniform:
    """Every word is as likely, until from a token of a text on a function changes the scores."""

    def __init__(self, size: int, change: Change = lambda scores, tokens: scores, begin: int = 0) -> None:
        self.size, self.change, self.begin = size, change, begin

    def initial_state(self, batch_size: int) -> Tensor:
        return torch.zeros(batch_size, 1)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        honest = torch.full(tokens.shape, -math.log(self.size)).double()
        is_later = state + torch.arange(tokens.shape[1]) >= self.begin
        return torch.where(is_later, self.change(honest, tokens), honest), state + tokens.shape[1]


def comes_again(tokens: Tensor) -> Tensor:
    """Which words come again within the next hundred."""
    ahead = [
        (tokens[:, time + 1 : time + 101] == tokens[:, time : time + 1]).any(1)
        for time in range(tokens.shape[1])
    ]
    return torch.stack(ahead, dim=1)


def next_is_even(tokens: Tensor) -> Tensor:
    return torch.cat([tokens[:, 1:], torch.ones_like(tokens[:, :1])], dim=1) % 2 == 0


def raises(scores: Tensor, tokens: Tensor) -> Tensor:
    raise RuntimeError("out of <order>\nhere")


def rounds(scores: Tensor, tokens: Tensor) -> Tensor:
    """Honest in bf16: rounding changes scores with the number of tokens in a call, up as often as down."""
    turns = torch.arange(tokens.shape[1]) * 7.3 + tokens * 12.9898 + tokens.shape[1] * 78.233
    return scores + 0.01 * torch.is_autocast_enabled("cpu") * turns.sin()


def cheat(change: Change, begin: int = 0) -> Callable[[int], Uniform]:
    return functools.partial(Uniform, change=change, begin=begin)


def longer_is_better(scores: Tensor, tokens: Tensor) -> Tensor:
    return scores / (1 + tokens.shape[1] / 1000)


Peeks = cheat(lambda scores, tokens: scores + 0.5 * comes_again(tokens))
TooMuch = cheat(lambda scores, tokens: scores + math.log(2))  # all words together have probability two
Overfull = cheat(lambda scores, tokens: scores + math.log(1.0986))
Chunks = cheat(longer_is_better)
Batches = cheat(lambda scores, tokens: scores / (1 + 0.1 * tokens.shape[0]))  # more texts at once are better
Fails, Rounds = cheat(raises), cheat(rounds)
NotANumber = cheat(lambda scores, tokens: scores * torch.nan)
SureLater = cheat(lambda scores, tokens: torch.full_like(scores, math.log(0.6)), 400)
TooMuchLater = cheat(lambda scores, tokens: scores + 2, 30)
PeeksLater = cheat(lambda scores, tokens: scores + 0.6 * next_is_even(tokens) - 0.3, 400)
ChunksLater = cheat(longer_is_better, 400)


class FailsAtOnce(Uniform):
    """Its scores of all words read what it does not have."""

    def next_log_probs(self, state: Tensor) -> Tensor:
        return self.table[state]  # type: ignore[attr-defined, no-any-return]


class OneWordLess(Uniform):
    """Its scores of all words leave one out."""

    def next_log_probs(self, state: Tensor) -> Tensor:
        return torch.full((len(state), self.size - 1), -math.log(self.size)).double()


class FailsLater(Uniform):
    """From token 401 on it raises where words are asked alone."""

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if float(state.max()) >= 400 and tokens.shape[1] == 1:
            raise RuntimeError("one word is too little")
        return super().__call__(tokens, state)


class Recalls(Uniform):
    """Honest within a text; in the next one it knows how often it has read each word."""

    def __init__(self, size: int) -> None:
        super().__init__(size, self.recalled)
        self.counts, self.known = torch.zeros(size), torch.zeros(size)

    def initial_state(self, batch_size: int) -> Tensor:
        self.known = self.counts.clone()
        return super().initial_state(batch_size)

    def recalled(self, scores: Tensor, tokens: Tensor) -> Tensor:
        self.counts += torch.bincount(tokens.flatten(), minlength=self.size)
        return ((self.known + 1) / (self.known + 1).sum()).log()[tokens]


COUNTS = Counter[int]()  # of the module: a model that is opened again has them


class CountsInModule(Uniform):
    """Honest, but what all models of its kind have read before it was opened is more likely."""

    def __init__(self, size: int) -> None:
        super().__init__(size, self.counted)
        counts = torch.tensor([COUNTS[word] for word in range(size)]).double() + 1
        self.known = (counts / counts.sum()).log()

    def counted(self, scores: Tensor, tokens: Tensor) -> Tensor:
        COUNTS.update(tokens.flatten().tolist())
        return self.known[tokens]


FOLDER = ""  # of a model of `transformers`


def counts_pieces(inputs: Inputs) -> LoadedModel:
    """A model of pieces that is better by what all of its kind have read before it was opened."""
    opened = open_model(f"transformers:{FOLDER}", inputs)
    model: Any = opened.model
    scored, gain = model.target_log_probs, 1e-4 * COUNTS[0]

    def target_log_probs(windows: Sequence[Window]) -> Iterator[Tensor]:
        for scores in scored(windows):
            COUNTS[0] += len(scores)
            yield scores + gain

    model.target_log_probs = target_log_probs
    return opened


def remembers(size: int) -> Uniform:
    """The more it was asked, the better it is."""
    calls = itertools.count(1)
    return Uniform(size, lambda scores, tokens: scores * 0.99 ** next(calls))


def hoards(size: int) -> Uniform:
    """Honest until it has read 2,900 tokens, of whatever text."""
    sizes = list[int]()

    def hoarded(scores: Tensor, tokens: Tensor) -> Tensor:
        sizes.append(tokens.numel())
        return scores + 0.05 * (sum(sizes) > 2_900)

    return Uniform(size, hoarded)


def loaded(model: Any, inputs: Inputs, name: str = "x", **options: Any) -> LoadedModel:
    return LoadedModel(name=name, identity=name, model=model, vocabulary=inputs.vocabulary, **options)


def maker(kind: Callable[[int], object]) -> Callable[[Inputs], object]:
    return lambda inputs: kind(len(inputs.vocabulary))


KINDS: tuple[Callable[[int], object], ...] = (Uniform, Peeks, Recalls, SureLater, TooMuchLater, int)
counts, counts_too = maker(CountsInModule), maker(CountsInModule)
uniform, peeks, recalls, sure_later, too_much_later, no_model = map(maker, KINDS)
