"""Which of our models each row of the paper's tables is, at a small size and at the published size.

The recipe in each result says what a model is: the name of a baseline (`kn-5`), a model with its preset
(`lstm/gal-large`), or one of these with what is around it, as `lm-benchmarks run` writes it
(`mc:lstm/gal-large`, `mix:rnn-lda/mikolov,kn-5+cache`). Only recipes link published numbers to measured ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lm_benchmarks.records.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTraining:
    """A training of the published size by settings of ours."""

    recipe: str
    differs: str  # from the published one
    on: tuple[str, ...] = ("ptb",)  # the datasets that it is made for


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A row: a published model, and which of our models it is."""

    name: str  # as in lm_benchmarks.reporting.published, if a number is published
    small: str = ""  # recipe; "": no such size
    full: str = ""  # recipe of the published size; "": no preset
    full_on: Mapping[str, str] = field(default_factory=dict)  # by dataset, if it differs
    own: tuple[OwnTraining, ...] = ()  # the first one of a dataset is the one to reproduce
    one_size: bool = False  # it only counts: there is no smaller size

    def full_recipe(self, data: str) -> str:
        """The recipe of the published size on a dataset."""
        return self.full_on.get(data, self.full)

    def recipe(self, data: str, size: str) -> str:
        """The recipe of a size: `small`, `full`, or `own` (as `full` if we have no training of our own)."""
        if size == "own" and (own := self.own_on(data)):
            return own[0].recipe
        return self.small if size == "small" else self.full_recipe(data)

    def own_on(self, data: str) -> list[OwnTraining]:
        """Our own trainings of a dataset."""
        return [one for one in self.own if data in one.on]


TRAINED: Final = re.compile(r"[a-z0-9-]+/[a-z0-9-]+")  # a model with its preset, in a recipe
TIED: Final = "tied; Gal's dropout instead of zoneout"
SEGMENTS: Final = f"{TIED}; segments of 35 instead of K = 1"
SAMPLED: Final = "trained with a softmax of sampled words"
RATES_SAMPLED: Final = f"rates of ours; {SAMPLED}"
OURS_SAMPLED: Final = f"dropout and {RATES_SAMPLED}"
SHORT: Final = "shortened: 10 of 500 epochs, by SGD, with less dropout"
SHORT_ADAMW: Final = "shortened: 6 of 500 epochs, by AdamW, with less dropout"
MINIBATCHES: Final = "rows of words in place of one text; AdamW, dropout and weight decay"

