"""Runs the recurrences of an LSTM and of a highway network, with gradients written by hand.

An LSTM, with zoneout and recurrent dropout:

    [i f g o] = x W + h U + b        i, f, o = sigmoid, g = tanh
    c' = f * c + i * g
    h~ = o * tanh(c')                h' = zone * h + (1 - zone) * h~

The next step reads h' and c'; the layer above reads the output h~. Zoneout keeps a unit's previous value
where the zone is 1 (Krueger et al. 2016, arXiv 1606.01305, whose code also returns h~ where its library has
both); a rate in place of a mask is the mask's expectation.

`nn.LSTM` has neither zoneout nor dropout of h before U. Automatic differentiation of a loop computes the
gradient of U with one product per step; here one product serves all steps.

A highway network:

    h = tanh(x W_h + (m s) R_h + b_h)        x at the first depth only; m: dropout, the same at every depth
    t = sigmoid(x W_t + (m s) R_t + b_t)
    s' = h t + s (1 - t)                     coupled gates: c = 1 - t

Its loop has time x depth steps, so each step must be short. A step of the backward pass is two products
and a sum: the derivatives of all gates are computed together before the loop, the gradient of R after it.
"""

# Shapes: T = time, B = batch, H = hidden, G = 4H: the gates i, f, g, o side by side, as in nn.LSTM. In a
# highway: G = 2H: h and t side by side, D = depth, N = T D: steps. With the state before the first step there
# are U = T + 1 or M = N + 1 states.

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ps_models.layers.softmax import masked, outer_sum

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input

Zone = Tensor | float  # (T, B, H) of 0 and 1, or a rate


