"""Tries the laws of a language model on a model of pieces, at random windows of a run.

`WatchedReader` stands between a run and its model and keeps a random sample of the windows. `try_windows`
repeats them in other ways: alone, in two parts, with other pieces later, once more, and over all pieces that
can follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from lm_benchmarks.conventions.convention import Reader, Tokenizer, Window
from lm_benchmarks.measuring.trials import FEW, PLACES, Trials, budget_of
from lm_benchmarks.records.result import Tried

LAWS: Final = ("sum", "chunks", "batch", "future", "memory")
LEAST: Final = 6  # windows that the trials of one window read, about
EACH: Final = 10  # targets whose scores may together differ by the tolerance


class WatchedReader:
    """A reader that scores as the one it stands for, and keeps a random sample of its windows."""

    def __init__(self, reader: Reader, *, seed: int) -> None:
        """Watch a reader.

        Args:
            reader: Is called as it is.
            seed: Of the sample.
        """
        self.longest = reader.longest
        self.pieces = 0  # that were read
        self.targets = 0
        self._reader = reader
        self._generator = torch.Generator().manual_seed(seed)
        self._kept: list[tuple[float, Window, float]] = []

    @property
    def text_pieces(self) -> Tokenizer:
        """How its tokenizer cuts plain texts."""
        return self._reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window."""
        found = self._reader.window_nats(windows)
        for window, nats in zip(windows, found, strict=True):
            self.pieces += len(window.inputs)
            self.targets += len(window.targets)
            key = float(torch.rand((), generator=self._generator))
            if len(self._kept) < PLACES or key > self._kept[-1][0]:
                self._kept = sorted([*self._kept, (key, window, nats)], key=lambda kept: -kept[0])[:PLACES]
        return found

    def sample(self) -> list[tuple[Window, float]]:
        """Windows and their scores, in random order."""
        return [(window, nats) for _, window, nats in self._kept]


@dataclass(slots=True, kw_only=True)
class _Trials(Trials):
    """Trials of a reader of windows."""

    reader: Reader

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
    trials = _Trials(reader=reader, tolerance=tolerance, budget=budget_of(watched.pieces), seed=seed)
    some = list(dict.fromkeys(piece for window, _ in sample for piece in window.targets))[:FEW]
    tried: list[tuple[Window, float]] = []
    for window, nats in sample:
        if trials.places and trials.spent + LEAST * len(window.inputs) > trials.budget:
            continue
        trials.places += 1
        trials.deepest = max(trials.deepest, len(window.inputs))
        (alone,) = trials.nats(window)
        trials.expect("batch", alone, nats, len(window.targets), "alone")
        _parts(trials, window, alone, some)
        _sum(trials, window, some)
        tried.append((window, alone))
    for window, alone in tried[:: max(1, len(tried) // LEAST)]:
        (again,) = trials.nats(window)
        trials.expect("memory", again, alone, len(window.targets), "when they are scored again")
    return dict.fromkeys(LAWS, "") | trials.findings(), trials.tried(watched.targets, unit="pieces")


def _parts(trials: _Trials, window: Window, nats: float, some: Sequence[int]) -> None:
    """A window is the sum of its parts, and what comes later does not change the first one."""
    inputs, targets = tuple(window.inputs), tuple(window.targets)
    if len(targets) < 2:
        return
    cut = 1 + trials.draw(len(targets) - 1)
    end = len(inputs) - len(targets) + cut  # of what is read before the last target of the first part
    first, rest = trials.nats(Window(inputs[:end], targets[:cut]), Window(inputs, targets[cut:]))
    trials.expect("chunks", first + rest, nats, len(targets), f"in parts of {cut} and {len(targets) - cut}")
    later = tuple(some[trials.draw(len(some))] for _ in targets[cut:])
    changed = (*inputs[: end + 1], *later[:-1])
    whole, tail = trials.nats(Window(changed, targets[:cut] + later), Window(changed, later))
    trials.expect("future", whole - tail, first, len(targets), f"when {len(later)} later pieces change")


def _sum(trials: _Trials, window: Window, some: Sequence[int]) -> None:
    """The probabilities of all pieces, or of some, sum to at most one."""
    place = trials.draw(len(window.targets))
    inputs = tuple(window.inputs)[: len(window.inputs) - len(window.targets) + place + 1]
    target = window.targets[place]
    every = getattr(trials.reader, "next_log_probs_of", lambda _: None)(inputs)
    if every is not None:
        trials.spent += len(inputs)
        (nats,) = trials.nats(Window(inputs, (target,)))
        trials.expect("sum", nats, -float(every[target]), 1, "from those of all pieces at once")
        trials.whole += 1
        total, count = float(every.exp().sum()), len(every)
        low = 1 - trials.tolerance
    else:
        left = (trials.budget - trials.spent) / PLACES / len(inputs)
        pieces = [target, *(piece for piece in some if piece != target)][: max(2, int(left))]
        scores = trials.nats(*_nexts(inputs, pieces))
        total, count, low = sum(math.exp(-score) for score in scores), len(pieces), 0.0
        trials.fewest = min(count, trials.fewest or count)
    if not low <= total <= 1 + trials.tolerance:
        trials.note("sum", f"the probabilities of {count} pieces sum to {total:.6f} after {len(inputs)}")


def _nexts(inputs: Sequence[int], pieces: Sequence[int]) -> Iterator[Window]:
    return (Window(inputs, (piece,)) for piece in pieces)
