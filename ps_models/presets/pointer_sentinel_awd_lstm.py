"""Presets of AWD-LSTM with a pointer sentinel. All of it is ours: no paper has this model."""

from __future__ import annotations

from ps_models.presets.awd_lstm import PRESETS as AWD
from ps_models.presets.preset import Preset

PRESETS = {
    "small": Preset(
        about="the small AWD-LSTM with a pointer to 100 words; a budget of 4 epochs",
        model={**AWD["small"].model, "initial_gate": 0.9},
        training=AWD["small"].training,
    ),
}
