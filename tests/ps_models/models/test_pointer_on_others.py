"""A pointer on any model against a loop over the paper's equations; on AWD-LSTM its penalty stays."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ps_models as pm
from ps_models.language_model import Penalised, reads_word_by_word
from ps_models.models.pointer_on_others import (
    PointerSentinelAWDLSTM,
    PointerSentinelAWDLSTMConfig,
    PointerSentinelTransformer,
    PointerSentinelTransformerConfig,
)
from ps_models.models.pointer_sentinel import PointerSentinel, PointerSentinelConfig, PointerSentinelLSTM
from tests.ps_models.tiny import make_dataset

V, WINDOW = 7, 4
SIZES: dict[str, Any] = {"vocab_size": V, "init": 0.8}
AWD = PointerSentinelAWDLSTMConfig(**SIZES, embedding_size=5, hidden_size=6, window=WINDOW)
TRANSFORMER = PointerSentinelTransformerConfig(
    **SIZES, hidden_size=8, layers=2, heads=2, inner_size=8, window=3, pointer_window=WINDOW
)
MODELS = {
    "lstm": lambda: PointerSentinelLSTM(PointerSentinelConfig(**SIZES, hidden_size=6, window=WINDOW)),
    "awd-lstm": lambda: PointerSentinelAWDLSTM(AWD),
    "transformer": lambda: PointerSentinelTransformer(TRANSFORMER),
}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(4)


def by_equations(model: PointerSentinel, words: list[int]) -> Tensor:
    """Sections 2.1 to 2.5 of the paper, given the outputs and the softmax of the model inside."""
    inner = model.inner
    scores, hidden, _ = inner.scores_and_hidden(torch.tensor([words]), inner.initial_state(1))
    read, found = [inner.config.eos, *words], []
    for t, word in enumerate(words):
        places = range(max(0, t - WINDOW + 1), t + 1)
        q = torch.tanh(model.query.weight @ hidden[0, t] + model.query.bias)
        keys = torch.stack([*(hidden[0, i] for i in places), model.sentinel])
        a = torch.softmax(keys @ q, dim=0)
        copied = sum(a[n] for n, i in enumerate(places) if read[i] == word)
        found.append(torch.log(a[-1] * scores[0, t].exp() + copied))
    return torch.stack(found)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_is_the_equations_in_values_and_gradients(make: Any) -> None:
    model = make().double().eval()
    tokens = torch.randint(V, (1, 15))
    expected = by_equations(model, tokens[0].tolist())
    found, _ = model(tokens, model.initial_state(1))
    torch.testing.assert_close(found[0], expected, rtol=0, atol=1e-10)
    wanted = torch.autograd.grad(expected.sum(), list(model.parameters()))
    gradients = torch.autograd.grad(found.sum(), list(model.parameters()))
    torch.testing.assert_close(gradients, wanted, rtol=0, atol=1e-9)


def test_awd_lstm_keeps_its_penalty() -> None:
    model = PointerSentinelAWDLSTM(AWD).double().eval()
    tokens = torch.randint(V, (2, 9))
    state = model.initial_state(2)
    nats, penalty, after = model.loss_and_penalty(tokens, state, scored=5, advance=4)
    alone, expected, _ = model.inner.loss_and_penalty(tokens, state.inner, scored=5, advance=4)
    plain, after_plain = model.loss(tokens, state, scored=5, advance=4)
    assert isinstance(model, Penalised)
    assert penalty == expected > 0
    assert torch.equal(nats, plain)
    assert not torch.allclose(nats, alone)  # the pointer has its part
    assert torch.equal(after.hidden_BWH, after_plain.hidden_BWH)
    free = PointerSentinelAWDLSTM(replace(AWD, activation=0.0, temporal_activation=0.0)).double().eval()
    assert free.loss_and_penalty(tokens, free.initial_state(2))[1] == 0


def test_a_transformer_with_a_pointer_reads_segments_whole() -> None:
    assert not reads_word_by_word(PointerSentinelTransformer(TRANSFORMER))
    assert reads_word_by_word(PointerSentinelAWDLSTM(AWD))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pointer-sentinel-awd-lstm", ["embedding_size=6", "hidden_size=8"]),
        ("pointer-sentinel-transformer", ["hidden_size=8", "heads=2", "layers=1", "inner_size=8"]),
    ],
)
def test_is_trained_and_explained(tmp_path: Path, name: str, settings: list[str]) -> None:
    dataset, out = make_dataset(tmp_path), tmp_path / "run"
    pm.train(name, dataset, out, preset="small", settings=[*settings, "epochs=2"], device="cpu")
    explained = pm.explain(out, dataset, split="valid", words=5)
    assert all(one.gate is not None and 0 < one.gate < 1 for one in explained.predictions)
