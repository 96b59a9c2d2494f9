"""Extends trained models at evaluation with a neural cache, or with Monte Carlo dropout.

The neural cache of Grave et al. (2016), arXiv 1612.04426, is a pointer that needs no training::

    p(w) = (1 - weight) p_model(w) + weight p_cache(w)
    p_cache(w) ~ sum of exp(theta h_t . h_i) over the places i of the window with x_(i+1) = w

Each output is paired with the word after it, which it predicted; the pointer sentinel pairs it with the word
that was read. `tuned_neural_cache` chooses window and flatness by a grid on validation data, and the weight
by EM. All caches of the grid share a pass: the model scores the text once, and the products of outputs are
computed once, for the widest window.

Monte Carlo dropout averages probabilities over masks (Gal and Ghahramani 2015).
"""

# Shapes: B = batch, T = time, W = window, H = hidden, M = samples of masks, C = caches of the grid,
# N = steps of a block, S = positions that they look back on.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from ps_models.dataset import Text
from ps_models.errors import ModelError
from ps_models.hyperparameters import Amount, Share, Size
from ps_models.language_model import LanguageModel, State, map_state
from ps_models.layers.window import LOG_ZERO, NO_WORD, look_back
from ps_models.models.interpolation import with_best_weight
from ps_models.models.stream import Masks, StreamModel
from ps_models.scoring import CHUNK_TOKENS, evaluating

Inner = TypeVar("Inner")


@dataclass(frozen=True, kw_only=True)
class NeuralCacheConfig:
    """The defaults are those of awd-lstm-lm's README for the Penn Treebank; tune them on validation data."""

    window: Size = 500
    theta: Amount = 1.0  # flatness: 0 is a unigram cache
    weight: Share = 0.1  # lambda, the cache's share


class NeuralCacheState(NamedTuple, Generic[Inner]):
    """The model's state, and the last W outputs with the words that they predicted."""

    model: Inner
    words_BW: Tensor  # NO_WORD before the text began
    hidden_BWH: Tensor


class NeuralCache(Generic[State]):
    """A recurrent model with a cache of its outputs; the cache has no parameters and learns nothing."""

    def __init__(self, model: StreamModel[State], config: NeuralCacheConfig) -> None:
        self.model = model
        self.config = config

    def initial_state(self, batch_size: int) -> NeuralCacheState[State]:
        """Return the model's state, and an empty cache."""
        W, state = self.config.window, self.model.initial_state(batch_size)
        with torch.no_grad():  # a call that gives the size, type and device of the outputs
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
            math.log1p(-weight) + model_BT, math.log(weight) + match_BT - total_BT.clamp(min=LOG_ZERO / 2)
        )
        log_probs_BT = torch.where(total_BT > LOG_ZERO / 2, mixed_BT, model_BT)  # the cache is empty at first
        return log_probs_BT, NeuralCacheState(inner, words[:, -W:], hidden[:, -W:])


def _any_tensor(state: object) -> Tensor:
    while isinstance(state, tuple):
        state = state[0]
    if not isinstance(state, Tensor):
        raise TypeError(
            f"expected a recurrent model's state to begin with a tensor, found {type(state).__name__}"
        )
    return state


STEPS_AT_ONCE: Final = 128  # a block of steps: bounds memory
MIN_WEIGHT: Final = 1e-6  # of a useless cache: its logarithm must be finite
WINDOWS: Final = (100, 500, 2000)  # Grave et al. (2016), section 5: 100 to 10,000 words
THETAS: Final = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)  # the paper's end at 1; small outputs need more


def cache_grid(windows: Sequence[int] = WINDOWS) -> tuple[NeuralCacheConfig, ...]:
    """Return the configurations of each window with each flatness of THETAS."""
    return tuple(NeuralCacheConfig(window=window, theta=theta) for window in windows for theta in THETAS)


GRID: Final = cache_grid()


def tuned_neural_cache(
    model: StreamModel[Any],
    texts: Sequence[Text],
    *,
    grid: Sequence[NeuralCacheConfig] = GRID,
    device: torch.device | str = "cpu",
) -> NeuralCache[Any]:
    """Return the model with the neural cache of the grid that predicts texts best; it scores them once.

    The cache is carried from text to text. Weights in the grid do not count.
    """
    stream = torch.cat([text.tokens for text in texts])
    if len(stream) < 2:
        raise ModelError(f"a cache cannot be tuned on {len(stream)} tokens; expected 2 or more")
    model_T, hidden_TH = _scores_and_hidden(model, stream, device)
    cache_CT = _caches_log_probs(stream.to(hidden_TH.device), hidden_TH, grid).cpu()
    # At the first token the cache is empty, and the model's score stands.
    return NeuralCache(model, with_best_weight(model_T[1:], cache_CT[:, 1:], grid, least=MIN_WEIGHT))


