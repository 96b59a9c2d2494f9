"""The recurrence by hand: equal to torch's LSTM, to a plain loop, and to numeric gradients."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.layers.recurrence import lstm_steps

T, B, H = 6, 3, 4


def random(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(4)


def test_is_torchs_lstm_where_there_is_no_zoneout():
    lstm, inputs, h, c = nn.LSTM(H, H).double(), random(T, B, H), random(B, H), random(B, H)
    hidden, (_, cell) = lstm(inputs, (h[None], c[None]))
    weight_ih, weight_hh, bias_ih, bias_hh = lstm.parameters()
    gates = functional.linear(inputs, weight_ih, bias_ih + bias_hh)
    ours, cells = lstm_steps(gates, h, c, weight_hh)
    torch.testing.assert_close(ours, hidden)
    torch.testing.assert_close(cells[-1], cell[0])
    leaves = [inputs, h, c, *lstm.parameters()]
    weights = torch.randn_like(hidden)
    for one, other in zip(
        torch.autograd.grad((hidden * weights).sum() + cell.sum(), leaves),
        torch.autograd.grad((ours * weights).sum() + cells[-1].sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


MASKS = {
    "none": lambda: None,
    "one": lambda: torch.rand(B, H).double(),
    "each": lambda: torch.rand(4, B, H).double(),
}
ZONES = {"none": lambda: 0.0, "rate": lambda: 0.3, "drawn": lambda: torch.rand(T, B, H).double().round()}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("zone_c", ZONES.values(), ids=ZONES)
@pytest.mark.parametrize("zone_h", ZONES.values(), ids=ZONES)
def test_is_the_loop_and_its_gradients_are_the_numeric_ones(zone_h, zone_c, mask):
    rates = {"zone_h": zone_h(), "zone_c": zone_c(), "mask": mask()}
    gates, h, c, weight = random(T, B, 4 * H), random(B, H), random(B, H), random(4 * H, H)
    hidden, cells = lstm_steps(gates.clone(), h, c, weight, **rates)
    slow_hidden, slow_cells = loop(gates, h, c, weight, **rates)
    torch.testing.assert_close(hidden, slow_hidden)
    torch.testing.assert_close(cells, slow_cells)

    def steps(gates, h, c, weight):
        return lstm_steps(gates.clone(), h, c, weight, **rates)

    assert torch.autograd.gradcheck(steps, (gates, h, c, weight), fast_mode=True)


def loop(gates, h, c, weight, zone_h, zone_c, mask):
    hidden, cells = [], []
    for t in range(T):
        masks = [1.0] * 4 if mask is None else [mask] * 4 if mask.dim() == 2 else mask
        reads = [(h * kept) @ part.T for kept, part in zip(masks, weight.chunk(4), strict=True)]
        i, f, g, o = (gates[t] + torch.cat(reads, dim=1)).chunk(4, dim=1)
        at_h, at_c = (zone[t] if isinstance(zone, Tensor) else zone for zone in (zone_h, zone_c))
        c = at_c * c + (1 - at_c) * (f.sigmoid() * c + i.sigmoid() * g.tanh())
        h = at_h * h + (1 - at_h) * (o.sigmoid() * c.tanh())
        hidden.append(h)
        cells.append(c)
    return torch.stack(hidden), torch.stack(cells)


def test_products_in_bfloat16_stay_near():
    gates, h, c, weight = random(T, B, 4 * H), random(B, H), random(B, H), random(4 * H, H)
    floats = [value.detach().float().requires_grad_() for value in (gates, h, c, weight)]
    exact, _ = lstm_steps(floats[0].clone(), *floats[1:])
    near, _ = lstm_steps(floats[0].clone(), floats[1], floats[2], floats[3].bfloat16())
    assert near.dtype == torch.float32
    torch.testing.assert_close(near, exact, rtol=0.02, atol=0.02)
    grads = [torch.autograd.grad(hidden.square().sum(), floats) for hidden in (exact, near)]
    for one, other in zip(*grads, strict=True):
        assert other.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.1)
