"""The first updates of a training: whether a model of the published size can be trained, and how fast.

They do not say how good it will be. If the loss becomes infinite or NaN the run ends with an error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ps_models as pm
from lm_benchmarks.choices import UPDATES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.run import versions, written_now
from lm_benchmarks.records.first_updates import FirstUpdates, append_first_updates
from lm_benchmarks.records.training_of import training_of
from ps_models.configs import config_of, make_model
from ps_models.data.dataset import read_stream
from ps_models.devices import choose_device, device_name
from ps_models.processor import fitted_threads
from ps_models.training.checkpoint import LAST, Checkpoint, read_checkpoint
from ps_models.training.logs import UPDATES as UPDATES_LOG
from ps_models.training.loop import Pace, StoppedError
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.progress import Progress, no_progress


def first_updates(
    model: str,
    data: str | Path,
    *,
    preset: str | None = None,
    settings: Sequence[str] = (),
    updates: int = UPDATES,
    device: str = "auto",
    out: str | Path | None = None,
    results: str | Path | None = None,
    progress: Progress = no_progress,
) -> FirstUpdates:
    """Train a model for a few updates.

    Args:
        model: A name in `ps_models.models.MODELS`.
        data: The dataset.
        preset: A name in the model's presets; None: the model's defaults.
        settings: Hyperparameters, `key=value` each.
        updates: The number of updates.
        device: `auto`, `cpu`, `cuda` or `cuda:1`.
        out: A folder for the run: its log, and its checkpoint, which is large. A run that stopped there
            resumes. None: nothing is kept.
        results: A file of JSON lines to which the record is appended.
        progress: Receives the number of updates done.

    Raises:
        ToolkitError: Something is missing or wrong, the loss is not finite, or `out` holds another run.
        StoppedError: The user stopped it.
    """
    with nullcontext(out) if out is not None else TemporaryDirectory() as name:
        found = _first_updates(model, Path(data), Path(name), preset, settings, updates, device, progress)
    if results is not None:
        append_first_updates(Path(results), found)
    return found


def _first_updates(
    model: str,
    data: Path,
    folder: Path,
    preset: str | None,
    settings: Sequence[str],
    updates: int,
    device: str,
    progress: Progress,
) -> FirstUpdates:
    pace = Pace(max_updates=updates)
    options: dict[str, Any] = {"preset": preset, "settings": settings, "device": device, "pace": pace}
    try:
        pm.train(model, data, folder, **options, progress=progress)
    except StoppedError:
        if read_checkpoint(folder / LAST).facts["update"] < updates:  # the user stopped it
            raise
    checkpoint = read_checkpoint(folder / LAST, training=True)
    _expect_run(folder, checkpoint, (model, preset, updates))
    position = (checkpoint.training or {})["position"]
    epoch = len(read_stream(load_dataset(data), "train", checkpoint.vocabulary))  # tokens
    lines = (folder / UPDATES_LOG).read_text(encoding="utf-8").splitlines()
    how = training_of(checkpoint, folder / LAST, None)
    made = make_model(checkpoint.model, config_of(checkpoint.model, checkpoint.config))
    with fitted_threads(made, checkpoint.facts["training"]["batch_size"]):
        where = device_name(choose_device(device))
    return FirstUpdates(
        trained=replace(how, command=f"{how.command} --max-updates {updates}"),
        parameters=sum(parameter.numel() for parameter in made.parameters()),
        losses=tuple(round(json.loads(line)["loss"], 6) for line in lines),
        tokens=len(position["losses"]) * epoch + position["targets"],
        seconds=position["seconds"],
        device=where,
        versions=versions(),
        written=written_now(),
    )


def _expect_run(folder: Path, checkpoint: Checkpoint, wanted: tuple[str, str | None, int]) -> None:
    found = (checkpoint.model, checkpoint.facts["preset"], checkpoint.facts["update"])
    if found != wanted:
        there, expected = (
            f"{updates} updates of {model} with {preset}" for model, preset, updates in (found, wanted)
        )
        raise HarnessError(f"{folder}: holds {there}, expected {expected}; use another folder")
