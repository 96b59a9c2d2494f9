"""Which of our models each row of the table is, at a small size and at the published one.

What a model is, is told by its recipe, which each result carries: the name of a baseline (`kn-5`), a model
with its preset (`lstm/gal-large`), or what was put around them, as `lm-benchmarks run` takes it
(`mc:lstm/gal-large`, `mix:rnn-lda/mikolov,kn-5+cache`). A published number is linked to a measured one by
nothing else than these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row of the table: a published model and what of ours it is."""

    name: str  # as in lm_benchmarks.reporting.published, where something is published
    small: str = ""  # recipe; "": no such size
    full: str = ""  # recipe of the published size; "": we have no preset of it
    full_on: Mapping[str, str] = field(default_factory=dict)  # by dataset, where it is another one
    one_size: bool = False  # it counts: it has no smaller size

    def full_recipe(self, data: str) -> str:
        """The recipe of the published size on a dataset."""
        return self.full_on.get(data, self.full)


ROWS: Final = (
    TableRow(name="KN-5", full="kn-5", one_size=True),
    TableRow(name="KN-5 + cache", full="kn-5+cache", one_size=True),
    TableRow(name="RNN", small="rnn/elman", full="rnn/mikolov"),
    TableRow(name="RNN-LDA", small="rnn-lda/small", full="rnn-lda/mikolov"),
    TableRow(
        name="RNN-LDA + KN-5 + cache",
        small="mix:rnn-lda/small,kn-5+cache",
        full="mix:rnn-lda/mikolov,kn-5+cache",
    ),
    TableRow(name="Deep RNN", small="rnn/deep", full="rnn/pascanu"),
    TableRow(name="Sum-product network", small="sum-product-network/small", full="sum-product-network/cheng"),
    TableRow(name="LSTM Zaremba medium", small="lstm/small", full="lstm/zaremba-medium"),
    TableRow(name="LSTM Zaremba large", small="lstm/small", full="lstm/zaremba-large"),
    TableRow(name="LSTM Gal medium", small="lstm/gal-small", full="lstm/gal-medium"),
    TableRow(name="LSTM Gal medium, MC", small="mc:lstm/gal-small", full="mc:lstm/gal-medium"),
    TableRow(name="LSTM Gal large", small="lstm/gal-small", full="lstm/gal-large"),
    TableRow(name="LSTM Gal large, MC", small="mc:lstm/gal-small", full="mc:lstm/gal-large"),
    TableRow(name="CharCNN", small="char-cnn/small", full="char-cnn/kim-large"),
    TableRow(name="RHN variational", small="rhn/small", full="rhn/variational"),
    TableRow(name="LSTM zoneout medium", small="lstm/zoneout-small", full="lstm/zoneout-medium"),
    TableRow(
        name="Pointer Sentinel-LSTM medium",
        small="pointer-sentinel-lstm/small",
        full="pointer-sentinel-lstm/medium-k1",
    ),
    TableRow(name="unigram", full="unigram", one_size=True),
    TableRow(
        name="LSTM zoneout + neural cache", small="cache:lstm/zoneout-small", full="cache:lstm/zoneout-medium"
    ),
    TableRow(
        name="AWD-LSTM",
        small="awd-lstm/small",
        full="awd-lstm/ptb",
        full_on={"wikitext-2": "awd-lstm/wikitext-2"},
    ),
    TableRow(
        name="AWD-LSTM + neural cache",
        small="cache:awd-lstm/small",
        full="cache:awd-lstm/ptb",
        full_on={"wikitext-2": "cache:awd-lstm/wikitext-2"},
    ),
    TableRow(name="RHN variational, tied", full="rhn/variational-tied"),
    TableRow(name="LSTM Grave"),
    TableRow(name="LSTM Grave + neural cache"),
    TableRow(name="Transformer", small="transformer/small", full="transformer/medium"),
    TableRow(name="Transformer-XL"),
)


def published_name(recipe: str, data: str) -> str:
    """The published model that a recipe is, at its full size; "" where none is.

    >>> published_name("lstm/gal-large", "ptb"), published_name("lstm/gal-small", "ptb")
    ('LSTM Gal large', '')
    """
    return next((row.name for row in ROWS if recipe and row.full_recipe(data) == recipe), "")
