"""How fast a model trains here: a few seconds of real updates, kept for the next time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import ps_models as pm
from lm_benchmarks.record_versions import Int63, Record
from lm_benchmarks.records.lines import append_record, has_lines, of_line, read_lines
from lm_benchmarks.reproducing.conditions import settings_text
from lm_benchmarks.reproducing.plan import Texts, TrainingJob
from lm_benchmarks.reproducing.state import TrainingState
from ps_models.processor import given_threads
from ps_models.training.checkpoint import LAST, read_checkpoint
from ps_models.training.loop import RunLimits, StoppedError

SECONDS: Final = 8.0  # of updates; the first of them also warms up
SPEEDS: Final = "speeds.jsonl"


class Speed(Record, frozen=True, kw_only=True):
    """The speed of a training, in tokens per second."""

    recipe: str
    settings: str  # as `settings_text` writes them
    threads: Int63
    tokens_per_second: float


def known_speeds(folder: Path, settings: Sequence[str], threads: int) -> dict[str, float]:
    """The speeds that were measured before, by recipe.

    Raises:
        HarnessError: The file is not of the format.
    """
    path = folder / SPEEDS
    found = read_lines(path, _speed_of_json, writer="reproduce") if has_lines(path) else []
    key = (settings_text(settings), threads)
    return {one.recipe: one.tokens_per_second for one in found if (one.settings, one.threads) == key}


def measure_speed(
    one: TrainingState, data: Path, folder: Path, settings: Sequence[str], texts: Texts, threads: int
) -> float:
    """Train for some seconds, and keep the speed in the folder.

    Returns:
        Tokens per second.

    Raises:
        ToolkitError: The model cannot be trained on this dataset.
        StoppedError: The user stopped it.
    """
    # Chunks at the start of the text have fewer tokens before them to read again, and take less time.
    short = math.ceil(one.config.lookback / one.config.stride)
    with given_threads(threads), TemporaryDirectory() as name:
        run, before = Path(name), (0, 0.0)
        if short:
            before = _trained(one.job, data, run, settings, texts, RunLimits(max_updates=short))
        after = _trained(one.job, data, run, settings, texts, RunLimits(max_seconds=SECONDS))
    if after == before:  # it has no more epochs
        before = 0, 0.0
    found = Speed(
        recipe=one.job.recipe,
        settings=settings_text(settings),
        threads=threads,
        tokens_per_second=(after[0] - before[0]) / max(after[1] - before[1], 1e-9),
    )
    append_record(folder / SPEEDS, found)
    return found.tokens_per_second


def _trained(
    job: TrainingJob, data: Path, run: Path, settings: Sequence[str], texts: Texts, limits: RunLimits
) -> tuple[int, float]:
    """Train until a limits stops it; returns all tokens and seconds of the run so far."""
    began, stopped = time.monotonic(), None
    try:
        pm.train(job.model, data, run, preset=job.preset, settings=settings, limits=limits)
    except StoppedError as error:
        stopped = error
    position = (read_checkpoint(run / LAST, training=True).training or {})["position"]
    most = limits.max_updates
    ended = time.monotonic() - began >= SECONDS if most is None else position["update"] >= most
    if stopped and not ended:  # the user did
        raise stopped
    return len(position["losses"]) * texts.train + position["targets"], position["seconds"]


def _speed_of_json(line: str) -> Speed:
    return of_line(line, Speed, "a speed")
