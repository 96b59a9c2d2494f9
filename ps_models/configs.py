"""Makes models and configurations from names: presets, settings, the JSON of a checkpoint.

A preset is a named set of hyperparameters, each with its source. `presets/` has a TOML file per model, named
after it. A preset is a table with `about`, and the settings of `model` and `training` that differ from the
defaults. `use` names parts that a table starts from: `[parts.NAME]` of the same file or of shared.toml.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec
from torch import nn

from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig
from ps_models.models import MODELS
from ps_models.training.optimizers import options_of
from wikitext_builder.errors import did_you_mean

FOLDER: Final = Path(__file__).parent / "presets"
Table = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The settings that differ from the defaults of a model's configuration and of its training."""

    about: str  # one line; a published number in it is one that others report, not one measured here
    model: Table = field(default_factory=dict)
    training: Table = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelKind:
    """A model that can be trained."""

    name: str  # in MODELS, or of the user's file or module and class, such as my_model.py:GPT
    config: Any  # the class of its configuration
    make: Callable[[Any], nn.Module]
    presets: Mapping[str, Preset]
    source: Path | None = None  # the user's file
    source_sha256: str | None = None


class _PresetTable(msgspec.Struct, forbid_unknown_fields=True):
    """A preset as it stands in its file."""

    about: str = ""
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: {error}; expected a table for each preset") from error


def _merged(table: Table, parts: Mapping[str, Table]) -> dict[str, Any]:
    """Return the settings of a table, on top of those of the parts that it uses."""
    settings: dict[str, Any] = {}
    for name in msgspec.convert(table.get("use", []), list[str]):
        if name not in parts:
            raise ModelError(f"uses {name}; expected one of {', '.join(parts)}")
        settings |= _merged(parts[name], parts)
    return settings | {key: value for key, value in table.items() if key != "use"}


def _read_preset(table: object, parts: Mapping[str, Table], config: Any) -> Preset:  # noqa: ANN401 - as in presets_of
    preset = msgspec.convert(table, _PresetTable)
    merged = {"model": _merged(preset.model, parts), "training": _merged(preset.training, parts)}
    options = options_of(str(merged["training"].get("optimizer", TrainingConfig.optimizer)).lower())
    types = {"model": _setting_types(config), "training": {**options, **_setting_types(TrainingConfig)}}
    for section, settings in merged.items():
        if unknown := settings.keys() - types[section]:
            raise ModelError(f"has {', '.join(sorted(unknown))}; expected a field of its {section}")
        merged[section] = {key: converted(key, value, types[section][key]) for key, value in settings.items()}
    return Preset(about=preset.about, **merged)


def presets_of(path: Path, config: Any) -> dict[str, Preset]:  # noqa: ANN401 - the class of a configuration
    """Read the presets of a file for models of that configuration; an absent file has none."""
    if not path.exists():
        return {}
    presets: dict[str, Preset] = {}
    name, tables = "parts", _read_toml(path)
    try:
        parts_of_file = msgspec.convert(tables.pop(name, {}), dict[str, dict[str, Any]])
        parts = _read_toml(FOLDER / "shared.toml")["parts"] | parts_of_file
        for name, table in tables.items():
            presets[name] = _read_preset(table, parts, config)
    except msgspec.ValidationError as error:
        raise ModelError(f"{path}: {name}: {error}; expected about, model and training") from error
    except (ModelError, RecursionError) as error:  # a part that uses itself
        raise ModelError(f"{path}: {name} {error}") from error
    return presets


# The data decide the vocabulary; options of an optimizer are settings by their own names.
NOT_SETTINGS: Final = ("vocab_size", "optimizer_options")


@cache
def _setting_types(config: Any) -> dict[str, Any]:  # noqa: ANN401 - as in presets_of
    """Return the type of each field that can be set, with its range."""
    hints = get_type_hints(config, include_extras=True)
    return {name: hint for name, hint in hints.items() if name not in NOT_SETTINGS}


def kind_of(model: str | ModelKind) -> ModelKind:
    """Return a model of `MODELS` by its name; a `ModelKind` stays as it is."""
    if isinstance(model, ModelKind):
        return model
    if model not in MODELS:
        raise ModelError(
            f"{model}: no such model{did_you_mean(model, MODELS)}; expected one of {', '.join(MODELS)}, or"
            " your own class, such as my_model.py:GPT"
        )
    config, make = MODELS[model]
    return ModelKind(name=model, config=config, make=make, presets=PRESETS[model])


def preset_of(kind: ModelKind, name: str | None) -> Preset:
    """Return a preset by name; without a name, the model's defaults."""
    if name is None:
        return Preset(about="the defaults")
    if name not in kind.presets:
        names = ", ".join(kind.presets) or "none: presets of your own class are in a TOML file beside it"
        raise ModelError(
            f"{name}: no such preset of {kind.name}{did_you_mean(name, kind.presets)}; its presets"
            f" are {names}"
        )
    return kind.presets[name]


