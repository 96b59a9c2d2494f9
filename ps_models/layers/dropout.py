"""Masks of dropout: locked over time or not, of types, and zones of zoneout.

A mask is drawn once and passed on, so that one call of a model uses the same mask throughout. It holds 0
where a unit is dropped and 1 / (1 - rate) elsewhere, so that evaluation, which keeps all units, needs no
scaling.
"""

# Shapes: B = batch, T = time, H = hidden.

from __future__ import annotations

import torch
from torch import Tensor


def dropout_mask(
    rate: float, shape: tuple[int, ...], like: Tensor, generator: torch.Generator | None = None
) -> Tensor | None:
    """A mask of that shape, None for rate 0.

    With a time dimension of 1 it is locked over all steps: variational dropout (Gal and Ghahramani 2015,
    https://arxiv.org/abs/1512.05287). With one mask per step it is the dropout of Zaremba et al. (2014).

    >>> _ = torch.manual_seed(0)
    >>> dropout_mask(0.5, (1, 2, 3), like=torch.zeros(1)).unique().tolist()
    [0.0, 2.0]
    """
    if not 0 <= rate < 1:
        raise ValueError(f"dropout rate {rate}: expected at least 0 and less than 1")
    if rate == 0:
        return None
    return _ones(1 - rate, shape, like, generator).div_(1 - rate)


def type_mask(rate: float, tokens_BT: Tensor, like: Tensor) -> Tensor | None:
    """A mask (B, T) that drops types: in each row all or none of a type's occurrences.

    Gal and Ghahramani (2015), section 4.2. Positions are drawn, not the whole vocabulary: each occurrence of
    a type takes what its first occurrence in the row has drawn.
    """
    drawn_BT = dropout_mask(rate, tuple(tokens_BT.shape), like)
    if drawn_BT is None:
        return None
    same_BTT = tokens_BT[:, :, None] == tokens_BT[:, None, :]
    first_BT = same_BTT.int().argmax(dim=-1)
    return drawn_BT.gather(1, first_BT)


def zone_mask(rate: float, shape: tuple[int, ...], like: Tensor) -> Tensor | float:
    """Zones of 0 and 1, 1 where a unit keeps its previous value; 0.0 for rate 0."""
    if not 0 <= rate < 1:
        raise ValueError(f"zoneout rate {rate}: expected at least 0 and less than 1")
    return _ones(rate, shape, like) if rate else 0.0


def _ones(
    share: float, shape: tuple[int, ...], like: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    """Ones with this probability, else zeros; on a CPU in a third of the time of `bernoulli_`."""
    drawn = torch.empty(shape, dtype=like.dtype, device=like.device)
    return drawn.uniform_(generator=generator).lt_(share)


def masked(value: Tensor, mask: Tensor | None) -> Tensor:
    """The value with the mask applied, if there is a mask."""
    return value if mask is None else value * mask
