"""How a checkpoint was trained: enough to train it again, and small enough for each of its results.

The module imports torch only to read a checkpoint, so that `compare` and `report` start at once.
"""

from __future__ import annotations

import csv
import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import Int63, Record, finite
from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig, finished
from ps_models.training.logs import EPOCHS

if TYPE_CHECKING:
    from ps_models.configs import ModelKind
    from ps_models.training.checkpoint import Checkpoint

ENDS: Final = ("epochs", "patience")  # settings


class Epoch(Record, frozen=True, kw_only=True):
    """A line of the log of a training run."""

    epoch: Int63
    updates: Int63
    train_perplexity: float | None  # None: infinite or NaN
    valid_perplexity: float | None
    seconds: float  # spent in updates, since the start


class Trained(Record, frozen=True, kw_only=True):
    """A checkpoint: its preset, what differs from the preset, and how long the training took."""

    ADDED: ClassVar = frozenset({"sessions"})
    recipe: str  # model/preset
    command: str  # trains it again, given the dataset
    settings: tuple[str, ...]  # key=value, what differs from the preset
    model: Mapping[str, Any]  # configuration
    training: Mapping[str, Any]  # configuration, the seed too
    data: str
    train_sha256: str
    epochs: Int63  # up to this checkpoint
    updates: Int63
    tokens: Int63 | None  # tokens of train times epochs; None: the train file is not there
    seconds: float | None  # of training; None: the folder has no log
    curve: tuple[Epoch, ...] = ()  # of the whole run, which may continue after this checkpoint
    sessions: tuple[str, ...] = ()  # by which code and device, in order

    def __post_init__(self) -> None:
        for name in (*ENDS, "seed"):
            if not isinstance(found := self.training.get(name, 0), int) or isinstance(found, bool):
                raise ValueError(f"training.{name} is {found!r:.40}, not a whole number")  # noqa: TRY004 - bad content
        try:
            _ = self.ends
        except ModelError as error:
            raise ValueError(f"training.{error}") from error

    @property
    def is_finished(self) -> bool:
        """Returns True if the run came to the end of its settings; else it was stopped before."""
        return finished(self.ends, losses_of(self.curve))

    @property
    def as_preset(self) -> bool:
        """Returns True if the run followed its preset to the end; precision and seed may differ."""
        return not decisive_settings(self.settings) and self.is_finished

    @property
    def ends(self) -> TrainingConfig:
        """A configuration that ends when this training does."""
        return TrainingConfig(**{key: self.training[key] for key in ENDS if key in self.training})


def losses_of(curve: Iterable[Epoch]) -> list[float]:
    """The losses of valid, in nats per token, by epoch; infinite where there is no perplexity."""
    perplexities = (epoch.valid_perplexity for epoch in curve)
    return [math.log(one) if one is not None and one > 0 else math.inf for one in perplexities]


def decisive_settings(settings: Iterable[str]) -> frozenset[str]:
    """The settings that make a run another one than its preset; precision and seed may differ."""
    return frozenset(one for one in settings if one.partition("=")[0] not in {"precision", "seed"})


def read_curve(folder: Path) -> tuple[Epoch, ...]:
    """The epochs of a training run; none if its folder has no log."""
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


def training_of(
    checkpoint: Checkpoint, path: Path, train_tokens: int | None, kind: ModelKind | None = None
) -> Trained:
    """How a checkpoint was trained, of so many tokens if known. The log is in the folder of `path`.

    `kind` is its model, if it is not one of ours.
    """
    from ps_models.configs import completed_fields
    from ps_models.training.checkpoint import checkpoint_file

    facts = checkpoint.facts
    model = kind or checkpoint.model
    preset, settings = _preset_and_settings(checkpoint, model)
    data = str(facts.get("data", "DATA"))
    curve = read_curve(checkpoint_file(path).parent)
    epochs, updates = int(facts.get("epoch", 0)), int(facts.get("update", 0))
    own = [line for line in curve if line.updates <= updates]
    line = ["ps-models", "train", checkpoint.model, data]
    line += ["--preset", preset] if preset else []
    portable = ("precision=auto" if one == "precision=bf16" else one for one in settings)
    line += [part for setting in portable for part in ("--set", setting)]
    return Trained(
        recipe=f"{checkpoint.model}/{preset}" if preset else checkpoint.model,
        command=shlex.join([*line, "--out", "RUN"]),
        settings=settings,
        model=completed_fields(model, checkpoint.config),
        training=checkpoint.settings,
        data=data,
        train_sha256=str(facts.get("train_sha256", "")),
        epochs=epochs,
        updates=updates,
        tokens=None if train_tokens is None else epochs * train_tokens,
        seconds=own[-1].seconds if own else None,
        curve=curve,
        sessions=checkpoint.sessions,
    )


def _preset_and_settings(
    checkpoint: Checkpoint, model: str | ModelKind
) -> tuple[str | None, tuple[str, ...]]:
    """The preset of a run, and what differs from it.

    Settings given one by one can be those of another preset: then it is a run of that one.
    """
    from ps_models.configs import kind_of

    preset: str | None = checkpoint.facts.get("preset")
    settings = settings_of(checkpoint, preset, model)
    if decisive_settings(settings):
        for other in kind_of(model).presets:
            same = settings_of(checkpoint, other, model)
            if not decisive_settings(same):
                return other, same
    return preset, settings


def settings_of(checkpoint: Checkpoint, preset: str | None, model: str | ModelKind) -> tuple[str, ...]:
    """What differs from a preset, as `key=value`; nothing if there is no such preset."""
    from ps_models.configs import completed_fields, make_configs

    try:
        configs = make_configs(model, preset, (), len(checkpoint.vocabulary))
    except ModelError:  # of another version: the record has the whole configurations
        return ()
    wanted = {**asdict(configs[0]), **asdict(configs[1])}
    fields = completed_fields(model, checkpoint.config)
    found = {**fields, **checkpoint.settings}
    options = found.pop("optimizer_options", {})  # each is a setting too; no preset has one
    wanted |= dict.fromkeys(options)
    found |= options
    return tuple(
        f"{key}={_setting(found[key])}"
        for key, value in wanted.items()
        if key in found and found[key] != (list(value) if isinstance(value, tuple) else value)
    )


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
