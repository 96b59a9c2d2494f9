"""Implements the LSTM models of Zaremba and of Gal, and the paper's baseline: one model, seven rates.

Zaremba et al. (2014), arXiv 1409.2329: `locked=False`, dropout of inputs, between layers and of outputs.
Gal and Ghahramani (2015), arXiv 1512.05287: `locked=True`, also dropout of word types and of the recurrence;
    `per_gate=True` draws a mask for each gate: the "untied weights" of their table, not of a softmax.
Merity et al. (2016), section 5.2, the default: zoneout on the recurrent connections, locked dropout on the
    input of each layer and on the output of the last.
"""

# Shapes: B = batch, T = time, E = a layer's input, H = hidden, G = 4H: gates, L = layers, V = vocabulary.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.backends import cudnn
from torch.nn import functional

from ps_models.hyperparameters import Amount, Rate, Size, SoftmaxConfig
from ps_models.layers.recurrence import lstm_steps
from ps_models.layers.softmax import AdaptiveSoftmax, Output, Softmax, masked, product_type, widen
from ps_models.models.stream import Masks, StreamModel, dropout_mask, shifted, zone_mask


@dataclass(frozen=True, kw_only=True)
class LSTMConfig(SoftmaxConfig):
    """Sizes and rates; the defaults are the paper's zoneout + variational LSTM (medium), section 5.2."""

    hidden_size: Size = 650  # H, also of the embedding
    layers: Size = 2
    tied: bool = False  # the softmax takes the embedding's weights (Inan et al. 2016, arXiv 1611.01462)
    cutoffs: tuple[Size, ...] = ()  # of an adaptive softmax; empty: a full one
    type_dropout: Rate = 0.0  # of the embedding, all occurrences of a type
    input_dropout: Rate = 0.5  # of the embedding's output, section 5.2: "each RNN layer"
    layer_dropout: Rate = 0.5  # of the input to each further layer
    output_dropout: Rate = 0.5  # of the last layer's output
    recurrent_dropout: Rate = 0.0  # of h before the recurrent weights, always locked
    locked: bool = True  # the same mask at each step, section 5.2
    per_gate: bool = False  # a different mask at each gate, of layers' inputs and of the recurrence
    zoneout: Rate = 0.5  # of h: "recurrent connections", section 5.2, if its 0.5 also applies to them
    init: Amount = 0.05  # weights are uniform in [-init, init]: medium, Zaremba et al., section 4.1


class LSTMState(NamedTuple):
    """The model's memory of the past, and its last token, which it has not read yet."""

    token_B: Tensor
    h_BLH: (
        Tensor  # read by the next step, after zoneout; differs from the outputs, which the next layer reads
    )
    c_BLH: Tensor


