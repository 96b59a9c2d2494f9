"""The chunked softmax against torch's own, and the adaptive one."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.layers import softmax as module
from ps_models.layers.products import outer_sum
from ps_models.layers.softmax import AdaptiveSoftmax, Softmax

N, H, V = 23, 5, 13


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(6)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("chunk", [1, 7, 23, 64])
@pytest.mark.parametrize("kept", [0, 2**20])
@pytest.mark.parametrize("near", [1, 5 * V, 2**20])
def test_is_torchs_log_softmax(monkeypatch: pytest.MonkeyPatch, bias: bool, chunk: int, kept: int, near: int):
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(module, "KEPT", kept)
    monkeypatch.setattr("ps_models.layers.products.NEAR", near)
    softmax = Softmax(nn.Parameter(torch.randn(V, H)), bias=bias).double()
    if softmax.bias is not None:
        nn.init.normal_(softmax.bias)
    hidden, targets = torch.randn(N, H, dtype=torch.float64, requires_grad=True), torch.randint(V, (N,))
    logits = functional.linear(hidden, softmax.weight, softmax.bias)
    plain = -functional.cross_entropy(logits, targets, reduction="none")
    ours = softmax(hidden, targets)
    torch.testing.assert_close(ours, plain)
    torch.testing.assert_close(softmax.log_probs(hidden)[torch.arange(N), targets], plain)
    weights, leaves = torch.randn(N).double(), [hidden, *softmax.parameters()]
    for one, other in zip(
        torch.autograd.grad((plain * weights).sum(), leaves),
        torch.autograd.grad((ours * weights).sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kept", [0, 2**20])
def test_is_float32_under_autocast_and_near(monkeypatch: pytest.MonkeyPatch, kept: int):
    monkeypatch.setattr(module, "CHUNK", 7)
    monkeypatch.setattr(module, "KEPT", kept)
    softmax = Softmax(nn.Parameter(torch.randn(V, H)), bias=True)
    hidden, targets = torch.randn(N, H, requires_grad=True), torch.randint(V, (N,))
    exact = softmax(hidden, targets)
    with torch.autocast("cpu", torch.bfloat16):
        near = softmax(hidden, targets)
    assert near.dtype == torch.float32
    assert not torch.equal(near, exact)
    torch.testing.assert_close(near, exact, rtol=0.02, atol=0.05)
    leaves = [hidden, *softmax.parameters()]
    grads = [torch.autograd.grad(scores.sum(), leaves) for scores in (exact, near)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.1)


def test_a_second_gradient_is_refused():
    """The gradient has overwritten the logits."""
    softmax = Softmax(nn.Parameter(torch.randn(V, H)), bias=False)
    total = softmax(torch.randn(N, H), torch.randint(V, (N,))).sum()
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_outer_sum_is_the_sum_of_outer_products(dtype: torch.dtype):
    left, right = torch.randn(N, 4).to(dtype), torch.randn(N, 3).to(dtype)
    wanted = sum(torch.outer(a, b) for a, b in zip(left.double(), right.double(), strict=True))
    torch.testing.assert_close(outer_sum(left, right).double(), wanted, rtol=0.01, atol=0.05)


def sums_to_one(log_probs: Tensor) -> bool:
    return torch.allclose(log_probs.exp().sum(-1), torch.ones(len(log_probs)), atol=1e-5)


@pytest.mark.parametrize("make", [lambda: Softmax(nn.Parameter(torch.randn(V, 16)), bias=False),
                                  lambda: AdaptiveSoftmax(V, 16, (3, 8), bias=False)])  # fmt: skip
def test_log_probs_of_all_words_contain_the_targets_scores(make):
    softmax, hidden = make(), torch.randn(N, 16)
    every = softmax.log_probs(hidden)
    assert sums_to_one(every)
    targets = torch.randint(V, (N,))
    torch.testing.assert_close(softmax(hidden, targets), every[torch.arange(N), targets])


def test_the_adaptive_softmax_is_float32_under_autocast():
    softmax, hidden, targets = (
        AdaptiveSoftmax(V, 16, (3, 8), bias=True),
        torch.randn(N, 16),
        torch.randint(V, (N,)),
    )
    exact = softmax(hidden, targets)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(
            softmax(hidden.bfloat16().float(), targets).float(), softmax(hidden.bfloat16(), targets)
        )
        assert softmax(hidden, targets).dtype == torch.float32
    assert exact.shape == (N,)
