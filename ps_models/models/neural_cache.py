"""The neural cache of Grave et al. (2016), arXiv 1612.04426: a pointer that needs no training.

    p(w) = (1 - weight) p_model(w) + weight p_cache(w)
    p_cache(w) ~ sum of exp(theta h_t . h_i) over the places i of the window with x_(i+1) = w

Each output is paired with the word after it, which it had to predict. The pointer sentinel pairs it with the
word that was read.
"""

# Shapes: B = batch, T = time, W = window, H = hidden.

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from ps_models.hyperparameters import Amount, Config, Share, Size
from ps_models.language_model import Recurrent, State
from ps_models.layers.window import NEVER, NO_WORD, look_back

Inner = TypeVar("Inner")


@dataclass(frozen=True, kw_only=True)
class NeuralCacheConfig(Config):
    """Tune it on validation data; the defaults are those of awd-lstm-lm's README for Penn Treebank."""

    window: Size = 500
    theta: Amount = 1.0  # flatness: 0 is a unigram cache
    weight: Share = 0.1  # lambda, the cache's share


class NeuralCacheState(NamedTuple, Generic[Inner]):
    """The model's state, and the last W outputs with the words that they had to predict."""

    model: Inner
    words_BW: Tensor  # NO_WORD before the text began
    hidden_BWH: Tensor


class NeuralCache(Generic[State]):
    """A recurrent model with a cache of its outputs; it learns nothing and adds no parameters."""

    def __init__(self, model: Recurrent[State], config: NeuralCacheConfig) -> None:
        self.model = model
        self.config = config

    def initial_state(self, batch_size: int) -> NeuralCacheState[State]:
        """The model's state, and an empty cache."""
        W, state = self.config.window, self.model.initial_state(batch_size)
        with torch.no_grad():  # only to know the size, type and device of its outputs
            word_B1 = _any_tensor(state).new_zeros(batch_size, 1, dtype=torch.int64)
            _, hidden, _ = self.model.scores_and_hidden(word_B1, state)
        words_BW = torch.full((batch_size, W), NO_WORD, device=hidden.device)
        return NeuralCacheState(state, words_BW, hidden.new_zeros(batch_size, W, hidden.shape[-1]))

    def __call__(
        self, tokens: Tensor, state: NeuralCacheState[State]
    ) -> tuple[Tensor, NeuralCacheState[State]]:
        """Score tokens (batch, time); see `LanguageModel`."""
        W, theta, weight = self.config.window, self.config.theta, self.config.weight
        model_BT, hidden_BTH, inner = self.model.scores_and_hidden(tokens, state.model)
        words = torch.cat([state.words_BW, tokens], dim=1)
        hidden = torch.cat([state.hidden_BWH, hidden_BTH], dim=1)
        total_BT, match_BT = look_back(theta * hidden_BTH, hidden[:, :-1], words[:, :-1], tokens, W)
        mixed_BT = torch.logaddexp(
            math.log1p(-weight) + model_BT, math.log(weight) + match_BT - total_BT.clamp(min=NEVER / 2)
        )
        log_probs_BT = torch.where(total_BT > NEVER / 2, mixed_BT, model_BT)  # the cache is empty at first
        return log_probs_BT, NeuralCacheState(inner, words[:, -W:], hidden[:, -W:])


def _any_tensor(state: object) -> Tensor:
    while isinstance(state, tuple):
        state = state[0]
    if not isinstance(state, Tensor):
        raise TypeError(
            f"expected a recurrent model's state to begin with a tensor, found {type(state).__name__}"
        )
    return state
