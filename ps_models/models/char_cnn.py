"""Implements the character-aware model of Kim et al. (2016), arXiv 1508.06615, which reads words by letters.

    f_k[i] = tanh(<C[i : i + w], F_k> + b_k)        y_k = max over i of f_k[i]        C: the letters' vectors
    z = t * relu(W y + b) + (1 - t) * y             t = sigmoid(W' y + b')            once or twice: a highway

z replaces the word's embedding in an LSTM with Zaremba's dropout and a softmax over whole words.

Letters are UTF-8 bytes, so the alphabet is fixed and no letter is unknown. Penn Treebank is all ASCII, where
bytes are characters. Two bytes that UTF-8 never uses mark the beginning and end of a word. Each of the 256
bytes has a vector of 15 numbers, whether used or not: about 3,000 parameters more than with the characters of
Penn Treebank.

The paper pads all words with zero vectors up to the length of the longest, so that all but the longest have
windows of zeros only, whose feature is tanh(b). Here every word has such a window. So a word's vector does
not depend on other words, and a call pads only up to the longest word in it.
"""

# Shapes: B = batch, T = time, N = distinct words, V = vocabulary, C = bytes of a word, L = bytes in a call,
# P = places of a window, D = a letter's vector, X = a window's numbers, K = features: a word's vector.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.hyperparameters import Count, Finite, Rate, Size
from ps_models.layers.softmax import reads_without_waiting, widen
from ps_models.models.lstm import LSTM, LSTMConfig, LSTMState
from ps_models.models.stream import StreamModel
from wikitext_builder.dataset.vocabulary import Vocabulary

FILL, BEGIN, END = b"\x00", b"\xfe", b"\xff"  # in no word: texts lack U+0000, UTF-8 never has FE and FF


@dataclass(frozen=True, kw_only=True)
class CharCNNConfig(LSTMConfig):
    """Sizes and rates of the LSTM and of the letters; the defaults are the paper's large model, Table 2."""

    character_size: Size = 15  # D
    widths: tuple[Size, ...] = (1, 2, 3, 4, 5, 6, 7)  # of the filters
    features: tuple[Size, ...] = (50, 100, 150, 200, 200, 200, 200)  # filters of each width
    highways: Count = 2
    gate_bias: Finite = -2.0  # of t before training, section 3: at first most of y passes through
    word_length: Size = 63  # bytes that are read of a word; 65 with its marks, as in the paper's code
    softmax_bias: bool = True
    locked: bool = False  # Zaremba's dropout …
    input_dropout: Rate = 0.0  # … between layers and of outputs only, not of z, as in the paper's code
    zoneout: Rate = 0.0


class Highway(nn.Module):
    """z = t * relu(W y + b) + (1 - t) * y (Srivastava et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.transform = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)

    def forward(self, values_NK: Tensor) -> Tensor:
        """Return the new vectors of the words, of the same size."""
        gate_NK = torch.sigmoid(widen(self.gate(values_NK)))
        return torch.lerp(values_NK, torch.relu(widen(self.transform(values_NK))), gate_NK)


class SpelledWords(nn.Module):
    """Computes vectors of words from their letters in each call; on a CPU once for each distinct word."""

    codes_VC: Tensor

    def __init__(self, config: CharCNNConfig) -> None:
        super().__init__()
        shape = config.vocab_size, config.word_length + 2
        self.register_buffer("codes_VC", torch.zeros(shape, dtype=torch.uint8))  # `prepare` fills it
        self.letters = nn.Embedding(256, config.character_size, padding_idx=FILL[0])
        self.filters = nn.ModuleList(
            nn.Conv1d(config.character_size, features, width)
            for width, features in zip(config.widths, config.features, strict=True)
        )
        self.highways = nn.ModuleList(Highway(sum(config.features)) for _ in range(config.highways))
        self.widest = max(config.widths)

    def forward(self, words_BT: Tensor) -> Tensor:
        """Return the vector of each word, (B, T, K)."""
        if not reads_without_waiting(words_BT):  # counting distinct words would wait for the device
            return self.vectors(words_BT.flatten()).view(*words_BT.shape, -1)
        words_N, place_BT = torch.unique(words_BT, return_inverse=True)
        return functional.embedding(place_BT, self.vectors(words_N))

    def vectors(self, words_N: Tensor) -> Tensor:
        """Return the vectors of words, (N, K)."""
        codes_NL = self.codes_VC[words_N]
        if reads_without_waiting(codes_NL):
            codes_NL = codes_NL[:, : int((codes_NL != FILL[0]).sum(dim=1).max())]
        codes_NL = functional.pad(codes_NL, (0, self.widest))
        windows_NPX = self.letters(codes_NL.int()).unfold(1, self.widest, 1).flatten(2)
        # A product over windows as wide as the widest filter takes half the time of a product per width.
        weights, biases = zip(*(bank.parameters() for bank in self.filters), strict=True)
        padded = [functional.pad(weight, (0, self.widest - weight.shape[-1])) for weight in weights]
        scores_NPK = functional.linear(windows_NPX, torch.cat(padded).flatten(1))
        # tanh is increasing and the bias is the same at all places, so both can follow the maximum.
        values_NK = torch.tanh(widen(scores_NPK.max(dim=1).values) + torch.cat(biases))
        for highway in self.highways:
            values_NK = highway(values_NK)
        return values_NK


class CharCNN(StreamModel[LSTMState]):
    """Letters, convolutions, highway, LSTM, softmax."""

    def __init__(self, config: CharCNNConfig) -> None:
        super().__init__()
        if config.tied:
            raise ValueError("tied=True: the softmax has no embedding of words to share; use tied=no")
        if not config.widths or len(config.widths) != len(config.features):
            raise ValueError(
                f"{len(config.widths)} widths and {len(config.features)} features; expected the same"
                " number, at least 1"
            )
        self.config = config
        self.words = SpelledWords(config)
        self.lstm = LSTM(config, self.words, sum(config.features))  # draws all weights
        with torch.no_grad():
            self.words.letters.weight[FILL[0]] = 0.0
            for name, parameter in self.words.highways.named_parameters():
                if name.endswith("gate.bias"):
                    parameter.add_(config.gate_bias)

    def prepare(self, stream: Tensor, vocabulary: Vocabulary, seed: int) -> None:
        """Learn the spelling of all words; see `StreamModel`."""
        del stream, seed
        self.words.codes_VC.copy_(spelled(vocabulary.tokens, self.config.word_length))

    def initial_state(self, batch_size: int) -> LSTMState:
        """Return the LSTM's state at the start of a text."""
        return self.lstm.initial_state(batch_size)

    def run(self, tokens_BT: Tensor, state: LSTMState, *, advance: int) -> tuple[Tensor, LSTMState]:
        """Return the LSTM's outputs and state; see `StreamModel`."""
        return self.lstm.run(tokens_BT, state, advance=advance)

    @property
    def softmax(self) -> Any:  # noqa: ANN401 - as in StreamModel
        """The LSTM's softmax."""
        return self.lstm.softmax


def spelled(words: Sequence[str], length: int) -> Tensor:
    """Return the bytes of each word between its marks, cut after `length`, filled to the same number.

    >>> spelled(["a", "né"], 2).tolist()
    [[254, 97, 255, 0], [254, 110, 195, 255]]
    """
    rows = [(BEGIN + word.encode()[:length] + END).ljust(length + 2, FILL) for word in words]
    return torch.frombuffer(bytearray(b"".join(rows)), dtype=torch.uint8).view(len(words), length + 2)
