"""Masks: their rates, what they are locked over, and what they leave alone."""

from dataclasses import replace

import pytest
import torch

from ps_models.layers.softmax import masked
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.stream import dropout_mask, type_mask, zone_mask

LIKE = torch.zeros(1)


def test_masks_keep_the_mean():
    for rate in (0.1, 0.5, 0.9):
        mask = dropout_mask(rate, (400, 400), LIKE)
        assert mask is not None
        assert (mask == 0).float().mean().item() == pytest.approx(rate, abs=0.01)
        assert mask.mean().item() == pytest.approx(1, abs=0.02)


def test_a_rate_of_0_gives_no_mask_and_one_out_of_range_an_error():
    assert dropout_mask(0, (2,), LIKE) is None
    assert zone_mask(0, (2,), LIKE) == 0
    assert masked(LIKE, None) is LIKE
    for make in (dropout_mask, zone_mask):
        for rate in (-0.1, 1.0):
            with pytest.raises(ValueError, match="at least 0 and less than 1"):
                make(rate, (2,), LIKE)


def test_a_type_is_dropped_everywhere_in_a_row_or_nowhere():
    tokens = torch.randint(6, (50, 30))
    mask = type_mask(0.5, tokens, LIKE)
    assert mask is not None
    for row, kept in zip(tokens, mask, strict=True):
        assert all(len(kept[row == word].unique()) == 1 for word in row.unique())
    assert len({tuple(kept[row == 0].unique().tolist()) for row, kept in zip(tokens, mask, strict=True)}) > 1


PLAIN = LSTMConfig(
    vocab_size=9, hidden_size=40, input_dropout=0, layer_dropout=0, output_dropout=0, zoneout=0, init=0.3
)


def outputs(config: LSTMConfig) -> torch.Tensor:
    model = LSTM(config).train()
    hidden, _ = model.run(torch.zeros(2, 30, dtype=torch.int64), model.initial_state(2), advance=30)
    return hidden.detach()


def test_locked_dropout_drops_the_same_outputs_at_each_step():
    dropped = outputs(replace(PLAIN, output_dropout=0.5)) == 0
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert dropped.float().mean().item() == pytest.approx(0.5, abs=0.2)
    assert not torch.equal(dropped[0], dropped[1])


def test_dropout_that_is_not_locked_differs_from_step_to_step():
    dropped = outputs(replace(PLAIN, output_dropout=0.5, locked=False)) == 0
    assert not torch.equal(dropped[:, 0], dropped[:, 1])


def test_zoneout_keeps_the_state_and_not_the_outputs():
    model = LSTM(replace(PLAIN, zoneout=0.3, layers=1)).train()
    state, tokens = model.initial_state(2), torch.zeros(2, 30, dtype=torch.int64)
    kept = []
    for token in tokens.split(1, dim=1):
        output, after = model.run(token, state, advance=1)
        kept.append(after.h_BLH == state.h_BLH)
        moved = output[:, 0] == after.h_BLH[:, 0]
        assert torch.equal(moved, ~kept[-1][:, 0])
        state = after
    assert torch.stack(kept).float().mean().item() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    "rate",
    ["type_dropout", "input_dropout", "layer_dropout", "output_dropout", "recurrent_dropout", "zoneout"],
)
@pytest.mark.parametrize("per_gate", [False, True])
def test_each_rate_acts_in_training_alone(rate: str, per_gate: bool):
    model, tokens = LSTM(replace(PLAIN, per_gate=per_gate, **{rate: 0.5})), torch.randint(9, (2, 12))  # type: ignore[arg-type]
    state = model.initial_state(2)
    model.train()
    assert not torch.equal(model(tokens, state)[0], model(tokens, state)[0])
    model.eval()
    scores, _ = model(tokens, state)
    assert torch.equal(scores, model(tokens, state)[0])
    if not rate.startswith("zoneout"):
        plain = LSTM(PLAIN).eval()
        plain.load_state_dict(model.state_dict())
        torch.testing.assert_close(scores, plain(tokens, state)[0])


def test_the_steps_that_rebuild_a_window_and_the_scored_steps_share_masks():
    """One call draws once: the returned state and the scores have the same masks."""
    config = replace(PLAIN, input_dropout=0.5, recurrent_dropout=0.5, layer_dropout=0.5)
    model, tokens = LSTM(config).train(), torch.randint(9, (2, 12))
    torch.manual_seed(1)
    whole, _ = model.run(tokens, model.initial_state(2), advance=12)
    torch.manual_seed(1)
    again, state = model.run(tokens, model.initial_state(2), advance=5)
    assert torch.equal(whole, again)
    torch.testing.assert_close(state.h_BLH[:, -1], whole[:, 4])