def _scores_and_hidden(
    model: StreamModel[Any], stream: Tensor, device: torch.device | str
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities in float64 on the CPU, and the outputs that predicted the tokens."""
    scores, outputs, state = [], [], model.initial_state(1)
    with evaluating(model), torch.no_grad():
        for tokens in torch.split(stream, CHUNK_TOKENS):
            log_probs_BT, hidden_BTH, state = model.scores_and_hidden(tokens[None].to(device), state)
            scores.append(log_probs_BT[0].double().cpu())
            outputs.append(hidden_BTH[0].float())
    return torch.cat(scores), torch.cat(outputs)


def _caches_log_probs(stream: Tensor, hidden_TH: Tensor, grid: Sequence[NeuralCacheConfig]) -> Tensor:
    """Return log p_cache of each token in each cache of the grid, (caches, time), in float64."""
    widest = max(config.window for config in grid)
    parts = []
    for begin in range(0, len(stream), STEPS_AT_ONCE):
        end, first = min(begin + STEPS_AT_ONCE, len(stream)), max(0, begin - widest)
        back_NS = torch.arange(begin, end, device=stream.device)[:, None] - torch.arange(
            first, end, device=stream.device
        )
        scores_NS = hidden_TH[begin:end] @ hidden_TH[first:end].mT
        same_NS = stream[begin:end, None] == stream[None, first:end]
        rows = []
        for config in grid:
            span = slice(max(0, begin - config.window - first), None)  # no step looks further back
            in_window_NS = (back_NS[:, span] > 0) & (back_NS[:, span] <= config.window)
            rows.append(_log_share(config.theta * scores_NS[:, span], in_window_NS, same_NS[:, span]))
        parts.append(torch.stack(rows))
    return torch.cat(parts, dim=1).double()


def _log_share(scores_NS: Tensor, in_window_NS: Tensor, same_NS: Tensor) -> Tensor:
    """Return the log of the share of the places with the step's word; for 0 it is LOG_ZERO."""
    total_N = scores_NS.masked_fill(~in_window_NS, LOG_ZERO).logsumexp(dim=1)
    match_N = scores_NS.masked_fill(~(in_window_NS & same_NS), LOG_ZERO).logsumexp(dim=1)
    return (match_N - total_N.clamp(min=LOG_ZERO / 2)).clamp(min=LOG_ZERO)


class MonteCarloDropout(Generic[State]):
    """A trained model with dropout on: probabilities are means over M samples of its masks.

    Each sample keeps its masks for whole texts, and all texts have the same masks, so scores do not depend on
    chunks or batches. The zones of zoneout change at each step; their rates replace them. Gal's 1000
    samples take 1000 times as long as the model, which is in evaluation mode and was trained with
    `locked=True`.
    """

    def __init__(self, model: LanguageModel[State], samples: int, generator: torch.Generator) -> None:
        """Draw the masks; the model has `locked_masks`."""
        masked_model: Any = model
        self.model, self.samples = masked_model, samples
        self.masks: Masks = masked_model.locked_masks(samples, generator)

    def initial_state(self, batch_size: int) -> State:
        """Return the model's state of every sample: its tensors are (batch, samples, ...)."""
        flat: State = self.model.initial_state(batch_size * self.samples)
        return map_state(lambda rows: _unflattened(rows, batch_size, self.samples), flat)

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score tokens (batch, time); see `LanguageModel`."""
        B, M = len(tokens), self.samples
        masks = map_state(lambda mask: torch.cat([mask] * B, dim=-2), self.masks)
        flat = map_state(lambda rows: rows.flatten(0, 1), state)
        log_probs, flat = self.model(tokens.repeat_interleave(M, dim=0), flat, masks)
        mean_BT = _unflattened(log_probs, B, M).logsumexp(dim=1) - math.log(M)
        return mean_BT, map_state(lambda rows: _unflattened(rows, B, M), flat)


def _unflattened(flat: Tensor, *shape: int) -> Tensor:
    return flat.view(*shape, *flat.shape[1:])
