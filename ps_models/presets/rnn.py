"""Presets of the simple recurrent networks.

[M] Merity et al. (2016), Table 2: 6 M parameters each, an estimate of its authors for the plain one.
[T] RNNLM, the toolkit of the papers, by its port, github.com/piotrmirowski/DependencyTreeRnn: its defaults.
[P] The first author's script of deep transitions, github.com/pascanur/GroundHog, tutorials/DT_RNN_Tut.py; it
    is set for characters, and its 200 units and embedding of 400 give the paper's size with words.
[O] Ours: we found no source.
"""

from __future__ import annotations

from ps_models.presets.preset import MEDIUM_LIGHT_TRAINING, SEGMENTS, SMALL_TRAINING, Preset

RNNLM_TRAINING = {
    **SEGMENTS,
    "batch_size": 1,  # [T] one text, word by word
    "stride": 10,  # [T] bptt-block
    "bptt": 5,  # [T] bptt = 4, and the toolkit adds one
    "learning_rate": 0.1,  # [T] alpha
    "clip": 15.0,  # [T] gradient-cutoff; the toolkit clips each number, we clip the norm
    "weight_decay": 1e-7,  # [T] beta, once per ten words as there
    "schedule": "halve-when-worse",  # [T] the toolkit halves always after the first gain of less than 0.1 %
    "epochs": 30,  # [O]
}
ELMAN = {"hidden_size": 300}  # [M] 6.1 M
MINIBATCHES = {  # [O] rows of words in place of one text, for half an hour on one core
    **MEDIUM_LIGHT_TRAINING,
    "learning_rate": 0.02,  # after an epoch 182.7 on valid; 0.01 had 202.0, and 0.002 had 333.0
    "weight_decay": 0.03,  # without it train is learned by heart: valid 143.9 after 7 epochs, with it 127.7
    "decay_after": 3,
}
DROPOUT = 0.4  # [O]
DOTS = {
    "deep": True,
    "hidden_size": 200,  # [P]
    "embedding_size": 400,  # [P] [M] 6.3 M, and 4.2 M without
}
PRESETS = {
    "elman": Preset(
        about="Elman's network at Mikolov's size; a budget of 4 epochs",
        model=ELMAN,
        training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O]
    ),
    "mikolov": Preset(
        about="the same, trained word by word as by Mikolov's toolkit; published: PTB test 124.7",
        model=ELMAN,
        training=RNNLM_TRAINING,
    ),
    "mikolov-short": Preset(
        about="the same size in 9 epochs of minibatches, half an hour on one core; reached"
        " here: PTB 125.5 / 116.9",
        model={**ELMAN, "dropout": DROPOUT},
        training=MINIBATCHES,
    ),
    "deep": Preset(
        about="Pascanu's DOT(S)-RNN; a budget of 4 epochs",
        model=DOTS,
        training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O]
    ),
    "pascanu": Preset(
        about="the same, trained as by its author but without momentum and weight noise; published: PTB test"
        " 107.5 with them",
        model=DOTS,
        training={
            **SEGMENTS,
            "batch_size": 1,  # [P] bs
            "stride": 100,  # [P] seqlen
            "learning_rate": 1.0,  # [P] lr
            "clip": 1.0,  # [P] cutoff
            "loss": "token",  # [P] scale = 1 / seqlen
            "schedule": "halve-when-worse",  # [P] divide_lr = 2
            "epochs": 64,  # [O]
        },
    ),
}
