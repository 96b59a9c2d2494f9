"""Presets of the recurrent network with topics.

[T] The toolkit of the paper, RNNLM 0.3f: defaults of its port, github.com/piotrmirowski/DependencyTreeRnn.
[Q] The 7 M parameters that Merity et al. (2016), Table 2, estimate.
[O] Ours: no source that could be read says.
"""

from __future__ import annotations

from ps_models.presets.preset import SEGMENTS, SMALL, SMALL_TRAINING, Preset

RNN_LDA_PRESETS = {
    "small": Preset(
        about="H = 200, 40 topics; a budget of 4 epochs",
        model={**SMALL, "dropout": 0.2},  # [O] as the other small ones'
        training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O] as the other networks of sigmoid units
    ),
    "mikolov": Preset(
        about="Mikolov and Zweig's RNN-LDA, PTB test 113.7 in its paper; word by word, as its toolkit",
        model={"hidden_size": 300},  # [Q]
        training={
            **SEGMENTS,
            "batch_size": 1,  # [T] one text, read once an epoch
            "stride": 10,  # [T] bptt-block
            "bptt": 5,  # [T] bptt = 4, its count beginning at 0
            "learning_rate": 0.1,  # [T] alpha
            "clip": 15.0,  # [T] gradient-cutoff, there of each number
            "weight_decay": 1e-6,  # [T] beta = 1e-7 each tenth word, times alpha; torch's, each update
            "schedule": "halve-when-worse",  # [T] there when it is better by less than 0.1 %, then always
            "epochs": 30,  # [O]
        },
    ),
}
