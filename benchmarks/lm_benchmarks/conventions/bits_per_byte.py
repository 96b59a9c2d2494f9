"""Compression as in live leaderboards (Uncheatable Eval): bits per byte of whole documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from lm_benchmarks.conventions.convention import (
    Convention,
    Lengths,
    Prepared,
    Rule,
    Scored,
    Tokenizer,
    Window,
)
from lm_benchmarks.lm_eval import pages_of


def prepare(file: str) -> list[Prepared]:
    """Each page as it is in the file."""
    return [Prepared(text=page, file_bytes=len(page.encode())) for page in pages_of(file)]


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Chunks, each after the mark of a start (or of an end, if there is none); every piece is scored."""
    cut = tokenizer.cut(text, marks=False)
    for begin in range(0, len(cut.pieces), lengths.window):
        end = min(begin + lengths.window, len(cut.pieces))
        yield cut.window((tokenizer.begin, *cut.pieces[begin : end - 1]), begin, end)


def bits_per_byte(scored: Sequence[Scored], texts: Sequence[Prepared]) -> float:
    """All bits over all bytes. A compression rate in percent is 12.5 times this."""
    return sum(one.nats for one in scored) / math.log(2) / sum(text.file_bytes for text in texts)


BITS_PER_BYTE: Final = Convention(
    name="bits-per-byte",
    signature="bits-per-byte+02d67c9",
    scored="every piece of each page",
    context="the page, in chunks of 4000 that do not overlap, each after the mark of a start",
    normaliser="UTF-8 bytes (the number is bits per byte, not a perplexity)",
    preparation="pages as they are in the file",
    source="Jellyfish042/uncheatable_eval evaluator.py@02d67c9, show_results_v2.ipynb@0c075fd (which rounds"
    " scores to bfloat16; here they are not rounded)",
    proof="its own function eval_hf_model (evaluator.py@02d67c9) on a Llama with random weights, without"
    " rounding to bfloat16",
    passage="page",
    window=4000,
    rule=Rule(prepare=prepare, windows=windows, number=bits_per_byte),
)
