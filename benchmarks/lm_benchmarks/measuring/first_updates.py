"""The first updates of a training: whether a model of the published size can be trained, and how fast.

They do not say how good it will be. A record keeps the loss of each update. If the loss becomes infinite or
NaN the run ends with an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import ps_models as pm
from lm_benchmarks.choices import UPDATES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.run import versions, written_now
from lm_benchmarks.records.lines import append_line, object_of, plain_record, read_lines, strings, typed
from lm_benchmarks.records.trained import Trained, trained, trained_of_json
from ps_models.configs import config_of, make_model
from ps_models.devices import choose_device, device_name
from ps_models.processor import fitted_threads
from ps_models.training.checkpoint import LAST, Checkpoint, read_checkpoint
from ps_models.training.logs import UPDATES as UPDATES_LOG
from ps_models.training.loop import Pace, StoppedError
from wikitext_builder.progress import Progress, no_progress

FORMAT: Final = 1
ENDS: Final = 10  # updates: the mean loss of the first and of the last ones is reported


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUpdates:
    """How a training run began."""

    trained: Trained
    parameters: int
    losses: tuple[float, ...]  # nats per token, of each update before it changes the weights
    tokens: int  # that the updates scored
    seconds: float  # of the updates alone
    device: str
    versions: Mapping[str, str]
    written: str  # ISO 8601, UTC

    @property
    def first_loss(self) -> float:
        """The mean loss of the first ten updates."""
        return _mean(self.losses[:ENDS])

    @property
    def last_loss(self) -> float:
        """The mean loss of the last ten updates."""
        return _mean(self.losses[-ENDS:])


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
    if _updates(folder) < updates:
        options: dict[str, Any] = {"preset": preset, "settings": settings, "device": device}
        try:
            pace = Pace(max_updates=updates)
            pm.train(model, data, folder, **options, progress=progress, pace=pace)
        except StoppedError:
            if _updates(folder) < updates:  # the user did, not the number of updates
                raise
    checkpoint = read_checkpoint(folder / LAST, training=True)
    _expect_run(folder, checkpoint, (model, preset, updates))
    position = (checkpoint.training or {})["position"]
    lines = (folder / UPDATES_LOG).read_text(encoding="utf-8").splitlines()
    how = trained(checkpoint, folder / LAST, None)
    made = make_model(checkpoint.model, config_of(checkpoint.model, checkpoint.config))
    with fitted_threads(made, checkpoint.facts["training"]["batch_size"]):
        where = device_name(choose_device(device))
    return FirstUpdates(
        trained=replace(how, command=f"{how.command} --max-updates {updates}"),
        parameters=sum(parameter.numel() for parameter in made.parameters()),
        losses=tuple(round(json.loads(line)["loss"], 6) for line in lines),
        tokens=position["targets"],
        seconds=position["seconds"],
        device=where,
        versions=versions(),
        written=written_now(),
    )


def append_first_updates(path: Path, found: FirstUpdates) -> None:
    """Append a record to a file.

    Raises:
        HarnessError: The file cannot be written, or its last line is not whole.
    """
    append_line(path, json.dumps({"format": FORMAT, **asdict(found)}, ensure_ascii=False, allow_nan=False))


def read_first_updates(path: Path) -> list[FirstUpdates]:
    """The records of a file, in order.

    Raises:
        HarnessError: The file cannot be read, or a line is not such a record.
    """
    return read_lines(path, first_updates_of_json, writer="first_updates")


def first_updates_of_json(line: str) -> FirstUpdates:
    """The record of a line.

    Raises:
        ValueError: The line is not such a record.
    """
    found: FirstUpdates = plain_record(
        object_of(line, "first updates", FORMAT),
        FirstUpdates,
        trained=trained_of_json,
        losses=lambda items: tuple(
            typed(item, (int, float), "losses") for item in typed(items, list, "losses")
        ),
        versions=lambda value: strings(value, "versions"),
    )
    if not found.losses:
        raise ValueError("no update")
    return found


def _expect_run(folder: Path, checkpoint: Checkpoint, wanted: tuple[str, str | None, int]) -> None:
    found = (checkpoint.model, checkpoint.facts["preset"], checkpoint.facts["update"])
    if found != wanted:
        there, expected = (
            f"{updates} updates of {model} with {preset}" for model, preset, updates in (found, wanted)
        )
        raise HarnessError(f"{folder}: holds {there}, expected {expected}; use another folder")


def _updates(folder: Path) -> int:
    return int(read_checkpoint(folder / LAST).facts["update"]) if (folder / LAST).exists() else 0


def _mean(losses: Sequence[float]) -> float:
    return sum(losses) / len(losses)
