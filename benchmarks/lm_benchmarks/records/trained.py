"""How a checkpoint was trained, small enough to stand in each result of it: enough to train it again."""

from __future__ import annotations

import csv
import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lm_benchmarks.records.lines import finite, plain_record, typed
from ps_models.configs import make_configs
from ps_models.errors import ModelError
from ps_models.training.checkpoint import Checkpoint, checkpoint_file
from ps_models.training.config import TrainingConfig
from ps_models.training.logs import EPOCHS
from ps_models.training.schedules import finished
from wikitext_builder.errors import BuilderError


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A line of the log of a training run."""

    epoch: int
    updates: int
    train_perplexity: float | None  # None: too great for a number
    valid_perplexity: float | None
    seconds: float  # spent in updates, since the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A checkpoint: which preset it was made by, what of that was changed, and how long it took."""

    recipe: str  # model/preset
    command: str  # trains it again, given the dataset
    settings: tuple[str, ...]  # key=value, where it differs from the preset
    model: Mapping[str, Any]  # configuration
    training: Mapping[str, Any]  # configuration, the seed too
    data: str
    train_sha256: str
    epochs: int  # that this checkpoint has seen
    updates: int
    tokens: int | None  # that it was trained on, each as often as it was seen; None: train is not at hand
    seconds: float | None  # of training; None: the log is not beside the checkpoint
    curve: tuple[Epoch, ...] = ()  # of the whole run, which may go on after this checkpoint

    @property
    def as_preset(self) -> bool:
        """Whether all was as its preset says, to the end; arithmetic and seed may be others."""
        changed = {setting.partition("=")[0] for setting in self.settings} - {"precision", "seed"}
        ends = {key: self.training[key] for key in ("epochs", "patience") if key in self.training}
        losses = [math.log(epoch.valid_perplexity or math.inf) for epoch in self.curve]
        return not changed and finished(TrainingConfig(**ends), losses)


def recipe_of(model: str, preset: str | None) -> str:
    """A model's name with its preset's.

    >>> recipe_of("lstm", "small"), recipe_of("lstm", None)
    ('lstm/small', 'lstm')
    """
    return f"{model}/{preset}" if preset else model


def trained(checkpoint: Checkpoint, path: Path, train_tokens: int | None) -> Trained:
    """How a checkpoint was trained.

    Args:
        checkpoint: It.
        path: Its file or folder, beside which the log lies.
        train_tokens: In the text that it was trained on, if known.
    """
    facts = checkpoint.facts
    preset, data = facts.get("preset"), str(facts.get("data", "DATA"))
    settings = settings_of(checkpoint)
    curve = read_curve(checkpoint_file(path).parent)
    epochs, updates = int(facts.get("epoch", 0)), int(facts.get("update", 0))
    own = [line for line in curve if line.updates <= updates]
    line = ["ps-models", "train", checkpoint.model, data]
    line += ["--preset", preset] if preset else []
    line += [part for setting in settings for part in ("--set", setting)]
    return Trained(
        recipe=recipe_of(checkpoint.model, preset),
        command=shlex.join([*line, "--out", "RUN"]),
        settings=settings,
        model=checkpoint.config,
        training=facts.get("training", {}),
        data=data,
        train_sha256=str(facts.get("train_sha256", "")),
        epochs=epochs,
        updates=updates,
        tokens=None if train_tokens is None else epochs * train_tokens,
        seconds=own[-1].seconds if own else None,
        curve=curve,
    )


def settings_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """What was set beside the preset, as `--set` takes it; a preset that is no more differs in nothing."""
    preset, size = checkpoint.facts.get("preset"), len(checkpoint.vocabulary)
    try:
        configs = make_configs(checkpoint.model, preset, (), size)
    except ModelError:  # of another version: the configurations in the record still tell all
        return ()
    wanted = {**asdict(configs[0]), **asdict(configs[1])}
    found = {**checkpoint.config, **checkpoint.facts.get("training", {})}
    return tuple(
        f"{key}={_setting(found[key])}"
        for key, value in wanted.items()
        if key in found and found[key] != (list(value) if isinstance(value, tuple) else value)
    )


def _setting(value: Any) -> str:  # noqa: ANN401 - as JSON gives it
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def read_curve(folder: Path) -> tuple[Epoch, ...]:
    """The epochs of a training run; none where its folder has no log.

    Raises:
        BuilderError: The log is not of the format.
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
        raise BuilderError(f"{path}: {error!r}; expected the log of a run of `ps-models train`") from error


def trained_of_json(value: object) -> Trained:
    """How a checkpoint was trained, out of a JSON object.

    Raises:
        ValueError: A field is missing, unknown, or not of its type.
    """
    found: Trained = plain_record(
        value,
        Trained,
        settings=lambda items: tuple(typed(item, str, "settings") for item in typed(items, list, "settings")),
        curve=lambda items: tuple(plain_record(item, Epoch) for item in typed(items, list, "curve")),
    )
    return found
