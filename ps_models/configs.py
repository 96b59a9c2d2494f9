"""A model and its training from names: presets, settings, the JSON of a checkpoint.

Presets are hyperparameters by name, each with its source: `presets/` has a TOML file per model, which has the
name of the model. A preset is a table with `about`, and the settings of `model` and `training` that differ
from the defaults. `use` names parts that a table begins with: `[parts.NAME]` of the same file, or of
shared.toml.
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
from wikitext_builder.errors import nearest

FOLDER: Final = Path(__file__).parent / "presets"
Table = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What differs from the defaults of a model's configuration and of the training's."""

    about: str  # one line; a published number is what others report, not what the preset reached here
    model: Table = field(default_factory=dict)
    training: Table = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelKind:
    """A model that can be trained."""

    name: str  # of ours, or that of the user's file or module and class, such as my_model.py:GPT
    config: Any  # the class of its configuration
    make: Callable[[Any], nn.Module]
    presets: Mapping[str, Preset]
    source: Path | None = None  # the user's file
    source_sha256: str | None = None


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    """A preset as its file has it."""

    about: str = ""
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: {error}; expected a table for each preset") from error


def _merged(table: Table, parts: Mapping[str, Table]) -> dict[str, Any]:
    """The settings of a table after those of the parts that it uses."""
    settings: dict[str, Any] = {}
    for name in msgspec.convert(table.get("use", []), list[str]):
        if name not in parts:
            raise ModelError(f"uses {name}; expected one of {', '.join(parts)}")
        settings |= _merged(parts[name], parts)
    return settings | {key: value for key, value in table.items() if key != "use"}


def _preset(table: object, parts: Mapping[str, Table], config: Any) -> Preset:  # noqa: ANN401 - as in presets_of
    written = msgspec.convert(table, _Written)
    merged = {"model": _merged(written.model, parts), "training": _merged(written.training, parts)}
    options = options_of(str(merged["training"].get("optimizer", TrainingConfig.optimizer)).lower())
    kinds = {"model": _kinds(config), "training": {**options, **_kinds(TrainingConfig)}}
    for part, settings in merged.items():
        if unknown := settings.keys() - kinds[part]:
            raise ModelError(f"has {', '.join(sorted(unknown))}; expected a field of its {part}")
        merged[part] = {key: converted(key, value, kinds[part][key]) for key, value in settings.items()}
    return Preset(about=written.about, **merged)


def presets_of(path: Path, config: Any) -> dict[str, Preset]:  # noqa: ANN401 - the class of a configuration
    """The presets of a file for models of that configuration; none if there is no file."""
    if not path.exists():
        return {}
    presets: dict[str, Preset] = {}
    name, tables = "parts", _tables(path)
    try:
        own = msgspec.convert(tables.pop(name, {}), dict[str, dict[str, Any]])
        parts = _tables(FOLDER / "shared.toml")["parts"] | own
        for name, table in tables.items():
            presets[name] = _preset(table, parts, config)
    except msgspec.ValidationError as error:
        raise ModelError(f"{path}: {name}: {error}; expected about, model and training") from error
    except (ModelError, RecursionError) as error:  # a part that uses itself
        raise ModelError(f"{path}: {name} {error}") from error
    return presets


NOT_SET: Final = ("vocab_size", "optimizer_options")  # of the data; of settings that an optimizer has


@cache
def _kinds(config: Any) -> dict[str, Any]:  # noqa: ANN401 - as in presets_of
    """The type of each field that can be set, with its range."""
    hints = get_type_hints(config, include_extras=True)
    return {name: kind for name, kind in hints.items() if name not in NOT_SET}


def kind_of(model: str | ModelKind) -> ModelKind:
    """One of our models by its name; a model stays as it is."""
    if isinstance(model, ModelKind):
        return model
    if model not in MODELS:
        raise ModelError(
            f"{model}: no such model{nearest(model, MODELS)}; there are {', '.join(MODELS)}, and classes of"
            " yours as my_model.py:GPT"
        )
    config, make = MODELS[model]
    return ModelKind(name=model, config=config, make=make, presets=PRESETS[model])


def preset_of(kind: ModelKind, name: str | None) -> Preset:
    """A preset by name; without a name, the defaults of the model."""
    if name is None:
        return Preset(about="the defaults")
    if name not in kind.presets:
        known = ", ".join(kind.presets) or "none: those of a class of yours are in a TOML file beside its own"
        raise ModelError(
            f"{name}: no such preset of {kind.name}{nearest(name, kind.presets)}; there are {known}"
        )
    return kind.presets[name]


