"""Subword models as language models over words and as readers of windows.

A tokenizer may treat a word differently when it stands alone: a SentencePiece-like one puts a space before a
text, so that ` the` alone becomes `▁ ▁the`, and a newline alone gets such a mark too. So the pieces of a word
are those that it adds to its line, after the word before it. Together they are usually the pieces of the
whole line; lines for which this does not hold are counted. The end of a line is a newline after a word.

The pieces of a word must not depend on later words. If a word would change the pieces before it, it gets the
pieces that it has after a plain word.

An adapter of another program derives from `PieceModel` and defines `target_log_probs`, the scores of windows.
"""

# Shapes: B = batch, T = time, W = window (pieces that the model reads per call).
# ruff: noqa: N815 - names end in their shapes

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, groupby
from operator import ne
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from lm_benchmarks.adapters.decoding import decoding_facts
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions import Cut, Lengths, Reader, Window
from lm_benchmarks.conventions.rules import filled_up
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

MAX_DEFAULT_WINDOW: Final = 4096  # pieces; memory and time grow with it
WINDOW_WITHOUT_LIMIT: Final = 2048  # pieces; lm-evaluation-harness chooses it for a model without a limit
SAMPLE_WORDS: Final = 50  # they show whether the tokenizer puts a space before a text

Pair = tuple[int, int]  # a word and the one before it, which is <eos> at the start of a line


