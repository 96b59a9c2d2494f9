"""Sums of a scored text, and the metrics computed from them.

Two published perplexities often differ by their denominator, not by their models: with `<eos>` or without, by
words or by pieces of words, by the bytes of the tokenized or of the plain text. Here everything is summed
first, in `Sums`, and each `Metric` names its numerator and its denominator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from importlib.resources import files
from operator import sub
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from lm_benchmarks.lm_eval import plain_text, word_count
from ps_models.signature import Score
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.tokens.detokenizer import detokenize_line

if TYPE_CHECKING:
    from torch import Tensor

    from ps_models.dataset import Text


Int63 = Annotated[int, msgspec.Meta(ge=-(2**63) + 1, le=2**63 - 1)]  # fits every reader of JSON


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a stored measurement; unknown fields are rejected because they could change its meaning."""


class Sums(Record, frozen=True, kw_only=True):
    """How a model predicted a stretch of text, in numbers that add up; 0: not counted.

    >>> (Sums(nats=2.0, tokens=1) + Sums(nats=4.0, tokens=2)).score.perplexity == math.exp(2)
    True
    """

    nats: float = 0.0  # -log p of the whole stretch
    eos_nats: float = 0.0  # of these, the nats of <eos>
    unknown_nats: float = 0.0  # of these, the nats of <unk>
    tokens: Int63 = 0  # words, <unk> and <eos>
    eos: Int63 = 0
    unknown: Int63 = 0
    pieces: Int63 = 0  # predictions of the model itself: pieces of words, or the tokens
    bytes: Int63 = 0  # UTF-8 of the tokens, separated by a space, with a newline per line
    text_bytes: Int63 = 0  # UTF-8 of the plain text, with a newline per line
    page_words: Int63 = 0  # lm-evaluation-harness: words of the page, between white space
    page_bytes: Int63 = 0  # lm-evaluation-harness: UTF-8 of the page as it is in the file
    file_bytes: Int63 = 0  # windows: UTF-8 of what the scored pieces stand for in the file

    def __add__(self, other: Sums) -> Sums:
        return Sums(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})

    @property
    def score(self) -> Score:
        """Nats, tokens and bytes, counted as in the paper."""
        return Score(self.nats, self.tokens, self.bytes)

    @property
    def is_sound(self) -> bool:
        """Returns True if all numbers are finite, no count is negative, and no subset exceeds the whole."""
        return (
            all(math.isfinite(value) for value in msgspec.structs.astuple(self))
            and all(getattr(self, name) >= 0 for name in COUNTS)
            and self.eos + self.unknown <= self.tokens
        )


COUNTS: Final = tuple(name for name in Sums.__struct_fields__ if not name.endswith("nats"))


def sums_of(
    text: Text,
    nats: Tensor,
    vocabulary: Vocabulary,
    *,
    pieces: int,
    page: str = "",
    read: Tensor | None = None,
) -> Sums:
    """Return the sums of a text that was scored token by token: `nats` are their -log p, (time,).

    `page` is the text as it is in the file, if pages are counted. `read` are the tokens as the model reads
    them; if its vocabulary is smaller, more of them are `<unk>`, 0.
    """
    eos = text.tokens == vocabulary.ids[EOS]
    unknown = (text.tokens if read is None else read) == vocabulary.ids[UNK]
    lines = [detokenize_line(line, None) for line in lines_of(text.tokens, vocabulary)]
    return Sums(
        nats=float(nats.sum()),
        eos_nats=float(nats[eos].sum()),
        unknown_nats=float(nats[unknown].sum()),
        tokens=len(text.tokens),
        eos=int(eos.sum()),
        unknown=int(unknown.sum()),
        pieces=pieces,
        bytes=text.bytes,
        text_bytes=sum(len(line.encode()) + 1 for line in lines),
        page_words=word_count(page) if page else 0,
        page_bytes=len(page.encode()),
        file_bytes=len(page.encode()),
    )


def sums_of_page(page: str, nats: float, *, pieces: int) -> Sums:
    """Return the sums of a page of a file that was scored as plain text, as lm-evaluation-harness does."""
    return Sums(
        nats=nats,
        pieces=pieces,
        text_bytes=len(plain_text(page).encode()),
        page_words=word_count(page),
        page_bytes=len(page.encode()),
        file_bytes=len(page.encode()),
    )


def lines_of(tokens: Tensor, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the lines of a text, (time,), as tokens separated by spaces."""
    words: list[str] = []
    for token in vocabulary.decode(tokens.tolist()):
        if token == EOS:
            yield " ".join(words)
            words = []
        else:
            words.append(token)


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number computed from sums: a numerator, a denominator, and the form of their quotient."""

    label: str  # in tables
    numerator: str
    denominator: str
    nats: tuple[str, ...]  # fields of `Sums`; the later ones are subtracted from the first
    count: tuple[str, ...]  # the divisor, in the same way
    bits: bool = False  # True: the quotient in bits; False: its exponential, a perplexity

    def quotient(self, sums: Sums) -> tuple[float, int]:
        """Return the nats and their divisor."""
        nats, count = (
            reduce(sub, (getattr(sums, name) for name in names)) for names in (self.nats, self.count)
        )
        return nats, count

    def of(self, sums: Sums) -> float | None:
        """Return the number; None if the denominator was not counted."""
        nats, count = self.quotient(sums)
        if not count:
            return None
        return Score(nats, bytes=count).bits_per_byte if self.bits else Score(nats, count).perplexity


METRICS: Final = msgspec.toml.decode(
    files("lm_benchmarks").joinpath("metrics.toml").read_bytes(), type=dict[str, Metric]
)
"""The metrics, in the order in which tables show them."""
