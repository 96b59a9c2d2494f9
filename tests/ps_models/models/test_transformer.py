"""The Transformer against a plain loop over its equations; what it may and may not depend on; its sizes."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from ps_models.configs import make_configs, make_model
from ps_models.data.dataset import Text
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import score_texts
from ps_models.models.transformer import BLOCK, Transformer, TransformerConfig, TransformerLayer

V = 7
CONFIG = TransformerConfig(
    vocab_size=V, hidden_size=12, layers=3, heads=2, inner_size=10, window=4, init=0.5, softmax_bias=True
)


def made(config: TransformerConfig = CONFIG) -> Transformer:
    torch.manual_seed(5)
    model = Transformer(config).double().eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:  # norms and biases that are not 1 and 0
            torch.nn.init.uniform_(parameter, 0.2, 1.0)
    return model


def norm(of: torch.nn.LayerNorm, x: Tensor) -> Tensor:
    return (x - x.mean()) / (x.var(unbiased=False) + of.eps).sqrt() * of.weight + of.bias


def turn(x: Tensor, position: int) -> Tensor:
    """Pairs of units as complex numbers, each rotated by its angle."""
    half = len(x) // 2
    numbers = torch.complex(x[:half], x[half : 2 * half])
    angles = position * torch.tensor([10_000.0 ** (-i / half) for i in range(half)], dtype=torch.float64)
    new = numbers * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([new.real, new.imag, x[2 * half :]])


def layer_output(layer: TransformerLayer, history: list[Tensor]) -> Tensor:
    """What a layer returns at the last position, after reading all positions."""
    hidden, heads, window = layer.config.hidden_size, layer.config.heads, layer.config.window
    size, now = hidden // heads, len(history) - 1
    seen = range(max(0, now - window + 1), now + 1)
    query = layer.query.weight @ norm(layer.attention_norm, history[now])
    mixed = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores, values = [], []
        for position in seen:
            n = norm(layer.attention_norm, history[position])
            key = (layer.key_value.weight[:hidden] @ n)[part]
            scores.append(turn(query[part], now) @ turn(key, position) / math.sqrt(size))
            values.append((layer.key_value.weight[hidden:] @ n)[part])
        attention = torch.stack(scores).softmax(0)
        mixed.append(sum(a * v for a, v in zip(attention, values, strict=True)))
    middle = history[now] + layer.output.weight @ torch.cat(mixed)
    inner = (layer.up.weight @ norm(layer.inner_norm, middle) + layer.up.bias).clamp(min=0)
    return middle + layer.down.weight @ inner + layer.down.bias


def scores_by_equations(model: Transformer, tokens: list[int]) -> Tensor:
    layers = list(model.layers)
    histories: list[list[Tensor]] = [[] for _ in layers]
    scores, word = [], model.config.eos
    for token in tokens:
        x = model.embedding.weight[word] * math.sqrt(model.config.hidden_size)
        for layer, history in zip(layers, histories, strict=True):
            history.append(x)
            assert isinstance(layer, TransformerLayer)
            x = layer_output(layer, history)
        logits = model.embedding.weight @ norm(model.norm, x)
        if model.softmax.bias is not None:
            logits = logits + model.softmax.bias
        scores.append(logits.log_softmax(0)[token])
        word = token
    return torch.stack(scores)


@pytest.mark.parametrize(("window", "hidden"), [(1, 12), (2, 12), (4, 10), (30, 10)])  # heads of 6, of 5
def test_is_the_equations(window: int, hidden: int):
    model = made(replace(CONFIG, window=window, hidden_size=hidden))
    tokens = torch.randint(V, (1, 11))
    scores, _ = model(tokens, model.initial_state(1))
    theirs = scores_by_equations(model, tokens[0].tolist())
    torch.testing.assert_close(scores[0], theirs, rtol=0, atol=1e-10)
    parameters = [*model.parameters()]
    grads = [torch.autograd.grad(value.sum(), parameters) for value in (scores, theirs)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6), st.sampled_from([1, 3, 5, 40]), st.integers(0, 99)
)
def test_a_text_may_be_cut_anywhere(cuts: list[int], window: int, seed: int):
    model = made(replace(CONFIG, window=window))
    tokens = torch.randint(V, (2, sum(cuts)), generator=torch.Generator().manual_seed(seed))
    whole, _ = model(tokens, model.initial_state(2))
    state, parts = model.initial_state(2), []
    for chunk in torch.split(tokens, cuts, dim=1):
        scores, state = model(chunk, state)
        parts.append(scores)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-10)


def test_blocks_of_attention_do_not_matter():
    model = made()
    tokens = torch.randint(V, (1, 2 * BLOCK + 37))
    whole, _ = model(tokens, model.initial_state(1))
    state, parts = model.initial_state(1), []
    for chunk in torch.split(tokens, 50, dim=1):
        scores, state = model(chunk, state)
        parts.append(scores)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_context_is_one_window_per_layer(layers: int):
    model = made(replace(CONFIG, layers=layers))
    tokens = torch.randint(V, (1, 30))
    reach = 1 + layers * (CONFIG.window - 1)  # words before the one that is predicted
    last = []
    for back in (None, reach, reach + 1):
        other = tokens.clone()
        if back is not None:
            other[0, -1 - back] = (other[0, -1 - back] + 1) % V
        with torch.no_grad():
            last.append(model(other, model.initial_state(1))[0][0, -1].item())
    as_it_is, changed_within, changed_before = last
    assert abs(changed_within - as_it_is) > 1e-12
    assert changed_before == as_it_is


def test_the_loss_of_a_carried_state_trains_on_a_constant_past():
    model = made()
    _, state = model.loss(torch.randint(V, (2, 6)), model.initial_state(2))
    assert not state.inputs_BLPH.requires_grad
    assert state.seen_BP.all()


def test_chunks_of_an_evaluation_do_not_matter():
    model = made().float()
    text = Text(torch.randint(V, (200,)), 0)
    scores = [sum(s.nats for s in score_texts(model, [text], chunk=size)) for size in (7, 64, 256)]
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-3)


def test_under_autocast_scores_are_single_precision_and_near():
    torch.manual_seed(4)
    config = TransformerConfig(vocab_size=50, hidden_size=32, layers=2, heads=4, inner_size=64, window=10)
    model = Transformer(config).eval()
    tokens = torch.randint(50, (2, 30))
    exact, _ = model(tokens, model.initial_state(2))
    with torch.autocast("cpu", torch.bfloat16):
        nats, state = model.train().loss(tokens, model.initial_state(2))
        close, _ = model.eval()(tokens, model.initial_state(2))
    nats.mean().backward()
    assert nats.dtype == close.dtype == state.inputs_BLPH.dtype == torch.float32
    torch.testing.assert_close(close, exact, rtol=0, atol=0.05)
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()


@pytest.mark.parametrize(
    ("preset", "vocabulary", "millions"),
    [("medium", 10_000, 19.4), ("wikitext-103-base", 267_735, 148.1)],
)
def test_sizes(preset: str, vocabulary: int, millions: float):
    """Without Transformer-XL's R, H^2 + 2 H more per layer, its base model of 151 M has 148 M."""
    config, _ = make_configs("transformer", preset, [], vocabulary)
    with torch.device("meta"):
        model = make_model("transformer", config)
    h, inner = config.hidden_size, config.inner_size
    count = vocabulary * h + config.layers * (4 * h**2 + 2 * h * inner + inner + 5 * h) + 2 * h
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert count / 1e6 == pytest.approx(millions, abs=0.05)


@pytest.mark.parametrize(("field", "value", "message"), [("heads", 5, "heads=5"), ("window", 0, "window=0")])
def test_impossible_configurations_are_refused(field: str, value: int, message: str):
    with pytest.raises(ModelError, match=message):
        replace(CONFIG, **{field: value})  # type: ignore[arg-type]


def test_learns_to_repeat_what_is_in_the_window():
    """A text of period 9: within the window each word determines the next."""
    torch.manual_seed(0)
    config = replace(CONFIG, hidden_size=32, layers=2, inner_size=64, window=12, init=0.1, dropout=0.1)
    model, generator = Transformer(config), torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)

    def batch() -> Tensor:
        return torch.randint(V, (16, 9), generator=generator).repeat(1, 4)

    for _ in range(100):
        optimizer.zero_grad()
        nats, _ = model.loss(batch(), model.initial_state(16))
        nats.mean().backward()
        optimizer.step()
    with torch.no_grad():
        scores, _ = model.eval()(batch(), model.initial_state(16))
    assert scores[:, 12:].mean().exp().item() > 0.6
    assert functional.relu(scores).max() == 0