class WordPieces:
    """Cuts words into pieces, each after the word before it."""

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:  # noqa: ANN401 - of transformers
        """Find how the tokenizer starts a line, and cut each word after a plain word."""
        self._tokenizer = tokenizer
        self._words = vocabulary.tokens
        self._eos = vocabulary.ids[EOS]
        self._pieces_of: dict[Pair, list[int]] = {}
        self._heads: dict[int, list[int]] = {}
        plain = [word for word in self._words if word.isalpha() and word not in (UNK, EOS)]
        self._plain = vocabulary.ids[plain[0]] if plain else vocabulary.ids[UNK]
        self._lead = ""
        self._lead = self._find_lead([vocabulary.ids[word] for word in plain[:SAMPLE_WORDS]])
        self.alone = self._cut_alone()

    def of_pairs(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """Return the pieces of words, each after the word before it."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._pieces_of]
        if new:
            self._learn(new)
        return [self._pieces_of[pair] for pair in pairs]

    def of_words(self, words: Sequence[int]) -> list[list[int]]:
        """Return the pieces of a sequence of word ids; <eos> is before the first."""
        return self.of_pairs(list(zip(words, [self._eos, *words], strict=False)))

    def facts(self, words: Sequence[int]) -> dict[str, int | str]:
        """Count the lines that are cut differently as a whole than word by word, and what pieces lack."""
        lines = [list(line) for is_end, line in groupby(words, self._eos.__eq__) if not is_end]
        texts = [" ".join(self._words[word] for word in line) for line in lines]
        ends = [self.of_pairs([(self._eos, line[-1])])[0] for line in lines]
        parts = [[piece for pieces in self.of_words(line) for piece in pieces] for line in lines]
        wholes = self._encode([self._lead + text for text in texts])
        has_newline = self.alone[self._eos] != self._end_mark(self._eos)
        cut = (
            (f"{text}\n", [*part, *end]) if has_newline else (text, part)
            for text, part, end in zip(texts, parts, ends, strict=True)
        )
        return {"lines_cut_otherwise": sum(map(ne, wholes, parts)), **decoding_facts(self._tokenizer, cut)}

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        answer: dict[str, Any] = self._tokenizer(list(texts), add_special_tokens=False) if texts else {}
        return list(answer.get("input_ids", ()))

    def _find_lead(self, sample: Sequence[int]) -> str:
        """Return what to put before a line: a space, unless the tokenizer adds one itself."""
        alone = self._encode([self._words[word] for word in sample])
        head = self._encode([self._words[self._plain]])[0]
        whole = self._encode([f"{self._words[self._plain]} {self._words[word]}" for word in sample])
        unchanged = sum(pieces == head + single for pieces, single in zip(whole, alone, strict=True))
        return "" if sample and unchanged > len(sample) / 2 else " "

    def _cut_alone(self) -> list[list[int]]:
        """Cut each word after a plain word; alone, if it changes the pieces of the plain word."""
        plain = self._lead + self._words[self._plain]
        head = self._encode([plain])[0]
        wholes = self._encode([self._joined(plain, word) for word in range(len(self._words))])
        cut = []
        for word, whole in enumerate(wholes):
            pieces = _after(head, whole) or self._encode([self._joined("", word)])[0] or self._end_mark(word)
            if not pieces:
                raise HarnessError(
                    f"the tokenizer has no token for {self._words[word]!r}: its probability would be 1"
                )
            cut.append(pieces)
        return cut

    def _end_mark(self, word: int) -> list[int]:
        """Return the mark of a text's end, for the end of a line if the tokenizer drops newlines."""
        mark = self._tokenizer.eos_token_id
        return [int(mark)] if word == self._eos and mark is not None else []

    def _joined(self, head: str, word: int) -> str:
        """Continue a line with a word."""
        if word == self._eos:
            return f"{head}\n"
        return f"{head} {self._words[word]}" if head else self._lead + self._words[word]

    def _learn(self, pairs: Sequence[Pair]) -> None:
        firsts = [pair for pair in pairs if pair[1] == self._eos]
        inner = [pair for pair in pairs if pair[1] != self._eos]
        starts = [word for word, _ in firsts if word != self._eos]
        cut = dict(zip(starts, self._encode([self._joined("", word) for word in starts]), strict=True))
        for word, previous in firsts:  # a blank line is a newline as after a word
            self._pieces_of[word, previous] = cut.get(word) or self.alone[word]
        missing = [word for word in dict.fromkeys(before for _, before in inner) if word not in self._heads]
        heads = self._encode([self._lead + self._words[word] for word in missing])
        self._heads |= dict(zip(missing, heads, strict=True))
        texts = [self._joined(self._lead + self._words[before], word) for word, before in inner]
        for (word, before), whole in zip(inner, self._encode(texts), strict=True):
            self._pieces_of[word, before] = _after(self._heads[before], whole) or self.alone[word]


def _after(head: list[int], whole: list[int]) -> list[int]:
    """Return the pieces that follow a head; none if the head is cut differently in the whole."""
    return whole[len(head) :] if whole[: len(head)] == head else []


class TextPieces:
    """A tokenizer as conventions see it: `lm_benchmarks.conventions.Tokenizer`."""

    def __init__(self, tokenizer: Any) -> None:  # noqa: ANN401 - of transformers
        """Find the marks of a tokenizer."""
        self._tokenizer = tokenizer
        self._last: tuple[str, bool, Cut] | None = None
        bos = tokenizer.bos_token_id
        self.bos: int | None = None if bos is None else int(bos)
        self.begin = begin_mark(tokenizer)
        self.begin_mark: str = tokenizer.decode([self.begin])
        first = tokenizer.encode("a", add_special_tokens=True)[:1]
        self.adds_bos = self.bos is not None and first == [self.bos]

    def cut(self, text: str, *, marks: bool) -> Cut:
        """Cut a text; the last result is cached, because conventions share texts. See `Tokenizer`."""
        if self._last is None or self._last[:2] != (text, marks):
            self._last = (text, marks, self._cut(text, marks=marks))
        return self._last[2]

    def _cut(self, text: str, *, marks: bool) -> Cut:
        offsets = bool(self._tokenizer.is_fast)
        cut = self._tokenizer(text, add_special_tokens=marks, return_offsets_mapping=offsets, verbose=False)
        pieces = tuple(cut["input_ids"])
        if offsets:
            return Cut(pieces, _byte_ends(text, [end for _, end in cut["offset_mapping"]]))
        size = len(text.encode())  # without offsets, all pieces get the same share
        return Cut(pieces, tuple(size * number // len(pieces) for number in range(1, len(pieces) + 1)))


def begin_mark(tokenizer: Any) -> int:  # noqa: ANN401
    """Return the piece before a text: the mark of a start or, if there is none, the mark of an end.

    lm-evaluation-harness uses the same order.
    """
    for piece in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if piece is not None:
            return int(piece)
    raise HarnessError("the tokenizer has neither a BOS nor an EOS token; expected one of them")


def _byte_ends(text: str, ends: list[int]) -> tuple[int, ...]:
    """Convert ends of pieces from characters to UTF-8 bytes.

    A mark has no place in the text and ends where the piece before it ends. White space without a piece
    belongs to the piece after it, or to the last piece.
    """
    reached = list(accumulate(ends, max))
    if reached:
        reached[-1] = len(text)
    if text.isascii():
        return tuple(reached)
    sizes = [0, *accumulate(len(character.encode()) for character in text)]
    return tuple(sizes[end] for end in reached)


def rules_of(tokenizer: Any) -> str:  # noqa: ANN401
    """Return what decides how a tokenizer cuts: its own description, or its pieces if it has none."""
    described = getattr(tokenizer, "backend_tokenizer", None)
    return described.to_str() if described is not None else repr(sorted(tokenizer.get_vocab().items()))


class PieceState(NamedTuple):
    """The state: the last W pieces of each text, right-aligned, their number, and the last word."""

    pieces_BW: Tensor  # int64; the first piece of a text is the model's begin mark
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

        The model reads at most `longest` pieces at once (None: any number). The default `window` is as long,
        but at most MAX_DEFAULT_WINDOW; the default `stride` is half of a window.
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
        """A hash of the model's weights, or of everything known about it: it identifies the model."""

    @property
    def parameters(self) -> int | None:
        """The number of trained parameters; None: unknown."""
        return None

    @property
    def implementation(self) -> dict[str, object]:
        """The facts of the implementation that decide digits, for signatures."""
        return {}

    @abstractmethod
    def target_log_probs(self, windows: Sequence[Window]) -> Iterator[Tensor]:
        """Yield natural log-probabilities of the targets of each window, in float64, in order."""

    def next_log_probs_of(self, inputs: Sequence[int]) -> Tensor | None:
        """Return natural log-probabilities of all pieces after `inputs`; None if the model cannot."""
        del inputs
        return None

    def piece_count(self, tokens: Tensor) -> int:
        """Count the pieces of words, the first of which starts a line."""
        return sum(map(len, self.words.of_words(tokens.tolist())))

    def facts(self, tokens: Tensor) -> dict[str, int | str]:
        """Return what the tokenizer does with words, for signatures."""
        return self.words.facts(tokens.tolist())

    def facts_of_texts(self, texts: Iterable[str]) -> dict[str, int | str]:
        """Return what the tokenizer does with plain texts, for signatures."""
        tokenizer = self._tokenizer
        options: dict[str, bool] = {"add_special_tokens": False, "verbose": False}
        return decoding_facts(tokenizer, ((text, tokenizer(text, **options)["input_ids"]) for text in texts))

    def initial_state(self, batch_size: int) -> PieceState:
        """Return the start of a text: the model's begin mark."""
        return PieceState(
            torch.full((batch_size, self.window), self._begin),
            torch.zeros(batch_size, dtype=torch.int64),
            torch.full((batch_size,), self._eos),
        )

    def __call__(self, tokens: Tensor, state: PieceState) -> tuple[Tensor, PieceState]:
        """Score words (batch, time), in float64; see `LanguageModel`."""
        windows, tails, counts, lengths = list[Window](), list[list[int]](), list[int](), list[int]()
        read = torch.cat([state.word_B[:, None].cpu(), tokens.cpu()], dim=1)  # and the word before
        words, before = (columns.flatten().tolist() for columns in (read[:, 1:], read[:, :-1]))
        pieces_of = self.words.of_pairs(list(zip(words, before, strict=True)))
        time = tokens.shape[1]
        states = zip(state.pieces_BW.tolist(), state.count_B.tolist(), strict=True)
        for row, (past, count) in enumerate(states):
            parts = pieces_of[row * time : (row + 1) * time]
            new_pieces = [piece for part in parts for piece in part]
            lengths += [len(part) for part in parts]
            history = [*past, *new_pieces]
            windows += self._windows_of(history, count, len(new_pieces))
            tails.append(history[len(history) - self.window :])
            counts.append(count + len(new_pieces))
        scores = torch.cat([torch.empty(0, dtype=torch.float64), *self.target_log_probs(windows)])
        word_of = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths, dtype=torch.int64))
        summed = torch.zeros(len(lengths), dtype=torch.float64).index_add_(0, word_of, scores)
        last_pieces = torch.tensor(tails).reshape(state.pieces_BW.shape)
        after = PieceState(last_pieces, torch.tensor(counts), read[:, -1])
        return summed.reshape(tokens.shape).to(tokens.device), after

    @cached_property
    def text_pieces(self) -> TextPieces:
        """The tokenizer, for plain texts."""
        return TextPieces(self._tokenizer)

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """Return -log p of the targets of each window. Windows of about the same length are read together."""
        order = sorted(range(len(windows)), key=lambda index: len(windows[index].inputs))
        nats = [0.0] * len(windows)
        scored = self.target_log_probs([windows[index] for index in order])
        for index, scores in zip(order, scored, strict=True):
            nats[index] = -float(scores.sum())
        return nats

    def _windows_of(self, history: list[int], count: int, new_count: int) -> Iterator[Window]:
        """Yield the blocks of the new pieces; `history` is W earlier pieces and the new ones."""
        offset = self.window - 1 - count  # index in `history` of the start of the text; can be negative
        first = count
        while first < count + new_count:
            block_end = (first // self.stride + 1) * self.stride
            end = min(block_end, count + new_count)
            begin = max(0, block_end - self.window)
            inputs = history[offset + begin : offset + end]
            yield Window(inputs, history[offset + first + 1 : offset + end + 1])
            first = end


def page_nats(reader: Reader, length: int, text: str) -> tuple[float, int]:
    """Return -log p of a plain text and the number of its pieces, as lm-evaluation-harness scores a page."""
    windows = list(filled_up(text, reader.text_pieces, Lengths(length, None)))
    return sum(reader.window_nats(windows)), sum(len(window.targets) for window in windows)


def _window(window: int | None, longest: int | None) -> int:
    if window is None:
        return min(longest or WINDOW_WITHOUT_LIMIT, MAX_DEFAULT_WINDOW)
    if window < 1 or (longest is not None and window > longest):
        limit = "1 or more" if longest is None else f"1 to {longest}, what the model can read"
        raise HarnessError(f"window {window}; expected {limit}")
    return window
