"""A model and its training from names: presets, settings of a command line, a checkpoint's JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_type_hints

from torch import nn

from ps_models.errors import ModelError
from ps_models.hyperparameters import Config
from ps_models.models import MODELS
from ps_models.presets import preset_of
from ps_models.training.config import TrainingConfig


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
        ModelError: A name is unknown or a value is not of its type.
    """
    chosen = preset_of(model, preset)
    config_class: Any = MODELS[model][0]
    fields: dict[str, Any] = {**chosen.model, **chosen.training, "vocab_size": vocab_size}
    kinds = {**get_type_hints(config_class), **get_type_hints(TrainingConfig)}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or key not in kinds or key == "vocab_size":
            known = ", ".join(sorted(kinds.keys() - {"vocab_size"}))
            raise ModelError(f"{setting}: expected key=value with a key of {known}")
        fields[key] = _value(setting, text, kinds[key])
    own = {entry.name for entry in dataclasses.fields(config_class)}
    model_config = config_class(**{key: value for key, value in fields.items() if key in own})
    training = TrainingConfig(**{key: value for key, value in fields.items() if key not in own})
    return model_config, training


def make_model(model: str, config: Any) -> nn.Module:  # noqa: ANN401 - each model has its own
    """A model with fresh weights, drawn from torch's generator.

    Raises:
        ModelError: The configuration cannot be, or the memory does not hold the weights.
    """
    try:
        made: nn.Module = MODELS[model][1](config)
    except (ValueError, RuntimeError) as error:  # torch's own when there is not so much memory
        raise ModelError(f"{model} cannot be made: {str(error).splitlines()[0]}") from error
    return made


def config_of(model: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - each model has its own
    """A model's configuration from a checkpoint's JSON.

    Raises:
        ModelError: There is no such model, or its configuration is another one.
    """
    if model not in MODELS:
        raise ModelError(
            f"{model}: no such model; there are {', '.join(MODELS)}; use the version that wrote it"
        )
    config_class: Any = MODELS[model][0]
    completed = completed_fields(model, fields)
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in completed.items()}
    try:
        return config_class(**values)
    except TypeError as error:
        raise ModelError(f"{model}: {error}; use the version that wrote the checkpoint") from error


def completed_fields(model: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint's fields of a model; those that did not exist when it was written as they were then."""
    config_class: type[Config] = MODELS[model][0]
    return config_class.completed(fields)


BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}
KINDS: dict[object, tuple[str, Callable[[str], object]]] = {  # type: what is expected, and how it is read
    bool: ("yes or no", lambda text: BOOLEANS[text.lower()]),
    int: ("an integer", int),
    float: ("a number", float),
    tuple[int, ...]: (
        "integers separated by commas",
        lambda text: tuple(int(part) for part in text.split(",") if part),
    ),
    float | None: ("a number or none", lambda text: None if text.lower() == "none" else float(text)),
    str: ("a name", str),
}


def _value(setting: str, text: str, kind: object) -> object:
    expected, read = KINDS[kind]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise ModelError(f"{setting}: expected {expected}") from None
