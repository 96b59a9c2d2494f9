"""Megatron-LM's zero-shot task WIKITEXT103: pieces are predicted, words are counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lm_benchmarks.conventions.convention import (
    TOKENS,
    Convention,
    Lengths,
    Prepared,
    Rule,
    Scored,
    Tokenizer,
    Window,
    exp,
)
from lm_benchmarks.lm_eval import plain_text

HIGHEST: Final = 20.0  # nats per word that the tool shows, at most


def prepare(file: str) -> list[Prepared]:
    """The whole file through the detokenizer; words are what single spaces separate."""
    words = len(file.strip().split(" "))
    return [Prepared(text=plain_text(file), file_bytes=len(file.encode()), words=words)]


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Windows that begin every `stride` pieces, of which the last `stride` predictions are scored."""
    cut = tokenizer.cut(text, marks=True)
    length, stride = lengths.window, lengths.stride or lengths.window
    for begin in range(0, len(cut.pieces), stride):
        end = min(begin + length + 1, len(cut.pieces))
        first = begin + length - stride + 1 if begin else 1
        if first >= end:
            return
        yield cut.window(cut.pieces[begin : end - 1], first, end)


def adjusted_perplexity(scored: Sequence[Scored], texts: Sequence[Prepared]) -> float:
    """Per word: the loss per piece times the ratio of pieces to words, each less one."""
    return exp(min(HIGHEST, sum(one.nats for one in scored) / (texts[0].words - 1)))


MEGATRON: Final = Convention(
    name="megatron",
    signature="megatron+1bd2f7f",
    scored="every piece but the first",
    context="the window before it: all but 32 pieces of it, but for the first window",
    normaliser="words between single spaces, less one (its adjusted perplexity)",
    preparation="the file of tokens through its detokenizer",
    source="NVIDIA/Megatron-LM tasks/zeroshot_gpt/datasets.py@1bd2f7f, evaluate.py@178beeb,"
    " detokenizer.py@64f72f0",
    proof="its own code (datasets.py, detokenizer.py and evaluate.py@1bd2f7f) on a Llama with random weights;"
    " the model and what is for several GPUs are ours",
    known=("Megatron-LM 8.3B 10.81, 355M 19.31 (WikiText-103; Shoeybi et al. 2019, arXiv 1909.08053)",),
    text="untokenized",
    file=TOKENS,
    stride=32,
    can_stride=True,
    rule=Rule(prepare=prepare, windows=windows, number=adjusted_perplexity),
)
