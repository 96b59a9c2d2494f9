"""Models of pieces of words, as language models over words and as readers of windows.

The log-probability of a word is the sum over its pieces in its line, see `lm_benchmarks.adapters.pieces`. The
end of a line is a newline. A model of another program says only how it scores windows of pieces: it derives
from `PieceModel` and has `target_log_probs`.
"""

# Shapes: B = batch, T = time, W = window (pieces that the model reads per call).
# ruff: noqa: N815 - names end in their shapes

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lm_benchmarks.adapters.pieces import TextPieces, WordPieces, begin_mark
from lm_benchmarks.conventions.convention import Lengths, Reader, Window
from lm_benchmarks.conventions.rules import filled_up
from lm_benchmarks.errors import HarnessError
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary


class Past(NamedTuple):
    """The state: the last W pieces of each text, right-aligned, how many there were, and the last word."""

    pieces_BW: Tensor  # int64; the first piece of a text is the model's own start
    count_B: Tensor  # int64, without the start
    word_B: Tensor  # int64


class PieceModel(ABC):
    """A model of pieces with its tokenizer: a `LanguageModel` over words, and a `Reader` of windows.

    The model reads at most a window of W pieces. A block of `stride` pieces shares a window that ends where
    the block ends: each piece has at least W - stride pieces of context. The context depends only on the
    position in the text, so chunks and batches do not change the scores.
    """

    def __init__(
        self,
        tokenizer: Any,  # noqa: ANN401 - of transformers, or like one
        vocabulary: Vocabulary,
        *,
        longest: int | None,
        window: int | None = None,
        stride: int | None = None,
    ) -> None:
        """Match the words of a vocabulary with pieces.

        Args:
            tokenizer: Of the model.
            vocabulary: Of the ids that are scored.
            longest: Pieces that the model can read at once; None: any number.
            window: W; None: as many as the model can read.
            stride: Pieces per block; None: half of a window.

        Raises:
            HarnessError: The window or stride is out of range, or a word has no piece.
        """
        self.longest = longest
        self.window = _window(window, longest)
        self.stride = max(1, self.window // 2) if stride is None else stride
        if not 1 <= self.stride <= self.window:
            raise HarnessError(f"stride {self.stride}; expected 1 to {self.window}, the window")
        self._tokenizer = tokenizer
        self._begin = begin_mark(tokenizer)
        self._eos = vocabulary.ids[EOS]
        self.words = WordPieces(tokenizer, vocabulary)

    @property
    @abstractmethod
    def digest(self) -> str:
        """What identifies the model: a hash of its weights, or of all that is known of it."""

    @property
    def parameters(self) -> int | None:
        """The number of trained parameters; None: unknown."""
        return None

    @property
    def implementation(self) -> dict[str, object]:
        """What of tokenizer and implementation decides digits, for signatures."""
        return {"unknown_to_tokenizer": self.words.unknown}

    @abstractmethod
    def target_log_probs(self, windows: Sequence[Window]) -> Iterator[Tensor]:
        """Natural log-probabilities of the targets of each window, in float64, in order."""

    def next_log_probs_of(self, inputs: Sequence[int]) -> Tensor | None:
        """Natural log-probabilities of all pieces after some others; None if the model cannot give them."""
        del inputs
        return None

    def piece_count(self, tokens: Tensor) -> int:
        """The number of pieces of some words, the first of which starts a line."""
        return sum(map(len, self.words.of_words(tokens.tolist())))

    def facts(self, tokens: Tensor) -> dict[str, object]:
        """What the tokenizer does with a text, for signatures."""
        return {"lines_cut_otherwise": self.words.lines_cut_otherwise(tokens.tolist())}

    def initial_state(self, batch_size: int) -> Past:
        """The start of a text: the model's own start."""
        return Past(
            torch.full((batch_size, self.window), self._begin),
            torch.zeros(batch_size, dtype=torch.int64),
            torch.full((batch_size,), self._eos),
        )

    def __call__(self, tokens: Tensor, state: Past) -> tuple[Tensor, Past]:
        """Score words (batch, time), in float64; see `LanguageModel`."""
        jobs: list[Window] = []
        pasts, counts, lengths = [], [], list[int]()
        read = torch.cat([state.word_B[:, None].cpu(), tokens.cpu()], dim=1)  # with the word before
        cut = self.words.of_pairs(
            list(zip(read[:, 1:].flatten().tolist(), read[:, :-1].flatten().tolist(), strict=True))
        )
        time = tokens.shape[1]
        for row, (past, count) in enumerate(
            zip(state.pieces_BW.tolist(), state.count_B.tolist(), strict=True)
        ):
            parts = cut[row * time : (row + 1) * time]
            new = [piece for part in parts for piece in part]
            lengths += [len(part) for part in parts]
            known = [*past, *new]
            jobs += self._jobs(known, count, len(new))
            pasts.append(known[len(known) - self.window :])
            counts.append(count + len(new))
        scores = torch.cat([torch.empty(0, dtype=torch.float64), *self.target_log_probs(jobs)])
        words_of = torch.repeat_interleave(
            torch.arange(len(lengths)), torch.tensor(lengths, dtype=torch.int64)
        )
        summed = torch.zeros(len(lengths), dtype=torch.float64).index_add_(0, words_of, scores)
        after = Past(torch.tensor(pasts).reshape(state.pieces_BW.shape), torch.tensor(counts), read[:, -1])
        return summed.reshape(tokens.shape).to(tokens.device), after

    @cached_property
    def text_pieces(self) -> TextPieces:
        """How its tokenizer cuts plain texts."""
        return TextPieces(self._tokenizer)

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window. Windows of about the same length are read together."""
        order = sorted(range(len(windows)), key=lambda place: len(windows[place].inputs))
        found = [0.0] * len(windows)
        scored = self.target_log_probs([windows[place] for place in order])
        for place, scores in zip(order, scored, strict=True):
            found[place] = -float(scores.sum())
        return found

    def _jobs(self, known: list[int], count: int, new: int) -> Iterator[Window]:
        """The blocks of the new pieces; `known` is W earlier pieces and the new ones."""
        offset = self.window - 1 - count  # index in `known` of the start of the text; can be negative
        first = count
        while first < count + new:
            block_end = (first // self.stride + 1) * self.stride
            end = min(block_end, count + new)
            begin = max(0, block_end - self.window)
            yield Window(known[offset + begin : offset + end], known[offset + first + 1 : offset + end + 1])
            first = end


def page_nats(reader: Reader, window: int, text: str) -> tuple[float, int]:
    """-log p of a plain text, and the number of its pieces, as lm-evaluation-harness scores a page.

    Args:
        reader: The model.
        window: Pieces that it reads at once.
        text: The text.
    """
    windows = list(filled_up(text, reader.text_pieces, Lengths(window, None)))
    return sum(reader.window_nats(windows)), sum(len(one.targets) for one in windows)


def _window(asked: int | None, longest: int | None) -> int:
    window = asked if asked is not None else longest
    if window is None or window < 1 or (longest is not None and window > longest):
        limit = f"1 to {longest}" if longest is not None else "a window: the model's configuration has none"
        raise HarnessError(f"window {window}; expected {limit}")
    return window
