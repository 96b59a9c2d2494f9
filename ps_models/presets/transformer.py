"""Presets of the Transformer.

[X] Dai et al. (2019), Transformer-XL, arXiv 1901.02860, and its code, github.com/kimiyoung/transformer-xl,
    pytorch/run_wt103_base.sh and train.py. The settings of its Penn Treebank model were not published.
[O] Ours: no paper gives it.
"""

from __future__ import annotations

from ps_models.presets.preset import SEGMENTS, SMALL_TRAINING, Preset

TRAINING = {
    **SEGMENTS,  # the memory looks back, not the chunk
    "optimizer": "adamw",  # [X] Adam
    "loss": "token",  # [X]
    "clip": 0.25,  # [X]
}
MEDIUM = {"heads": 8}  # [O]
MEDIUM_TRAINING = {  # [O]
    **TRAINING,
    "batch_size": 32,
    "stride": 100,
    "learning_rate": 0.0005,
    "schedule": "divide-unless-best",
    "epochs": 64,
    "patience": 0,
}
PRESETS = {
    "small": Preset(
        about="H = 200, 4 layers, W = 100; a budget of 4 epochs",
        model={
            "hidden_size": 200,
            "layers": 4,  # [O]
            "heads": 4,  # [O]
            "inner_size": 800,  # [O] 4 H
            "dropout": 0.1,  # [O]
        },
        training={**SMALL_TRAINING, **SEGMENTS, "stride": 70, "learning_rate": 0.001},  # [O]
    ),
    "medium": Preset(
        about="H = 400, 8 layers, W = 100: as many parameters as the table's medium models",
        model=MEDIUM,
        training=MEDIUM_TRAINING,
    ),
    "medium-short": Preset(
        about="the same size in 9 of 64 epochs: two hours on one core; reached here: PTB 86.7 / 81.6",
        model=MEDIUM,
        training={  # [O]
            **MEDIUM_TRAINING,
            "batch_size": 16,  # few epochs need many updates
            "schedule": "decay-after",
            "decay_after": 4,
            "decay": 0.55,
            "epochs": 9,
        },
    ),
    "wikitext-103-base": Preset(
        about="sizes of Transformer-XL's base model (published: WikiText-103 24.0), but a different model",
        model={  # [X]
            "hidden_size": 410,
            "layers": 16,
            "heads": 10,
            "inner_size": 2100,
            "window": 151,  # mem_len 150, and the position itself
            "dropout": 0.1,
        },
        training={
            **TRAINING,
            "batch_size": 60,  # [X]
            "stride": 150,  # [X] tgt_len
            "learning_rate": 0.00025,  # [X] without warm-up
            "schedule": "decay-after",  # [O]; [X] has a cosine over 200,000 updates, 17 epochs
            "decay_after": 5,  # [O]
            "decay": 0.75,  # [O]
            "epochs": 17,
            "patience": 0,
        },
    ),
}