def make_configs(
    model: str | ModelKind,
    preset: str | None,
    settings: Mapping[str, object] | Iterable[str],
    vocab_size: int,
) -> tuple[Any, TrainingConfig]:
    """Make the configurations of a model and of its training.

    `settings` are values by field of either one, or texts `key=value`; they replace those of the preset.
    """
    kind = kind_of(model)
    named_preset = preset_of(kind, preset)
    given, preset_values = settings_by_name(settings), {**named_preset.model, **named_preset.training}
    optimizer = str(given.get("optimizer", preset_values.get("optimizer", TrainingConfig.optimizer))).lower()
    types = {**_setting_types(kind.config), **_setting_types(TrainingConfig)}
    options = {name: option for name, option in options_of(optimizer).items() if name not in types}
    types |= options
    if unknown := [key for key in given if key not in types]:
        keys = ", ".join(sorted(types))
        raise ModelError(f"{unknown[0]}: no such setting; expected key=value with a key of {keys}")
    given = {key: converted(key, value, types[key]) for key, value in given.items()}
    # A preset's options of another optimizer are left out.
    values = {key: value for key, value in {**preset_values, **given}.items() if key in types}
    optimizer_options = {key: values.pop(key) for key in options if key in values}
    values |= {"vocab_size": vocab_size, "optimizer": optimizer, "optimizer_options": optimizer_options}
    model_fields = {entry.name: entry for entry in dataclasses.fields(kind.config)}
    for name, entry in model_fields.items():
        if name not in values and entry.init and entry.default is entry.default_factory:  # both MISSING
            raise ModelError(f"{kind.name}: {name} has no default; give --set {name}=VALUE, or a preset")
    model_config = kind.config(**{key: value for key, value in values.items() if key in model_fields})
    training = TrainingConfig(**{key: value for key, value in values.items() if key not in model_fields})
    if "decay_after" in given and training.schedule != "decay-after":
        raise ModelError(
            f"decay_after with schedule={training.schedule}: it has no effect; use schedule=decay-after"
        )
    _check_combinations(model_config, training)
    return model_config, training


def _check_combinations(model_config: Any, training: TrainingConfig) -> None:  # noqa: ANN401 - as in make_model
    """Check that no setting contradicts another one or has no effect beside it."""
    if training.ema and training.averaging_interval:
        raise ModelError(
            f"ema={training.ema:g} with averaging_interval={training.averaging_interval}: one average is"
            " kept; set one of them to 0"
        )
    rate = getattr(model_config, "pointer_rate", 1.0)
    if training.optimizer != "sgd" and rate != 1.0:
        raise ModelError(
            f"pointer_rate={rate:g} with optimizer={training.optimizer}: it scales gradients, which does not"
            " change its steps; use pointer_rate=1, or optimizer=sgd"
        )


def make_model(model: str | ModelKind, config: Any) -> nn.Module:  # noqa: ANN401 - each model has its own
    """Make a model with weights drawn from torch's generator; exceptions of a user's code pass through."""
    kind = kind_of(model)
    if kind.source:
        return kind.make(config)
    try:
        return kind.make(config)
    except (ValueError, RuntimeError) as error:  # torch raises RuntimeError if there is not enough memory
        raise ModelError(f"{kind.name} cannot be made: {str(error).splitlines()[0]}") from error


def config_of(model: str | ModelKind, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - each has its own
    """Make a model's configuration from a checkpoint's JSON, which has all of its fields."""
    kind = kind_of(model)
    advice = "use the version that wrote the checkpoint"
    if differing := fields.keys() ^ {field.name for field in dataclasses.fields(kind.config)}:
        names = ", ".join(sorted(differing))
        raise ModelError(f"{kind.name}: either the checkpoint or this version has no {names}; {advice}")
    try:
        return msgspec.convert(fields, kind.config)
    except msgspec.ValidationError as error:
        raise ModelError(f"{kind.name}: {error}; {advice}") from error


WORD_VALUES: Final = {"yes": True, "no": False, "none": None}


def settings_by_name(settings: Mapping[str, object] | Iterable[str]) -> dict[str, object]:
    """Return settings by name; they can also be given as texts `key=value`.

    >>> settings_by_name(["epochs=3"])
    {'epochs': '3'}
    """
    if isinstance(settings, Mapping):
        return dict(settings)
    pairs = [setting.partition("=") for setting in settings]
    if without_value := [key for key, equals, _ in pairs if not equals]:
        raise ModelError(f"{without_value[0]}: expected key=value")
    return {key: text for key, _, text in pairs}


def converted(key: str, value: object, hint: Any) -> object:  # noqa: ANN401 - any type of a field
    """Convert the value of a setting to its field's type; texts are parsed, with lists separated by commas.

    >>> converted("cutoffs", "200,1000", tuple[int, ...]), converted("locked", "yes", bool)
    ((200, 1000), True)
    """
    bare_type = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    parsed: object = value
    if isinstance(value, str) and get_origin(bare_type) in (tuple, list):
        parsed = [part for part in value.split(",") if part]
    elif isinstance(value, str) and bare_type is not str:
        parsed = WORD_VALUES.get(value.lower(), value)
    try:
        return msgspec.convert(parsed, hint, strict=False)
    except msgspec.ValidationError as error:
        expected = str(error).partition(" - at ")[0].removeprefix("Expected ").replace("`", "")
        if get_origin(bare_type) is Literal:
            expected = ", ".join(get_args(bare_type))
        elif bare_type is bool:
            expected = "yes or no"
        raise ModelError(f"{key}={value}: expected {expected}") from None


PRESETS: Final[dict[str, Mapping[str, Preset]]] = {
    model: presets_of(FOLDER / f"{model}.toml", config) for model, (config, _) in MODELS.items()
}
