"""The recurrences by hand: equal to plain loops, and their gradients to numeric ones."""

from typing import Any

import pytest
import torch
from torch import Tensor

from ps_models.layers.recurrence import highway_steps, lstm_steps
from tests.ps_models.tiny import assert_same

T, B, H = 6, 3, 4


def random(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


MASKS = {
    "none": lambda: None,
    "one": lambda: torch.rand(B, H).double(),
    "each": lambda: torch.rand(4, B, H).double(),
}
ZONES = {"none": lambda: 0.0, "rate": lambda: 0.3, "drawn": lambda: torch.rand(T, B, H).double().round()}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("mask", MASKS)
def test_equals_a_loop_and_its_gradients_equal_numeric_ones(zone, mask):
    options: dict[str, Any] = {"zone": ZONES[zone](), "mask": MASKS[mask]()}
    given = random(T, B, 4 * H), random(B, H), random(B, H), random(4 * H, H)

    def steps(gates, h, c, weight):
        return tuple(lstm_steps(gates.clone(), h, c, weight, **options))

    assert_same(torch.stack(steps(*given)), torch.stack(loop(*given, **options)), given)
    assert torch.autograd.gradcheck(steps, given, fast_mode=True)


def loop(gates, h, c, weight, zone, mask):
    """Outputs, h and c of a plain loop, for automatic differentiation."""
    outputs, hidden, cells = [], [], []
    for t in range(T):
        masks = [1.0] * 4 if mask is None else [mask] * 4 if mask.dim() == 2 else mask
        reads = [(h * kept) @ part.T for kept, part in zip(masks, weight.chunk(4), strict=True)]
        i, f, g, o = (gates[t] + torch.cat(reads, dim=1)).chunk(4, dim=1)
        kept = zone[t] if isinstance(zone, Tensor) else zone
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        outputs.append(o.sigmoid() * c.tanh())
        h = kept * h + (1 - kept) * outputs[-1]
        hidden.append(h)
        cells.append(c)
    return torch.stack(outputs), torch.stack(hidden), torch.stack(cells)


def test_products_in_bfloat16_stay_near():
    gates, h, c, weight = random(T, B, 4 * H), random(B, H), random(B, H), random(4 * H, H)
    floats = [value.detach().float().requires_grad_() for value in (gates, h, c, weight)]
    exact, states, _ = lstm_steps(floats[0].clone(), *floats[1:])
    assert states is exact  # without zoneout
    near, *_ = lstm_steps(floats[0].clone(), floats[1], floats[2], floats[3].bfloat16())
    assert near.dtype == torch.float32
    torch.testing.assert_close(near, exact, rtol=0.02, atol=0.02)
    grads = [torch.autograd.grad(hidden.square().sum(), floats) for hidden in (exact, near)]
    for one, other in zip(*grads, strict=True):
        assert other.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.1)


def highway_loop(inputs: Tensor, s: Tensor, weight: Tensor, bias: Tensor, mask: Tensor | None) -> Tensor:
    states, size = [], s.shape[1]
    for at_step in inputs:
        for d in range(len(weight)):
            read = s if mask is None else s * mask
            gates = read @ weight[d].T + bias[d] + (at_step if d == 0 else 0)
            h, t = gates[:, :size].tanh(), gates[:, size:].sigmoid()
            s = h * t + s * (1 - t)
        states.append(s)
    return torch.stack(states)


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("dropped", [False, True])
def test_highways_and_their_gradients_are_the_equations(depth: int, dropped: bool):
    shapes = (6, 3, 8), (3, 4), (depth, 8, 4), (depth, 8)
    inputs, s, weight, bias = arguments = [
        torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes
    ]
    mask = (torch.rand(3, 4, dtype=torch.float64) < 0.7) / 0.7 if dropped else None
    ours, theirs = (
        highway_steps(inputs, s, weight, bias, mask),
        highway_loop(inputs, s, weight, bias, mask),
    )
    assert_same(ours, theirs, arguments, atol=1e-12)
