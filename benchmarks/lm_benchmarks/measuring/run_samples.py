"""Keeps random samples of a run, and counts what checking invariants on them costs and finds.

`Watched` and `WatchedReader` stand between a run and its model. `invariant_checks` repeats the calls of a
word model; `try_windows` repeats the windows of a subword model: alone, in two parts, with other later
pieces, once more, and over all pieces that can follow.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import torch
from torch import Tensor

from lm_benchmarks.conventions.convention import Reader, Tokenizer, Window
from lm_benchmarks.records import Tried
from ps_models.invariants import SUMS, copies
from ps_models.language_model import LanguageModel

PLACES: Final = 50  # of a run: a break at 6% of all places is then found in 95% of the cases
SHARE: Final = 0.25  # of the predictions of the run that the trials may cost,
FLOOR: Final = 20_000  # or this many, if the run is short
FEW: Final = 512  # words or pieces, if a sum has only an upper bound
DIRECTED: Final = ("chunks", "future")  # laws whose breaks make scores better, or worse, everywhere
ENOUGH: Final = 8  # places from which on a direction counts
SIGMAS: Final = 5.0  # standard errors that chance keeps within

Model = LanguageModel[Any]
State = Any  # each model has its own
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Trials:
    """Checks and findings so far at random places of a run, and their budget."""

    run: int  # tokens or pieces of the run
    seed: int  # fixes what is drawn
    tolerance: float  # nats that a score may differ by
    budget: int = field(init=False)  # predictions
    generator: torch.Generator = field(init=False)
    spent: int = 0  # predictions
    places: int = 0
    at: int = 0  # the place that is tried, from 1
    whole: int = 0  # sums over the whole vocabulary
    fewest: int | None = None  # words of a sum over a part of the vocabulary
    deepest: int = 0  # tokens before a place
    found: dict[str, dict[int, str]] = field(default_factory=dict)  # by law and place: what breaks it first
    traces: dict[str, None] = field(default_factory=dict)  # of exceptions in code that is not ours
    moved: dict[str, list[float]] = field(default_factory=dict)  # by law, nats by which scores were higher

    def __post_init__(self) -> None:
        self.budget = self.limit
        self.generator = torch.Generator().manual_seed(self.seed)

    @property
    def limit(self) -> int:
        """The budget at the start."""
        return max(FLOOR, int(SHARE * self.run))

    def can_afford(self, least: int) -> bool:
        """Whether the budget allows this many more predictions, or nothing was checked yet."""
        return not self.places or self.spent + least <= self.budget

    def begin_place(self) -> None:
        """Count a place; what is noted from now on is of it."""
        self.places += 1
        self.at = self.places

    def draw(self, end: int) -> int:
        """A random number below `end`."""
        return int(torch.randint(max(1, end), (), generator=self.generator))

    def note(self, law: str, *whats: str) -> None:
        """Note a violation at the current place; "" is none."""
        for broken in filter(None, whats):
            self.found.setdefault(law, {}).setdefault(self.at, broken)

    def move(self, law: str, *nats: float) -> None:
        """Note by how many nats compared scores were higher, where violations have one direction."""
        if law in DIRECTED and math.isfinite(moved := sum(nats)):  # others are noted as what they are
            self.moved.setdefault(law, []).append(moved)

    def note_sum(self, count: int, *, whole: bool, broken: str) -> None:
        """Count a sum of probabilities, and note what breaks it."""
        if whole:
            self.whole += 1
        else:
            self.fewest = min(count, self.fewest or count)
        self.note("sum", broken)

    def biases(self) -> dict[str, str]:
        """By violated invariant, how far scores move in one direction over all places.

        Rounding moves them up as often as down. A look ahead, or a gain by larger chunks, has one direction,
        even where it is smaller than the tolerance of a low precision at each place.
        """
        found = {}
        for law, moved in self.moved.items():
            mean = statistics.fmean(moved)
            error = statistics.stdev(moved) / math.sqrt(len(moved)) if len(moved) >= ENOUGH else math.inf
            if abs(mean) > max(SUMS, SIGMAS * error):
                found[law] = f"scores move by {mean:+.3g} nats on average over {len(moved)} random places"
        return found

    def findings(self) -> dict[str, str]:
        """By violated invariant, the first violation, and at how many places."""
        return self.biases() | {
            law: f"{next(iter(whats.values()))}; so at {len(whats)} of {self.places} random places"
            for law, whats in self.found.items()
        }

    def tried(
        self, *, unit: str = "tokens", targets: int | None = None, tolerance: float | None = None
    ) -> Tried:
        """What was checked; `targets` is the run's number of predictions, if that is not its length."""
        return Tried(
            seed=self.seed,
            tokens=self.run if targets is None else targets,
            places=self.places,
            whole=self.whole,
            fewest=self.fewest,
            deepest=self.deepest,
            predictions=self.spent,
            tolerance=tolerance,
            unit=unit,
        )


@dataclass(slots=True)
class Call:
    """A call of the run, with the call that continues it if there is one."""

    depth: int  # tokens of the text before it
    tokens: Tensor  # (batch, time)
    state: State
    scores: Tensor  # (batch, time)
    first: int  # how many of the tokens are of the call itself


