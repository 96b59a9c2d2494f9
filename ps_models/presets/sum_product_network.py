"""Presets of the sum-product network.

[C] Cheng et al. (2014), by their code, github.com/stakok/lmspn, configs/Treebank_G5_iG4.ini and SPNIter.h.
[O] Ours: we found no source.
"""

from __future__ import annotations

from ps_models.presets.preset import SEGMENTS, SMALL_TRAINING, Preset

PRESETS = {
    "small": Preset(
        about="4 words, 50 similarity nodes each; a budget of 4 epochs",
        model={"hidden_size": 50, "scaled": True, "least_bias": 0.1},  # [O]
        training={
            **SMALL_TRAINING,
            **SEGMENTS,
            "learning_rate": 0.05,
        },  # [O] mean loss of updates 126 to 150: 6.40, and 6.52 with 0.02
    ),
    "cheng": Preset(
        about="the authors' SPN-4; published, on another text: PTB test 107.6, or 100.0 if it starts from"
        " the weights of SPN-3",
        model={"context": 4, "hidden_size": 100, "powers": 10},  # [C]
        training={
            **SEGMENTS,
            "batch_size": 100,  # [C] n-grams from anywhere; here one from each hundredth of the text
            "stride": 1,  # [C]
            "learning_rate": 0.05,  # [C]
            "loss": "token",  # [C]
            "clip": 0.0,  # [C]
            "schedule": "constant",  # [C]
            "epochs": 100,  # [O] the authors trained for 40 hours
            "patience": 0,  # [C]
        },
    ),
}
