"""lm-evaluation-harness' task `wikitext`: pages, its detokenizer, windows that do not overlap."""

from __future__ import annotations

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
    exp,
)
from lm_benchmarks.lm_eval import pages_of, plain_text, word_count


def prepare(file: str) -> list[Prepared]:
    """Each page, without tokenization."""
    return [
        Prepared(text=plain_text(page), file_bytes=len(page.encode()), words=word_count(page))
        for page in pages_of(file)
    ]


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Windows that do not overlap. Each begins with the piece before it; earlier pieces fill the last one.

    Marks that the tokenizer adds are pieces of the text, unless the text has the first one already.
    """
    cut = tokenizer.cut(text, marks=not text.startswith(tokenizer.begin_mark))
    known = (tokenizer.begin, *cut.pieces)
    for begin in range(0, len(cut.pieces), lengths.window):
        end = min(begin + lengths.window, len(cut.pieces))
        yield cut.window(known[max(0, end - lengths.window) : end], begin, end)


def word_perplexity(scored: Sequence[Scored], texts: Sequence[Prepared]) -> float:
    """All nats over the words of the pages as they are in the file."""
    return exp(sum(one.nats for one in scored) / sum(text.words for text in texts))


LM_EVAL: Final = Convention(
    name="lm-eval",
    signature="lm-eval.wikitext.2",
    scored="every piece of each page",
    context="the page, in windows that do not overlap; the last one is filled up",
    normaliser="words of the raw page, between white space",
    preparation="pages; its detokenizer",
    source="EleutherAI/lm-evaluation-harness, tasks/wikitext/preprocess_wikitext.py and models/huggingface.py"
    " (version 0.4.13)",
    proof="its own package and program, 0.4.13, on two random models",
    known=(
        "Llama-2-7B 8.79 (its pull request 833), 8.71 (issue 2301)",
        "Llama-2-7B 0.5865 bits per byte (pull request 833)",
    ),
    text="untokenized",
    passage="page",
    rule=Rule(prepare=prepare, windows=windows, number=word_perplexity),
)
