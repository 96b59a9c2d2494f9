"""How well a model predicted a text, in numbers that add up."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Score:
    """How well a model predicted a text. Scores of disjoint texts add up: sum first, then divide once.

    >>> (Score(nats=2.0, tokens=1, bytes=4) + Score(nats=4.0, tokens=2, bytes=8)).perplexity == math.exp(2)
    True
    """

    nats: float = 0.0  # -log p of the whole text, the natural logarithm
    tokens: int = 0  # that were predicted, including <eos>
    bytes: int = 0  # UTF-8, of the text as scored: tokens separated by a space, lines ended by a newline

    def __add__(self, other: Score) -> Score:
        return Score(self.nats + other.nats, self.tokens + other.tokens, self.bytes + other.bytes)

    @property
    def perplexity(self) -> float:
        """The exponential of the mean nats per token; infinite if that overflows.

        Raises:
            ZeroDivisionError: There are no tokens.
        """
        try:
            return math.exp(self.nats / self.tokens)
        except OverflowError:
            return math.inf

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of text: comparable between models with different tokens.

        Raises:
            ZeroDivisionError: There are no bytes.
        """
        return self.nats / math.log(2) / self.bytes
