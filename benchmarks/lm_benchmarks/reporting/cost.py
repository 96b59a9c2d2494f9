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
    units = [_hours(one) for one in result.trained]
    if None in units:
        return None
    return sum(hours for own, hours in filter(None, units) if own == unit) or None


def _hours(one: Trained) -> tuple[str, float] | None:
    if one.seconds is None or not one.sessions:
        return None
    threads = [THREADS.search(session) for session in one.sessions]
    if all(threads):
        return CPU, one.seconds / 3600 * max(int(found[1]) for found in threads if found)
    return None if any(threads) or "not recorded" in one.sessions else (GPU, one.seconds / 3600)


def megaflops(result: Result) -> float | None:
    """Millions of floating-point operations per token."""
    return None if result.flops_per_token is None else result.flops_per_token / 1e6


def tokens_per_second(result: Result) -> float | None:
    """Tokens, or pieces where no tokens count, per second of the measurement without its checks."""
    count = result.total.tokens or result.total.pieces
    return count / result.seconds if result.seconds and count else None
