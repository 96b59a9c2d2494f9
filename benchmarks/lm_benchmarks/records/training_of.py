"""Reads from a checkpoint, and from the logs beside it, how it was trained."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path

from lm_benchmarks.records.lines import Json
from lm_benchmarks.records.trained import Trained, decisive, read_curve, recipe_of
from ps_models.configs import completed_fields, make_configs
from ps_models.errors import ModelError
from ps_models.presets import PRESETS
from ps_models.training.checkpoint import Checkpoint, checkpoint_file


def training_of(checkpoint: Checkpoint, path: Path, train_tokens: int | None) -> Trained:
    """How a checkpoint was trained.

    Args:
        checkpoint: The checkpoint.
        path: Its file or folder. The log is in the same folder.
        train_tokens: The number of tokens in the text that it was trained on, if known.
    """
    facts = checkpoint.facts
    preset, settings = _preset_and_settings(checkpoint)
    data = str(facts.get("data", "DATA"))
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
        model=completed_fields(checkpoint.model, checkpoint.config),
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


def _preset_and_settings(checkpoint: Checkpoint) -> tuple[str | None, tuple[str, ...]]:
    """The preset of a run, and what differs from it.

    Settings given one by one can be those of another preset: then it is a run of that one.
    """
    preset: str | None = checkpoint.facts.get("preset")
    settings = settings_of(checkpoint, preset)
    if decisive(settings):
        for other in PRESETS.get(checkpoint.model, {}):
            same = settings_of(checkpoint, other)
            if not decisive(same):
                return other, same
    return preset, settings


def settings_of(checkpoint: Checkpoint, preset: str | None) -> tuple[str, ...]:
    """What differs from a preset, as `key=value`; nothing if there is no such preset."""
    try:
        configs = make_configs(checkpoint.model, preset, (), len(checkpoint.vocabulary))
    except ModelError:  # of another version: the record has the whole configurations
        return ()
    wanted = {**asdict(configs[0]), **asdict(configs[1])}
    fields = completed_fields(checkpoint.model, checkpoint.config)
    found = {**fields, **checkpoint.settings}
    return tuple(
        f"{key}={_setting(found[key])}"
        for key, value in wanted.items()
        if key in found and found[key] != (list(value) if isinstance(value, tuple) else value)
    )


def _setting(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
