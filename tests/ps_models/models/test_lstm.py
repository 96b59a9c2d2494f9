"""The LSTM: tied weights, sampled softmaxes, torch's own layer, old runs; what it and a highway learn."""

from typing import Any

import pytest
import torch

from ps_models.models.lstm import LSTM, LSTMConfig, LSTMLayer
from ps_models.models.rnn import RecurrentHighway, RecurrentHighwayConfig
from tests.ps_models.tiny import assert_same, chance_of_a_word_by_heart

SURE: dict[str, Any] = {"input_dropout": 0.0, "layer_dropout": 0.0, "output_dropout": 0.0, "zoneout": 0.1}


def test_tied_weights_are_one_tensor_after_loading():
    config = LSTMConfig(vocab_size=9, hidden_size=4, tied=True)
    model, other = LSTM(config), LSTM(config)
    other.load_state_dict(model.state_dict())
    assert other.softmax.weight is other.embedding.weight
    torch.testing.assert_close(other.embedding.weight, model.embedding.weight)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"tied": True}, "cannot be tied"), ({"sampled": 4}, r"sampled=4 with cutoffs=\(3,\): choose one")],
)
def test_what_an_adaptive_softmax_cannot_do_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        LSTM(LSTMConfig(vocab_size=9, hidden_size=4, cutoffs=(3,), **fields))


def test_samples_teach_what_all_words_do():
    """Seven of 200 words come; that the others never do must be learned from the words that are drawn."""
    chances = []
    for sampled in (0, 20):
        torch.manual_seed(0)
        model = LSTM(LSTMConfig(vocab_size=200, hidden_size=32, sampled=sampled, **SURE, init=0.2))
        chances.append(chance_of_a_word_by_heart(model, torch.randint(7, (1, 20)) * 28))
    assert chances[0] > 0.2
    assert chances[1] > 0.9 * chances[0]


def test_dropout_that_is_not_locked_has_no_mask_for_a_text():
    model = LSTM(LSTMConfig(vocab_size=9, hidden_size=4, locked=False))
    with pytest.raises(ValueError, match="locked=False"):
        model.locked_masks(2, torch.Generator())


def test_transform_gates_of_a_highway_start_nearly_closed():
    model = RecurrentHighway(RecurrentHighwayConfig(vocab_size=7, hidden_size=5))
    assert (model.bias[:, 5:] == -2).all()
    assert (model.bias[:, :5].abs() <= 0.04).all()


@pytest.mark.parametrize("at", [0, 1, 4, 6])
def test_a_layer_by_torch_is_the_same(at: int):
    """What GPUs use without zoneout; torch.lstm runs on every device."""
    torch.manual_seed(1)
    layer = LSTMLayer(3, 5).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    inputs = torch.randn(6, 2, 3, dtype=torch.float64)
    start = torch.randn(2, 5, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)
    ours, (h, c) = layer(inputs, start, at, (None, None))
    theirs, (other_h, other_c) = layer.by_torch(inputs, start, at)
    torch.testing.assert_close((h, c), (other_h, other_c))
    assert_same(ours, theirs, layer.parameters())
