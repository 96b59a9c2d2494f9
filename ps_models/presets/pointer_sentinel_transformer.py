"""Presets of the Transformer with a pointer sentinel. All of it is ours: no paper has this model."""

from __future__ import annotations

from ps_models.presets.preset import Preset
from ps_models.presets.transformer import PRESETS as TRANSFORMER

PRESETS = {
    "small": Preset(
        about="the small Transformer with a pointer to 100 words; a budget of 4 epochs",
        model={**TRANSFORMER["small"].model, "initial_gate": 0.9},
        training=TRANSFORMER["small"].training,
    ),
}
