"""Any models mixed word by word, p(w) = sum over m of weight_m p_m(w), with weights tuned by EM.

The expectation-maximisation of Jelinek and Mercer (1980), "Interpolated estimation of Markov source
parameters from sparse data": each weight becomes the mean share that its model has in the words of validation
data. The objective is concave, so EM finds the best mixture from equal weights.
"""

# Shapes: M = models, B = batch, T = time.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from ps_models.data.dataset import Text
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import token_nats
from ps_models.language_model import LanguageModel

Cache = TypeVar("Cache", bound=Any)  # a configuration with a weight

GAIN = 1e-12  # nats per token: EM ends when a round gains less
ROUNDS = 10_000  # EM ends here too: it is slow where a model's best weight is 0 and hardly matters
MOST = 1 - 1e-6  # of a cache that alone is best: its model keeps a weight above 0
LEFT = 1e-4  # nats per token that the best mixture may then be ahead


class Interpolation:
    """A mixture of models over one vocabulary; modules among them must be in evaluation mode.

    Its state is the tuple of theirs.
    """

    def __init__(self, models: Sequence[LanguageModel[Any]], weights: Sequence[float]) -> None:
        total = sum(weights)
        if not models or len(models) != len(weights) or abs(total - 1) > 1e-6 or min(weights) < 0:
            raise ModelError(
                f"weights {', '.join(f'{weight:g}' for weight in weights) or 'none'} of {len(models)} models;"
                " expected one per model, none below 0, with a sum of 1"
            )
        self.models = tuple(models)
        self.weights = tuple(weight / total for weight in weights)

    def initial_state(self, batch_size: int) -> tuple[Any, ...]:
        """The states of the models."""
        return tuple(model.initial_state(batch_size) for model in self.models)

    def __call__(self, tokens: Tensor, state: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        pairs = [model(tokens, part) for model, part in zip(self.models, state, strict=True)]
        scores_MBT = torch.stack([scores.double() for scores, _ in pairs])
        return _mixed(scores_MBT, self.weights), tuple(part for _, part in pairs)

    def next_log_probs(self, state: tuple[Any, ...]) -> Tensor:
        """Log-probabilities of every word as the next token, (batch, vocabulary), if each model has them."""
        models: Sequence[Any] = self.models
        rows = [model.next_log_probs(part).double() for model, part in zip(models, state, strict=True)]
        return _mixed(torch.stack(rows), self.weights)


def interpolate(
    models: Sequence[LanguageModel[Any]], texts: Sequence[Text], *, device: torch.device | str = "cpu"
) -> Interpolation:
    """The mixture that predicts texts best, such as those of valid; each model scores every token once."""
    if not models or not texts:
        raise ModelError(f"{len(models)} models and {len(texts)} texts; expected at least one of each")
    scores = [-torch.cat([nats for _, nats in token_nats(model, texts, device=device)]) for model in models]
    return Interpolation(models, fit_weights(torch.stack(scores)).tolist())


def fit_weights(log_probs_MT: Tensor) -> Tensor:
    """The weights of the mixture that gives tokens the greatest probability, by EM from equal ones.

    A log-probability is -inf where a model gives 0; some model must give each token more.

    >>> fit_weights(torch.tensor([[0.5, 0.5, 0.1], [0.1, 0.1, 0.5]]).log())
    tensor([0.7500, 0.2500], dtype=torch.float64)
    """
    probs_MT, highest_T = _scaled(log_probs_MT.double())
    weights_M = torch.full((len(probs_MT),), 1 / len(probs_MT), dtype=torch.float64)
    before = -torch.inf
    for _ in range(ROUNDS):
        mixture_T = weights_M @ probs_MT
        mean = float((mixture_T.log() + highest_T).mean())
        if mean - before < GAIN:
            return _without_useless(weights_M, probs_MT)
        before = mean
        ratios_M = (probs_MT / mixture_T).mean(dim=1)
        weights_M = weights_M * ratios_M
        weights_M = weights_M / weights_M.sum()
    # log x <= x - 1: no mixture was ahead of the one of this round by more than the largest ratio less 1.
    if (ahead := float(ratios_M.max()) - 1) > LEFT:
        raise ModelError(
            f"after {ROUNDS} rounds of EM the best weights may be {ahead:.2g} nats per token ahead;"
            f" expected at most {LEFT}"
        )
    return _without_useless(weights_M, probs_MT)


def with_best_weight(
    model_T: Tensor, caches_CT: Tensor, grid: Sequence[Cache], *, least: float = 0.0
) -> Cache:
    """The cache of a grid whose mixture with a model gives a text the greatest probability, with its weight.

    Its own weight does not count; the one that is found is not below `least`.
    """
    found = []
    for candidate, cache_T in zip(grid, caches_CT, strict=True):
        weight = min(max(fit_weights(torch.stack([model_T, cache_T]))[1].item(), least), MOST)
        found.append((float(mixed_two(model_T, cache_T, weight).sum()), replace(candidate, weight=weight)))
    return max(found, key=lambda pair: pair[0])[1]


def mixed_two(model: Tensor, cache: Tensor, weight: float) -> Tensor:
    """Log-probabilities of a model mixed with those of a cache."""
    shares = torch.tensor([1 - weight, weight], dtype=torch.float64, device=model.device).log()
    return torch.logaddexp(shares[0] + model, shares[1] + cache)


def _without_useless(weights_M: Tensor, probs_MT: Tensor) -> Tensor:
    """Drop the models without which the mixture is better: EM lowers a weight towards 0 ever more slowly."""
    best = float((weights_M @ probs_MT).log().mean())
    for model in weights_M.argsort().tolist():
        without_M = weights_M.index_fill(0, torch.tensor(model), 0.0)
        without_M = without_M / without_M.sum()
        mean = float((without_M @ probs_MT).log().mean())
        if mean > best:  # not if it is NaN, because this was the last model
            weights_M, best = without_M, mean
    return weights_M


def _scaled(log_probs_MT: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities divided by the highest of each token, so that they do not all underflow."""
    highest_T = log_probs_MT.max(dim=0).values
    if not log_probs_MT.numel() or not highest_T.isfinite().all():
        raise ModelError(
            "weights cannot be fit: expected tokens, each with a probability above 0 from some model"
        )
    return (log_probs_MT - highest_T).exp(), highest_T


def _mixed(scores: Tensor, weights: Sequence[float]) -> Tensor:
    """The log of the weighted sum over the first dimension."""
    logs = torch.tensor(weights, dtype=torch.float64, device=scores.device).log()
    return torch.logsumexp(scores + logs.reshape(-1, *[1] * (scores.dim() - 1)), dim=0)
