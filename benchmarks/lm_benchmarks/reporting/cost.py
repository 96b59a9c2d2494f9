"""What a number cost: training, speed and FLOPs of the model, from its record.

A cost that a record does not have is None.
"""

from __future__ import annotations

import re
from typing import Final

from lm_benchmarks.records.result import Result
from lm_benchmarks.records.trained import Trained

THREADS: Final = re.compile(r"cpu \([^()]*, (\d+) threads\)$")  # as `ps_models.devices.device_name` writes it
CPU, GPU = "core", "GPU"


def core_hours(result: Result) -> float | None:
    """Hours of all trainings on CPUs up to their checkpoints, only of updates, times the threads.

    Sessions have no seconds of their own: of several with other threads the largest number counts. None if
    nothing was trained there, or if the seconds or the device of a training are unknown.
    """
    return _training_hours(result, CPU)


def gpu_hours(result: Result) -> float | None:
    """The same on GPUs; a run in several processes counts as one, because records do not say how many."""
    return _training_hours(result, GPU)


def _training_hours(result: Result, unit: str) -> float | None:
    units = [(one, unit_hours(one)) for one in result.trained]
    if any(own is None or one.seconds is None for one, own in units):
        return None
    return sum(one.seconds * own[1] for one, own in units if one.seconds and own and own[0] == unit) or None


def unit_hours(one: Trained) -> tuple[str, float] | None:
    """What a second of a training costs: CPU or GPU, and how many of its hours; None: not known."""
    if not one.sessions:
        return None
    threads = [THREADS.search(session) for session in one.sessions]
    if all(threads):
        return CPU, max(int(found[1]) for found in threads if found) / 3600
    return None if any(threads) or "not recorded" in one.sessions else (GPU, 1 / 3600)


def megaflops(result: Result) -> float | None:
    """Millions of floating-point operations per token."""
    return None if result.flops_per_token is None else result.flops_per_token / 1e6


def tokens_per_second(result: Result) -> float | None:
    """Tokens, or pieces where no tokens count, per second of the measurement without its checks."""
    count = result.total.tokens or result.total.pieces
    return count / result.seconds if result.seconds and count else None
