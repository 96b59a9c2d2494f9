"""The paper's own perplexity: of words, by a model that predicts words."""

from __future__ import annotations

from typing import Final

from lm_benchmarks.conventions.convention import TOKENS, Convention

PAPER: Final = Convention(
    name="paper",
    signature="paper",
    scored="every word, <unk>, and one <eos> per line",
    context="all words before it (models of pieces: half a window or more)",
    normaliser="words, <unk> and <eos>",
    preparation="none: the file of tokens, rare words are <unk>",
    source="Merity et al. (2016), arXiv 1609.07843",
    proof="the definition; the official files have the paper's numbers of tokens",
    known=("pointer sentinel-LSTM 70.9 (PTB), 80.8 (WikiText-2): the paper",),
    text="tokens",
    file=TOKENS,
)
