"""Monte Carlo dropout at test time: probabilities averaged over masks (Gal and Ghahramani 2015)."""

# Shapes: B = batch, T = time, M = samples of masks.

from __future__ import annotations

import math
from typing import Generic, Protocol, runtime_checkable

import torch
from torch import Tensor

from ps_models.language_model import State, map_state
from ps_models.models.lstm import Masks


@runtime_checkable
class Maskable(Protocol[State]):
    """A model with dropout whose masks can be given."""

    def initial_state(self, batch_size: int) -> State:
        """The state at the start of texts."""
        ...

    def __call__(self, tokens: Tensor, state: State, masks: Masks | None) -> tuple[Tensor, State]:
        """Scores with these masks."""
        ...

    def locked_masks(self, samples: int, generator: torch.Generator) -> Masks:
        """One mask per sample, each for a whole text."""
        ...


class MonteCarloDropout(Generic[State]):
    """A trained model with dropout on: probabilities are means over M samples of its masks.

    Each sample keeps its masks for whole texts, and all texts have the same masks, so scores do not depend on
    chunks or batches. The zones of zoneout change at each step; their rates replace them. Gal's own 1000
    samples cost 1000 times the model.

    Args:
        model: In evaluation mode, trained with `locked=True`.
        samples: M.
        generator: On the model's device.
    """

    def __init__(self, model: Maskable[State], samples: int, generator: torch.Generator) -> None:
        self.model = model
        self.samples = samples
        self.masks = model.locked_masks(samples, generator)

    def initial_state(self, batch_size: int) -> State:
        """The model's state of every sample: its tensors are (batch, samples, ...)."""
        flat = self.model.initial_state(batch_size * self.samples)
        return map_state(lambda rows: _rows(rows, batch_size, self.samples), flat)

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score tokens (batch, time); see `LanguageModel`."""
        B, M = len(tokens), self.samples
        masks = map_state(lambda mask: torch.cat([mask] * B, dim=-2), self.masks)
        flat = map_state(lambda rows: rows.flatten(0, 1), state)
        log_probs, flat = self.model(tokens.repeat_interleave(M, dim=0), flat, masks)
        mean_BT = _rows(log_probs, B, M).logsumexp(dim=1) - math.log(M)
        return mean_BT, map_state(lambda rows: _rows(rows, B, M), flat)


def _rows(flat: Tensor, *shape: int) -> Tensor:
    return flat.view(*shape, *flat.shape[1:])
