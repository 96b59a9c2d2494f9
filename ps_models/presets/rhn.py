"""Presets of the recurrent highway network.

[R] Zilly et al. (2016), arXiv 1607.03474, and its code, github.com/jzilly/RecurrentHighwayNetworks,
    `ptb_sota` of rhn_train.py.
[O] Ours: no paper gives it.
"""

from __future__ import annotations

from ps_models.presets.preset import SEGMENTS, SMALL, SMALL_TRAINING, Preset

TRAINING = {  # [R]
    **SEGMENTS,
    "batch_size": 20,
    "stride": 35,
    "learning_rate": 0.2,
    "weight_decay": 1e-7,
    "clip": 10.0,
    "schedule": "decay-after",
    "decay": 1 / 1.02,
    "decay_after": 20,
    "epochs": 500,
    "patience": 0,
}

PRESETS = {
    "small": Preset(
        about="H = 200, depth 5; a budget of 4 epochs",
        model={
            **SMALL,
            "depth": 5,  # [O]
            "type_dropout": 0.0,  # [O] as the other small models
            "input_dropout": 0.2,
            "recurrent_dropout": 0.1,
            "output_dropout": 0.2,
        },
        training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O] with 0.005 the loss jumps up at the start
    ),
    "variational": Preset(
        about="variational RHN, depth 10; published: PTB 71.3 / 68.3 (the code's README), 72.8 / 71.3 (an"
        " early version of the paper)",
        training=TRAINING,  # [R] the model's defaults are its sizes and rates
    ),
    "variational-tied": Preset(
        about="the same with tied weights; published: PTB 67.9 / 65.4",
        model={"tied": True},  # [R]
        training=TRAINING,
    ),
    "variational-tied-short": Preset(
        about="the same size in 6 of 500 epochs of AdamW, with less dropout: about an hour and a quarter on"
        " one core; reached here: PTB 92.5 / 89.1",
        model={  # [O] for few epochs
            "tied": True,
            "type_dropout": 0.05,
            "input_dropout": 0.3,
            "recurrent_dropout": 0.1,
            "output_dropout": 0.3,
        },
        training={  # [O] with 0.001 the loss jumps up after 90 updates
            **TRAINING,
            "optimizer": "adamw",
            "learning_rate": 0.0005,
            "weight_decay": 0.0,
            "loss": "token",
            "clip": 1.0,
            "decay": 0.3,
            "decay_after": 4,
            "epochs": 6,
        },
    ),
}
