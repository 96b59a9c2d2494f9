"""Implements AWD-LSTM, the regularised LSTM of Merity et al. (2017), arXiv 1708.02182.

Section 2: DropConnect on the recurrent weights U, with the same mask for all steps of an update.
Section 4: locked dropout of the embedding's output, between layers and of the last output; dropout of types,
    the same in all rows; an embedding narrower than the layers, which the softmax is tied to.
Section 4.6: activation regularisation, in nats per token, added to the loss, of the last layer's outputs h:

    penalty = alpha mean((m h_t)^2) + beta mean((h_t - h_(t-1))^2)      m: the mask of output dropout

Random chunk lengths and NT-ASGD belong to training: `random_strides` and `averaging_interval`.

The dropped weights replace the weights during a call and are not kept. No copy of them can become stale, so a
model can be evaluated at any point of training.
"""

# Shapes: B = batch, T = time, E = embedding, H = a layer's outputs: E in the last one, V = vocabulary.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.func import functional_call

from ps_models.hyperparameters import Amount, Rate, Size, SoftmaxConfig, Window
from ps_models.language_model import detach
from ps_models.layers.softmax import Softmax, masked
from ps_models.models.lstm import LSTMLayer
from ps_models.models.pointer_sentinel import PointerConfig, PointerSentinel, PointerSentinelState
from ps_models.models.stream import StreamModel, dropout_mask, scored_and_advance, shifted


@dataclass(frozen=True, kw_only=True)
class AWDLSTMConfig(SoftmaxConfig):
    """Sizes and rates; the defaults are those of the published code for Penn Treebank, in its README."""

    embedding_size: Size = 400  # E, and the outputs of the last layer; section 5
    hidden_size: Size = 1150  # of the other layers; section 5
    layers: Size = 3  # section 5
    type_dropout: Rate = 0.1  # of types, in the embedding; section 5
    input_dropout: Rate = 0.4  # of the embedding's output; section 5
    layer_dropout: Rate = 0.25  # between layers; the paper has 0.3, its code's README 0.25
    output_dropout: Rate = 0.4  # section 5
    weight_dropout: Rate = 0.5  # of U; section 5
    activation: Amount = 2.0  # alpha; section 5
    temporal_activation: Amount = 1.0  # beta; section 5
    softmax_bias: bool = True
    init: Amount = 0.1  # the embedding is uniform in [-init, init], layers in [-H^-1/2, H^-1/2]; section 5


class AWDLSTMState(NamedTuple):
    """The model's memory of the past, and its last token, which it has not read yet."""

    token_B: Tensor
    h: tuple[Tensor, ...]  # per layer: (B, H)
    c: tuple[Tensor, ...]


class Outputs(NamedTuple):
    """The last layer's outputs in a call, before and after dropout, (B, T, E)."""

    raw_BTE: Tensor
    dropped_BTE: Tensor


