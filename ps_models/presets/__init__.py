"""Hyperparameters by name, each with its source; one file per model, which has the name of the model."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from ps_models.errors import ModelError
from ps_models.models import MODELS
from ps_models.presets.preset import Preset

PRESETS: dict[str, Mapping[str, Preset]] = {
    name: import_module(f"{__name__}.{module.name}").PRESETS
    for module in iter_modules(__path__)
    if (name := module.name.replace("_", "-")) in MODELS
}


def preset_of(model: str, name: str | None) -> Preset:
    """A preset by name; without a name, the defaults of the model.

    Raises:
        ModelError: There is no such model or preset.
    """
    if model not in MODELS:
        raise ModelError(f"{model}: no such model; there are {', '.join(MODELS)}")
    presets = PRESETS.get(model, {})
    if name is None:
        return Preset(about="the defaults")
    if name not in presets:
        raise ModelError(f"{name}: no such preset of {model}; there are {', '.join(presets) or 'none'}")
    return presets[name]
