"""FLOPs per token are those of a count by hand: 2·m·n·k for each matrix product."""

from typing import Any

import pytest
import torch
from lm_benchmarks.measuring.loaded_model import READ, LoadedModel, flops_per_token
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.record_versions import to_line
from lm_benchmarks.records import from_json
from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

from ps_models.configs import make_configs, make_model
from tests.lm_benchmarks.cheats import Uniform

V, E, H = 44, 8, 16
TOKENS = torch.arange(3000) % V
SOFTMAX = 2 * H * V
BY_HAND = {
    "linear": 2 * E * H + SOFTMAX,
    "lstm": 2 * (E + H) * 4 * H + SOFTMAX,
    "gru": 2 * (E + H) * 3 * H + SOFTMAX,
    "attention": 4 * 2 * H * H + 2 * 2 * 256 * H + SOFTMAX,  # q, k, v, output; scores and sums over 256 keys
}


class Small(nn.Module):
    """A model of one layer; an `nn.LSTM` is one fused kernel, attention is one too."""

    def __init__(self, kind, words=V):
        super().__init__()
        self.kind, self.calls = kind, []
        self.embedding = nn.Embedding(words, H if kind == "attention" else E)
        layers = {"linear": nn.Linear, "lstm": nn.LSTM, "gru": nn.GRU}
        self.layer = layers[kind](E, H) if kind in layers else nn.Linear(H, 3 * H)
        self.out, self.softmax = nn.Linear(H, H), nn.Linear(H, words)

    def initial_state(self, batch_size):
        return torch.zeros(batch_size, 1)

    def forward(self, tokens, state):
        self.calls.append(tokens.shape[1])
        found = self.layer(self.embedding(tokens))
        if self.kind == "attention":
            q, k, v = found.chunk(3, -1)
            found = self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
        found = self.softmax(found[0] if isinstance(found, tuple) else found)
        return found.log_softmax(-1).gather(-1, tokens[..., None])[..., 0], state


@pytest.mark.parametrize("kind", BY_HAND)
@pytest.mark.parametrize("length", [256, 2500])
def test_products_are_those_counted_by_hand(kind, length):
    model = Small(kind)
    assert flops_per_token(model, TOKENS[:length], "cpu") == BY_HAND[kind]
    assert model.calls == [256] * (1 if length == 256 else 1 + READ // 256)
    assert model.training  # as it was


def test_our_lstm_has_the_products_of_its_sizes():
    config, _ = make_configs("lstm", "small", ["hidden_size=12", "layers=3"], V)
    model: Any = make_model("lstm", config)
    assert flops_per_token(model, TOKENS, "cpu") == 3 * 2 * (12 + 12) * 4 * 12 + 2 * 12 * V


class Failing(Uniform):
    """It fails where its operations are counted."""

    def __call__(self, tokens, state):
        if _get_current_dispatch_mode() is not None:
            raise RuntimeError("not here")
        return super().__call__(tokens, state)


def failing(inputs):
    words = inputs.vocabulary
    return LoadedModel(name="failing", identity="failing", model=Failing(len(words)), vocabulary=words)


def small(inputs):
    words = inputs.vocabulary
    return LoadedModel(name="small", identity="small", model=Small("linear", len(words)), vocabulary=words)


@pytest.mark.parametrize("model", ["unigram", "kn-5", "tests.lm_benchmarks.measuring.test_flops:failing"])
def test_what_has_no_products_has_no_number_and_loses_no_measurement(data, model):
    (found,) = measure(model, data, check=False)
    assert found.flops_per_token is None


def test_a_record_keeps_the_number(data):
    (found,) = measure("tests.lm_benchmarks.measuring.test_flops:small", data, check=False)
    words = int(found.signature["vocabulary"].partition("+")[0])
    assert found.flops_per_token == 2 * E * H + 2 * H * words
    assert "flops" not in str(found.signature)
    assert from_json(to_line(found)).flops_per_token == found.flops_per_token