ROWS: Final = (
    PaperRow(name="KN-5", full="kn-5", one_size=True),
    PaperRow(name="KN-5 + cache", full="kn-5+cache", one_size=True),
    PaperRow(
        name="RNN",
        small="rnn/elman",
        full="rnn/mikolov",
        own=(OwnTraining(recipe="rnn/mikolov-short", differs=MINIBATCHES),),
    ),
    PaperRow(
        name="RNN-LDA",
        small="rnn-lda/small",
        full="rnn-lda/mikolov",
        own=(OwnTraining(recipe="rnn-lda/mikolov-short", differs=MINIBATCHES),),
    ),
    PaperRow(
        name="RNN-LDA + KN-5 + cache",
        small="mix:rnn-lda/small,kn-5+cache",
        full="mix:rnn-lda/mikolov,kn-5+cache",
        own=(OwnTraining(recipe="mix:rnn-lda/mikolov-short,kn-5+cache", differs=MINIBATCHES),),
    ),
    PaperRow(name="Deep RNN", small="rnn/deep", full="rnn/pascanu"),
    PaperRow(name="Sum-product network", small="sum-product-network/small", full="sum-product-network/cheng"),
    PaperRow(
        name="LSTM Zaremba medium",
        small="lstm/small",
        full="lstm/zaremba-medium",
        own=(OwnTraining(recipe="lstm/zaremba-medium-short", differs=RATES_SAMPLED),),
    ),
    PaperRow(name="LSTM Zaremba large", small="lstm/small", full="lstm/zaremba-large"),
    PaperRow(
        name="LSTM Gal medium",
        small="lstm/gal-small",
        full="lstm/gal-medium",
        own=(
            OwnTraining(recipe="lstm/gal-medium-short", differs=OURS_SAMPLED),
            OwnTraining(recipe="lstm/gal-medium-wikitext-2", differs=OURS_SAMPLED, on=("wikitext-2",)),
        ),
    ),
    PaperRow(
        name="LSTM Gal medium, MC",
        small="mc:lstm/gal-small",
        full="mc:lstm/gal-medium",
        own=(OwnTraining(recipe="mc:lstm/gal-medium-short", differs=OURS_SAMPLED),),
    ),
    PaperRow(name="LSTM Gal large", small="lstm/gal-small", full="lstm/gal-large"),
    PaperRow(name="LSTM Gal large, MC", small="mc:lstm/gal-small", full="mc:lstm/gal-large"),
    PaperRow(
        name="CharCNN",
        small="char-cnn/small",
        full="char-cnn/kim-large",
        own=(OwnTraining(recipe="char-cnn/kim-large-short", differs=SAMPLED),),
    ),
    PaperRow(name="RHN variational", small="rhn/small", full="rhn/variational"),
    PaperRow(
        name="LSTM zoneout medium",
        small="lstm/zoneout-small",
        full="lstm/zoneout-medium",
        own=(
            OwnTraining(recipe="lstm/medium-tied-sgd", differs=TIED),
            OwnTraining(recipe="lstm/medium-tied", differs=f"{TIED}; AdamW"),
            OwnTraining(recipe="lstm/medium-tied-wikitext-2", differs=TIED, on=("wikitext-2",)),
        ),
    ),
    PaperRow(
        name="Pointer Sentinel-LSTM medium",
        small="pointer-sentinel-lstm/small",
        full="pointer-sentinel-lstm/medium-k1",
        own=(
            OwnTraining(recipe="pointer-sentinel-lstm/medium-tied-sgd", differs=SEGMENTS),
            OwnTraining(
                recipe="pointer-sentinel-lstm/medium-tied",
                differs=f"{TIED}; AdamW; segments of 70 instead of K = 1",
            ),
            OwnTraining(
                recipe="pointer-sentinel-lstm/medium-tied-wikitext-2",
                differs=f"{SEGMENTS}; {SAMPLED}",
                on=("wikitext-2",),
            ),
        ),
    ),
    PaperRow(name="unigram", full="unigram", one_size=True),
    PaperRow(
        name="LSTM zoneout + neural cache",
        small="cache:lstm/zoneout-small",
        full="cache:lstm/zoneout-medium",
        own=(
            OwnTraining(recipe="cache:lstm/medium-tied-sgd", differs=TIED),
            OwnTraining(recipe="cache:lstm/medium-tied-wikitext-2", differs=TIED, on=("wikitext-2",)),
        ),
    ),
    PaperRow(
        name="AWD-LSTM",
        small="awd-lstm/small",
        full="awd-lstm/ptb",
        full_on={"wikitext-2": "awd-lstm/wikitext-2"},
        own=(OwnTraining(recipe="awd-lstm/ptb-short", differs=SHORT),),
    ),
    PaperRow(
        name="AWD-LSTM + neural cache",
        small="cache:awd-lstm/small",
        full="cache:awd-lstm/ptb",
        full_on={"wikitext-2": "cache:awd-lstm/wikitext-2"},
        own=(OwnTraining(recipe="cache:awd-lstm/ptb-short", differs=SHORT),),
    ),
    PaperRow(
        name="RHN variational, tied",
        full="rhn/variational-tied",
        own=(OwnTraining(recipe="rhn/variational-tied-short", differs=SHORT_ADAMW),),
    ),
    PaperRow(name="LSTM Grave"),
    PaperRow(name="LSTM Grave + neural cache"),
    PaperRow(
        name="Transformer",
        small="transformer/small",
        full="transformer/medium",
        own=(OwnTraining(recipe="transformer/medium-short", differs="shortened: 9 of 64 epochs"),),
    ),
    PaperRow(name="Transformer-XL"),
)


def trained_in(recipe: str) -> list[str]:
    """The models of a recipe that are trained, with their presets.

    >>> trained_in("mix:rnn-lda/mikolov,kn-5+cache"), trained_in("kn-5")
    (['rnn-lda/mikolov'], [])
    """
    return [found[0] for found in TRAINED.finditer(recipe)]


def published_name(recipe: str, data: str) -> str:
    """The published model of a recipe of the full size; "" if there is none.

    >>> published_name("lstm/gal-large", "ptb"), published_name("lstm/gal-small", "ptb")
    ('LSTM Gal large', '')
    """
    return next((row.name for row in ROWS if recipe and row.full_recipe(data) == recipe), "")


def is_trained_on(result: Result, train: str) -> bool:
    """Returns True if all of a model of ours was made from the train file whose hash begins so."""
    counted = [part for part in result.recipe.removeprefix("mix:").split(",") if "/" not in part]
    return all(one.train_sha256.startswith(train) for one in result.trained) and all(
        f"{part}+{train}" in result.signature["model"] for part in counted
    )
