"""Hugging Face's metric `perplexity` of the package `evaluate`: each row alone, the mean of perplexities."""

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
from lm_benchmarks.conventions.rows import rows_of
from lm_benchmarks.errors import HarnessError

SHOWN: Final = 40  # characters of a row in an error


def prepare(file: str) -> list[Prepared]:
    """The rows that are not blank, as in the examples of the metric."""
    return [Prepared(text=row, file_bytes=len(row.encode())) for row in rows_of(file) if row]


def windows(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """A row after the mark of a start; without such a mark its first piece is not scored.

    A window that the user chose is the metric's `max_length`: a longer row is cut off.

    Raises:
        HarnessError: A row has nothing to score, or is longer than the model reads: the metric fails too.
    """
    cut = tokenizer.cut(text, marks=False)
    start = () if tokenizer.bos is None else (tokenizer.bos,)
    end = len(cut.pieces)
    if lengths.asked:
        end = min(end, lengths.window - len(start))
    elif lengths.longest is not None and end + len(start) > lengths.longest:
        raise HarnessError(
            f"the row {text[:SHOWN]!r}… has {end} pieces; the model reads {lengths.longest}, so the metric of"
            " `evaluate` fails too. Choose a `window`, which is its max_length, to cut long rows off"
        )
    first = 1 - len(start)
    if end <= first:
        raise HarnessError(f"the row {text[:SHOWN]!r} has {end} pieces, so there is nothing to score")
    yield cut.window((*start, *cut.pieces[: end - 1]), first, end)


def mean_of_perplexities(scored: Sequence[Scored], _texts: Sequence[Prepared]) -> float:
    """The mean of the rows' perplexities; a short odd row can decide it."""
    return sum(exp(one.mean) for one in scored) / len(scored)


EVALUATE: Final = Convention(
    name="evaluate",
    signature="evaluate+a7dd338",
    scored="every piece of each row that is not blank",
    context="the row only, after the mark of a start if there is one",
    normaliser="pieces of a row; then the mean of the rows' perplexities",
    preparation="rows, blank ones left out",
    source="huggingface/evaluate metrics/perplexity/perplexity.py@a7dd338",
    proof="its own package, 0.4.6, with that file, on two random models",
    known=("Llama-2-7B 60.98 (its issue 560)",),
    text="rows",
    passage="row",
    rule=Rule(prepare=prepare, windows=windows, number=mean_of_perplexities),
)
