"""The chunked softmax against torch's own, and the adaptive one."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from ps_models.layers import softmax as module
from ps_models.layers.softmax import AdaptiveSoftmax, Softmax, inclusion_chances
from tests.ps_models.tiny import assert_same

N, H, V = 23, 5, 13


@pytest.mark.parametrize(
    ("bias", "chunk", "kept", "near"),  # each pair of values at least once
    [
        (False, 1, 0, 1),
        (True, 1, 2**20, 5 * V),
        (False, 1, 0, 2**20),
        (True, 7, 0, 1),
        (False, 7, 2**20, 2**20),
        (False, 7, 0, 5 * V),
        (True, 23, 2**20, 1),
        (False, 23, 0, 5 * V),
        (True, 23, 0, 2**20),
        (False, 64, 2**20, 1),
        (True, 64, 0, 5 * V),
        (True, 64, 2**20, 2**20),
    ],
)
def test_is_torchs_log_softmax(monkeypatch: pytest.MonkeyPatch, bias: bool, chunk: int, kept: int, near: int):
    monkeypatch.setattr(module, "CHUNK_ROWS", chunk)
    monkeypatch.setattr(module, "MAX_KEPT_LOGITS", kept)
    monkeypatch.setattr("ps_models.layers.softmax.CPU_NUMBERS", near)
    softmax = Softmax(nn.Parameter(torch.randn(V, H)), bias=bias).double()
    if softmax.bias is not None:
        nn.init.normal_(softmax.bias)
    hidden, targets = torch.randn(N, H, dtype=torch.float64, requires_grad=True), torch.randint(V, (N,))
    logits = functional.linear(hidden, softmax.weight, softmax.bias)
    plain = -functional.cross_entropy(logits, targets, reduction="none")
    torch.testing.assert_close(softmax.log_probs(hidden)[torch.arange(N), targets], plain)
    assert_same(softmax(hidden, targets), plain, [hidden, *softmax.parameters()])


@pytest.mark.parametrize("kept", [0, 2**20])
def test_is_float32_under_autocast_and_near(monkeypatch: pytest.MonkeyPatch, kept: int):
    monkeypatch.setattr(module, "CHUNK_ROWS", 7)
    monkeypatch.setattr(module, "MAX_KEPT_LOGITS", kept)
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


@pytest.mark.parametrize("at_once", [True, False], ids=["rows", "all rows"])
@given(st.lists(st.integers(0, V - 1), min_size=1, max_size=N))
def test_the_adaptive_softmax_is_torchs(at_once: bool, words: list[int]):
    softmax = AdaptiveSoftmax(V, 16, (3, 8), bias=True).double()
    hidden = torch.randn(len(words), 16, dtype=torch.float64, requires_grad=True)
    targets, wanted = torch.tensor(words), torch.rand(len(words), dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "reads_without_waiting", lambda _: at_once)
        ours = softmax(hidden, targets)
    torchs = softmax.words(hidden, targets).output
    torch.testing.assert_close(ours, torchs)
    weights = [hidden, *softmax.parameters()]
    for one, other in zip(
        torch.autograd.grad((ours * wanted).sum(), weights),
        torch.autograd.grad((torchs * wanted).sum(), weights, materialize_grads=True),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_clusters_without_a_target_have_gradients_of_zeros():
    """DistributedDataParallel and averages wait for a gradient of each weight."""
    softmax = AdaptiveSoftmax(V, 16, (3, 8), bias=False)
    hidden, targets = torch.randn(N, 16), torch.randint(3, (N,))
    softmax(hidden, targets).sum().backward()
    gradients = [weight.grad for weight in softmax.words.tail.parameters()]
    assert all(gradient is not None and not gradient.any() for gradient in gradients)


def sampling(vocabulary: int, sampled: int) -> Any:
    softmax: Any = Softmax(nn.Parameter(torch.randn(vocabulary, H)), bias=True, sampled=sampled).double()
    nn.init.normal_(softmax.bias)
    return softmax


@given(st.integers(1, 3000), st.integers(1, 4000))
def test_chances_fall_with_the_rank_and_sum_to_the_words_asked_for(vocabulary: int, sampled: int):
    chances = inclusion_chances(vocabulary, sampled)
    assert len(chances) == vocabulary
    assert torch.all((chances > 0) & (chances <= 1))
    assert torch.all(chances[1:] <= chances[:-1])
    assert float(chances.sum()) == pytest.approx(min(sampled, vocabulary), abs=1e-6)


def test_chances_are_numbers_also_for_a_model_on_the_meta_device():
    with torch.device("meta"):
        inside = inclusion_chances(50, 9)
    assert torch.equal(inside, inclusion_chances(50, 9))


@pytest.mark.parametrize("sampled", [V, 10 * V])
def test_a_sample_of_all_words_is_the_softmax(sampled: int):
    softmax, hidden, targets = sampling(V, sampled), torch.randn(N, H).double(), torch.randint(V, (N,))
    assert torch.equal(softmax.train()(hidden, targets), softmax.eval()(hidden, targets))


@pytest.mark.parametrize(("vocabulary", "sampled"), [(200, 20), (V, 10 * V), (40, 1)])
def test_a_sample_of_a_fixed_size_as_on_a_gpu_gives_the_same(vocabulary: int, sampled: int, monkeypatch: Any):
    softmax, hidden = sampling(vocabulary, sampled), torch.randn(N, H).double()
    targets, found = torch.randint(vocabulary, (N,)), []
    for at_once in (True, False):
        monkeypatch.setattr(
            "ps_models.layers.softmax.reads_without_waiting", lambda _, at_once=at_once: at_once
        )
        torch.manual_seed(1)
        log_probs = softmax(hidden, targets)
        found.append([log_probs, *torch.autograd.grad(log_probs.sum(), [softmax.weight, softmax.bias])])
    torch.testing.assert_close(*found)


def test_a_sample_is_a_loop_over_the_words_that_were_drawn():
    """Values and gradients; targets have a chance of 1, and words that are not drawn have no gradient."""
    softmax, targets = sampling(200, 20), torch.tensor([3, 150, 150, 199])
    hidden = torch.randn(4, H, dtype=torch.float64, requires_grad=True)
    chances = inclusion_chances(200, 20)
    torch.manual_seed(1)
    drawn = torch.rand(200, dtype=torch.float64) < chances
    totals = [torch.zeros((), dtype=torch.float64) for _ in targets]
    for word in range(200):
        chance = 1.0 if word in targets else float(chances[word])
        if word in targets or drawn[word]:
            scores = hidden @ softmax.weight[word] + softmax.bias[word]
            totals = [total + score.exp() / chance for total, score in zip(totals, scores, strict=True)]
    own = (hidden * softmax.weight[targets]).sum(1) + softmax.bias[targets]
    wanted = own - torch.stack(totals).log()
    softmax.train()
    torch.manual_seed(1)
    found = softmax(hidden, targets)
    assert_same(found, wanted, [hidden, *softmax.parameters()], atol=1e-6)  # offsets are float32
    left_out = ~drawn
    left_out[targets] = False
    assert left_out.sum() > 100
    torch.manual_seed(1)
    (gradient,) = torch.autograd.grad(softmax(hidden, targets).sum(), softmax.weight)
    assert not torch.any(gradient[left_out])


def test_a_sample_estimates_the_sum_of_all_words_without_bias():
    """The mean of 1,000 estimates is within five standard errors at each position."""
    softmax, hidden, targets = sampling(500, 60), torch.randn(N, H).double(), torch.randint(500, (N,))
    exact = softmax.eval()(hidden, targets)
    softmax.train()
    with torch.no_grad():
        ratios = torch.stack([(exact - softmax(hidden, targets)).exp() for _ in range(1000)])
    error = ratios.std(0) / 1000**0.5
    assert torch.all(error > 0)
    assert torch.all((ratios.mean(0) - 1).abs() < 5 * error)


def test_samples_have_few_sizes_also_where_they_are_counted():
    chances = inclusion_chances(3000, 400)
    sizes = {len(module._sample(chances, torch.randint(3000, (50,)), 999)[0]) for _ in range(50)}
    assert len(sizes) < 6
    assert not any(size % module.SAMPLE_MULTIPLE for size in sizes)
