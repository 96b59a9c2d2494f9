"""How a checkpoint was trained: enough to train it again, and small enough for each of its results.

Without torch, so that `compare` and `report` start at once; `training_of.py` reads it from a checkpoint.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.fields import added
from lm_benchmarks.records.lines import Json, finite, plain_record, typed
from ps_models.errors import ModelError
from ps_models.training.config import TrainingConfig
from ps_models.training.logs import EPOCHS
from ps_models.training.schedules import finished

ENDS: Final = ("epochs", "patience")  # settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A line of the log of a training run."""

    epoch: int
    updates: int
    train_perplexity: float | None  # None: infinite or NaN
    valid_perplexity: float | None
    seconds: float  # spent in updates, since the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A checkpoint: its preset, what differs from the preset, and how long the training took."""

    recipe: str  # model/preset
    command: str  # trains it again, given the dataset
    settings: tuple[str, ...]  # key=value, what differs from the preset
    model: Mapping[str, Any]  # configuration
    training: Mapping[str, Any]  # configuration, the seed too
    data: str
    train_sha256: str
    epochs: int  # up to this checkpoint
    updates: int
    tokens: int | None  # tokens of train times epochs; None: the train file is not there
    seconds: float | None  # of training; None: the folder has no log
    curve: tuple[Epoch, ...] = ()  # of the whole run, which may continue after this checkpoint
    sessions: tuple[str, ...] = added(())  # by which code and device, in order; () in older records

    @property
    def is_finished(self) -> bool:
        """Returns True if the run came to the end of its settings; else it was stopped before."""
        return finished(self.ends, losses_of(self.curve))

    @property
    def as_preset(self) -> bool:
        """Returns True if the run followed its preset to the end; precision and seed may differ."""
        return not decisive(self.settings) and self.is_finished

    @property
    def ends(self) -> TrainingConfig:
        """A configuration that ends when this training does."""
        return TrainingConfig(**{key: self.training[key] for key in ENDS if key in self.training})


def losses_of(curve: Iterable[Epoch]) -> list[float]:
    """The losses of valid, in nats per token, by epoch; infinite where there is no perplexity."""
    perplexities = (epoch.valid_perplexity for epoch in curve)
    return [math.log(one) if one is not None and one > 0 else math.inf for one in perplexities]


def recipe_of(model: str, preset: str | None) -> str:
    """The name of a model with that of its preset.

    >>> recipe_of("lstm", "small"), recipe_of("lstm", None)
    ('lstm/small', 'lstm')
    """
    return f"{model}/{preset}" if preset else model


def decisive(settings: Iterable[str]) -> set[str]:
    """The names of the settings that make a run another one than its preset."""
    return {setting.partition("=")[0] for setting in decisive_settings(settings)}


def decisive_settings(settings: Iterable[str]) -> frozenset[str]:
    """The settings that make a run another one than its preset; precision and seed may differ."""
    return frozenset(one for one in settings if one.partition("=")[0] not in {"precision", "seed"})


def read_curve(folder: Path) -> tuple[Epoch, ...]:
    """The epochs of a training run; none if its folder has no log.

    Raises:
        HarnessError: The log is not of the format.
    """
    path = folder / EPOCHS
    if not path.is_file():
        return ()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(
                Epoch(
                    epoch=int(row["epoch"]),
                    updates=int(row["updates"]),
                    train_perplexity=finite(float(row["train_perplexity"])),
                    valid_perplexity=finite(float(row["valid_perplexity"])),
                    seconds=float(row["training_seconds"]),
                )
                for row in csv.DictReader(file)
            )
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise HarnessError(f"{path}: {error!r}; expected the log of a run of `ps-models train`") from error


def trained_of_json(value: object) -> Trained:
    """How a checkpoint was trained, from a JSON object.

    Raises:
        ValueError: A field is missing, unknown, or not of its type.
    """
    found: Trained = plain_record(
        value,
        Trained,
        settings=lambda items: _texts(items, "settings"),
        sessions=lambda items: _texts(items, "sessions"),
        curve=lambda items: tuple(plain_record(item, Epoch) for item in typed(items, list, "curve")),
    )
    for name in (*ENDS, "seed"):
        if name in found.training:
            typed(found.training[name], int, name)
    try:
        _ = found.ends
    except ModelError as error:
        raise ValueError(f"training.{error}") from error
    return found


def _texts(items: Json, name: str) -> tuple[str, ...]:
    return tuple(typed(item, str, name) for item in typed(items, list, name))