class AWDLSTM(StreamModel[AWDLSTMState]):
    """Embedding, LSTM layers with dropped weights, softmax with the embedding's weights."""

    def __init__(self, config: AWDLSTMConfig) -> None:
        super().__init__()
        self.config = config
        E = config.embedding_size
        self.sizes = [
            E,
            *[config.hidden_size] * (config.layers - 1),
            E,
        ]  # of the layers' inputs, then the outputs
        self.embedding = nn.Embedding(config.vocab_size, E)
        self.layers = nn.ModuleList(
            LSTMLayer(input_size, size) for input_size, size in zip(self.sizes, self.sizes[1:], strict=False)
        )
        # Its bias is 0 at first.
        self.softmax = Softmax(self.embedding.weight, bias=config.softmax_bias, sampled=config.sampled)
        nn.init.uniform_(self.embedding.weight, -config.init, config.init)
        for layer, size in zip(self.layers, self.sizes[1:], strict=True):
            for parameter in layer.parameters():
                nn.init.uniform_(parameter, -(size**-0.5), size**-0.5)

    def initial_state(self, batch_size: int) -> AWDLSTMState:
        """Return the state at the start of a text: zeros, and `<eos>` is the next token to read."""
        zeros = tuple(self.zeros(batch_size, size) for size in self.sizes[1:])
        return AWDLSTMState(self.start(batch_size), zeros, zeros)

    def loss_and_penalty(
        self, tokens: Tensor, state: AWDLSTMState, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, Tensor, AWDLSTMState]:
        """Return the nats of the last `scored` tokens, and the activations' penalty; see `StreamModel`."""
        scored, advance = scored_and_advance(tokens, scored, advance)
        outputs, state = self.outputs(tokens, state, advance=advance)
        nats = -self.score(outputs.dropped_BTE[:, -scored:], tokens[:, -scored:])
        return nats, self.penalty(outputs, scored), detach(state)

    def run(self, tokens_BT: Tensor, state: AWDLSTMState, *, advance: int) -> tuple[Tensor, AWDLSTMState]:
        """Return the outputs that predict the tokens, and the state after `advance`; see `StreamModel`."""
        outputs, after = self.outputs(tokens_BT, state, advance=advance)
        return outputs.dropped_BTE, after

    def outputs(
        self, tokens_BT: Tensor, state: AWDLSTMState, *, advance: int
    ) -> tuple[Outputs, AWDLSTMState]:
        """Do what `run` does, and also return the outputs before their dropout."""
        config = self.config
        read_BT, token_B = shifted(state.token_B, tokens_BT, advance)
        types_V1 = self._mask(config.type_dropout, config.vocab_size, 1)
        types_BT1 = None if types_V1 is None else types_V1[read_BT]
        values = masked(self.embedding(read_BT), types_BT1).transpose(0, 1)
        rates = [config.input_dropout, *[config.layer_dropout] * (config.layers - 1)]
        after = []
        for index, (layer, rate) in enumerate(zip(self.layers, rates, strict=True)):
            mask = self._mask(rate, 1, *values.shape[1:])
            arguments = values, (state.h[index], state.c[index]), advance, (mask, None)
            values, last = functional_call(layer, self._dropped(layer), arguments)
            after.append(last)
        dropped = masked(values, self._mask(config.output_dropout, 1, *values.shape[1:]))
        outputs = Outputs(values.transpose(0, 1), dropped.transpose(0, 1))
        h, c = zip(*after, strict=True)
        return outputs, AWDLSTMState(token_B, h, c)

    def _dropped(self, layer: Any) -> dict[str, Tensor]:  # noqa: ANN401 - ModuleList forgets its type
        """Return the weights of a layer that differ in this call."""
        weight = layer.weight_hh
        mask = self._mask(self.config.weight_dropout, *weight.shape)
        return {} if mask is None else {"weight_hh": weight * mask}

    def _mask(self, rate: float, *shape: int) -> Tensor | None:
        return dropout_mask(rate, shape, self.embedding.weight) if self.training else None

    def penalty(self, outputs: Outputs, scored: int) -> Tensor:
        """Return the penalty of the last outputs, in nats per token; a single step has no second term."""
        config: AWDLSTMConfig = self.config
        penalty = config.activation * outputs.dropped_BTE[:, -scored:].square().mean()
        changes = outputs.raw_BTE[:, -scored:].diff(dim=1)
        if not changes.numel():
            return penalty
        return penalty + config.temporal_activation * changes.square().mean()


@dataclass(frozen=True, kw_only=True)
class PointerSentinelAWDLSTMConfig(PointerConfig, AWDLSTMConfig):
    """AWD-LSTM's sizes and rates, and the pointer's."""

    window: Window = 100


class PointerSentinelAWDLSTM(PointerSentinel):
    """Mixes AWD-LSTM's softmax with a pointer, which reads the last outputs after their dropout.

    Ours; no paper has it.
    """

    def __init__(self, config: PointerSentinelAWDLSTMConfig) -> None:
        inner = AWDLSTM(config)
        super().__init__("awd_lstm", inner, config, size=config.embedding_size, window=config.window)

    def loss_and_penalty(
        self,
        tokens: Tensor,
        state: PointerSentinelState,
        scored: int | None = None,
        advance: int | None = None,
    ) -> tuple[Tensor, Tensor, PointerSentinelState]:
        """Return the nats of the last `scored` tokens, and both penalties; see `StreamModel`."""
        scored, advance = scored_and_advance(tokens, scored, advance)
        outputs, inner = self.inner.outputs(tokens, state.inner, advance=advance)
        nats, pointer, after = self._loss((outputs.dropped_BTE, inner), tokens, state, scored, advance)
        return nats, self.inner.penalty(outputs, scored) + pointer, after
