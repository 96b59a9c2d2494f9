"""What trials of a model's laws may cost, count and find, whatever they repeat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import torch

from lm_benchmarks.records.result import Tried

PLACES: Final = 50  # of a run: a break at 6% of all places is then found in 95% of the cases
SHARE: Final = 0.25  # of the predictions of the run that the trials may cost,
FLOOR: Final = 20_000  # or this many, if the run is short
FEW: Final = 512  # words or pieces, if a sum has only an upper bound


def budget_of(tokens: int) -> int:
    """Predictions that the trials of a run of so many tokens may cost."""
    return max(FLOOR, int(SHARE * tokens))


@dataclass(slots=True, kw_only=True)
class Trials:
    """What was tried and found so far."""

    tolerance: float  # nats that a score may differ by
    budget: int  # predictions
    seed: int
    generator: torch.Generator = field(init=False)
    spent: int = 0  # predictions
    places: int = 0
    whole: int = 0  # sums over the whole vocabulary
    fewest: int | None = None  # words of a sum over a part of the vocabulary
    deepest: int = 0  # tokens before a place
    found: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The seed fixes what is drawn."""
        self.generator = torch.Generator().manual_seed(self.seed)

    def draw(self, end: int) -> int:
        """A random number below `end`."""
        return int(torch.randint(max(1, end), (), generator=self.generator))

    def note(self, law: str, what: str) -> None:
        """Note a law as broken."""
        self.found.setdefault(law, []).append(what)

    def findings(self) -> dict[str, str]:
        """By broken law, what breaks it first, and at how many places."""
        return {
            law: f"{whats[0]}; so at {len(whats)} of {self.places} random places"
            for law, whats in self.found.items()
        }

    def tried(self, tokens: int, *, unit: str = "tokens") -> Tried:
        """What was tried, of a run that predicted so many tokens."""
        return Tried(
            seed=self.seed,
            tokens=tokens,
            places=self.places,
            whole=self.whole,
            fewest=self.fewest,
            deepest=self.deepest,
            predictions=self.spent,
            unit=unit,
        )
