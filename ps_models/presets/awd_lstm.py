"""Presets of AWD-LSTM.

[A] Merity et al. (2017), arXiv 1708.02182, section 5, and its code, github.com/salesforce/awd-lstm-lm.
[R] The code's README: what differs from the paper since an error in its dropout was fixed.
[O] Ours: no paper gives it.
"""

from __future__ import annotations

from ps_models.presets.preset import SEGMENTS, SMALL_TRAINING, Preset

TRAINING = {
    **SEGMENTS,
    "batch_size": 20,  # [R] [A] has 40
    "stride": 70,  # [A]
    "random_strides": True,  # [A]
    "optimizer": "asgd",  # [A]
    "averaging_interval": 5,  # [A] n of NT-ASGD
    "learning_rate": 30.0,  # [A]
    "weight_decay": 1.2e-6,  # [A] the code's
    "clip": 0.25,  # [A]
    "loss": "token",  # [A] the code's
    "schedule": "constant",  # [A]
    "epochs": 500,  # [R]
    "patience": 0,  # [A]
}

PRESETS = {
    "small": Preset(
        about="E = 200, H = 400, lighter dropouts; a budget of 4 epochs",
        model={  # [O] a tenth to a half of the rates of [A]: four epochs do not overfit
            "embedding_size": 200,
            "hidden_size": 400,
            "type_dropout": 0.0,
            "input_dropout": 0.1,
            "layer_dropout": 0.1,
            "output_dropout": 0.2,
            "weight_dropout": 0.2,
        },
        training={  # [O] plain segments: with `bptt` each word is read twice, at half the speed
            **SMALL_TRAINING,
            **SEGMENTS,
            "batch_size": 20,
            "random_strides": True,
        },
    ),
    "ptb": Preset(
        about="24 M parameters, without fine-tuning; published: PTB about 61.2 / 58.8 so (the code's README),"
        " 60.0 / 57.3 with it (the paper)",
        training=TRAINING,
    ),
    "ptb-short": Preset(
        about="the same size in 10 of 500 epochs, with less dropout and plain SGD: an hour and a half on one"
        " core; reached here: PTB 87.1 / 84.8",
        model={  # [O] for few epochs
            "type_dropout": 0.05,
            "input_dropout": 0.3,
            "layer_dropout": 0.2,
            "output_dropout": 0.3,
            "weight_dropout": 0.35,
        },
        training={  # [O] averaging begins too late for ten epochs
            **TRAINING,
            "optimizer": "sgd",
            "schedule": "decay-after",
            "decay_after": 7,
            "decay": 0.5,
            "epochs": 10,
        },
    ),
    "wikitext-2": Preset(
        about="33 M parameters, without fine-tuning; published: WikiText-2 about 68.7 / 65.6 so (the code's"
        " README), 68.6 / 65.8 with it (the paper)",
        model={"input_dropout": 0.65, "layer_dropout": 0.2},  # [A] [R]
        training={**TRAINING, "batch_size": 80, "epochs": 750},  # [R]
    ),
}
