"""Attention of each step over the words of a sliding window."""

# Shapes: B = batch, T = time, W = window, S = W - 1 + T: positions that some step looks back on, H = hidden.

from __future__ import annotations

import torch
from torch import Tensor

from ps_models.layers.softmax import wide

NO_WORD = -1  # in the window: a place before the text began
BLOCK = 128  # steps that are computed at once, each over the windows of all of them
NEVER = -1e30  # log-probability of what is impossible; -inf would give gradients of NaN


def look_back(
    queries_BTH: Tensor, keys_BSH: Tensor, words_BS: Tensor, targets_BT: Tensor, window: int
) -> tuple[Tensor, Tensor]:
    """Log of the sums of exp(query . key) over each step's window: all of it, and the target's places in it.

    Step t looks at the positions t to t + W - 1. In float32 or wider, also under autocast. If a window is
    empty or does not hold the target, the sum is exp(-1e30), which is 0, and no gradient flows.

    Returns:
        Two tensors (B, T).
    """
    parts, begin = [], 0
    with torch.autocast(queries_BTH.device.type, enabled=False):
        for queries, targets in zip(_blocks(queries_BTH), _blocks(targets_BT), strict=True):
            steps = queries.shape[1]
            seen = slice(begin, begin + steps + window - 1)
            begin += steps
            scores_BTS = wide(queries) @ wide(keys_BSH[:, seen]).mT
            visible_BTS = visible(words_BS[:, seen] != NO_WORD, steps, window)
            match_BTS = visible_BTS & (words_BS[:, None, seen] == targets[..., None])
            parts.append([_log_sum_exp(scores_BTS, where) for where in (visible_BTS, match_BTS)])
    total_BT, match_BT = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
    return total_BT, match_BT


def _blocks(values_BT: Tensor) -> tuple[Tensor, ...]:
    return torch.split(values_BT, BLOCK, dim=1)


def visible(there_BS: Tensor, steps: int, window: int) -> Tensor:
    """Which positions are in each step's window and in the text: (B, T, S)."""
    places = torch.arange(there_BS.shape[1], device=there_BS.device)
    offsets_TS = places - torch.arange(steps, device=there_BS.device)[:, None]
    return ((offsets_TS >= 0) & (offsets_TS < window)) & there_BS[:, None]


def _log_sum_exp(scores: Tensor, where: Tensor) -> Tensor:
    return scores.masked_fill(~where, NEVER).logsumexp(dim=-1)


def windows(values_BS: Tensor, window: int) -> Tensor:
    """Each step's window, oldest word first: (B, T, W, ...) from (B, S, ...), without a copy.

    >>> windows(torch.arange(5)[None], 3).tolist()
    [[[0, 1, 2], [1, 2, 3], [2, 3, 4]]]
    """
    return values_BS.unfold(1, window, 1).movedim(-1, 2)