def make_configs(
    model: str | ModelKind,
    preset: str | None,
    settings: Mapping[str, object] | Iterable[str],
    vocab_size: int,
) -> tuple[Any, TrainingConfig]:
    """The configurations of a model and of its training.

    `settings` are values by field of either one, or texts `key=value`; they replace those of the preset.
    """
    kind = kind_of(model)
    chosen, config_class = preset_of(kind, preset), kind.config
    given = settings_by_name(settings)
    of_preset = {**chosen.model, **chosen.training}
    optimizer = str(given.get("optimizer", of_preset.get("optimizer", TrainingConfig.optimizer))).lower()
    kinds = {**_kinds(config_class), **_kinds(TrainingConfig)}
    options = {name: kind for name, kind in options_of(optimizer).items() if name not in kinds}
    kinds |= options
    if unknown := [key for key in given if key not in kinds]:
        known = ", ".join(sorted(kinds))
        raise ModelError(f"{unknown[0]}: no such setting; expected key=value with a key of {known}")
    given = {key: converted(key, value, kinds[key]) for key, value in given.items()}
    # A preset's options of another optimizer are left out.
    fields = {key: value for key, value in {**of_preset, **given}.items() if key in kinds}
    own_options = {key: fields.pop(key) for key in options if key in fields}
    fields |= {"vocab_size": vocab_size, "optimizer": optimizer, "optimizer_options": own_options}
    own = {one.name: one for one in dataclasses.fields(config_class)}
    for name, one in own.items():
        if name not in fields and one.init and one.default is one.default_factory:  # both MISSING
            raise ModelError(f"{kind.name}: {name} has no default; give --set {name}=VALUE, or a preset")
    model_config = config_class(**{key: value for key, value in fields.items() if key in own})
    training = TrainingConfig(**{key: value for key, value in fields.items() if key not in own})
    if "decay_after" in given and training.schedule != "decay-after":
        raise ModelError(
            f"decay_after with schedule={training.schedule}: it has no effect; use schedule=decay-after"
        )
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
    return model_config, training


def make_model(model: str | ModelKind, config: Any) -> nn.Module:  # noqa: ANN401 - each model has its own
    """A model with fresh weights, drawn from torch's generator; what the user's code raises stays."""
    kind = kind_of(model)
    if kind.source:
        return kind.make(config)
    try:
        made = kind.make(config)
    except (ValueError, RuntimeError) as error:  # torch raises RuntimeError if there is not enough memory
        raise ModelError(f"{kind.name} cannot be made: {str(error).splitlines()[0]}") from error
    return made


def config_of(model: str | ModelKind, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - each has its own
    """A model's configuration from a checkpoint's JSON, which has all of its fields."""
    kind = kind_of(model)
    advice = "use the version that wrote the checkpoint"
    if differing := fields.keys() ^ {field.name for field in dataclasses.fields(kind.config)}:
        names = ", ".join(sorted(differing))
        raise ModelError(f"{kind.name}: either the checkpoint or this version has no {names}; {advice}")
    try:
        return msgspec.convert(fields, kind.config)
    except msgspec.ValidationError as error:
        raise ModelError(f"{kind.name}: {error}; {advice}") from error


SPELLED: Final = {"yes": True, "no": False, "none": None}


def settings_by_name(settings: Mapping[str, object] | Iterable[str]) -> dict[str, object]:
    """Settings that are given by name, or as texts `key=value`.

    >>> settings_by_name(["epochs=3"])
    {'epochs': '3'}
    """
    if isinstance(settings, Mapping):
        return dict(settings)
    pairs = [setting.partition("=") for setting in settings]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        raise ModelError(f"{wrong[0]}: expected key=value")
    return {key: text for key, _, text in pairs}


def converted(key: str, value: object, kind: Any) -> object:  # noqa: ANN401 - any type of a field
    """A value of a setting as the type of its field has it; texts are read, lists have commas.

    >>> converted("cutoffs", "200,1000", tuple[int, ...]), converted("locked", "yes", bool)
    ((200, 1000), True)
    """
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    read: object = value
    if isinstance(value, str) and get_origin(plain) in (tuple, list):
        read = [part for part in value.split(",") if part]
    elif isinstance(value, str) and plain is not str:
        read = SPELLED.get(value.lower(), value)
    try:
        return msgspec.convert(read, kind, strict=False)
    except msgspec.ValidationError as error:
        expected = str(error).partition(" - at ")[0].removeprefix("Expected ").replace("`", "")
        if get_origin(plain) is Literal:
            expected = ", ".join(get_args(plain))
        elif plain is bool:
            expected = "yes or no"
        raise ModelError(f"{key}={value}: expected {expected}") from None


PRESETS: Final[dict[str, Mapping[str, Preset]]] = {
    model: presets_of(FOLDER / f"{model}.toml", config) for model, (config, _) in MODELS.items()
}
