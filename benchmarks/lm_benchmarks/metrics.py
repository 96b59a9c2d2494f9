"""What a number of a language model is divided by, said out loud.

Two published perplexities differ as often by their denominator as by their model: with `<eos>` or without, by
words or by pieces of words, by the bytes of the tokenized or of the untokenized text. Here everything is
summed first, in a `Tally`, and each `Metric` names its numerator and its denominator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Final

from ps_models.evaluation.score import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How a stretch of text was predicted, in numbers that add up; 0 where something was not counted.

    >>> (Tally(nats=2.0, tokens=1) + Tally(nats=4.0, tokens=2)).score.perplexity == math.exp(2)
    True
    """

    nats: float = 0.0  # -log p of the whole stretch
    eos_nats: float = 0.0  # the part of it that is of <eos>
    unknown_nats: float = 0.0  # the part of it that is of <unk>
    tokens: int = 0  # words, <unk> and <eos>
    eos: int = 0
    unknown: int = 0
    pieces: int = 0  # what the model itself predicts one by one: parts of words, or the tokens
    bytes: int = 0  # UTF-8 of the tokens parted by a space, a newline a line
    text_bytes: int = 0  # UTF-8 of the text as scored, untokenized, a newline a line
    page_words: int = 0  # lm-evaluation-harness: parts of the page between white space
    page_bytes: int = 0  # lm-evaluation-harness: UTF-8 of the page as it lies in the file

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            **{name: getattr(self, name) + getattr(other, name) for name in Tally.__dataclass_fields__}
        )

    @property
    def score(self) -> Score:
        """Nats, tokens and bytes, as the paper counts."""
        return Score(self.nats, self.tokens, self.bytes)

    @property
    def is_sound(self) -> bool:
        """Whether all is counted in finite numbers that are not negative, parts no more than the whole."""
        return (
            all(math.isfinite(value) for value in astuple(self))
            and all(getattr(self, name) >= 0 for name in COUNTS)
            and self.eos + self.unknown <= self.tokens
        )


COUNTS: Final = tuple(name for name, field in Tally.__dataclass_fields__.items() if field.type == "int")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number of a tally: what is summed, what it is divided by, and how the quotient is shown."""

    label: str  # for the head of a column
    numerator: str
    denominator: str
    parts: Callable[[Tally], tuple[float, int]]
    bits: bool = False  # the quotient in bits; else its exponential, a perplexity

    def of(self, tally: Tally) -> float | None:
        """The number; None where the denominator was not counted."""
        nats, count = self.parts(tally)
        if not count:
            return None
        if self.bits:
            return nats / math.log(2) / count
        try:
            return math.exp(nats / count)
        except OverflowError:
            return math.inf


METRICS: Final[dict[str, Metric]] = {
    "perplexity": Metric(
        label="perplexity",
        numerator="nats of all tokens",
        denominator="words, <unk> and one <eos> a line, blank lines included (the paper)",
        parts=lambda tally: (tally.nats, tally.tokens),
    ),
    "perplexity-without-eos": Metric(
        label="perplexity without <eos>",
        numerator="nats of all tokens but <eos>",
        denominator="words and <unk>",
        parts=lambda tally: (tally.nats - tally.eos_nats, tally.tokens - tally.eos),
    ),
    "perplexity-known": Metric(
        label="perplexity of known words",
        numerator="nats of all tokens but <eos> and <unk>",
        denominator="words of the vocabulary",
        parts=lambda tally: (
            tally.nats - tally.eos_nats - tally.unknown_nats,
            tally.tokens - tally.eos - tally.unknown,
        ),
    ),
    "piece-perplexity": Metric(
        label="perplexity of pieces",
        numerator="nats of the whole text",
        denominator="pieces of words, as the model's own tokenizer cuts (tokens, for a model of words)",
        parts=lambda tally: (tally.nats, tally.pieces),
    ),
    "bits-per-byte": Metric(
        label="bits per byte",
        numerator="bits of the whole text",
        denominator="UTF-8 bytes of the untokenized text, <unk> as it is written",
        parts=lambda tally: (tally.nats, tally.text_bytes),
        bits=True,
    ),
    "bits-per-token-byte": Metric(
        label="bits per byte of the tokens",
        numerator="bits of the whole text",
        denominator="UTF-8 bytes of the tokens, parted by a space, a newline a line",
        parts=lambda tally: (tally.nats, tally.bytes),
        bits=True,
    ),
    "lm-eval-word-perplexity": Metric(
        label="word perplexity (lm-eval)",
        numerator="nats of the whole page",
        denominator="parts of the page between white space, no <eos> (lm-evaluation-harness, wikitext)",
        parts=lambda tally: (tally.nats, tally.page_words),
    ),
    "lm-eval-byte-perplexity": Metric(
        label="byte perplexity (lm-eval)",
        numerator="nats of the whole page",
        denominator="UTF-8 bytes of the tokenized page (lm-evaluation-harness, wikitext)",
        parts=lambda tally: (tally.nats, tally.page_bytes),
    ),
    "lm-eval-bits-per-byte": Metric(
        label="bits per byte (lm-eval)",
        numerator="bits of the whole page",
        denominator="UTF-8 bytes of the tokenized page (lm-evaluation-harness, wikitext)",
        parts=lambda tally: (tally.nats, tally.page_bytes),
        bits=True,
    ),
}
