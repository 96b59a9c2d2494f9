r"""The functions that conventions consist of: prepare a file, cut a text into windows, compute a number.

`conventions.toml` names them; REGISTRY has its conventions. Where a tool fails, the function raises a
HarnessError that says so. Rows are those of the data set `wikitext` on Hugging Face's hub: one per line of
the official file, with its spaces and its newline; a line of only white space is the empty string.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from inspect import isfunction
from typing import Any, Final

from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions import Convention, Lengths, Prepared, Rule, Scored, Tokenizer, Window
from lm_benchmarks.lm_eval import pages_of, plain_text, word_count
from ps_models.signature import Score

LLAMA_CPP_MULTIPLE: Final = 256  # pieces; with a stride, the tool's context is a multiple of this


# ---- prepare ----


def rows_of(file: str) -> list[str]:
    r"""Return the rows of a file.

    >>> rows_of(" \n = Tea = \n \n Tea is a drink . \n")
    ['', ' = Tea = \n', '', ' Tea is a drink . \n']
    """
    lines = file.split("\n")
    complete = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return [line if line.strip() else "" for line in complete]


def joined_rows(file: str) -> list[Prepared]:
    r"""Join the rows with two newlines, so that each blank line becomes several newlines.

    >>> joined_rows(" \n = Tea = \n")[0].text
    '\n\n = Tea = \n'
    """
    return [_whole(file, "\n\n".join(rows_of(file)))]


def file_without_last_newline(file: str) -> list[Prepared]:
    """Return the file without its final newline, which llama.cpp removes."""
    text = file.removesuffix("\n")
    return [_whole(text, text)]


def pages(file: str) -> list[Prepared]:
    """Return each page as it is in the file."""
    return [_whole(page, page) for page in pages_of(file)]


def plain_pages(file: str) -> list[Prepared]:
    """Return each page, without tokenization."""
    return [_whole(page, plain_text(page), word_count(page)) for page in pages_of(file)]


def _whole(source: str, text: str, words: int = 0) -> Prepared:
    return Prepared(text=text, file_bytes=len(source.encode()), words=words)


# ---- windows ----


def whole_chunks(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """GPTQ: chunks of L pieces without their first piece; a remainder shorter than a chunk is dropped.

    The mean of a chunk's L - 1 losses weighs L, as if the first piece had been scored too.
    """
    cut, length = tokenizer.cut(text, marks=True), lengths.window
    for begin in range(0, len(cut.pieces) - length + 1, length):
        end = begin + length
        yield cut.window(cut.pieces[begin : end - 1], begin + 1, end, weight=length)


def second_halves(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """llama.cpp: chunks of n_ctx pieces; BOS replaces the first piece if the model adds BOS.

    Half of a chunk is read before the first prediction that counts. With a stride, chunks overlap and the
    last `stride` pieces of each are scored; there BOS has no effect, because it is set too late. That is
    the tool's number for one sequence per batch: `-c WINDOW -b WINDOW --ppl-stride STRIDE`.
    """
    cut, length = tokenizer.cut(text, marks=True), _llama_cpp_length(lengths)
    pieces = cut.pieces
    if len(pieces) < 2 * length:
        raise HarnessError(
            f"a text of {len(pieces)} tokens; llama.cpp's convention needs at least two chunks of {length}."
            " Choose a larger split, or a smaller --window"
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


def _llama_cpp_length(lengths: Lengths) -> int:
    """Return the pieces of a chunk: with a stride, half a stride more, rounded up to a multiple of 256."""
    length = lengths.window
    if lengths.stride is not None:
        length = math.ceil((length + lengths.stride // 2) / LLAMA_CPP_MULTIPLE) * LLAMA_CPP_MULTIPLE
    if lengths.longest is not None and length > lengths.longest:
        raise HarnessError(
            f"--window {lengths.window} and --stride {lengths.stride}: llama.cpp reads {length} tokens at"
            f" once; the model reads {lengths.longest}"
        )
    return length


def new_pieces(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Hugging Face's documentation: windows that begin every `stride` pieces; only new pieces are scored.

    The mean loss of a window is weighted by one less than its new pieces. That is its number of losses only
    in the first window, whose first piece is not predicted: later windows weigh slightly too little. A last
    window of a single piece, which is possible without overlap, has no loss: the page's code then prints nan;
    here it is skipped.
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


def filled_up(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """lm-evaluation-harness: disjoint windows, each with the piece before it; the last one is filled up.

    Marks that the tokenizer adds are pieces of the text, unless the text has the first one already.
    """
    cut = tokenizer.cut(text, marks=not text.startswith(tokenizer.begin_mark))
    inputs = (tokenizer.begin, *cut.pieces)
    for begin in range(0, len(cut.pieces), lengths.window):
        end = min(begin + lengths.window, len(cut.pieces))
        yield cut.window(inputs[max(0, end - lengths.window) : end], begin, end)


def chunks_after_begin(text: str, tokenizer: Tokenizer, lengths: Lengths) -> Iterator[Window]:
    """Uncheatable Eval: chunks, each after BOS (or EOS, if there is no BOS); every piece is scored."""
    cut = tokenizer.cut(text, marks=False)
    for begin in range(0, len(cut.pieces), lengths.window):
        end = min(begin + lengths.window, len(cut.pieces))
        yield cut.window((tokenizer.begin, *cut.pieces[begin : end - 1]), begin, end)


# ---- number ----


def mean_perplexity(scored: Sequence[Scored], _texts: Sequence[Prepared]) -> float:
    """Return the exponential of the mean loss of all targets."""
    return _exp(sum(window.nats for window in scored) / sum(window.pieces for window in scored))


def weighted_perplexity(scored: Sequence[Scored], _texts: Sequence[Prepared]) -> float:
    """Return the exponential of the weighted mean of the windows' mean losses."""
    weights = sum(window.weight for window in scored)
    return _exp(sum(window.mean * window.weight for window in scored) / weights) if weights else math.nan


def word_perplexity(scored: Sequence[Scored], texts: Sequence[Prepared]) -> float:
    """lm-evaluation-harness: all nats per word of the pages as they are in the file, as a perplexity."""
    return _exp(sum(window.nats for window in scored) / sum(text.words for text in texts))


def bits_per_byte(scored: Sequence[Scored], texts: Sequence[Prepared]) -> float:
    """Return all bits over all bytes. A compression rate in percent is 12.5 times this."""
    return sum(window.nats for window in scored) / math.log(2) / sum(text.file_bytes for text in texts)


def _exp(nats: float) -> float:
    """Return the exponential; infinite if it does not fit a float."""
    return Score(nats, 1).perplexity


FUNCTIONS: Final[dict[str, Any]] = {
    name.replace("_", "-"): function for name, function in globals().items() if isfunction(function)
}
"""The functions of this module, by their names in `conventions.toml`."""


def _convention(
    name: str, *, prepare: str = "", windows: str = "", number: str = "", **fields: Any
) -> Convention:
    parts = {"prepare": prepare, "windows": windows, "number": number}
    rule = Rule(**{part: FUNCTIONS[function] for part, function in parts.items()}) if prepare else None
    return Convention(name=name, rule=rule, **fields | {"published": tuple(fields.get("published", ()))})


REGISTRY: Final[dict[str, Convention]] = {
    name: _convention(name, **table)
    for name, table in tomllib.loads(
        files("lm_benchmarks.conventions").joinpath("conventions.toml").read_text(encoding="utf-8")
    ).items()
}

CONVENTIONS: Final = {name: convention.signature for name, convention in REGISTRY.items()}
"""The names of conventions of what is counted, and their names in signatures."""
