"""GPTQ's perplexity, and that of the many papers on quantization and pruning after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lm_benchmarks.conventions.convention import (
    LOOP,
    Convention,
    Lengths,
    Rule,
    Tokenizer,
    Window,
    weighted_perplexity,
)
from lm_benchmarks.conventions.rows import joined_rows


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Chunks of L pieces without their first one; what is left after the last whole chunk is dropped.

    The mean of a chunk's L - 1 losses weighs L, as if the first piece had been scored too.
    """
    cut, length = tokenizer.cut(text, marks=True), lengths.window
    for begin in range(0, len(cut.pieces) - length + 1, length):
        end = begin + length
        yield cut.window(cut.pieces[begin : end - 1], begin + 1, end, weight=length)


GPTQ: Final = Convention(
    name="gptq",
    signature="gptq+2d65066",
    scored="all pieces of a chunk but the first; a rest shorter than a chunk is dropped",
    context="the chunk: 1 to 2047 pieces",
    normaliser="pieces",
    preparation="rows joined by two newlines; at most one mark, at the start",
    source="IST-DASLab/gptq llama.py and datautils.py@2d65066; alike: IST-DASLab/sparsegpt"
    " datautils.py@54c8443, locuslab/wanda lib/eval.py@1317b0b",
    proof=LOOP,
    known=(
        "Llama-1-7B 5.68 (GPTQ's README)",
        "Llama-2-7B 5.47 (lm-evaluation-harness issue 2301, owq issue 3)",
    ),
    text="joined-rows",
    window=2048,
    rule=Rule(prepare=joined_rows, windows=windows, number=weighted_perplexity),
)

GPTQ_4096: Final = replace(
    GPTQ,
    name="gptq-4096",
    signature="gptq-4096+2d65066",
    context="the chunk: 1 to 4095 pieces",
    source="the same with a length of 4096: xvyaward/owq issue 3",
    known=("Llama-2-7B 5.12, Llama-2-13B 4.57 (owq issue 3)",),
    window=4096,
)
