"""Mixes any models word by word, p(w) = sum over m of weight_m p_m(w), with weights tuned by EM.

The expectation-maximisation of Jelinek and Mercer (1980), "Interpolated estimation of Markov source
parameters from sparse data": each weight becomes the mean share of its model in the probabilities of the
validation words. The objective is concave, so EM finds the best mixture from equal weights.

A unigram cache can be added to any model, because words that occurred recently occur again:

    p(w) = (1 - weight) p_model(w) + weight p_cache(w)
    p_cache(w) ~ sum of decay^age over the places of w among the last `window` tokens

Kuhn and De Mori (1990), "A cache-based natural language model for speech recognition"; the decay is that of
Clarkson and Robinson (1997), "Language model adaptation using mixtures and an exponentially decaying cache".
"""

# Shapes: M = models, B = batch, T = time, W = window, V = vocabulary, C = caches.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import torch
from msgspec import Meta
from torch import Tensor

from ps_models.dataset import Text
from ps_models.errors import ModelError
from ps_models.hyperparameters import Rate, Size
from ps_models.language_model import LanguageModel, State, generative
from ps_models.layers.window import NO_WORD, windows
from ps_models.scoring import token_nats

Config = TypeVar("Config", bound=Any)  # the configuration of a cache, with a weight

MIN_GAIN = 1e-12  # nats per token: EM ends when a round gains less
MAX_ROUNDS = 10_000  # EM is slow if a model's best weight is 0, where the weight hardly matters
MAX_AHEAD = 1e-4  # nats per token by which the best mixture may be ahead after MAX_ROUNDS
MAX_CACHE_WEIGHT = 1 - 1e-6  # if the cache alone is best, its model keeps a weight above 0


