"""Products of matrices: their type of numbers, and the order of arguments in which they are fast."""

from __future__ import annotations

import torch
from torch import Tensor

NEAR = 2**18  # numbers that a CPU works on in one go, 1 MiB in float32: they stay in its cache
FAR = 2**26  # the same elsewhere, where few and large operators are fast: 256 MiB


def wide(value: Tensor) -> Tensor:
    """The value in float32, or in float64 where it was."""
    return value if value.dtype == torch.float64 else value.float()


def product_type(value: Tensor) -> torch.dtype:
    """The type of products with this value: that of autocast where it is on."""
    device = value.device.type
    if value.dtype == torch.float32 and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return value.dtype


def outer_sum(left_NA: Tensor, right_NB: Tensor) -> Tensor:
    """The sum over N of the outer products of both, (A, B): the gradient of weights.

    In bfloat16 on a CPU, whose units for it want the first factor row by row, a copy of the narrower one on
    its side is soon paid for: 20 ms, not 37, for A = 2,600, B = 650, N = 6,368. In float32 it is not.
    """
    if left_NA.device.type == "cpu" and left_NA.dtype == torch.bfloat16:
        return (right_NB.t().contiguous() @ left_NA).t()
    return left_NA.t() @ right_NB


def near_rows(values_NV: Tensor) -> int:
    """How many rows are worked on in one go."""
    numbers = NEAR if values_NV.device.type == "cpu" else FAR
    return max(1, numbers // values_NV.shape[1])
