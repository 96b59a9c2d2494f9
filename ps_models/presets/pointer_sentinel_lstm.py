"""Presets of the pointer sentinel-LSTM.

[M] Merity et al. (2016), arXiv 1609.07843, section 5.2 where nothing else is said.
[O] Ours: no paper says.
"""

from __future__ import annotations

from ps_models.presets.preset import (
    LIGHT,
    MEDIUM_LIGHT,
    MEDIUM_LIGHT_TRAINING,
    SMALL,
    SMALL_TRAINING,
    TINY,
    TINY_TRAINING,
    Preset,
)

PRESETS = {
    "small": Preset(
        about="H = 200; a budget of 4 epochs",
        model={**SMALL, **LIGHT, "initial_gate": 0.9},  # [O] after 240 updates 315, not 333
        training=SMALL_TRAINING,
    ),
    "medium": Preset(about="the paper's model with K = L, PTB 72.4 / 70.9 in the paper with K = 1"),
    "medium-k1": Preset(about="the paper's model and its schedule, K = 1", training={"stride": 1}),  # [M]
    "medium-light": Preset(
        about="the paper's size with lighter dropout; a budget of 9 epochs, an hour or so on one core",
        model={**MEDIUM_LIGHT, "initial_gate": 0.9},
        training=MEDIUM_LIGHT_TRAINING,
    ),
    "tiny": Preset(
        about="H = 64, L = 50, minutes on a small dataset",
        model={**TINY, "window": 50, "initial_gate": 0.9},
        training=TINY_TRAINING,
    ),
}
