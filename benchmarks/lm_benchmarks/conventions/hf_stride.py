"""Hugging Face's documentation: overlapping windows, of which only the new pieces are scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lm_benchmarks.conventions.convention import (
    LOOP,
    Convention,
    Lengths,
    Prepared,
    Rule,
    Scored,
    Tokenizer,
    Window,
    exp,
    weighted_perplexity,
)
from lm_benchmarks.conventions.rows import joined_rows


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Windows that begin every `stride` pieces, until one reaches the end.

    The mean loss of a window weighs one less than its new pieces. That is the number of its losses only in
    the first window, whose first piece is not predicted: later windows weigh a little too little. A last
    window of a single piece, which is possible without overlap, has no loss: the page's code then prints nan,
    and here it is left out.
    """
    cut = tokenizer.cut(text, marks=True)
    pieces, stride = cut.pieces, lengths.stride or lengths.window
    done = 0
    for begin in range(0, len(pieces), stride):
        end = min(begin + lengths.window, len(pieces))
        first = max(done, begin + 1)
        if first < end:
            yield cut.window(pieces[begin : end - 1], first, end, weight=end - max(done, begin) - 1)
        done = end
        if end == len(pieces):
            return


def mean_of_windows(scored: Sequence[Scored], _texts: Sequence[Prepared]) -> float:
    """The exponential of the mean of the windows' mean losses, each window alike."""
    return exp(sum(one.mean for one in scored) / len(scored))


HF_STRIDE: Final = Convention(
    name="hf-stride",
    signature="hf-stride+052b1dc",
    scored="the new pieces of each window",
    context="the window before them: at least its length less 512, but for the first window",
    normaliser="pieces; a window's mean weighs its new pieces less one",
    preparation="rows joined by two newlines; at most one mark, at the start",
    source="huggingface/transformers docs/source/en/perplexity.md@052b1dc",
    proof=LOOP,
    known=("GPT2-large 16.44; with a stride of 1024, 19.44 (the same page)",),
    text="joined-rows",
    stride=512,
    can_stride=True,
    rule=Rule(prepare=joined_rows, windows=windows, number=weighted_perplexity),
)

HF_STRIDE_MEAN: Final = replace(
    HF_STRIDE,
    name="hf-stride-mean",
    signature="hf-stride-mean",
    normaliser="windows: the mean of their means, also of a short last one",
    source="the same page in earlier versions, and code copied from it",
    known=("GPT2-large 16.45 (earlier versions of the page)",),
    rule=Rule(prepare=joined_rows, windows=windows, number=mean_of_windows),
)