class _LSTMRecurrence(torch.autograd.Function):
    """Runs all steps of one layer. Products have the type of `weight_GH`, all else has that of the state.

    With a mask of (4, B, H) each gate reads a differently masked h, and `weight_GH` is four matrices (H, H).
    The third result is None without zoneout: then the outputs are the states h'.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - autograd's own context
        gates_TBG: Tensor,
        h_BH: Tensor,
        c_BH: Tensor,
        weight_GH: Tensor,
        zone: Zone,
        mask: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        T, B, G = gates_TBG.shape
        H, dtype = G // 4, weight_GH.dtype
        ctx.gates_type, gates_TBG = gates_TBG.dtype, gates_TBG.to(h_BH.dtype)
        per_gate = mask is not None and mask.dim() == 3
        transposed = (weight_GH.view(4, H, H).mT if per_gate else weight_GH.t()).contiguous()
        h_UBH = gates_TBG.new_empty(T + 1, B, H)
        c_UBH, tanh_TBH = torch.empty_like(h_UBH), gates_TBG.new_empty(T, B, H)
        h_UBH[0], c_UBH[0] = h_BH, c_BH
        h_steps, c_steps = h_UBH.unbind(), c_UBH.unbind()
        zoned = isinstance(zone, Tensor) or zone != 0
        output_TBH = torch.empty_like(tanh_TBH) if zoned else None
        outputs = h_steps[1:] if output_TBH is None else output_TBH.unbind()
        # In place: the gradient of the product that computed the gates does not need them.
        for t, (gates_BG, tanh_BH) in enumerate(zip(gates_TBG.unbind(), tanh_TBH.unbind(), strict=True)):
            h_last, h, c_last, c = h_steps[t], h_steps[t + 1], c_steps[t], c_steps[t + 1]
            _add_product(gates_BG, (h_last if mask is None else h_last * mask).to(dtype), transposed)
            gates_BG[:, : 2 * H].sigmoid_()
            gates_BG[:, 2 * H : 3 * H].tanh_()
            gates_BG[:, 3 * H :].sigmoid_()
            i, f, g, o = gates_BG.chunk(4, dim=1)
            torch.mul(f, c_last, out=c).addcmul_(i, g)
            torch.mul(o, torch.tanh(c, out=tanh_BH), out=outputs[t])
            if zoned:
                torch.lerp(outputs[t], h_last, _zone_at(zone, t), out=h)
        zone_mask = zone if isinstance(zone, Tensor) else None
        ctx.save_for_backward(gates_TBG, h_UBH, c_UBH, tanh_TBH, weight_GH, mask, zone_mask)
        ctx.rate = 0.0 if isinstance(zone, Tensor) else zone
        ctx.set_materialize_grads(False)
        return h_UBH[1:], c_UBH[1:], output_TBH

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,  # noqa: ANN401
        grad_h_TBH: Tensor | None,
        grad_c_TBH: Tensor | None,
        grad_output_TBH: Tensor | None,
    ) -> tuple[Tensor | None, ...]:
        gates_TBG, h_UBH, c_UBH, tanh_TBH, weight_GH, mask, zone_mask = ctx.saved_tensors
        zone: Zone = ctx.rate if zone_mask is None else zone_mask
        zoned = zone_mask is not None or zone != 0
        dgates_TBG = torch.empty_like(gates_TBG, dtype=weight_GH.dtype)
        buffer_BG = None if dgates_TBG.dtype == gates_TBG.dtype else torch.empty_like(gates_TBG[0])
        dh, dc, buffer_BH = (torch.zeros_like(h_UBH[0]) for _ in range(3))
        for t in reversed(range(len(gates_TBG))):
            i, f, g, o = gates_TBG[t].chunk(4, dim=1)
            dgates_BG = dgates_TBG[t] if buffer_BG is None else buffer_BG
            di, df, dg, do = dgates_BG.chunk(4, dim=1)
            if grad_h_TBH is not None:
                dh.add_(grad_h_TBH[t])
            if grad_c_TBH is not None:
                dc.add_(grad_c_TBH[t])
            dh_zoned = dh * _zone_at(zone, t) if zoned else None
            if dh_zoned is not None:
                dh.sub_(dh_zoned)
            if grad_output_TBH is not None:
                dh.add_(grad_output_TBH[t])
            tanh_backward(torch.mul(dh, o, out=buffer_BH), tanh_TBH[t], grad_input=buffer_BH)
            dc.add_(buffer_BH)
            sigmoid_backward(torch.mul(dc, g, out=buffer_BH), i, grad_input=di)
            sigmoid_backward(torch.mul(dc, c_UBH[t], out=buffer_BH), f, grad_input=df)
            tanh_backward(torch.mul(dc, i, out=buffer_BH), g, grad_input=dg)
            sigmoid_backward(torch.mul(dh, tanh_TBH[t], out=buffer_BH), o, grad_input=do)
            dc.mul_(f)
            if buffer_BG is not None:
                dgates_TBG[t] = buffer_BG
            dh = _h_gradient(dgates_TBG[t], weight_GH, mask).to(dh.dtype)
            if dh_zoned is not None:
                dh.add_(dh_zoned)
        dweight_GH = _lstm_weight_gradient(dgates_TBG, h_UBH[:-1], mask)
        return dgates_TBG.to(ctx.gates_type), dh, dc, dweight_GH, None, None


def _add_product(gates_BG: Tensor, masked_h: Tensor, weight: Tensor) -> None:
    """Add h U to the gates in place. U is (H, G), or (4, H, H) if each gate has its own mask of h."""
    if masked_h.dim() == 3:
        product = torch.bmm(masked_h, weight).transpose(0, 1).flatten(1)
    elif gates_BG.dtype == masked_h.dtype:
        gates_BG.addmm_(masked_h, weight)
        return
    else:
        product = masked_h @ weight
    gates_BG.add_(product)


def _h_gradient(dgates_BG: Tensor, weight_GH: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return dgates_BG @ weight_GH
    if mask.dim() == 2:
        return (dgates_BG @ weight_GH).mul_(mask)
    H = weight_GH.shape[1]
    per_gate = torch.bmm(dgates_BG.view(-1, 4, H).transpose(0, 1), weight_GH.view(4, H, H))
    return (per_gate * mask).sum(0)


def _lstm_weight_gradient(dgates_TBG: Tensor, h_TBH: Tensor, mask: Tensor | None) -> Tensor:
    """Return the gradient of U, by one product for all steps."""
    T, B, H = h_TBH.shape
    if mask is None or mask.dim() == 2:
        masked_TBH = h_TBH if mask is None else h_TBH * mask
        return outer_sum(dgates_TBG.view(T * B, 4 * H), masked_TBH.reshape(T * B, H).to(dgates_TBG.dtype))
    masked_h = (h_TBH * mask[:, None]).view(4, T * B, H).to(dgates_TBG.dtype)
    return torch.bmm(dgates_TBG.view(T * B, 4, H).permute(1, 2, 0), masked_h).flatten(0, 1)


def _zone_at(zone: Zone, t: int) -> Zone:
    """Return the zone of step t."""
    return zone[t] if isinstance(zone, Tensor) else zone


class LSTMSteps(NamedTuple):
    """The results of all steps of a layer, (T, B, H) each."""

    output_TBH: Tensor  # read by the next layer, the softmax and a pointer
    h_TBH: Tensor  # read by the next step; without zoneout the same as the output
    c_TBH: Tensor


def lstm_steps(
    gates_TBG: Tensor,
    h_BH: Tensor,
    c_BH: Tensor,
    weight_GH: Tensor,
    *,
    zone: Zone = 0.0,
    mask: Tensor | None = None,
) -> LSTMSteps:
    """Return outputs and states of all steps, from the state h and the cell before the first one.

    `gates_TBG` are the inputs' contributions to the gates, with the bias; they may be overwritten. `zone`
    says where h keeps its previous value: 0 and 1, or a probability. `mask` is dropout of h before U, the
    same at each step (Gal and Ghahramani 2015): (B, H), or (4, B, H) for a different one at each gate.
    Products have the type of the weights, which can be narrower than the rest.
    """
    recurrence: Any = _LSTMRecurrence.apply
    h_TBH, c_TBH, output_TBH = recurrence(gates_TBG, h_BH, c_BH, weight_GH, zone, mask)
    return LSTMSteps(h_TBH if output_TBH is None else output_TBH, h_TBH, c_TBH)


class _HighwayRecurrence(torch.autograd.Function):
    """Runs all steps. Products have the type of `weight_DGH`, all else has that of the state."""

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
        gates_NBG, s_MBH = gates_TDBG.view(-1, B, G), s_BH.new_empty(T * D + 1, B, H)
        s_MBH[0] = s_BH
        weights = weight_DGH.mT.contiguous().unbind()
        steps = zip(gates_NBG.unbind(), gates_NBG[..., :H].unbind(), gates_NBG[..., H:].unbind(), strict=True)
        states = s_MBH.unbind()
        for n, (gates, h, t) in enumerate(steps):
            masked_s = masked(states[n], mask_BH)
            if dtype == masked_s.dtype:
                gates.addmm_(masked_s, weights[n % D])
            else:
                gates.add_(masked_s.to(dtype) @ weights[n % D])
            torch.lerp(states[n], h.tanh_(), t.sigmoid_(), out=states[n + 1])
        ctx.save_for_backward(gates_NBG, s_MBH, weight_DGH, mask_BH)
        ctx.types = inputs_TBG.dtype, bias_DG.dtype
        return s_MBH[D::D]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TBH: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        gates_NBG, s_MBH, weight_DGH, mask_BH = ctx.saved_tensors
        inputs_type, bias_type = ctx.types
        D, (N, B, G) = len(weight_DGH), gates_NBG.shape
        h_NBH, t_NBH = gates_NBG.chunk(2, dim=-1)
        carry_NBH = 1 - t_NBH
        slope_h_NBH, slope_t_NBH = (1 - h_NBH.square()) * t_NBH, (h_NBH - s_MBH[:-1]) * t_NBH * carry_NBH
        slopes = torch.stack([slope_h_NBH, slope_t_NBH], dim=2).unbind()  # ds' / d(h, t): (B, 2, H) per step
        dgates_NBG = torch.empty_like(gates_NBG, dtype=weight_DGH.dtype)
        dgates, dgates_h_t = dgates_NBG.unbind(), dgates_NBG.view(N, B, 2, G // 2).unbind()
        weights, carries, grads = weight_DGH.unbind(), carry_NBH.unbind(), grad_TBH.unbind()
        ds_BH = torch.zeros_like(s_MBH[0])
        ds_B1H = ds_BH[:, None]
        for n in reversed(range(N)):
            if n % D == D - 1:
                ds_BH.add_(grads[n // D])
            torch.mul(ds_B1H, slopes[n], out=dgates_h_t[n])
            ds_BH.mul_(carries[n])
            if mask_BH is None and dgates_NBG.dtype == ds_BH.dtype:
                ds_BH.addmm_(dgates[n], weights[n % D])
            else:
                ds_BH.add_(masked(dgates[n] @ weights[n % D], mask_BH))
        dbias_DG = dgates_NBG.view(-1, D, B, G).sum(dim=(0, 2), dtype=bias_type)
        dweight_DGH = _highway_weight_gradient(dgates_NBG, masked(s_MBH[:-1], mask_BH), D)
        return dgates_NBG.view(-1, D, B, G)[:, 0].to(inputs_type), ds_BH, dweight_DGH, dbias_DG, None


def _highway_weight_gradient(dgates_NBG: Tensor, masked_NBH: Tensor, depth: int) -> Tensor:
    """Return the gradient of R, (D, G, H), by one product per depth for all steps."""
    dgates_DRG, masked_DRH = (
        steps.view(-1, depth, *steps.shape[1:]).transpose(0, 1).flatten(1, 2)  # R = T B: rows
        for steps in (dgates_NBG, masked_NBH.to(dgates_NBG.dtype))
    )
    return torch.bmm(dgates_DRG.mT, masked_DRH)


def highway_steps(
    inputs_TBG: Tensor, s_BH: Tensor, weight_DGH: Tensor, bias_DG: Tensor, mask_BH: Tensor | None = None
) -> Tensor:
    """Return the state after each step of time, (T, B, H), from the state before the first one.

    `inputs_TBG` is x W_h and x W_t side by side, without bias. `mask_BH` is dropout of s before R, the same
    at each step and depth. Products have the type of the weights, which can be narrower than the rest.
    """
    recurrence: Any = _HighwayRecurrence.apply
    states_TBH: Tensor = recurrence(inputs_TBG, s_BH, weight_DGH, bias_DG, mask_BH)
    return states_TBH
