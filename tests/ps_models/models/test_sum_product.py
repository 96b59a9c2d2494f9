"""The sum-product network: its first values, and weights that stay above 0 and within their sum."""

import pytest
import torch

from ps_models.models.sum_product import SumProductConfig, SumProductNetwork
from tests.ps_models.tiny import after_an_update

V = 7


def tiny_model(**fields):
    torch.manual_seed(6)
    config = {"vocab_size": V, "context": 3, "hidden_size": 4, "powers": 5, **fields}
    return after_an_update(SumProductConfig(**config))


def test_training_sets_negative_weights_to_zero_and_lets_them_come_back():
    model = tiny_model().train()
    tokens = torch.randint(V, (2, 9))
    before, _ = model.eval().loss(tokens, model.initial_state(2))
    nats, _ = model.train().loss(tokens, model.initial_state(2))
    torch.testing.assert_close(nats, before)  # they counted as 0 already
    assert all(parameter.min() == 0 for parameter in model.parameters())
    assert model.coefficients[:, 0].min() == model.config.least_bias
    nats.mean().backward()
    assert model.mixing.grad is not None
    assert (model.mixing.grad[model.mixing == 0] != 0).any()


def test_first_values_are_the_exponential_series():
    model = SumProductNetwork(SumProductConfig(vocab_size=V, hidden_size=4)).double().eval()
    words = model.initial_state(1).words_BC
    sums = model.mixing @ model.similarity.weight[words[0]].flatten()
    torch.testing.assert_close(model.mixing.sum(dim=1), torch.ones(V, dtype=torch.float64))
    assert 0 < sums.min() <= sums.max() < 2
    state = model.initial_state(1)
    torch.testing.assert_close(model.next_log_probs(state)[0], sums.log_softmax(dim=0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1e-8, 1.0, 30.0, 1e4, 1e8])
def test_any_size_of_weights_is_sound_in_float32(size):
    model = tiny_model(powers=10).float().train()
    with torch.no_grad():
        model.mixing *= size
        model.coefficients[0] = 0  # a word that would have no probability
    tokens = torch.randint(V, (2, 9))
    nats, _ = model.loss(tokens, model.initial_state(2))
    assert nats.isfinite().all()
    nats.mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    total = model.next_log_probs(model.initial_state(2)).exp().sum(dim=-1)
    torch.testing.assert_close(total, torch.ones(2))


def test_training_lowers_a_sum_above_its_limit():
    model = SumProductNetwork(SumProductConfig(vocab_size=V, powers=3)).double().train()
    with torch.no_grad():
        model.mixing[0] *= 1e5
    nats, _ = model.loss(torch.full((1, 4), 1), model.initial_state(1))
    nats.sum().backward()
    assert model.mixing.grad is not None
    assert (model.mixing.grad[0] > 0).all()  # a step against it makes the sum of word 0 smaller


def test_the_most_powers_have_a_sum_that_is_a_float():
    model = SumProductNetwork(SumProductConfig(vocab_size=100_000, hidden_size=1, context=1, powers=15))
    with torch.no_grad():
        model.mixing.fill_(1e8)
    assert model(torch.tensor([[0, 1]]), model.initial_state(1))[0].isfinite().all()
