"""The LSTM: tied weights, sampled softmaxes, torch's own layer, old runs; what it and a highway learn."""

import pytest
import torch

from ps_models.models.lstm import LSTM, LSTMConfig, LSTMLayer
from ps_models.models.rnn import RecurrentHighway, RecurrentHighwayConfig
from tests.ps_models.tiny import assert_same


def test_tied_weights_are_one_tensor_after_loading():
    config = LSTMConfig(vocab_size=9, hidden_size=4, tied=True)
    model, other = LSTM(config), LSTM(config)
    other.load_state_dict(model.state_dict())
    assert other.softmax.weight is other.embedding.weight
    torch.testing.assert_close(other.embedding.weight, model.embedding.weight)


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
