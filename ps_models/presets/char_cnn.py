"""Presets of the character-aware model.

[K] Kim et al. (2016), arXiv 1508.06615, Table 2 and "Optimization", and its code,
    github.com/yoonkim/lstm-char-cnn.
[Z] Zaremba et al. (2014), arXiv 1409.2329, section 4.1.
[O] Ours: no paper gives it.
"""

from __future__ import annotations

from ps_models.presets.preset import SEGMENTS, SMALL, SMALL_TRAINING, Preset

KIM_SMALL = {  # [K]
    "widths": (1, 2, 3, 4, 5, 6),
    "features": (25, 50, 75, 100, 125, 150),  # 25 per letter of the width
    "highways": 1,
}
KIM_TRAINING = {  # [K]
    **SEGMENTS,
    "batch_size": 20,
    "stride": 35,
    "learning_rate": 1.0,
    "clip": 5.0,
    "schedule": "decay-unless-one-better",
    "decay": 0.5,
    "epochs": 25,
    "patience": 0,
}

PRESETS = {
    "small": Preset(
        about="H = 200, reads letters as kim-small; a budget of 4 epochs",
        model={**SMALL, **KIM_SMALL, "layer_dropout": 0.2, "output_dropout": 0.2},  # [O] as the small LSTM
        training=SMALL_TRAINING,
    ),
    "kim-small": Preset(
        about="the paper's small model, 5 M parameters; published: PTB 96 / 93 (the code's README)",
        model={**KIM_SMALL, "hidden_size": 300},  # [K]; the dropout of 0.5 and the rest are the defaults
        training=KIM_TRAINING,
    ),
    "kim-large": Preset(
        about="the paper's large model, 19 M parameters; published: PTB test 78.9", training=KIM_TRAINING
    ),
    "kim-large-short": Preset(
        about="the paper's large model with a softmax of about 2,048 words per update, 18 of 25 epochs: two"
        " hours on two cores; reached here: PTB 82.4 / 80.0",
        model={"sampled": 2048},  # [O]
        training={**KIM_TRAINING, "epochs": 18},  # [O] the rate is a sixteenth in the last
    ),
}
