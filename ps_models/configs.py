"""A model and its training from names: presets, settings, the JSON of a checkpoint.

Presets are hyperparameters by name, each with its source: `presets/` has a TOML file per model, which has the
name of the model. A preset is a table with `about`, and the settings of `model` and `training` that differ
from the defaults. `use` names parts that a table begins with: `[parts.NAME]` of the same file, or of
shared.toml.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec
from torch import nn

from ps_models.errors import ModelError
from ps_models.hyperparameters import Config, TrainingConfig
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
    found: dict[str, Any] = {}
    for name in msgspec.convert(table.get("use", []), list[str]):
        if name not in parts:
            raise ModelError(f"uses {name}; expected one of {', '.join(parts)}")
        found |= _merged(parts[name], parts)
    return found | {key: each for key, each in table.items() if key != "use"}


def _preset(table: object, parts: Mapping[str, Table], config: Any) -> Preset:  # noqa: ANN401 - as in presets_of
    written = msgspec.convert(table, _Written)
    found = {"model": _merged(written.model, parts), "training": _merged(written.training, parts)}
    options = options_of(str(found["training"].get("optimizer", TrainingConfig.optimizer)).lower())
    kinds = {"model": _kinds(config), "training": {**options, **_kinds(TrainingConfig)}}
    for part, settings in found.items():
        if unknown := settings.keys() - kinds[part]:
            raise ModelError(f"has {', '.join(sorted(unknown))}; expected a field of its {part}")
        found[part] = {key: _value(key, value, kinds[part][key]) for key, value in settings.items()}
    return Preset(about=written.about, **found)


def presets_of(path: Path, config: Any) -> dict[str, Preset]:  # noqa: ANN401 - the class of a configuration
    """The presets of a file for models of that configuration; none if there is no file."""
    if not path.exists():
        return {}
    found: dict[str, Preset] = {}
    name, tables = "parts", _tables(path)
    try:
        own = msgspec.convert(tables.pop(name, {}), dict[str, dict[str, Any]])
        parts = _tables(FOLDER / "shared.toml")["parts"] | own
        for name, table in tables.items():
            found[name] = _preset(table, parts, config)
    except msgspec.ValidationError as error:
        raise ModelError(f"{path}: {name}: {error}; expected about, model and training") from error
    except (ModelError, RecursionError) as error:  # a part that uses itself
        raise ModelError(f"{path}: {name} {error}") from error
    return found


@cache
def _kinds(config: Any) -> dict[str, Any]:  # noqa: ANN401 - as in presets_of
    """The type of each field that can be set."""
    return {name: kind for name, kind in get_type_hints(config).items() if name not in NOT_SET}


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


NOT_SET: Final = ("vocab_size", "optimizer_options")  # of the data; of settings that an optimizer has
# What a setting of the training needs to have an effect: another one, and its values.
NEEDED: Final = {
    "averaging_interval": ("optimizer", ("asgd",)),
    "decay_after": ("schedule", ("decay-after",)),
    "floor": ("schedule", ("cosine", "linear")),
}
LARGEST: Final = 2**31 - 1  # whole number of a configuration; torch cannot multiply much larger ones


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
    fields: dict[str, Any] = {**chosen.model, **chosen.training}
    kinds = {**_kinds(config_class), **_kinds(TrainingConfig)}
    given = dict(_pairs(settings))
    optimizer = str(given.get("optimizer", fields.get("optimizer", TrainingConfig.optimizer))).lower()
    options = {name: one for name, one in options_of(optimizer).items() if name not in kinds}
    kinds |= options
    fields = {key: value for key, value in fields.items() if key in kinds}  # no options of another optimizer
    for key, value in given.items():
        if key not in kinds:
            known = ", ".join(sorted(kinds))
            raise ModelError(f"{key}: no such setting; expected key=value with a key of {known}")
        fields[key] = _value(key, value, kinds[key])
    own_options = {key: fields.pop(key) for key in options if key in fields}
    fields |= {"vocab_size": vocab_size, "optimizer_options": own_options}
    own = {one.name: one for one in dataclasses.fields(config_class)}
    for name, one in own.items():
        if name not in fields and one.init and one.default is one.default_factory:  # both MISSING
            raise ModelError(f"{kind.name}: {name} has no default; give --set {name}=VALUE, or a preset")
    model_config = config_class(**{key: value for key, value in fields.items() if key in own})
    training = TrainingConfig(**{key: value for key, value in fields.items() if key not in own})
    for name, (other, values) in NEEDED.items():
        if name in given and (found := getattr(training, other)) not in values:
            raise ModelError(
                f"{name} with {other}={found}: it has no effect; use {other}={' or '.join(values)}"
            )
    if training.optimizer not in ("sgd", "asgd") and getattr(model_config, "pointer_rate", 1.0) != 1.0:
        raise ModelError(
            f"pointer_rate={model_config.pointer_rate:g} with optimizer={training.optimizer}: it scales"
            f" gradients, which does not change its steps; use pointer_rate=1, or optimizer=sgd"
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
    """A model's configuration from a checkpoint's JSON."""
    kind = kind_of(model)
    config_class, model, values = kind.config, kind.name, completed_fields(kind, fields)
    advice = "use the version that wrote the checkpoint"
    if unknown := values.keys() - {field.name for field in dataclasses.fields(config_class)}:
        raise ModelError(f"{model} has no {', '.join(sorted(unknown))}; {advice}")
    for name, value in values.items():
        if _too_large(value):
            raise ModelError(f"{model}: {name} has a number beyond {LARGEST:,}; {advice}")
    try:
        return msgspec.convert(values, config_class)
    except msgspec.ValidationError as error:
        raise ModelError(f"{model}: {error}; {advice}") from error


def completed_fields(model: str | ModelKind, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint's fields of a model; those that did not exist when it was written as they were then."""
    config = kind_of(model).config
    return config.completed(fields) if issubclass(config, Config) else dict(fields)


