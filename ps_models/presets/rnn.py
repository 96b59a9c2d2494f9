"""Presets of the simple recurrent networks.

[O] Ours: no paper says.
"""

from __future__ import annotations

from ps_models.presets.preset import SMALL_TRAINING, Preset

RNN_PRESETS = {
    "elman": Preset(
        about="Elman's network at Mikolov's size, PTB test 124.7 in his thesis; a budget of 4 epochs",
        training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O]
    ),
    "deep": Preset(
        about="Pascanu's DOT(S)-RNN, PTB test 107.5 in its paper; a budget of 4 epochs",
        model={"deep": True, "hidden_size": 200},  # [O] the paper's sizes differ by layer
        training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O]
    ),
}
