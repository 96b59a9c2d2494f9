"""The recurrence of a highway network over all steps and depths; its gradient is by hand.

    h = tanh(x W_h + (m s) R_h + b_h)        x at the first depth only; m: dropout, the same at every depth
    t = sigmoid(x W_t + (m s) R_t + b_t)
    s' = h t + s (1 - t)                     coupled gates: c = 1 - t

The loop has time x depth steps, so each step must be short. In the backward pass a step is two products and a
sum: the derivatives of all gates are computed at once before the loop, and the gradient of R after it.
"""

# Shapes: T = time, D = depth, N = T D: steps, B = batch, H = hidden, G = 2H: h and t side by side.

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ps_models.layers.dropout import masked


class _Steps(torch.autograd.Function):
    """All steps. Products are in the type of `weight_DGH`, all else in that of the state."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - autograd's own context
        inputs_TBG: Tensor,
        s_BH: Tensor,
        weight_DGH: Tensor,
        bias_DG: Tensor,
        mask_BH: Tensor | None,
    ) -> Tensor:
        T, B, G = inputs_TBG.shape
        D, H, dtype = len(weight_DGH), G // 2, weight_DGH.dtype
        gates_TDBG = bias_DG.to(s_BH.dtype)[:, None].repeat(T, 1, B, 1)
        gates_TDBG[:, 0] += inputs_TBG
        gates_NBG, s_NBH = gates_TDBG.view(-1, B, G), s_BH.new_empty(T * D + 1, B, H)
        s_NBH[0] = s_BH
        weights = weight_DGH.mT.contiguous().unbind()
        steps = zip(gates_NBG.unbind(), gates_NBG[..., :H].unbind(), gates_NBG[..., H:].unbind(), strict=True)
        states = s_NBH.unbind()
        for n, (gates, h, t) in enumerate(steps):
            read = masked(states[n], mask_BH)
            if dtype == read.dtype:
                gates.addmm_(read, weights[n % D])
            else:
                gates.add_(read.to(dtype) @ weights[n % D])
            torch.lerp(states[n], h.tanh_(), t.sigmoid_(), out=states[n + 1])
        ctx.save_for_backward(gates_NBG, s_NBH, weight_DGH, mask_BH)
        ctx.types = inputs_TBG.dtype, bias_DG.dtype
        return s_NBH[D::D]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TBH: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        gates_NBG, s_NBH, weight_DGH, mask_BH = ctx.saved_tensors
        inputs_type, bias_type = ctx.types
        D, (N, B, G) = len(weight_DGH), gates_NBG.shape
        h_NBH, t_NBH = gates_NBG.chunk(2, dim=-1)
        kept_NBH = 1 - t_NBH
        by_h, by_t = (1 - h_NBH.square()) * t_NBH, (h_NBH - s_NBH[:-1]) * t_NBH * kept_NBH
        by_gates = torch.stack([by_h, by_t], dim=2).unbind()  # ds' / dgates: (B, 2, H) per step
        dgates_NBG = torch.empty_like(gates_NBG, dtype=weight_DGH.dtype)
        dgates, halves = dgates_NBG.unbind(), dgates_NBG.view(N, B, 2, G // 2).unbind()
        weights, kept, grads = weight_DGH.unbind(), kept_NBH.unbind(), grad_TBH.unbind()
        ds_BH = torch.zeros_like(s_NBH[0])
        ds_B1H = ds_BH[:, None]
        for n in reversed(range(N)):
            if n % D == D - 1:
                ds_BH.add_(grads[n // D])
            torch.mul(ds_B1H, by_gates[n], out=halves[n])
            ds_BH.mul_(kept[n])
            if mask_BH is None and dgates_NBG.dtype == ds_BH.dtype:
                ds_BH.addmm_(dgates[n], weights[n % D])
            else:
                ds_BH.add_(masked(dgates[n] @ weights[n % D], mask_BH))
        dbias_DG = dgates_NBG.view(-1, D, B, G).sum(dim=(0, 2), dtype=bias_type)
        dweight_DGH = _weight_gradient(dgates_NBG, masked(s_NBH[:-1], mask_BH), D)
        return dgates_NBG.view(-1, D, B, G)[:, 0].to(inputs_type), ds_BH, dweight_DGH, dbias_DG, None


def _weight_gradient(dgates_NBG: Tensor, read_NBH: Tensor, depth: int) -> Tensor:
    """One product per depth for all steps: (D, G, H)."""
    dgates_DRG, read_DRH = (
        steps.view(-1, depth, *steps.shape[1:]).transpose(0, 1).flatten(1, 2)
        for steps in (dgates_NBG, read_NBH.to(dgates_NBG.dtype))
    )
    return torch.bmm(dgates_DRG.mT, read_DRH)


def highway_steps(
    inputs_TBG: Tensor, s_BH: Tensor, weight_DGH: Tensor, bias_DG: Tensor, mask_BH: Tensor | None = None
) -> Tensor:
    """The state after each step of time, (T, B, H).

    Args:
        inputs_TBG: What the inputs add to h and t, x W, without a bias.
        s_BH: The state before the first step.
        weight_DGH: R of each depth. In a narrower type than the rest, it sets that of the products.
        bias_DG: b of each depth.
        mask_BH: Dropout of s before R, the same at each step and depth.
    """
    steps: Any = _Steps.apply
    states_TBH: Tensor = steps(inputs_TBG, s_BH, weight_DGH, bias_DG, mask_BH)
    return states_TBH