BOOLEANS: Final = {"yes": True, "true": True, "no": False, "false": False}
KINDS: dict[object, tuple[str, Callable[[str], object]]] = {  # type: what is expected, and how it is read
    bool: ("yes or no", lambda text: BOOLEANS[text.lower()]),
    int: ("an integer", int),
    float: ("a number", float),
    tuple[int, ...]: (
        "integers separated by commas",
        lambda text: tuple(int(part) for part in text.split(",") if part),
    ),
    tuple[float, float]: ("two numbers separated by a comma", lambda text: _pair(*text.split(","))),
    float | None: ("a number or none", lambda text: None if text.lower() == "none" else float(text)),
    str: ("a name", str),
}


def _pair(first: str, second: str) -> tuple[float, float]:
    return float(first), float(second)


def _pairs(settings: Mapping[str, object] | Iterable[str]) -> Iterator[tuple[str, object]]:
    if isinstance(settings, Mapping):
        yield from settings.items()
        return
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ModelError(f"{setting}: expected key=value")
        yield key, text


def _value(key: str, value: object, kind: object) -> object:
    """A value of a setting, of the type of its field; texts are parsed."""
    expected, read = KINDS[kind]
    try:
        if kind is bool and isinstance(value, bool):
            return value
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        found = read(text)
    except (ValueError, KeyError, TypeError):
        raise ModelError(f"{key}={value}: expected {expected}") from None
    if key != "seed" and _too_large(found):
        raise ModelError(f"{key}={value}: expected at most {LARGEST:,}")
    return found


def _too_large(value: object) -> bool:
    numbers = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(number, int) and abs(number) > LARGEST for number in numbers)


PRESETS: Final[dict[str, Mapping[str, Preset]]] = {
    model: presets_of(FOLDER / f"{model}.toml", config) for model, (config, _) in MODELS.items()
}
