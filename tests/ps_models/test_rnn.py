"""Simple recurrent networks against their equations."""

import pytest
import torch

from ps_models.models.rnn import RNN, RNNConfig


@pytest.mark.parametrize("deep", [False, True])
def test_is_the_equations(deep: bool):
    torch.manual_seed(9)
    model = RNN(RNNConfig(vocab_size=7, hidden_size=5, deep=deep, init=0.9)).double().eval()
    tokens = torch.randint(7, (1, 8))
    scores, _ = model(tokens, model.initial_state(1))
    h, x = torch.zeros(5, dtype=torch.float64), 1
    for y, score in zip(tokens[0].tolist(), scores[0], strict=True):
        new = torch.sigmoid(model.embedding.weight[x] + model.recurrent.weight @ h + model.recurrent.bias)
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
