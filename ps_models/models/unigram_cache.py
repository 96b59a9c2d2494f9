"""A unigram cache over any model: words that came a short while ago come again.

    p(w) = (1 - weight) p_model(w) + weight p_cache(w)
    p_cache(w) ~ sum of decay^age over the places of w among the last `window` tokens

Kuhn and De Mori (1990), "A cache-based natural language model for speech recognition"; the decay is that of
Clarkson and Robinson (1997), "Language model adaptation using mixtures and an exponentially decaying cache".
"""

# Shapes: B = batch, T = time, W = window, V = vocabulary, C = caches.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Generic, NamedTuple

import torch
from msgspec import Meta
from torch import Tensor

from ps_models.data.dataset import Text
from ps_models.evaluation.evaluate import token_nats
from ps_models.hyperparameters import Rate, Size
from ps_models.language_model import LanguageModel, State, generative
from ps_models.layers.window import NO_WORD, windows
from ps_models.models.interpolation import mixed_two, with_best_weight

BLOCK = 2**19  # places compared at once: bounds the memory


@dataclass(frozen=True, kw_only=True)
class UnigramCacheConfig:
    """Tune it on validation data by `tuned_cache`; the defaults suit KN-5 on Penn Treebank."""

    window: Size = 200
    decay: Annotated[float, Meta(gt=0, le=1)] = 1.0
    weight: Rate = 0.1  # lambda, the cache's share


GRID = (  # of windows and decays; EM finds the weight of each
    *(UnigramCacheConfig(window=window) for window in (100, 200, 400, 800, 1600)),
    *(UnigramCacheConfig(window=2000, decay=decay) for decay in (0.98, 0.99, 0.995, 0.997, 0.998, 0.999)),
)


class UnigramCacheState(NamedTuple, Generic[State]):
    """The model's state and the last W tokens."""

    model: State
    words_BW: Tensor  # NO_WORD before the text began


class UnigramCache(Generic[State]):
    """A model mixed with the frequencies of the last words, `<eos>` among them.

    A module inside must be in evaluation mode. Before the first word the cache is empty, and the scores are
    those of the model.
    """

    def __init__(self, model: LanguageModel[State], config: UnigramCacheConfig) -> None:
        self.model = model
        self.config = config

    def initial_state(self, batch_size: int) -> UnigramCacheState[State]:
        """The model's state, and an empty cache."""
        words_BW = torch.full((batch_size, self.config.window), NO_WORD)
        return UnigramCacheState(self.model.initial_state(batch_size), words_BW)

    def __call__(
        self, tokens: Tensor, state: UnigramCacheState[State]
    ) -> tuple[Tensor, UnigramCacheState[State]]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        model_BT, inner = self.model(tokens, state.model)
        words = torch.cat([state.words_BW.to(tokens.device), tokens], dim=1)
        cache_BT = _cache_log_probs(words, tokens, model_BT, self.config)
        state = UnigramCacheState(inner, words[:, tokens.shape[1] :])
        return mixed_two(model_BT, cache_BT, self.config.weight), state

    def next_log_probs(self, state: UnigramCacheState[State]) -> Tensor:
        """Log-probabilities of every word as the next token, (batch, vocabulary), if the model has them."""
        model_BV: Tensor = generative(self.model).next_log_probs(state.model)
        words_BW = state.words_BW.to(model_BV.device)
        weights_BW = _weights(self.config, words_BW.device) * (words_BW != NO_WORD)
        counts_BV = torch.zeros_like(model_BV, dtype=torch.float64)
        counts_BV.scatter_add_(1, words_BW.clamp(min=0), weights_BW)
        cache_BV = _log_ratio(counts_BV, weights_BW.sum(dim=1, keepdim=True), model_BV)
        return mixed_two(model_BV, cache_BV, self.config.weight)


def tuned_cache(
    model: LanguageModel[State],
    texts: Sequence[Text],
    grid: Iterable[UnigramCacheConfig] = GRID,
) -> UnigramCache[State]:
    """The model with the cache of the grid that predicts texts best in one pass, its weight found by EM.

    The model scores the texts once; the cache is carried from one to the next.
    """
    model_T = -torch.cat([nats for _, nats in token_nats(model, texts)])
    stream = torch.cat([text.tokens for text in texts])
    candidates = list(grid)
    caches_CT = _caches_log_probs(stream, model_T, candidates)
    return UnigramCache(model, with_best_weight(model_T, caches_CT, candidates))


def _caches_log_probs(stream: Tensor, model_T: Tensor, configs: Sequence[UnigramCacheConfig]) -> Tensor:
    """Log p_cache of a text's tokens in several caches at once, (caches, time).

    Each pair of equal words is visited once for all caches: round k adds, for all tokens, the k-th last
    occurrence of the word. Memory is a few numbers per token and cache.
    """
    ages = max(config.window for config in configs)
    weights_CW = torch.zeros(len(configs), ages, dtype=torch.float64)  # by age: 0 is the last word's
    for row, config in zip(weights_CW, configs, strict=True):
        row[: config.window] = _weights(config, stream.device).flip(0)
    places_T = torch.arange(len(stream))
    totals_CT = torch.cat([weights_CW.new_zeros(len(configs), 1), weights_CW.cumsum(dim=1)], dim=1)
    match_CT = weights_CW.new_zeros(len(configs), len(stream))
    by_word_T = torch.argsort(stream, stable=True)  # the places of each word, in order
    left = places_T  # ranks in `by_word_T` of the tokens whose window may hold another occurrence
    for back in count(1):
        left = left[left >= back]
        now, before = by_word_T[left], by_word_T[left - back]
        held = (stream[now] == stream[before]) & (now - before <= ages)
        left, now, before = left[held], now[held], before[held]
        if not len(left):
            break
        match_CT[:, now] += weights_CW[:, now - before - 1]
    return _log_ratio(match_CT, totals_CT[:, places_T.clamp(max=ages)], model_T)


def _cache_log_probs(words: Tensor, tokens: Tensor, model_BT: Tensor, config: UnigramCacheConfig) -> Tensor:
    """Log p_cache of tokens, the model's if the cache is empty; `words` begin W places before the tokens."""
    weights_W = _weights(config, tokens.device)
    steps = max(1, BLOCK // (len(tokens) * config.window))
    seen_BTWs = torch.split(windows(words[:, :-1], config.window), steps, 1)
    parts = [
        ((seen_BTW == target_BT[..., None]).double() @ weights_W, (seen_BTW != NO_WORD).double() @ weights_W)
        for seen_BTW, target_BT in zip(seen_BTWs, torch.split(tokens, steps, 1), strict=True)
    ]
    match_BT, total_BT = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
    return _log_ratio(match_BT, total_BT, model_BT)


def _weights(config: UnigramCacheConfig, device: torch.device) -> Tensor:
    """The decay^age of the places of a window, oldest first; the last word's age is 0."""
    ages_W = torch.arange(config.window - 1, -1, -1, device=device, dtype=torch.float64)
    return torch.pow(torch.tensor(config.decay, dtype=torch.float64, device=device), ages_W)


def _log_ratio(counts: Tensor, totals: Tensor, otherwise: Tensor) -> Tensor:
    """The log of counts / totals; `otherwise` where a total is 0."""
    return torch.where(totals == 0, otherwise.double(), (counts / totals.clamp(min=1e-300)).log())
