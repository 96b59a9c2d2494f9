"""Spot-checks the laws of a language model on a model of pieces, at random windows of a run.

`WatchedReader` keeps a random sample of the windows. `try_windows` repeats them in other ways: alone, in two
parts, with other pieces later, once more, and over all pieces that can follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lm_benchmarks.conventions.convention import Reader, Window
from lm_benchmarks.measuring.run_samples import FEW, PLACES, Trials, WatchedReader
from lm_benchmarks.records.result import Tried

LEAST: Final = 6  # windows that the trials of one window read, about
EACH: Final = 10  # targets whose scores may together differ by the tolerance


@dataclass(slots=True, kw_only=True)
class _WindowTrials(Trials):
    """Trials of a reader of windows."""

    reader: Reader
    some: Sequence[int]  # pieces to replace others by, and to sum over

    def nats(self, *windows: Window) -> list[float]:
        """Score windows, and count what it costs."""
        self.spent += sum(len(window.inputs) for window in windows)
        return self.reader.window_nats(windows)

    def expect(self, law: str, found: float, expected: float, targets: int, when: str) -> None:
        """Note a law as broken where scores differ."""
        worst = abs(found - expected)
        if not worst <= self.tolerance * max(1.0, targets / EACH):
            self.note(law, f"scores of {targets} pieces differ by {worst:.3g} nats {when}")


def try_windows(
    watched: WatchedReader, reader: Reader, *, tolerance: float = 1e-3, seed: int = 1
) -> tuple[dict[str, str], Tried]:
    """Try the laws at random windows of a run.

    Args:
        watched: The reader of the run.
        reader: The model itself.
        tolerance: Nats that the score of a piece may differ by.
        seed: Of the places.

    Returns:
        By law, what breaks it, "" if the model keeps it; and what was tried.
    """
    sample = watched.sample()
    some = list(dict.fromkeys(piece for window, _ in sample for piece in window.targets))[:FEW]
    trials = _WindowTrials(run=watched.pieces, seed=seed, tolerance=tolerance, reader=reader, some=some)
    tried: list[tuple[Window, float]] = []
    for window, nats in sample:
        if trials.places and trials.spent + LEAST * len(window.inputs) > trials.budget:
            continue
        trials.places += 1
        trials.deepest = max(trials.deepest, len(window.inputs))
        (alone,) = trials.nats(window)
        trials.expect("batch", alone, nats, len(window.targets), "alone")
        _parts(trials, window, alone)
        _sum(trials, window)
        tried.append((window, alone))
    for window, alone in tried[:: max(1, len(tried) // LEAST)]:
        (again,) = trials.nats(window)
        trials.expect("memory", again, alone, len(window.targets), "when they are scored again")
    findings = dict.fromkeys(WINDOW_LAWS, "") | trials.findings()
    return findings, trials.tried(unit="pieces", targets=watched.targets)


def _parts(trials: _WindowTrials, window: Window, nats: float) -> None:
    """A window is the sum of its parts, and what comes later does not change the first one."""
    inputs, targets = tuple(window.inputs), tuple(window.targets)
    if len(targets) < 2:
        return
    cut = 1 + trials.draw(len(targets) - 1)
    end = len(inputs) - len(targets) + cut  # of what is read before the last target of the first part
    first, rest = trials.nats(Window(inputs[:end], targets[:cut]), Window(inputs, targets[cut:]))
    trials.expect("chunks", first + rest, nats, len(targets), f"in parts of {cut} and {len(targets) - cut}")
    later = tuple(trials.some[trials.draw(len(trials.some))] for _ in targets[cut:])
    changed = (*inputs[: end + 1], *later[:-1])
    whole, tail = trials.nats(Window(changed, targets[:cut] + later), Window(changed, later))
    trials.expect("future", whole - tail, first, len(targets), f"when {len(later)} later pieces change")


def _sum(trials: _WindowTrials, window: Window) -> None:
    """The probabilities of all pieces, or of some, sum to at most one."""
    place = trials.draw(len(window.targets))
    inputs = tuple(window.inputs)[: len(window.inputs) - len(window.targets) + place + 1]
    target = window.targets[place]
    every = getattr(trials.reader, "next_log_probs_of", lambda _: None)(inputs)
    if every is not None:
        trials.spent += len(inputs)
        (nats,) = trials.nats(Window(inputs, (target,)))
        trials.expect("sum", nats, -float(every[target]), 1, "from those of all pieces at once")
        total, count = float(every.exp().sum()), len(every)
    else:
        left = (trials.budget - trials.spent) / PLACES / len(inputs)
        pieces = [target, *(piece for piece in trials.some if piece != target)][: max(2, int(left))]
        scores = trials.nats(*(Window(inputs, (piece,)) for piece in pieces))
        total, count = sum(math.exp(-score) for score in scores), len(pieces)
    low = 0.0 if every is None else 1 - trials.tolerance
    sound = low <= total <= 1 + trials.tolerance
    broken = f"the probabilities of {count} pieces sum to {total:.6f} after {len(inputs)}"
    trials.note_sum(count, whole=every is not None, broken="" if sound else broken)


WINDOW_LAWS: Final = ("sum", "chunks", "batch", "future", "memory")
