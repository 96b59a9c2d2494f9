"""Hyperparameters by name, each with its source: one TOML file per model, which has the name of the model.

A preset is a table with `about`, and the settings of `model` and `training` that differ from the defaults.
`use` names parts that a table begins with: `[parts.NAME]` of the same file, or of shared.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from ps_models.errors import ModelError
from ps_models.models import MODELS
from ps_models.training.config import TrainingConfig

FOLDER: Final = Path(__file__).parent
Table = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What differs from the defaults of a model's configuration and of the training's."""

    about: str  # one line; a published number is what others report, not what the preset reached here
    model: Table = field(default_factory=dict)
    training: Table = field(default_factory=dict)


def _tables(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _settings(table: Table, parts: Mapping[str, Table], known: frozenset[str], where: str) -> dict[str, Any]:
    """The settings of a table after those of the parts that it uses; TOML has lists in place of tuples."""
    found: dict[str, Any] = {}
    for name in table.get("use", ()):
        found |= _settings(parts[name], parts, known, f"{where} {name}")
    own = {
        key: tuple(each) if isinstance(each, list) else each for key, each in table.items() if key != "use"
    }
    if unknown := own.keys() - known:
        raise ModelError(f"presets: {where} has {', '.join(sorted(unknown))}; expected a field of its model")
    return found | own


def _presets(model: str) -> dict[str, Preset]:
    tables = _tables(model)
    parts = _tables("shared")["parts"] | tables.pop("parts", {})
    known = {
        part: frozenset(each.name for each in fields(config))
        for part, config in (("model", MODELS[model][0]), ("training", TrainingConfig))
    }
    return {
        name: Preset(
            about=table["about"],
            **{
                part: _settings(table.get(part, {}), parts, names, f"{model}/{name}")
                for part, names in known.items()
            },
        )
        for name, table in tables.items()
    }


PRESETS: Final[dict[str, Mapping[str, Preset]]] = {
    path.stem: _presets(path.stem) for path in sorted(FOLDER.glob("*.toml")) if path.stem in MODELS
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
