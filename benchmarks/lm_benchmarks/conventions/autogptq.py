"""AutoGPTQ's `Perplexity`: llama.cpp's rule on Hugging Face's rows, with the mark of a start in any case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lm_benchmarks.conventions.convention import (
    LOOP,
    Convention,
    Lengths,
    Prepared,
    Rule,
    Tokenizer,
    Window,
    mean_perplexity,
)
from lm_benchmarks.conventions.rows import rows_of
from lm_benchmarks.errors import HarnessError

MOST_UNSCORED: Final = 512  # pieces at the start of a chunk: the tool's own limit


def prepare(file: str) -> list[Prepared]:
    """The rows one after another; a blank row is a space and a newline again, as in the official file."""
    text = "".join(row or " \n" for row in rows_of(file))
    return [Prepared(text=text, file_bytes=len(file.encode()))]


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Chunks whose first piece becomes the mark of a start; the second half is scored.

    Raises:
        HarnessError: The tokenizer has no mark of a start: the tool fails too.
    """
    if tokenizer.bos is None:
        raise HarnessError("the tokenizer has no mark of a start (BOS); autogptq's convention needs one")
    cut, length = tokenizer.cut(text, marks=True), lengths.window
    for begin in range(0, len(cut.pieces) - length + 1, length):
        end = begin + length
        first = begin + min(MOST_UNSCORED, length // 2) + 1
        yield cut.window((tokenizer.bos, *cut.pieces[begin + 1 : end - 1]), first, end)


AUTOGPTQ: Final = Convention(
    name="autogptq",
    signature="autogptq+b351c8c",
    scored="the second half of each chunk (255 of 512); a rest shorter than a chunk is dropped",
    context="the chunk: 256 to 510 pieces, after the mark of a start",
    normaliser="pieces",
    preparation="rows one after another, blank ones as a space and a newline: the official file",
    source="AutoGPTQ/AutoGPTQ auto_gptq/utils/perplexity_utils.py@b351c8c",
    proof=LOOP,
    known=("GPT2 27.23, open-llama-7B in 4 bits 8.30 (its pull request 166)",),
    window=512,
    rule=Rule(prepare=prepare, windows=windows, number=mean_perplexity),
)
