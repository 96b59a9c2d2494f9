"""Simple recurrent networks against their equations."""

import pytest
import torch

from ps_models.configs import make_configs, make_model
from ps_models.models.rnn import RNN, RNNConfig


@pytest.mark.parametrize(("deep", "embedding_size"), [(False, 0), (True, 0), (True, 4)])
def test_is_the_equations(deep: bool, embedding_size: int):
    torch.manual_seed(9)
    config = RNNConfig(vocab_size=7, hidden_size=5, deep=deep, embedding_size=embedding_size, init=0.9)
    model = RNN(config).double().eval()
    tokens = torch.randint(7, (1, 8))
    scores, _ = model(tokens, model.initial_state(1))
    h, x = torch.zeros(5, dtype=torch.float64), 1
    for y, score in zip(tokens[0].tolist(), scores[0], strict=True):
        column = model.embedding.weight[x]
        if model.projection is not None:
            column = model.projection.weight @ column
        new = torch.sigmoid(column + model.recurrent.weight @ h + model.recurrent.bias)
        if deep:
            assert model.transition is not None
            assert model.shortcut is not None
            assert model.deep_output is not None
            new = torch.sigmoid(
                model.transition.weight @ new + model.transition.bias + model.shortcut.weight @ h
            )
            output = torch.sigmoid(model.deep_output.weight @ new + model.deep_output.bias)
        h, x = new, y
        logits = model.softmax.weight @ (output if deep else h)
        if model.softmax.bias is not None:
            logits = logits + model.softmax.bias
        torch.testing.assert_close(score, logits.log_softmax(0)[y])


@pytest.mark.parametrize(
    ("preset", "count"),
    [
        ("elman", 6_100_300),
        ("mikolov", 6_100_300),
        ("mikolov-short", 6_100_300),
        ("deep", 6_250_600),
        ("pascanu", 6_250_600),
    ],
)
def test_the_number_of_parameters_is_the_published_one(preset, count):
    config, _ = make_configs("rnn", preset, [], vocab_size=10_000)
    with torch.device("meta"):
        found = sum(parameter.numel() for parameter in make_model("rnn", config).parameters())
    assert found == count  # Merity et al. (2016), Table 2: 6 M, both
