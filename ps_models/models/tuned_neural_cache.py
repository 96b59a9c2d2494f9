"""A neural cache tuned on validation data: its window and flatness by a grid, its weight by EM.

All windows and flatnesses of the grid share one pass: the model scores the text once, and the products of
outputs are computed once, for the widest window.
"""

# Shapes: B = batch, T = time, S = positions that a block looks back on, H = hidden, C = caches of the grid.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from ps_models.data.dataset import Text
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import CHUNK, evaluating
from ps_models.language_model import Recurrent
from ps_models.layers.window import NEVER
from ps_models.models.interpolation import MOST, fit_weights
from ps_models.models.neural_cache import NeuralCache, NeuralCacheConfig

BLOCK: Final = 128  # steps at once: bounds the memory
LEAST: Final = 1e-6  # a useless cache keeps a weight above 0, for the logarithm
WINDOWS: Final = (100, 500, 2000)  # Grave et al. (2016), section 5: 100 to 10,000 words
THETAS: Final = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)  # theirs go up to 1; small outputs need more


def cache_grid(windows: Sequence[int] = WINDOWS) -> tuple[NeuralCacheConfig, ...]:
    """Each window with each flatness of THETAS."""
    return tuple(NeuralCacheConfig(window=window, theta=theta) for window in windows for theta in THETAS)


GRID: Final = cache_grid()


def tuned_neural_cache(
    model: Recurrent[Any],
    texts: Sequence[Text],
    *,
    grid: Sequence[NeuralCacheConfig] = GRID,
    device: torch.device | str = "cpu",
) -> NeuralCache[Any]:
    """The model with the neural cache of the grid that predicts texts best in one pass.

    Args:
        model: A recurrent model; it scores the texts once.
        texts: Of validation data, in order; the cache is carried from one to the next.
        grid: Windows and flatnesses to try; their weights are not used.
        device: Where the model is.

    Raises:
        ModelError: The texts are shorter than two tokens.
    """
    stream = torch.cat([text.tokens for text in texts])
    if len(stream) < 2:
        raise ModelError(f"a cache cannot be tuned on {len(stream)} tokens; expected 2 or more")
    model_T, hidden_TH = _scores_and_hidden(model, stream, device)
    cache_CT = _caches_log_probs(stream.to(hidden_TH.device), hidden_TH, grid).cpu()
    model_T, cache_CT = model_T[1:], cache_CT[:, 1:]  # while the cache is empty, the model's scores stand
    found: list[tuple[float, NeuralCacheConfig]] = []
    for candidate, cache_T in zip(grid, cache_CT, strict=True):
        both = torch.stack([model_T, cache_T])
        weight = min(max(fit_weights(both)[1].item(), LEAST), MOST)
        shares = torch.tensor([1 - weight, weight], dtype=torch.float64).log()
        nats = float(torch.logsumexp(both + shares[:, None], dim=0).sum())
        config = NeuralCacheConfig(window=candidate.window, theta=candidate.theta, weight=weight)
        found.append((nats, config))
    return NeuralCache(model, max(found, key=lambda pair: pair[0])[1])


def _scores_and_hidden(
    model: Recurrent[Any], stream: Tensor, device: torch.device | str
) -> tuple[Tensor, Tensor]:
    """Log-probabilities in float64 on the CPU, and the outputs that predicted each token on their device."""
    scores, outputs, state = [], [], model.initial_state(1)
    with evaluating(model), torch.no_grad():
        for tokens in torch.split(stream, CHUNK):
            log_probs_BT, hidden_BTH, state = model.scores_and_hidden(tokens[None].to(device), state)
            scores.append(log_probs_BT[0].double().cpu())
            outputs.append(hidden_BTH[0].float())
    return torch.cat(scores), torch.cat(outputs)


def _caches_log_probs(stream: Tensor, hidden_TH: Tensor, grid: Sequence[NeuralCacheConfig]) -> Tensor:
    """Log p_cache of each token in each cache of the grid, (caches, time), in float64."""
    widest = max(config.window for config in grid)
    parts = []
    for begin in range(0, len(stream), BLOCK):
        end, first = min(begin + BLOCK, len(stream)), max(0, begin - widest)
        back_TS = torch.arange(begin, end, device=stream.device)[:, None] - torch.arange(
            first, end, device=stream.device
        )
        scores_TS = hidden_TH[begin:end] @ hidden_TH[first:end].mT
        same_TS = stream[begin:end, None] == stream[None, first:end]
        rows = []
        for config in grid:
            near = slice(max(0, begin - config.window - first), None)  # no step looks further back
            seen_TS = (back_TS[:, near] > 0) & (back_TS[:, near] <= config.window)
            rows.append(_log_share(config.theta * scores_TS[:, near], seen_TS, same_TS[:, near]))
        parts.append(torch.stack(rows))
    return torch.cat(parts, dim=1).double()


def _log_share(scores_TS: Tensor, seen_TS: Tensor, same_TS: Tensor) -> Tensor:
    """The share of the places with the step's own word, in logarithms; a probability of 0 is NEVER."""
    all_T = scores_TS.masked_fill(~seen_TS, NEVER).logsumexp(dim=1)
    own_T = scores_TS.masked_fill(~(seen_TS & same_TS), NEVER).logsumexp(dim=1)
    return (own_T - all_T.clamp(min=NEVER / 2)).clamp(min=NEVER)