class _Sample(Generic[T]):
    """Weighted reservoir sampling: what has the largest keys (Efraimidis and Spirakis 2006)."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self._kept: list[tuple[float, int, T]] = []
        self._offered = 0

    def keep(self, item: T, *, cost: float = 1.0, most: int = PLACES) -> bool:
        """Offer an item, with the inverse of its weight; returns whether it is kept."""
        key = float(torch.rand((), generator=self._generator)) ** cost
        self._offered += 1
        entry = (key, self._offered, item)
        self._kept = sorted([*self._kept, entry], reverse=True, key=lambda kept: kept[:2])[:most]
        return any(kept is entry for kept in self._kept)

    def items(self) -> list[T]:
        """What is kept, in random order."""
        return [item for *_, item in self._kept]


class Watched:
    """A model that scores as the one it stands for, and keeps a random sample of the calls.

    A call is kept with a probability that is proportional to its tokens, and to the inverse of what it costs
    to come back to it.
    """

    def __init__(self, model: Model, *, seed: int, reread: int = 0) -> None:
        """Watch a model; `seed` fixes the sample, `reread` is as in `LoadedModel`."""
        self.tokens = 0  # of all calls
        self._model, self._reread = model, reread
        self._sample = _Sample[Call](seed)
        self._depth, self._most = 0, PLACES
        self._last: tuple[Any, Call | None] = (None, None)

    def initial_state(self, batch_size: int) -> State:
        """The start of `batch_size` texts."""
        self._depth = 0
        return self._model.initial_state(batch_size)

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score tokens; see `LanguageModel`."""
        scores, after = self._model(tokens, state)
        before, call = self._last
        if call is not None and state is before:  # the sample also has what comes after a call
            call.tokens = torch.cat([call.tokens, tokens], dim=1)
            call.scores = torch.cat([call.scores, scores.detach()], dim=1)
        self._last = after, self._keep(Call(self._depth, tokens, state, scores.detach(), tokens.shape[1]))
        self.tokens += tokens.numel()
        self._depth += tokens.shape[1]
        return scores, after

    def calls(self) -> list[Call]:
        """The sample, in random order."""
        return self._sample.items()

    def _keep(self, call: Call) -> Call | None:
        self._most = min(self._most, copies(call.state))
        cost = 1 + min(call.depth, self._reread) / max(1, call.tokens.shape[1])
        is_kept = self._sample.keep(call, cost=cost / max(1, call.tokens.numel()), most=self._most)
        return call if is_kept else None


class WatchedReader:
    """A reader that scores as the one it stands for, and keeps a random sample of its windows."""

    def __init__(self, reader: Reader, *, seed: int) -> None:
        """Watch a reader; `seed` fixes the sample."""
        self.longest = reader.longest
        self.pieces = self.targets = 0  # of all windows
        self._reader, self._sample = reader, _Sample[tuple[Window, float]](seed)

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
            self._sample.keep((window, nats))
        return found

    def sample(self) -> list[tuple[Window, float]]:
        """Windows and their scores, in random order."""
        return self._sample.items()


LEAST: Final = 6  # windows that the trials of one window read, about
EACH: Final = 10  # targets whose scores may together differ by the tolerance


@dataclass(slots=True, kw_only=True)
class _WindowTrials(Trials):
    """Trials of a reader of windows."""

    reader: Reader
    some: Sequence[int]  # pieces to replace others by, and to sum over

    def nats(self, *windows: Window) -> list[float]:
        self.spent += sum(len(window.inputs) for window in windows)
        return self.reader.window_nats(windows)

    def expect(self, law: str, found: float, expected: float, targets: int, when: str) -> None:
        worst = abs(found - expected)
        self.move(law, found - expected)
        if not worst <= self.tolerance * max(1.0, targets / EACH):
            self.note(law, f"scores of {targets} pieces differ by {worst:.3g} nats {when}")


def try_windows(
    watched: WatchedReader, reader: Reader, *, tolerance: float = 1e-3, seed: int = 1
) -> tuple[dict[str, str], Tried]:
    """Check invariants at random windows of a watched run; `reader` is the model itself.

    Returns what violates each invariant, "" if nothing does, and what was checked.
    """
    sample = watched.sample()
    some = list(dict.fromkeys(piece for window, _ in sample for piece in window.targets))[:FEW]
    trials = _WindowTrials(run=watched.pieces, seed=seed, tolerance=tolerance, reader=reader, some=some)
    tried: list[tuple[int, Window, float]] = []
    for window, nats in sample:
        if not trials.can_afford(LEAST * len(window.inputs)):
            continue
        trials.begin_place()
        trials.deepest = max(trials.deepest, len(window.inputs))
        (alone,) = trials.nats(window)
        trials.expect("batch", alone, nats, len(window.targets), "alone")
        _parts(trials, window, alone)
        _sum(trials, window)
        tried.append((trials.at, window, alone))
    for trials.at, window, alone in tried[:: max(1, len(tried) // LEAST)]:
        (again,) = trials.nats(window)
        trials.expect("memory", again, alone, len(window.targets), "when they are scored again")
    findings = dict.fromkeys(WINDOW_LAWS, "") | trials.findings()
    inexact = None if tolerance <= SUMS else tolerance
    return findings, trials.tried(unit="pieces", targets=watched.targets, tolerance=inexact)


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
    low = 0.0 if every is None else 1 - SUMS
    sound = low <= total <= 1 + SUMS
    broken = f"the probabilities of {count} pieces sum to {total:.6f} after {len(inputs)}"
    trials.note_sum(count, whole=every is not None, broken="" if sound else broken)


WINDOW_LAWS: Final = ("sum", "chunks", "batch", "future", "memory")