class LSTMLayer(nn.Module):
    """A layer over all steps; weights and gates are ordered as in `nn.LSTM`, with one bias."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))

    def forward(
        self,
        inputs_TBE: Tensor,
        start: tuple[Tensor, Tensor],
        advance: int,
        masks: tuple[Tensor | None, Tensor | None],
        zone: Tensor | float = 0.0,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the outputs of all steps, and the (h, c) after the first `advance` steps."""
        input_mask, recurrent_mask = masks
        masked_gates = recurrent_mask is not None or _per_gate(input_mask)
        zoned = isinstance(zone, Tensor) or zone != 0
        # torch 2.11 cannot compile cuDNN's LSTM (seen on an H100), but it compiles our steps.
        if inputs_TBE.is_cuda and not (masked_gates or zoned or torch.compiler.is_compiling()):
            return self.by_torch(masked(inputs_TBE, input_mask), start, advance)
        gates_TBG = self._gates(inputs_TBE, input_mask)
        weight_GH = self.weight_hh.to(product_type(self.weight_hh))
        output_TBH, h_TBH, c_TBH = lstm_steps(gates_TBG, *start, weight_GH, zone=zone, mask=recurrent_mask)
        return output_TBH, (h_TBH[advance - 1], c_TBH[advance - 1]) if advance else start

    def _gates(self, inputs_TBE: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None or not _per_gate(mask):
            return functional.linear(masked(inputs_TBE, mask), self.weight_ih, self.bias)
        parts = zip(mask, self.weight_ih.chunk(4), self.bias.chunk(4), strict=True)
        gates = [functional.linear(inputs_TBE * gate_mask, weight, bias) for gate_mask, weight, bias in parts]
        return torch.cat(gates, dim=-1)

    def by_torch(
        self, inputs_TBE: Tensor, start: tuple[Tensor, Tensor], advance: int
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the same, without zoneout and masks, by `torch.lstm`, which is cuDNN's on a GPU.

        `torch.lstm` returns only the last cell, so two calls give the cell after `advance` steps.
        """
        first, middle = self._torch_lstm(inputs_TBE[:advance], start)
        rest, _ = self._torch_lstm(inputs_TBE[advance:], middle)
        return torch.cat([first, rest]), middle

    def _torch_lstm(
        self, inputs_TBE: Tensor, start: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        if len(inputs_TBE) == 0:
            return start[0].new_empty(0, *start[0].shape), start
        dtype = product_type(self.weight_hh)
        if dtype == torch.bfloat16 and inputs_TBE.is_cuda and not cudnn_takes_bfloat16():
            dtype = torch.float32
        h, c = (value[None].to(dtype).contiguous() for value in start)
        weights = [weight.to(dtype) for weight in (self.weight_ih, self.weight_hh, self.bias)]
        weights.append(torch.zeros_like(weights[-1]))
        train = torch.is_grad_enabled()  # cuDNN needs this mode for gradients; its dropout is 0
        values = inputs_TBE.to(dtype)
        with torch.autocast(values.device.type, enabled=False):  # autocast would always take float16
            hidden, h, c = torch.lstm(values, (h, c), weights, True, 1, 0.0, train, False, False)
        return widen(hidden), (widen(h[0]), widen(c[0]))


def cudnn_takes_bfloat16() -> bool:
    """Return True from version 9.13 on (pull request 164411 of pytorch/pytorch)."""
    return (cudnn.version() or 0) >= 91300  # type: ignore[no-untyped-call]


def _per_gate(mask: Tensor | None) -> bool:
    return mask is not None and mask.dim() == 4


class LSTM(StreamModel[LSTMState]):
    """Embedding, layers of LSTM, softmax."""

    def __init__(self, config: LSTMConfig, words: nn.Module | None = None, word_size: int = 0) -> None:
        """Draw fresh weights; `words` maps ids to vectors of `word_size`, in place of an embedding."""
        super().__init__()
        self.config = config
        V, H = config.vocab_size, config.hidden_size
        self.embedding: Any = nn.Embedding(V, H) if words is None else words
        self.input_sizes = [H if words is None else word_size, *[H] * (config.layers - 1)]
        self.layers = nn.ModuleList(LSTMLayer(E, H) for E in self.input_sizes)
        self.softmax = _softmax(config, cast("nn.Embedding", self.embedding))
        self.draw_uniform()

    def initial_state(self, batch_size: int) -> LSTMState:
        """Return the state at the start of a text: zeros, and `<eos>` is the next token to read."""
        zeros = self.zeros(batch_size, self.config.layers, self.config.hidden_size)
        # A clone, because torch would compile twice for a shared tensor.
        return LSTMState(self.start(batch_size), zeros, zeros.clone())

    def run(
        self, tokens_BT: Tensor, state: LSTMState, *, advance: int, masks: Masks | None = None
    ) -> tuple[Tensor, LSTMState]:
        """Return the outputs that predict the tokens, and the state after `advance`; see `StreamModel`."""
        if masks is None:
            masks = self._draw_masks(tokens_BT.shape[1], len(tokens_BT), on=self.training)
        read_BT, token_B = shifted(state.token_B, tokens_BT, advance)
        types_BT1 = self.dropped_types(read_BT, masks.types)
        values_TBH = masked(self.embedding(read_BT), types_BT1).transpose(0, 1)
        h, c = [], []
        for index, layer in enumerate(self.layers):
            start = state.h_BLH[:, index], state.c_BLH[:, index]
            pair = masks.inputs[index], masks.recurrent[index]
            values_TBH, (last_h, last_c) = layer(values_TBH, start, advance, pair, self._zone(values_TBH))
            h.append(last_h)
            c.append(last_c)
        hidden_BTH = masked(values_TBH, masks.output).transpose(0, 1)
        return hidden_BTH, LSTMState(token_B, torch.stack(h, dim=1), torch.stack(c, dim=1))

    def locked_masks(self, samples: int, generator: torch.Generator) -> Masks:
        """Draw a mask per sample for a whole text, also in evaluation; see `MonteCarloDropout`."""
        if not self.config.locked:
            raise ValueError("locked=False: dropout that changes at each step has no mask for a whole text")
        shape = (samples, self.config.vocab_size)
        types = dropout_mask(self.config.type_dropout, shape, self.like, generator)
        return self._draw_masks(1, samples, on=True, generator=generator)._replace(types=types)

    def _draw_masks(
        self, time: int, batch: int, *, on: bool, generator: torch.Generator | None = None
    ) -> Masks:
        config = self.config

        def draw(rate: float, *shape: int) -> Tensor | None:
            return dropout_mask(rate * on, shape, self.like, generator)

        gates = (4,) if config.per_gate else ()
        steps, H = (1 if config.locked else time, batch), config.hidden_size
        rates = [config.input_dropout, *[config.layer_dropout] * (config.layers - 1)]
        layers = zip(rates, self.input_sizes, strict=True)
        return Masks(
            types=None,
            inputs=tuple(draw(rate, *gates, *steps, E) for rate, E in layers),
            recurrent=tuple(draw(config.recurrent_dropout, *gates, batch, H) for _ in rates),
            output=draw(config.output_dropout, *steps, H),
        )

    def _zone(self, like_TBH: Tensor) -> Tensor | float:
        """Return where this layer keeps previous values: drawn in training, the rate itself in evaluation."""
        rate: float = self.config.zoneout
        if not self.training:
            return rate
        return zone_mask(rate, (*like_TBH.shape[:2], self.config.hidden_size), self.like)


def _softmax(config: LSTMConfig, embedding: nn.Embedding) -> Output:
    V, H = config.vocab_size, config.hidden_size
    if config.cutoffs and config.tied:
        raise ValueError(
            f"tied=True with cutoffs={config.cutoffs}: an adaptive softmax cannot be tied; use tied=no"
        )
    if config.cutoffs and config.sampled:
        raise ValueError(f"sampled={config.sampled} with cutoffs={config.cutoffs}: choose one of them")
    if config.cutoffs:
        return AdaptiveSoftmax(V, H, config.cutoffs, bias=config.softmax_bias)
    weight = embedding.weight if config.tied else nn.Parameter(torch.empty(V, H))
    return Softmax(weight, bias=config.softmax_bias, sampled=config.sampled)
