"""Computes the attention of each step over the words of a sliding window."""

# Shapes: B = batch, T = time, W = window, S = W - 1 + T: positions that some step looks back on, H = hidden.

from __future__ import annotations

import torch
from torch import Tensor

from ps_models.layers.softmax import widen

NO_WORD = -1  # at a place of the window before the text began
STEPS_AT_ONCE = 128  # a block of steps; each is computed over the windows of all of them
LOG_ZERO = -1e30  # the logarithm of 0; with -inf gradients would be NaN


def look_back(
    queries_BTH: Tensor, keys_BSH: Tensor, words_BS: Tensor, targets_BT: Tensor, window: int
) -> tuple[Tensor, Tensor]:
    """Return log sums of exp(query . key) over each step's window: all of it, and the places of the target.

    Step t looks at the positions t to t + W - 1. Sums are in float32 or wider, also under autocast. If a
    window is empty or does not hold the target, the sum is exp(-1e30), which is 0, and no gradient flows.

    Returns:
        Two tensors (B, T).
    """
    parts, begin = [], 0
    with torch.autocast(queries_BTH.device.type, enabled=False):
        for queries, targets in zip(_step_blocks(queries_BTH), _step_blocks(targets_BT), strict=True):
            steps = queries.shape[1]
            span = slice(begin, begin + steps + window - 1)
            begin += steps
            scores_BTS = widen(queries) @ widen(keys_BSH[:, span]).mT
            visible_BTS = visible(words_BS[:, span] != NO_WORD, steps, window)
            match_BTS = visible_BTS & (words_BS[:, None, span] == targets[..., None])
            parts.append([_log_sum_exp(scores_BTS, mask_BTS) for mask_BTS in (visible_BTS, match_BTS)])
    total_BT, match_BT = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
    return total_BT, match_BT


def _step_blocks(values: Tensor) -> tuple[Tensor, ...]:
    return torch.split(values, STEPS_AT_ONCE, dim=1)


def visible(in_text_BS: Tensor, steps: int, window: int) -> Tensor:
    """Return which positions are in each step's window and in the text: bool, (B, T, S)."""
    places = torch.arange(in_text_BS.shape[1], device=in_text_BS.device)
    offsets_TS = places - torch.arange(steps, device=in_text_BS.device)[:, None]
    return ((offsets_TS >= 0) & (offsets_TS < window)) & in_text_BS[:, None]


def _log_sum_exp(scores_BTS: Tensor, mask_BTS: Tensor) -> Tensor:
    return scores_BTS.masked_fill(~mask_BTS, LOG_ZERO).logsumexp(dim=-1)


def windows(values: Tensor, window: int) -> Tensor:
    """Return each step's window, oldest word first: (B, T, W, ...) from (B, S, ...), without a copy.

    >>> windows(torch.arange(5)[None], 3).tolist()
    [[[0, 1, 2], [1, 2, 3], [2, 3, 4]]]
    """
    return values.unfold(1, window, 1).movedim(-1, 2)
