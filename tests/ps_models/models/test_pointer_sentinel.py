"""The pointer sentinel on each model against a plain loop over the paper's equations, and its edges."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from ps_models.language_model import reads_word_by_word
from ps_models.layers.window import look_back
from ps_models.models.awd_lstm import PointerSentinelAWDLSTM, PointerSentinelAWDLSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinel, PointerSentinelConfig, PointerSentinelLSTM
from ps_models.models.transformer import PointerSentinelTransformer, PointerSentinelTransformerConfig
from tests.ps_models.tiny import assert_same

V, H = 7, 6


def model_of(window: int, **rates: Any) -> PointerSentinelLSTM:
    torch.manual_seed(3)
    plain = PointerSentinelConfig(
        vocab_size=V,
        hidden_size=H,
        window=window,
        init=0.8,
        input_dropout=0,
        layer_dropout=0,
        output_dropout=0,
        zoneout=0,
    )
    return PointerSentinelLSTM(replace(plain, **rates)).double()


SIZES: dict[str, Any] = {"vocab_size": V, "init": 0.8}
AWD = PointerSentinelAWDLSTMConfig(**SIZES, embedding_size=5, hidden_size=H, window=4)
TRANSFORMER = PointerSentinelTransformerConfig(
    **SIZES, hidden_size=8, layers=2, heads=2, inner_size=8, window=3, pointer_window=4
)


def tokens_of(*shape: int) -> Tensor:
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(5))


def equations(model: PointerSentinel, words: list[int]) -> Tensor:
    """Sections 2.1 to 2.6 of the paper, word by word, given the inner outputs and softmax.

    Log-probabilities of the words, and below them the logarithms in the pointer loss: (2, time).
    """
    inner = model.inner
    scores, hidden, _ = inner.scores_and_hidden(torch.tensor([words]), inner.initial_state(1))
    read, found = [inner.config.eos, *words], []
    for t, word in enumerate(words):
        places = range(max(0, t + 1 - model.window), t + 1)
        q = torch.tanh(model.query.weight @ hidden[0, t] + model.query.bias)
        keys = torch.stack([*(hidden[0, i] for i in places), model.sentinel])
        a = torch.softmax(keys @ q, dim=0)
        copied = sum(a[n] for n, i in enumerate(places) if read[i] == word)
        found.append(torch.stack([a[-1] * scores[0, t].exp() + copied, a[-1] + copied]).log())
    return torch.stack(found, dim=1)


RATES = [{}, {"zoneout": 0.4}]
MODELS = {
    **{f"lstm-{window}": partial(model_of, window) for window in (1, 2, 5, 50)},
    **{f"lstm-zoneout-{number}": partial(model_of, 5, **rates) for number, rates in enumerate(RATES[1:], 1)},
    "awd-lstm": lambda: PointerSentinelAWDLSTM(AWD).double(),
    "transformer": lambda: PointerSentinelTransformer(TRANSFORMER).double(),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_is_the_equations_in_values_and_gradients(make: Callable[[], PointerSentinel]):
    torch.manual_seed(4)
    model, tokens = make().eval(), tokens_of(2, 23)
    scores, _ = model(tokens, model.initial_state(2))
    slow = torch.stack([equations(model, row.tolist())[0] for row in tokens])
    assert_same(scores, slow, model.parameters())


@pytest.mark.parametrize("scored", [1, 3, 23])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_the_pointer_loss_is_the_equation_in_values_and_gradients(
    make: Callable[[], PointerSentinel], scored: int
):
    """Of the scored words, also if they are fewer than the window has."""
    torch.manual_seed(4)
    model, tokens = make().eval(), tokens_of(2, 23)
    model.config, state = replace(model.config, pointer_loss=0.5), model.initial_state(2)
    nats, penalty, _ = model.loss_and_penalty(tokens, state, scored=scored)
    _, of_inner, _ = model.inner.loss_and_penalty(tokens, state.inner, scored=scored)
    slow = torch.stack([equations(model, row.tolist())[:, -scored:] for row in tokens], dim=1)
    losses = torch.stack([nats, penalty - of_inner])
    assert_same(losses, -slow * torch.tensor([1.0, 0.5])[:, None, None], model.parameters())


def test_the_pointer_loss_needs_no_softmax() -> None:
    """A sample of the words changes nothing, and the softmax gets no gradient."""
    tokens, penalties = tokens_of(2, 9), list[Any]()
    for sampled in (0, 3):
        model = model_of(4, pointer_loss=0.5, sampled=sampled).train()
        penalties.append(model.loss_and_penalty(tokens, model.initial_state(2))[1])
        softmax = model.get_parameter("lstm.softmax.weight")
        grads: Any = torch.autograd.grad(
            penalties[-1].sum(), [softmax, model.sentinel], retain_graph=True, allow_unused=True
        )
        assert grads[0] is None
        assert grads[1].abs().sum() > 0
    assert torch.equal(*penalties)


@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_steps_in_blocks_look_back_on_the_same_words(monkeypatch: pytest.MonkeyPatch, block: int):
    generator = torch.Generator().manual_seed(9)
    queries, keys = torch.randn(4, 10, H, generator=generator), torch.randn(4, 12, H, generator=generator)
    words, tokens = torch.randint(V, (4, 12), generator=generator), tokens_of(4, 10)
    whole = look_back(queries, keys, words, tokens, window=3)
    monkeypatch.setattr("ps_models.layers.window.STEPS_AT_ONCE", block)
    torch.testing.assert_close(look_back(queries, keys, words, tokens, window=3), whole)


@pytest.mark.parametrize("stride", [1, 2, 3, 6, 9, 18])
@pytest.mark.parametrize("rates", RATES)
def test_algorithm_1_scores_each_token_once_as_a_whole_pass_does(stride: int, rates: dict[str, Any]):
    model, tokens, lookback = model_of(4, **rates).eval(), tokens_of(2, 18), 3
    whole, _ = model(tokens, model.initial_state(2))
    parts, state = [], model.initial_state(2)
    for end in range(stride, 19, stride):
        begin, next_begin = (max(0, first - lookback) for first in (end - stride, end))
        nats, state = model.loss(tokens[:, begin:end], state, scored=stride, advance=next_begin - begin)
        parts.append(-nats)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-12)


def test_algorithm_1_looks_back_on_new_outputs_only():
    """Outputs of earlier weights do not matter when the window is run again."""
    model, tokens = model_of(4).eval(), tokens_of(2, 8)
    state = model.initial_state(2)
    _, state = model.loss(tokens, state)
    stale = state._replace(hidden_BPH=torch.full_like(state.hidden_BPH, 99.0))
    again, _ = model.loss(tokens[:, :5], state, scored=2)
    other, _ = model.loss(tokens[:, :5], stale, scored=2)
    assert torch.equal(again, other)
    shorter, _ = model.loss(tokens[:, :5], stale, scored=3)
    assert not torch.allclose(shorter, model.loss(tokens[:, :5], state, scored=3)[0])


def test_loss_refuses_more_tokens_than_there_are():
    model = model_of(4)
    with pytest.raises(ValueError, match="scored=6"):
        model.loss(tokens_of(1, 5), model.initial_state(1), scored=6)


def test_pointer_weights_start_spread_over_their_range():
    model = PointerSentinelLSTM(PointerSentinelConfig(vocab_size=V, hidden_size=64, init=0.3))
    for parameter in (model.query.weight, model.query.bias, model.sentinel):
        assert -0.3 <= parameter.min() < -0.2 < 0.2 < parameter.max() <= 0.3
        assert abs(parameter.mean()) < 0.1


def test_the_gate_starts_at_initial_gate():
    config = PointerSentinelConfig(vocab_size=V, hidden_size=64, window=10, initial_gate=0.7, init=0.01)
    model = PointerSentinelLSTM(config).eval()
    found, _ = model.inspect(tokens_of(1, 30), model.initial_state(1))
    assert math.isclose(found.gate_BT[0, -1].item(), 0.7, abs_tol=0.01)


@pytest.mark.parametrize("rate", [0.04, 0.5, 0.7])
def test_the_pointers_rate_multiplies_its_gradient_and_changes_nothing_else(rate: float):
    plain, slow = model_of(4), model_of(4, pointer_rate=rate)
    tokens = tokens_of(2, 9)
    for model in (plain, slow):
        nats, _ = model.loss(tokens, model.initial_state(2))
        nats.sum().backward()
    assert torch.equal(*(model(tokens, model.initial_state(2))[0] for model in (plain, slow)))
    for (name, one), other in zip(plain.named_parameters(), slow.parameters(), strict=True):
        factor = 1.0 if name.startswith("lstm.") else rate
        assert one.grad is not None
        assert one.grad.abs().sum() > 0
        torch.testing.assert_close(other.grad, one.grad * factor)


def test_the_attention_is_in_float32_with_and_without_autocast():
    """Only the products before it are in bfloat16: scores of that type would all be a little off."""
    model, generator = model_of(4).float(), torch.Generator().manual_seed(9)
    queries, keys = torch.randn(2, 9, H, generator=generator), torch.randn(2, 12, H, generator=generator)
    words, tokens = torch.randint(V, (2, 12), generator=generator), tokens_of(2, 9)
    exact = [*look_back(queries.double(), keys.double(), words, tokens, window=4)]
    exact.append(queries.double() @ model.sentinel.double())
    for enabled in (True, False):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            found = [*look_back(queries, keys, words, tokens, window=4), model._sentinel_score(queries)]
        for one, expected in zip(found, exact, strict=True):
            torch.testing.assert_close(one.double(), expected, rtol=1e-6, atol=1e-5)


# --- on other models


def test_awd_lstm_keeps_its_penalty() -> None:
    model = PointerSentinelAWDLSTM(AWD).double().eval()
    tokens = tokens_of(2, 9)
    state = model.initial_state(2)
    nats, penalty, after = model.loss_and_penalty(tokens, state, scored=5, advance=4)
    alone, expected, _ = model.inner.loss_and_penalty(tokens, state.inner, scored=5, advance=4)
    plain, after_plain = model.loss(tokens, state, scored=5, advance=4)
    assert penalty == expected > 0
    assert torch.equal(nats, plain)
    assert not torch.allclose(nats, alone)  # the pointer has its part
    assert torch.equal(after.hidden_BPH, after_plain.hidden_BPH)
    free = PointerSentinelAWDLSTM(replace(AWD, activation=0.0, temporal_activation=0.0)).double().eval()
    assert free.loss_and_penalty(tokens, free.initial_state(2))[1] == 0


def test_a_transformer_with_a_pointer_reads_segments_whole() -> None:
    assert not reads_word_by_word(PointerSentinelTransformer(TRANSFORMER))
    assert reads_word_by_word(PointerSentinelAWDLSTM(AWD))
