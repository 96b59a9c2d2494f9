"""Presets of the recurrent network with topics.

[T] The toolkit of the paper, see `ps_models.presets.rnn`.
[Q] The 7 M parameters that Merity et al. (2016), Table 2, estimate.
[O] Ours: we found no source.
"""

from __future__ import annotations

from ps_models.presets.preset import SMALL, SMALL_TRAINING, Preset
from ps_models.presets.rnn import DROPOUT, MINIBATCHES, RNNLM_TRAINING

PRESETS = {
    "small": Preset(
        about="H = 200, 40 topics; a budget of 4 epochs",
        model={**SMALL, "dropout": 0.2},  # [O] as in the other small presets
        training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O] as for the other networks of sigmoid units
    ),
    "mikolov": Preset(
        about="Mikolov and Zweig's RNN-LDA, word by word as its toolkit; published: PTB test 113.7",
        model={"hidden_size": 300},  # [Q]
        training=RNNLM_TRAINING,  # [T]
    ),
    "mikolov-short": Preset(
        about="the same size in 9 epochs of minibatches, half an hour on one core; reached here: PTB"
        " 120.2 / 111.8",
        model={"hidden_size": 300, "dropout": DROPOUT},  # [O]
        training=MINIBATCHES,
    ),
}
