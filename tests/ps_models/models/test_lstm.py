"""Sizes of the table's rows against the papers' formulas, and what training needs of the LSTM."""

from dataclasses import replace
from typing import Any, cast

import pytest
import torch

import ps_models as pm
from ps_models.errors import ModelError
from ps_models.models.lstm import LSTM, LSTMConfig, LSTMLayer
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.training.checkpoint import LAST, read_checkpoint, save_checkpoint
from tests.ps_models.tiny import chance_of_a_word_by_heart, make_dataset, settings_of

PTB, WIKITEXT_2, WIKITEXT_103 = 10_000, 33_278, 267_735


SURE: dict[str, Any] = {"input_dropout": 0.0, "layer_dropout": 0.0, "output_dropout": 0.0, "zoneout": 0.1}


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(("hidden", "millions"), [(650, 19.77), (1500, 66.01)])
def test_ptb_sizes_are_zarembas(hidden: int, millions: float):
    """20 M and 66 M in the paper's table: two layers of 8 H^2 + 4 H, an embedding and a softmax."""
    with torch.device("meta"):
        model = LSTM(LSTMConfig(vocab_size=PTB, hidden_size=hidden))
    count = 2 * (8 * hidden**2 + 4 * hidden) + 2 * PTB * hidden
    assert parameters(model) == count
    assert count / 1e6 == pytest.approx(millions, abs=0.01)


@pytest.mark.parametrize(
    ("vocabulary", "tied", "millions"),
    [
        (PTB, False, 20.19),  # the paper's 21 M
        (PTB, True, 13.69),
        (WIKITEXT_2, False, 50.45),  # the paper says 21 M, which is the count for PTB
        (WIKITEXT_2, True, 28.82),
        (WIKITEXT_103, False, 355.24),
        (WIKITEXT_103, True, 181.22),
    ],
)
def test_pointer_sentinel_medium_sizes(vocabulary: int, tied: bool, millions: float):
    with torch.device("meta"):
        model = PointerSentinelLSTM(PointerSentinelConfig(vocab_size=vocabulary, tied=tied))
    h = 650
    count = 2 * (8 * h**2 + 4 * h) + h**2 + 2 * h + (1 if tied else 2) * vocabulary * h
    assert parameters(model) == count
    assert count / 1e6 == pytest.approx(millions, abs=0.01)


def test_tied_weights_are_one_tensor_after_loading():
    config = LSTMConfig(vocab_size=9, hidden_size=4, tied=True)
    model, other = LSTM(config), LSTM(config)
    other.load_state_dict(model.state_dict())
    assert other.softmax.weight is other.embedding.weight
    torch.testing.assert_close(other.embedding.weight, model.embedding.weight)


def test_tied_adaptive_is_refused():
    with pytest.raises(ValueError, match="cannot be tied"):
        LSTM(LSTMConfig(vocab_size=9, hidden_size=4, tied=True, cutoffs=(3,)))


def test_a_sample_of_an_adaptive_softmax_is_refused():
    with pytest.raises(ValueError, match=r"sampled=4 with cutoffs=\(3,\): choose one"):
        LSTM(LSTMConfig(vocab_size=9, hidden_size=4, sampled=4, cutoffs=(3,)))


def test_samples_teach_what_all_words_do():
    """Seven of 200 words come; that the others never do must be learned from the words that are drawn."""
    chances = []
    for sampled in (0, 20):
        torch.manual_seed(0)
        model = LSTM(LSTMConfig(vocab_size=200, hidden_size=32, sampled=sampled, **SURE, init=0.2))
        chances.append(chance_of_a_word_by_heart(model, torch.randint(7, (1, 40)) * 28))
    assert chances[0] > 0.2
    assert chances[1] > 0.9 * chances[0]


def test_dropout_that_is_not_locked_has_no_mask_for_a_text():
    model = LSTM(LSTMConfig(vocab_size=9, hidden_size=4, locked=False))
    with pytest.raises(ValueError, match="locked=False"):
        model.locked_masks(2, torch.Generator())


def test_learns_a_text_by_heart():
    torch.manual_seed(0)
    config = LSTMConfig(vocab_size=7, hidden_size=32, **SURE, init=0.2)
    model, text = LSTM(config), torch.randint(7, (1, 40))
    assert chance_of_a_word_by_heart(model, text) > 0.8


@pytest.mark.parametrize("at", [0, 1, 4, 6])
def test_a_layer_by_torch_is_the_same(at: int):
    """What GPUs use without zoneout; torch.lstm runs on every device."""
    torch.manual_seed(1)
    layer = LSTMLayer(3, 5).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    inputs = torch.randn(6, 2, 3, dtype=torch.float64)
    start = torch.randn(2, 5, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)
    ours, (h, c) = layer(inputs, start, at, (None, None), (0.0, 0.0))
    theirs, (other_h, other_c) = layer.by_torch(inputs, start, at)
    for one, other in ((ours, theirs), (h, other_h), (c, other_c)):
        torch.testing.assert_close(one, other)
    grads = [torch.autograd.grad(value.square().sum(), [*layer.parameters()]) for value in (ours, theirs)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)


def test_a_run_from_before_zoneout_outputs_holds_its_outputs_back_and_resumes(tmp_path):
    """Its checkpoints lack the field: the option did not exist, and zoneout acted on outputs too."""
    data, out, straight = make_dataset(tmp_path), tmp_path / "out", tmp_path / "straight"
    settings = settings_of("lstm", "zoneout=0.5", "zoneout_outputs=yes")
    pm.train("lstm", data, straight, settings=settings, device="cpu")
    pm.train("lstm", data, out, settings=(*settings, "epochs=1"), device="cpu")
    for path in out.glob("*.safetensors"):
        now = read_checkpoint(path, training=path.name == LAST)
        fields = {name: value for name, value in now.config.items() if name != "zoneout_outputs"}
        save_checkpoint(path, replace(now, config=fields))
    loaded = pm.load(out, device="cpu")
    assert "zoneout_outputs" not in loaded.checkpoint.config
    assert cast("LSTM", loaded.model).config.zoneout_outputs
    with pytest.raises(ModelError, match="zoneout_outputs True → False"):
        pm.train("lstm", data, out, settings=settings[:-1], device="cpu")
    pm.train("lstm", data, out, settings=(*settings, "epochs=2"), device="cpu")
    one, other = (read_checkpoint(folder / LAST) for folder in (out, straight))
    assert one.digest == other.digest
