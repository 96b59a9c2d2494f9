"""ExLlama's `-ppl gptq-for-llama`: GPTQ's text and length, no mark, the tail kept, at most 128 chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lm_benchmarks.conventions.convention import (
    LOOP,
    Convention,
    Lengths,
    Rule,
    Tokenizer,
    Window,
    mean_perplexity,
)
from lm_benchmarks.conventions.rows import joined_rows

CHUNKS: Final = 128  # that are scored, at most


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Chunks without their first piece; the last one may be short."""
    cut, length = tokenizer.cut(text, marks=False), lengths.window
    for begin in range(0, min(len(cut.pieces), CHUNKS * length), length):
        end = min(begin + length, len(cut.pieces))
        if end - begin > 1:
            yield cut.window(cut.pieces[begin : end - 1], begin + 1, end)


EXLLAMA: Final = Convention(
    name="exllama",
    signature="exllama+3b013cd",
    scored="all pieces of a chunk but the first; at most 128 chunks",
    context="the chunk: 1 to 2047 pieces",
    normaliser="pieces",
    preparation="rows joined by two newlines; no mark",
    source="turboderp/exllama perplexity.py, tokenizer.py, datasets/download_datasets.py@3b013cd",
    proof=LOOP,
    text="joined-rows",
    window=2048,
    rule=Rule(prepare=joined_rows, windows=windows, number=mean_perplexity),
)
