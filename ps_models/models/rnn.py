"""Simple recurrent networks: Elman's as Mikolov used it, and the deep network of Pascanu et al.

Elman (Mikolov 2012):                       h' = f(W x + U h + b),                     p = softmax(V h')
DOT(S)-RNN (Pascanu et al. 2013,            z  = f(W x + U h + b)                      deep transition
arXiv 1312.6026), section 3:                h' = f(A z + S h + d)                      S: shortcut
                                            p  = softmax(V f(D h' + e))                deep output
"""

# Shapes: B = batch, T = time, E = embedding, H = hidden.

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ps_models.hyperparameters import Amount, Config, Count, Rate, Size, WordId
from ps_models.layers.dropout import dropout_mask, masked
from ps_models.layers.products import wide
from ps_models.layers.softmax import Softmax
from ps_models.models.stream import StreamModel, shifted


@dataclass(frozen=True, kw_only=True)
class RNNConfig(Config):
    """Sizes of a simple recurrent network; the defaults are Elman's, at Mikolov's size."""

    vocab_size: int
    hidden_size: Size = 300  # Mikolov and Zweig 2012, section 5.1, for Penn Treebank
    embedding_size: Count = 0  # of a linear embedding before W; 0: W itself is the embedding
    deep: bool = False  # deep transition with a shortcut, and deep output
    dropout: Rate = 0.0  # of the output, a new mask at each step
    softmax_bias: bool = True
    init: Amount = 0.1  # weights are uniform in [-init, init]
    eos: WordId = 1  # the id of <eos> in wikitext_builder's vocabularies


class RNNState(NamedTuple):
    """What the model knows of the past. Not yet read: its last token."""

    token_B: Tensor
    h_BH: Tensor


class RNN(StreamModel[RNNState]):
    """Embedding, one recurrent layer of sigmoid units, softmax."""

    def __init__(self, config: RNNConfig) -> None:
        super().__init__()
        self.config = config
        V, H = config.vocab_size, config.hidden_size
        E = config.embedding_size
        self.embedding = nn.Embedding(V, E or H)  # W: one column per word
        self.projection = nn.Linear(E, H, bias=False) if E else None  # then this is W
        self.recurrent = nn.Linear(H, H)
        self.transition = nn.Linear(H, H) if config.deep else None
        self.shortcut = nn.Linear(H, H, bias=False) if config.deep else None
        self.deep_output = nn.Linear(H, H) if config.deep else None
        self.softmax = Softmax(nn.Parameter(torch.empty(V, H)), bias=config.softmax_bias)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.init, config.init)

    def initial_state(self, batch_size: int) -> RNNState:
        """The state at the start of a text: zeros, and `<eos>` is the next token to read."""
        like = self.embedding.weight
        return RNNState(self.start(batch_size), wide(like.new_zeros(batch_size, self.config.hidden_size)))

    def run(self, tokens_BT: Tensor, state: RNNState, *, at: int) -> tuple[Tensor, RNNState]:
        """The outputs that predict each token, and the state after `at` of them."""
        read_BT, token_B = shifted(state.token_B, tokens_BT, at)
        h_BH, steps = state.h_BH, [state.h_BH]
        inputs_BTH = self.embedding(read_BT)
        if self.projection is not None:
            inputs_BTH = self.projection(inputs_BTH)
        for x_BH in inputs_BTH.unbind(dim=1):
            h_BH = self._step(x_BH, h_BH)
            steps.append(h_BH)
        hidden_BTH = torch.stack(steps[1:], dim=1)
        if self.deep_output is not None:
            hidden_BTH = torch.sigmoid(wide(self.deep_output(hidden_BTH)))
        if self.training:
            mask = dropout_mask(self.config.dropout, tuple(hidden_BTH.shape), hidden_BTH)
            hidden_BTH = masked(hidden_BTH, mask)
        return hidden_BTH, RNNState(token_B, steps[at])

    def _step(self, x_BH: Tensor, h_BH: Tensor) -> Tensor:
        new_BH = torch.sigmoid(wide(x_BH + self.recurrent(h_BH)))
        if self.transition is None or self.shortcut is None:
            return new_BH
        return torch.sigmoid(wide(self.transition(new_BH) + self.shortcut(h_BH)))