class Interpolation:
    """A mixture of models over one vocabulary; modules among them must be in evaluation mode.

    Its state is the tuple of the models' states.
    """

    def __init__(self, models: Sequence[LanguageModel[Any]], weights: Sequence[float]) -> None:
        total = sum(weights)
        if not models or len(models) != len(weights) or abs(total - 1) > 1e-6 or min(weights) < 0:
            raise ModelError(
                f"weights {', '.join(f'{weight:g}' for weight in weights) or 'none'} of {len(models)} models;"
                " expected a weight per model, none below 0, with a sum of 1"
            )
        self.models = tuple(models)
        self.weights = tuple(weight / total for weight in weights)

    def initial_state(self, batch_size: int) -> tuple[Any, ...]:
        """Return the states of the models."""
        return tuple(model.initial_state(batch_size) for model in self.models)

    def __call__(self, tokens: Tensor, state: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        results = [model(tokens, inner) for model, inner in zip(self.models, state, strict=True)]
        scores_MBT = torch.stack([scores_BT.double() for scores_BT, _ in results])
        return _mixed(scores_MBT, self.weights), tuple(inner for _, inner in results)

    def next_log_probs(self, state: tuple[Any, ...]) -> Tensor:
        """Return log-probabilities of every word as the next one, (batch, vocabulary), if all models can."""
        models: Sequence[Any] = self.models
        scores = [model.next_log_probs(inner).double() for model, inner in zip(models, state, strict=True)]
        return _mixed(torch.stack(scores), self.weights)


def interpolate(
    models: Sequence[LanguageModel[Any]], texts: Sequence[Text], *, device: torch.device | str = "cpu"
) -> Interpolation:
    """Return the mixture that predicts texts, such as valid, best; each model scores every token once."""
    if not models or not texts:
        raise ModelError(f"{len(models)} models and {len(texts)} texts; expected at least one of each")
    scores = [-torch.cat([nats for _, nats in token_nats(model, texts, device=device)]) for model in models]
    return Interpolation(models, fit_weights(torch.stack(scores)).tolist())


def fit_weights(log_probs_MT: Tensor) -> Tensor:
    """Return the weights of the mixture that gives tokens the greatest probability, by EM from equal ones.

    A log-probability is -inf where a model gives 0; at least one model must give each token more.

    >>> fit_weights(torch.tensor([[0.5, 0.5, 0.1], [0.1, 0.1, 0.5]]).log())
    tensor([0.7500, 0.2500], dtype=torch.float64)
    """
    probs_MT, highest_T = _scaled(log_probs_MT.double())
    weights_M = torch.full((len(probs_MT),), 1 / len(probs_MT), dtype=torch.float64)
    last_mean = -torch.inf
    for _ in range(MAX_ROUNDS):
        mixture_T = weights_M @ probs_MT
        mean = float((mixture_T.log() + highest_T).mean())
        if mean - last_mean < MIN_GAIN:
            return _without_useless(weights_M, probs_MT)
        last_mean = mean
        ratios_M = (probs_MT / mixture_T).mean(dim=1)
        weights_M = weights_M * ratios_M
        weights_M = weights_M / weights_M.sum()
    # log x <= x - 1, so no mixture is ahead of the last one by more than the largest ratio minus 1.
    if (ahead := float(ratios_M.max()) - 1) > MAX_AHEAD:
        raise ModelError(
            f"after {MAX_ROUNDS} rounds of EM the best weights may be {ahead:.2g} nats per token ahead;"
            f" expected at most {MAX_AHEAD}"
        )
    return _without_useless(weights_M, probs_MT)


def with_best_weight(
    model_T: Tensor, caches_CT: Tensor, grid: Sequence[Config], *, least: float = 0.0
) -> Config:
    """Return the cache of a grid whose mixture with a model gives a text the greatest probability.

    Weights in the grid do not count; the result has the best weight, but at least `least`.
    """
    candidates = []
    for candidate, cache_T in zip(grid, caches_CT, strict=True):
        weight = min(max(fit_weights(torch.stack([model_T, cache_T]))[1].item(), least), MAX_CACHE_WEIGHT)
        candidates.append(
            (float(mixed_two(model_T, cache_T, weight).sum()), replace(candidate, weight=weight))
        )
    return max(candidates, key=lambda pair: pair[0])[1]


def mixed_two(model_scores: Tensor, cache_scores: Tensor, weight: float) -> Tensor:
    """Return log-probabilities of a model mixed with those of a cache."""
    shares = torch.tensor([1 - weight, weight], dtype=torch.float64, device=model_scores.device).log()
    return torch.logaddexp(shares[0] + model_scores, shares[1] + cache_scores)


def _without_useless(weights_M: Tensor, probs_MT: Tensor) -> Tensor:
    """Set the weights of useless models to 0, which EM approaches ever more slowly."""
    best = float((weights_M @ probs_MT).log().mean())
    for model in weights_M.argsort().tolist():
        without_M = weights_M.index_fill(0, torch.tensor(model), 0.0)
        without_M = without_M / without_M.sum()
        mean = float((without_M @ probs_MT).log().mean())
        if mean > best:  # not if it is NaN, because this was the last model
            weights_M, best = without_M, mean
    return weights_M


def _scaled(log_probs_MT: Tensor) -> tuple[Tensor, Tensor]:
    """Return probabilities divided by each token's highest, so that they do not all underflow."""
    highest_T = log_probs_MT.max(dim=0).values
    if not log_probs_MT.numel() or not highest_T.isfinite().all():
        raise ModelError(
            "weights cannot be fit: expected tokens, each with a probability above 0 from some model"
        )
    return (log_probs_MT - highest_T).exp(), highest_T


def _mixed(scores: Tensor, weights: Sequence[float]) -> Tensor:
    """Return the log of the weighted sum over the first dimension."""
    logs = torch.tensor(weights, dtype=torch.float64, device=scores.device).log()
    return torch.logsumexp(scores + logs.reshape(-1, *[1] * (scores.dim() - 1)), dim=0)


PLACES_AT_ONCE = 2**19  # that are compared: bounds memory


@dataclass(frozen=True, kw_only=True)
class UnigramCacheConfig:
    """Tune it on validation data by `tuned_cache`; the defaults suit KN-5 on Penn Treebank."""

    window: Size = 200
    decay: Annotated[float, Meta(gt=0, le=1)] = 1.0
    weight: Rate = 0.1  # lambda, the cache's share


GRID = (  # chosen before any test number was seen; EM finds the weight of each
    *(UnigramCacheConfig(window=window) for window in (100, 200, 400, 800, 1600)),
    *(UnigramCacheConfig(window=2000, decay=decay) for decay in (0.98, 0.99, 0.995)),
)


class UnigramCacheState(NamedTuple, Generic[State]):
    """The model's state and the last W tokens."""

    model: State
    words_BW: Tensor  # NO_WORD before the text began


class UnigramCache(Generic[State]):
    """A model mixed with the frequencies of the last words, including `<eos>`.

    A module inside must be in evaluation mode. Before the first word the cache is empty, and the scores are
    those of the model.
    """

    def __init__(self, model: LanguageModel[State], config: UnigramCacheConfig) -> None:
        self.model = model
        self.config = config

    def initial_state(self, batch_size: int) -> UnigramCacheState[State]:
        """Return the model's state, and an empty cache."""
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
        """Return log-probabilities of every word as the next one, (batch, vocabulary), if the model can."""
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
    """Return the model with the cache of the grid that predicts texts best, with its weight found by EM.

    The model scores the texts once; the cache is carried from text to text.
    """
    model_T = -torch.cat([nats for _, nats in token_nats(model, texts)])
    stream = torch.cat([text.tokens for text in texts])
    candidates = list(grid)
    caches_CT = _caches_log_probs(stream, model_T, candidates)
    return UnigramCache(model, with_best_weight(model_T, caches_CT, candidates))


def _caches_log_probs(stream: Tensor, model_T: Tensor, configs: Sequence[UnigramCacheConfig]) -> Tensor:
    """Return log p_cache of a text's tokens in several caches at once, (caches, time).

    Each pair of equal words is visited once for all caches: round k adds, for all tokens, the k-th last
    occurrence of the word. Memory is a few numbers per token and cache.
    """
    ages = max(config.window for config in configs)
    weights_CW = torch.zeros(len(configs), ages, dtype=torch.float64)  # by age: 0 is the last word's
    for row, config in zip(weights_CW, configs, strict=True):
        row[: config.window] = _weights(config, stream.device).flip(0)
    places_T = torch.arange(len(stream))
    totals_by_age = torch.cat([weights_CW.new_zeros(len(configs), 1), weights_CW.cumsum(dim=1)], dim=1)
    match_CT = weights_CW.new_zeros(len(configs), len(stream))
    by_word_T = torch.argsort(stream, stable=True)  # the places of each word, in order
    ranks = places_T  # in `by_word_T`, of the tokens whose window may hold another occurrence
    for back in count(1):
        ranks = ranks[ranks >= back]
        token, earlier = by_word_T[ranks], by_word_T[ranks - back]
        matches = (stream[token] == stream[earlier]) & (token - earlier <= ages)
        ranks, token, earlier = ranks[matches], token[matches], earlier[matches]
        if not len(ranks):
            break
        match_CT[:, token] += weights_CW[:, token - earlier - 1]
    return _log_ratio(match_CT, totals_by_age[:, places_T.clamp(max=ages)], model_T)


def _cache_log_probs(words: Tensor, tokens: Tensor, model_BT: Tensor, config: UnigramCacheConfig) -> Tensor:
    """Return log p_cache of tokens, the model's if the cache is empty; `words` begin W places before them."""
    weights_W = _weights(config, tokens.device)
    steps = max(1, PLACES_AT_ONCE // (len(tokens) * config.window))
    windows_of_blocks = torch.split(windows(words[:, :-1], config.window), steps, 1)
    parts = [
        (
            (window_BTW == target_BT[..., None]).double() @ weights_W,
            (window_BTW != NO_WORD).double() @ weights_W,
        )
        for window_BTW, target_BT in zip(windows_of_blocks, torch.split(tokens, steps, 1), strict=True)
    ]
    match_BT, total_BT = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
    return _log_ratio(match_BT, total_BT, model_BT)


def _weights(config: UnigramCacheConfig, device: torch.device) -> Tensor:
    """Return decay^age of the places of a window, oldest first; the last word's age is 0."""
    ages_W = torch.arange(config.window - 1, -1, -1, device=device, dtype=torch.float64)
    return torch.pow(torch.tensor(config.decay, dtype=torch.float64, device=device), ages_W)


def _log_ratio(counts: Tensor, totals: Tensor, otherwise: Tensor) -> Tensor:
    """Return the log of counts / totals; `otherwise` where a total is 0."""
    return torch.where(totals == 0, otherwise.double(), (counts / totals.clamp(min=1e-300)).log())
