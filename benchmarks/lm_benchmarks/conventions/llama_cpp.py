"""llama.cpp's `llama-perplexity`: chunks of which only the second half is scored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from lm_benchmarks.conventions.convention import (
    Convention,
    Lengths,
    Prepared,
    Rule,
    Tokenizer,
    Window,
    mean_perplexity,
)
from lm_benchmarks.errors import HarnessError

ROUNDED: Final = 256  # pieces: the tool's context is a multiple of this


def prepare(file: str) -> list[Prepared]:
    """The file less its last newline."""
    text = file.removesuffix("\n")
    return [Prepared(text=text, file_bytes=len(text.encode()))]


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Chunks of n_ctx pieces; the mark of a start replaces the first one if the model adds such a mark.

    Half of a chunk is read before the first prediction that counts. With a stride, chunks overlap and the
    last `stride` pieces of each are scored; there the mark has no effect, because it is set too late. That is
    the tool's number for one sequence per batch: `-c WINDOW -b WINDOW --ppl-stride STRIDE`.

    Raises:
        HarnessError: The text is shorter than two chunks, which the tool refuses.
    """
    cut, length = tokenizer.cut(text, marks=True), _length(lengths)
    pieces = cut.pieces
    if len(pieces) < 2 * length:
        raise HarnessError(
            f"a text of {len(pieces)} pieces; llama.cpp's convention needs at least two chunks of {length}."
            " Choose a larger split, or a smaller `window`"
        )
    if lengths.stride is None:
        for begin in range(0, len(pieces) - length + 1, length):
            end = begin + length
            first = tokenizer.bos if tokenizer.adds_bos and tokenizer.bos is not None else pieces[begin]
            yield cut.window((first, *pieces[begin + 1 : end - 1]), begin + length // 2 + 1, end)
        return
    for begin in range(0, len(pieces) - length, lengths.stride):
        end = begin + length
        yield cut.window(pieces[begin : end - 1], end - lengths.stride, end)


def _length(lengths: Lengths) -> int:
    """Pieces of a chunk: with a stride half of it more, and then a multiple of 256."""
    length = lengths.window
    if lengths.stride is not None:
        length = math.ceil((length + lengths.stride // 2) / ROUNDED) * ROUNDED
    if lengths.longest is not None and length > lengths.longest:
        raise HarnessError(
            f"`window` {lengths.window} and `stride` {lengths.stride}: llama.cpp reads {length} pieces at"
            f" once; the model reads {lengths.longest}"
        )
    return length


LLAMA_CPP: Final = Convention(
    name="llama.cpp",
    signature="llama.cpp+050fc7f",
    scored="the second half of each chunk (255 of 512); a rest shorter than a chunk is dropped",
    context="the chunk: 256 to 510 pieces, after the mark of a start if the model has one",
    normaliser="pieces",
    preparation="the file less its last newline",
    source="ggml-org/llama.cpp tools/perplexity/perplexity.cpp@050fc7f, and 0c1e570 (stride mode)",
    proof="its own program llama-perplexity (0c1e570) on a Llama with random weights, also with a stride",
    known=(
        "Llama-1-7B 5.96 (its pull request 270), later ~5.91 (pull request 2714)",
        "Llama-1-13B, 4 bits, 5.60 (pull request 270)",
    ),
    window=512,
    can_stride=True,
    rule=Rule(prepare=prepare, windows=windows, number=mean_perplexity),
)
