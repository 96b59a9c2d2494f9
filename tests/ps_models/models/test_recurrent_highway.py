"""The recurrent highway network against its equations, its gradients against automatic ones, its sizes."""

import pytest
import torch
from torch import Tensor

from ps_models.configs import make_configs, make_model
from ps_models.layers.highway import highway_steps
from ps_models.models.recurrent_highway import RecurrentHighway, RecurrentHighwayConfig
from ps_models.training.config import learning_rate
from tests.ps_models.tiny import chance_of_a_word_by_heart

PTB = 10_000


def by_equations(inputs: Tensor, s: Tensor, weight: Tensor, bias: Tensor, mask: Tensor | None) -> Tensor:
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
def test_steps_and_their_gradients_are_the_equations(depth: int, dropped: bool):
    torch.manual_seed(3)
    shapes = (6, 3, 8), (3, 4), (depth, 8, 4), (depth, 8)
    inputs, s, weight, bias = arguments = [
        torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes
    ]
    mask = (torch.rand(3, 4, dtype=torch.float64) < 0.7) / 0.7 if dropped else None
    ours, theirs = highway_steps(inputs, s, weight, bias, mask), by_equations(inputs, s, weight, bias, mask)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    weights = torch.randn_like(ours)
    grads = [torch.autograd.grad((states * weights).sum(), arguments) for states in (ours, theirs)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("tied", [False, True])
def test_is_the_equations(tied: bool):
    torch.manual_seed(9)
    config = RecurrentHighwayConfig(vocab_size=7, hidden_size=5, depth=3, init=0.9, tied=tied)
    model = RecurrentHighway(config).double().eval()
    tokens = torch.randint(7, (1, 8))
    scores, _ = model(tokens, model.initial_state(1))
    s, x = torch.zeros(5, dtype=torch.float64), 1
    for y, score in zip(tokens[0].tolist(), scores[0], strict=True):
        for d in range(3):
            gates = model.weight[d] @ s + model.bias[d]
            if d == 0:
                gates = gates + model.weight_input @ model.embedding.weight[x]
            h, t = torch.tanh(gates[:5]), torch.sigmoid(gates[5:])
            s = h * t + s * (1 - t)
        x = y
        assert model.softmax.bias is not None
        logits = model.softmax.weight @ s + model.softmax.bias
        torch.testing.assert_close(score, logits.log_softmax(0)[y], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("preset", "count"), [("variational", 31_782_400), ("variational-tied", 23_482_400)])
def test_ptb_sizes_are_the_papers(preset: str, count: int):
    """32 M and 23 M in its table: 2 H^2 of the input, 2 H^2 + 2 H per depth, embedding, softmax with bias."""
    config, _ = make_configs("rhn", preset, [], PTB)
    with torch.device("meta"):
        model = make_model("rhn", config)
    h, tables = 830, 1 if config.tied else 2
    assert count == 2 * h**2 + 10 * (2 * h**2 + 2 * h) + tables * PTB * h + PTB
    assert sum(parameter.numel() for parameter in model.parameters()) == count


def test_the_learning_rate_is_that_of_the_authors_code():
    """0.2 / 1.02 ** max(epoch - 20, 0), epochs counted from 1."""
    _, training = make_configs("rhn", "variational", [], PTB)
    rates = [learning_rate(training, [5.0] * done) for done in (0, 19, 20, 29)]
    assert rates == pytest.approx([0.2, 0.2, 0.2 / 1.02, 0.2 / 1.02**10])


def test_transform_gates_start_nearly_closed():
    model = RecurrentHighway(RecurrentHighwayConfig(vocab_size=7, hidden_size=5))
    assert (model.bias[:, 5:] == -2).all()
    assert (model.bias[:, :5].abs() <= 0.04).all()


def test_under_autocast_scores_are_single_precision_and_near():
    torch.manual_seed(4)
    model = RecurrentHighway(RecurrentHighwayConfig(vocab_size=50, hidden_size=32, depth=4, init=0.2)).eval()
    tokens = torch.randint(50, (2, 20))
    exact, _ = model(tokens, model.initial_state(2))
    with torch.autocast("cpu", torch.bfloat16):
        nats, state = model.loss(tokens, model.initial_state(2))
    nats.mean().backward()
    assert nats.dtype == state.s_BH.dtype == torch.float32
    torch.testing.assert_close(-nats, exact, rtol=0, atol=0.1)
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()


def test_learns_a_text_by_heart():
    torch.manual_seed(0)
    config = RecurrentHighwayConfig(
        vocab_size=7,
        hidden_size=32,
        depth=3,
        type_dropout=0,
        input_dropout=0,
        recurrent_dropout=0,
        output_dropout=0,
        init=0.2,
    )
    model, text = RecurrentHighway(config), torch.randint(7, (1, 40))
    assert chance_of_a_word_by_heart(model, text) > 0.8
