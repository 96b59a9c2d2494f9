"""Causal models of the library `transformers` over the words of a dataset, and over plain text.

The log-probability of a word is the sum over its pieces in its line, see `lm_benchmarks.adapters.pieces`. The
end of a line is a newline.
"""

# Shapes: B = batch, T = time, V = vocabulary of pieces, W = window (pieces that the model reads per call).
# ruff: noqa: N806, N815 - names end in their shapes

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from lm_benchmarks.adapters.pieces import WordPieces
from lm_benchmarks.adapters.text_pieces import TextPieces, begin_mark
from lm_benchmarks.conventions.convention import Lengths, Window
from lm_benchmarks.conventions.lm_eval import windows as lm_eval_windows
from lm_benchmarks.errors import HarnessError
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary

AT_ONCE: Final = 4096  # pieces of all texts per call, at most
ROWS: Final = 64  # of logits in float64 at once
LOGITS_AT_ONCE: Final = 2**27  # pieces x vocabulary of pieces per call: bounds memory


class Past(NamedTuple):
    """The state: the last W pieces of each text, right-aligned, how many there were, and the last word."""

    pieces_BW: Tensor  # int64; the first piece of a text is the model's own start
    count_B: Tensor  # int64, without the start
    word_B: Tensor  # int64


class CausalModel:
    """A causal model with its tokenizer as a `LanguageModel` over words, and a scorer of plain text.

    The model reads at most a window of W pieces. A block of `stride` pieces shares a window that ends where
    the block ends: each piece has at least W - stride pieces of context. The context depends only on the
    position in the text, so chunks and batches do not change the scores.
    """

    def __init__(
        self,
        module: Any,  # noqa: ANN401 - transformers' classes are not imported for their names
        tokenizer: Any,  # noqa: ANN401
        vocabulary: Vocabulary,
        *,
        window: int | None = None,
        stride: int | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        """Match the words of a vocabulary with pieces.

        Args:
            module: A causal model of transformers.
            tokenizer: Its tokenizer.
            vocabulary: Of the ids that are scored.
            window: W; None: what the model's configuration allows.
            stride: Pieces per block; None: half of a window.
            device: Of the model.

        Raises:
            HarnessError: The window or stride is out of range, or a word has no piece.
        """
        longest = getattr(module.config, "max_position_embeddings", None)
        self.window = _window(window, longest)
        self.stride = max(1, self.window // 2) if stride is None else stride
        if not 1 <= self.stride <= self.window:
            raise HarnessError(f"stride {self.stride}; expected 1 to {self.window}, the window")
        self._module = module.to(device).eval()
        self._tokenizer = tokenizer
        self._device = device
        self.longest: int | None = longest
        self._begin = begin_mark(tokenizer)
        self._eos = vocabulary.ids[EOS]
        self.words = WordPieces(tokenizer, vocabulary)

    @property
    def digest(self) -> str:
        """sha256 over the weights and the pieces of words: it identifies the model."""
        digest = hashlib.sha256(repr(self.words.alone).encode())
        for name, tensor in sorted(self._module.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy().data)
        return digest.hexdigest()

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return sum(parameter.numel() for parameter in self._module.parameters())

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
        scores = torch.cat([torch.empty(0, dtype=torch.float64), *self._scores(jobs)])
        words_of = torch.repeat_interleave(
            torch.arange(len(lengths)), torch.tensor(lengths, dtype=torch.int64)
        )
        summed = torch.zeros(len(lengths), dtype=torch.float64).index_add_(0, words_of, scores)
        after = Past(torch.tensor(pasts).reshape(state.pieces_BW.shape), torch.tensor(counts), read[:, -1])
        return summed.reshape(tokens.shape).to(tokens.device), after

    def text_nats(self, text: str) -> tuple[float, int]:
        """-log p of a plain text, and the number of its pieces, as lm-evaluation-harness scores a page."""
        windows = list(lm_eval_windows(text, self.text_pieces, Lengths(self.window, None)))
        return sum(self.window_nats(windows)), sum(len(window.targets) for window in windows)

    @cached_property
    def text_pieces(self) -> TextPieces:
        """How its tokenizer cuts plain texts."""
        return TextPieces(self._tokenizer)

    @property
    def implementation(self) -> dict[str, object]:
        """What of tokenizer and implementation decides digits, for signatures."""
        return {
            "unknown_to_tokenizer": self.words.unknown,
            "device": torch.device(self._device).type,
            "dtype": str(self._module.dtype).removeprefix("torch."),
            "attention": getattr(self._module.config, "_attn_implementation", None) or "unknown",
        }

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window. Windows of about the same length are read together."""
        order = sorted(range(len(windows)), key=lambda place: len(windows[place].inputs))
        found = [0.0] * len(windows)
        for place, scores in zip(order, self._scores([windows[place] for place in order]), strict=True):
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

    @torch.no_grad()
    def _scores(self, jobs: Sequence[Window]) -> Iterator[Tensor]:
        """Natural log-probabilities of each job's targets, in float64."""
        vocabulary = self._module.config.get_text_config().vocab_size
        for group in _groups(jobs, min(AT_ONCE, LOGITS_AT_ONCE // vocabulary)):
            longest = max(len(job.inputs) for job in group)
            rows = [[*job.inputs, *[self._begin] * (longest - len(job.inputs))] for job in group]
            logits_BTV = self._module(torch.tensor(rows, device=self._device), use_cache=False).logits
            for job, logits_TV in zip(group, logits_BTV, strict=True):
                end = len(job.inputs)
                yield _chosen(logits_TV[end - len(job.targets) : end], job.targets)


def _chosen(logits: Tensor, targets: Sequence[int]) -> Tensor:
    """The log-probability of a target per row of (T, V), in float64; a few rows at once bound the memory."""
    targets_T = torch.tensor(targets, device=logits.device)
    parts = [
        rows.double().log_softmax(-1).gather(1, chosen[:, None])[:, 0]
        for rows, chosen in zip(torch.split(logits, ROWS), torch.split(targets_T, ROWS), strict=True)
    ]
    return torch.cat(parts).cpu()


def load_causal_model(
    name: str,
    vocabulary: Vocabulary,
    *,
    window: int | None = None,
    stride: int | None = None,
    device: torch.device | str = "cpu",
    dtype: str | None = None,
    attention: str | None = None,
) -> CausalModel:
    """A model and its tokenizer from a folder, or from Hugging Face's hub.

    Code that comes with a model does not run.

    Args:
        name: The folder or the name.
        vocabulary: See `CausalModel`, like `window`, `stride` and `device`.
        window: See `CausalModel`.
        stride: See `CausalModel`.
        device: See `CausalModel`.
        dtype: Of the weights: `float32`, `bfloat16` or `float16`; None: as they are stored.
        attention: Its implementation: `eager`, `sdpa`, …; None: transformers decides.

    Raises:
        HarnessError: The library is not installed, or there is no such model.
    """
    try:
        library: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise HarnessError(f"transformers:{name} needs the package transformers (pip install it)") from error
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name)
        options = {"dtype": dtype, "attn_implementation": attention}
        module = library.AutoModelForCausalLM.from_pretrained(
            name, **{key: value for key, value in options.items() if value is not None}
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().splitlines()[0]
        raise HarnessError(
            f"transformers:{name}: {reason}; expected a folder or a name of a causal model with its tokenizer"
        ) from error
    return CausalModel(module, tokenizer, vocabulary, window=window, stride=stride, device=device)


def _window(asked: int | None, longest: int | None) -> int:
    window = asked if asked is not None else longest
    if window is None or window < 1 or (longest is not None and window > longest):
        limit = f"1 to {longest}" if longest is not None else "a window: the model's configuration has none"
        raise HarnessError(f"window {window}; expected {limit}")
    return window


def _groups(jobs: Sequence[Window], at_once: int) -> Iterator[list[Window]]:
    """Jobs in groups that are read together, in order."""
    group: list[Window] = []
    for job in jobs:
        longest = max(len(other.inputs) for other in (*group, job))
        if group and longest * (len(group) + 1) > at_once:
            yield group
            group = []
        group.append(job)
    if group:
        yield group
