"""The recurrent highway network of Zilly et al. (2016), arXiv 1607.03474, with variational dropout.

One recurrent layer. Its step from word to word is D highway layers deep, and the first of them reads the
word:

    s_0 = state after the last word        s_d = h_d t_d + s_{d-1} (1 - t_d)        p = softmax(U s_D)
    h_1 = tanh(W_h x + R_h1 s_0 + b_h1)    t_1 = sigmoid(W_t x + R_t1 s_0 + b_t1)   the next layers without x

Masks are those of the authors' TensorFlow code, which gave their last numbers: one mask of the state for all
depths, all steps and both gates (their Torch code, like Gal's, draws one for each gate).
"""

# Shapes: B = batch, T = time, H = hidden, D = depth, G = 2H: h and t, V = vocabulary.

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.hyperparameters import Amount, Finite, Rate, Size, SoftmaxConfig
from ps_models.layers.products import masked, product_type
from ps_models.layers.recurrence import highway_steps
from ps_models.layers.softmax import Softmax
from ps_models.models.stream import Masks, StreamModel, dropout_mask, shifted


@dataclass(frozen=True, kw_only=True)
class RecurrentHighwayConfig(SoftmaxConfig):
    """Sizes and rates; the defaults are those of the authors' code for Penn Treebank, except `tied`."""

    hidden_size: Size = 830  # H, of the embedding too
    depth: Size = 10  # D
    tied: bool = False  # the softmax takes the embedding's weights
    softmax_bias: bool = True
    type_dropout: Rate = 0.25  # of the embedding, all occurrences of a type
    input_dropout: Rate = 0.75  # of the embedding's output
    recurrent_dropout: Rate = 0.25  # of the state before R, at each depth
    output_dropout: Rate = 0.75
    transform_bias: Finite = -2.0  # b_t before training: at first most of the state is carried through
    init: Amount = 0.04  # all other weights are uniform in [-init, init]


class RecurrentHighwayState(NamedTuple):
    """What the model knows of the past. Not yet read: its last token."""

    token_B: Tensor
    s_BH: Tensor


class RecurrentHighway(StreamModel[RecurrentHighwayState]):
    """Embedding, one deep recurrent layer, softmax."""

    def __init__(self, config: RecurrentHighwayConfig) -> None:
        super().__init__()
        self.config = config
        V, H, D = config.vocab_size, config.hidden_size, config.depth
        self.embedding = nn.Embedding(V, H)
        self.weight_input = nn.Parameter(torch.empty(2 * H, H))  # W
        self.weight = nn.Parameter(torch.empty(D, 2 * H, H))  # R
        self.bias = nn.Parameter(torch.empty(D, 2 * H))
        weight_VH = self.embedding.weight if config.tied else nn.Parameter(torch.empty(V, H))
        self.softmax = Softmax(weight_VH, bias=config.softmax_bias, sampled=config.sampled)
        self.draw_uniform()
        nn.init.constant_(self.bias[:, H:], config.transform_bias)

    def initial_state(self, batch_size: int) -> RecurrentHighwayState:
        """The state at the start of a text: zeros, and `<eos>` is the next token to read."""
        return RecurrentHighwayState(self.start(batch_size), self.zeros(batch_size, self.config.hidden_size))

    def locked_masks(self, samples: int, generator: torch.Generator) -> Masks:
        """One mask per sample for a whole text, also in evaluation; see `MonteCarloDropout`."""
        shape = (samples, self.config.vocab_size)
        types = dropout_mask(self.config.type_dropout, shape, self.embedding.weight, generator)
        return self._draw_masks(samples, generator)._replace(types=types)

    def _draw_masks(self, batch: int, generator: torch.Generator | None = None) -> Masks:
        """All masks except those of types."""
        config, like = self.config, self.embedding.weight
        shape = (batch, config.hidden_size)
        rates = config.input_dropout, config.recurrent_dropout, config.output_dropout
        inputs, recurrent, output = (dropout_mask(rate, shape, like, generator) for rate in rates)
        return Masks(types=None, inputs=(inputs,), recurrent=(recurrent,), output=output)

    def run(
        self, tokens_BT: Tensor, state: RecurrentHighwayState, *, at: int, masks: Masks | None = None
    ) -> tuple[Tensor, RecurrentHighwayState]:
        """The outputs that predict each token, and the state after `at` of them."""
        read_BT, token_B = shifted(state.token_B, tokens_BT, at)
        types_BT1 = self.dropped_types(read_BT, masks and masks.types)
        if masks is None:
            masks = self._draw_masks(len(tokens_BT)) if self.training else NO_MASKS
        values_TBH = masked(masked(self.embedding(read_BT), types_BT1).transpose(0, 1), masks.inputs[0])
        inputs_TBG = functional.linear(values_TBH, self.weight_input)
        weight_DGH = self.weight.to(product_type(self.weight))
        states_TBH = highway_steps(inputs_TBG, state.s_BH, weight_DGH, self.bias, masks.recurrent[0])
        hidden_BTH = masked(states_TBH, masks.output).transpose(0, 1)
        if not at:
            return hidden_BTH, state
        return hidden_BTH, RecurrentHighwayState(token_B, states_TBH[at - 1])


NO_MASKS = Masks(types=None, inputs=(None,), recurrent=(None,), output=None)
