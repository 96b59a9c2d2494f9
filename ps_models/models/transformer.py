"""Implements a small decoder-only Transformer that reads a text as a stream, like the recurrent models.

    x_0 = sqrt(H) E w                                         w: the word that was read
    a_l = x_l + O attention(Q n_l, K n_l, V n_l)              n_l = norm(x_l): layers normalise their inputs
    x_{l+1} = a_l + D relu(U norm(a_l) + b) + d
    p = softmax(E norm(x_last))                               the softmax takes the embedding's weights

Each position attends to exactly the last W positions, including itself (at the start of a text, to all before
it). The state keeps the inputs of every layer at the last W - 1 positions (the memory of Transformer-XL,
Dai et al. 2019, arXiv 1901.02860). They are constants in training and exact in evaluation, so no score
depends on how a text is cut. Queries and keys are rotated by their positions (Su et al. 2021, arXiv
2104.09864): only distances matter. Through the layers below, a score depends on up to 1 + L (W - 1) words
before it.
"""

# Shapes: B = batch, T = time, W = window, P = W - 1: remembered positions, S = P + T, H = hidden, N = heads,
# A = a head's size, C = A // 2: its pairs of units, L = layers, V = vocabulary.

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.errors import ModelError
from ps_models.hyperparameters import Amount, Rate, Size, SoftmaxConfig, Window
from ps_models.layers.softmax import Softmax, masked, widen
from ps_models.layers.window import visible
from ps_models.models.pointer_sentinel import PointerConfig, PointerSentinel
from ps_models.models.stream import StreamModel, dropout_mask, shifted

POSITIONS_AT_ONCE = 128  # a block; the attention of each position is computed over the windows of all of them


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(SoftmaxConfig):
    """Sizes and rates; the defaults are ours, near the 20 M parameters of the paper's table on its data."""

    hidden_size: Size = 400  # H
    layers: Size = 8  # L
    heads: Size = 4  # N
    inner_size: Size = 1600  # of the feed-forward blocks; 4 H as in Vaswani et al. (2017), arXiv 1706.03762
    window: Window = 100  # W, as far as the paper's pointer looks back
    type_dropout: Rate = 0.0  # of the embedding, all occurrences of a type
    dropout: Rate = 0.2  # of the embedding, of each block's inner units and result, of the output
    locked: bool = False  # the same masks of `dropout` at each step of a call
    init: Amount = 0.02  # standard deviation of weights

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden_size % self.heads:
            raise ModelError(f"hidden_size={self.hidden_size}: expected a multiple of heads={self.heads}")


class TransformerState(NamedTuple):
    """The model's memory of the past, and its last token, which it has not read yet."""

    token_B: Tensor
    in_text_BP: Tensor  # bool: False before the text began
    inputs_BLPH: Tensor  # of each layer, at the last P positions


class TransformerLayer(nn.Module):
    """Attention over the window and a feed-forward block, each added to its input."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        H = config.hidden_size
        self.config = config
        self.attention_norm, self.inner_norm = nn.LayerNorm(H), nn.LayerNorm(H)
        self.query = nn.Linear(H, H, bias=False)
        self.key_value = nn.Linear(H, 2 * H, bias=False)
        self.output = nn.Linear(H, H, bias=False)
        self.up, self.down = nn.Linear(H, config.inner_size), nn.Linear(config.inner_size, H)

    def forward(self, inputs_BSH: Tensor, in_text_BS: Tensor) -> Tensor:
        """Return the inputs of the next layer at the last T positions, (B, T, H)."""
        inputs_BTH = inputs_BSH[:, self.config.window - 1 :]
        middle_BTH = inputs_BTH + self._dropped(self._attention(inputs_BSH, in_text_BS))
        inner = functional.relu(self.up(self.inner_norm(middle_BTH)))
        return middle_BTH + self._dropped(self.down(self._dropped(inner)))

    def _attention(self, inputs_BSH: Tensor, in_text_BS: Tensor) -> Tensor:
        W, N = self.config.window, self.config.heads
        norm_BSH = self.attention_norm(inputs_BSH)
        query_BNTA = _heads(self.query(norm_BSH[:, W - 1 :]), N)
        key_BNSA, value_BNSA = (_heads(part, N) for part in self.key_value(norm_BSH).chunk(2, dim=-1))
        cos_SC, sin_SC = rotations(inputs_BSH.shape[1], key_BNSA)
        query_BNTA, key_BNSA = (
            rotated(query_BNTA, cos_SC[W - 1 :], sin_SC[W - 1 :]),
            rotated(key_BNSA, cos_SC, sin_SC),
        )
        parts = []
        for begin in range(0, query_BNTA.shape[2], POSITIONS_AT_ONCE):
            query = query_BNTA[:, :, begin : begin + POSITIONS_AT_ONCE]
            span = slice(begin, begin + query.shape[2] + W - 1)
            mask = visible(in_text_BS[:, span], query.shape[2], W)[:, None]
            keys, values = key_BNSA[:, :, span], value_BNSA[:, :, span]
            parts.append(functional.scaled_dot_product_attention(query, keys, values, mask))
        return self.output(torch.cat(parts, dim=2).transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _dropped(self, value_BTH: Tensor) -> Tensor:
        return dropped(value_BTH, self.config, on=self.training)


class Transformer(StreamModel[TransformerState]):
    """Embedding, layers of attention, softmax with the embedding's weights."""

    reads_segments_whole = True  # its products are large

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.hidden_size)
        self.softmax = Softmax(self.embedding.weight, bias=config.softmax_bias, sampled=config.sampled)
        self._initialise()

    def _initialise(self) -> None:
        """Draw normal weights; those that add to the sum through all layers shrink with the number of layers.

        Training then needs no warm-up; as in Radford et al. (2019), "Language models are unsupervised
        multitask learners", section 2.3.
        """
        for name, parameter in self.named_parameters():
            adds = name.endswith(("output.weight", "down.weight"))
            std = self.config.init / math.sqrt(2 * self.config.layers) if adds else self.config.init
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() > 1:  # the scales of norms stay 1
                nn.init.normal_(parameter, std=std)

    def initial_state(self, batch_size: int) -> TransformerState:
        """Return the state at the start of a text: no past, and `<eos>` is the next token to read."""
        P = self.config.window - 1
        inputs_BLPH = self.zeros(batch_size, self.config.layers, P, self.config.hidden_size)
        return TransformerState(self.start(batch_size), self.zeros(batch_size, P).bool(), inputs_BLPH)

    def run(
        self, tokens_BT: Tensor, state: TransformerState, *, advance: int
    ) -> tuple[Tensor, TransformerState]:
        """Return the outputs that predict the tokens, and the state after `advance`; see `StreamModel`."""
        P = self.config.window - 1
        read_BT, token_B = shifted(state.token_B, tokens_BT, advance)
        in_text_BS = torch.cat([state.in_text_BP, torch.ones_like(read_BT, dtype=torch.bool)], dim=1)
        values_BTH = widen(self.embedding(read_BT)) * math.sqrt(self.config.hidden_size)
        values_BTH = dropped(masked(values_BTH, self.dropped_types(read_BT)), self.config, on=self.training)
        memory = []  # of each layer
        for past_BPH, layer in zip(state.inputs_BLPH.unbind(dim=1), self.layers, strict=True):
            inputs_BSH = torch.cat([past_BPH, values_BTH], dim=1)
            memory.append(inputs_BSH[:, advance : advance + P])
            values_BTH = layer(inputs_BSH, in_text_BS)
        after = TransformerState(token_B, in_text_BS[:, advance : advance + P], torch.stack(memory, dim=1))
        return dropped(widen(self.norm(values_BTH)), self.config, on=self.training), after


def dropped(value_BTH: Tensor, config: TransformerConfig, *, on: bool) -> Tensor:
    """Apply dropout to the value if it is on."""
    B, T, H = value_BTH.shape
    shape = (B, 1 if config.locked else T, H)
    mask = dropout_mask(config.dropout * on, shape, widen(value_BTH[..., :0]))  # bf16 is too coarse for draws
    return value_BTH if mask is None else value_BTH * mask.to(value_BTH.dtype)


def rotations(positions: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of the angles by which a head's pairs of units are rotated, (S, C) each.

    Su et al. (2021), section 3.2.2; in float32 or wider. The last unit of a head of odd size is not rotated.
    `like` is a tensor of heads, (..., A), whose device and type they take.
    """
    pairs = like.shape[-1] // 2
    dtype, device = widen(like[..., :0]).dtype, like.device
    speeds_C = 10_000.0 ** (-torch.arange(pairs, dtype=dtype, device=device) / max(pairs, 1))
    angles_SC = torch.arange(positions, dtype=dtype, device=device)[:, None] * speeds_C
    return angles_SC.cos(), angles_SC.sin()


def rotated(value: Tensor, cos_SC: Tensor, sin_SC: Tensor) -> Tensor:
    """Rotate each unit of the first half with its partner in the second half, (..., S, A)."""
    pairs = cos_SC.shape[-1]
    first, second, rest = value[..., :pairs], value[..., pairs : 2 * pairs], value[..., 2 * pairs :]
    parts = [first * cos_SC - second * sin_SC, first * sin_SC + second * cos_SC, rest]
    return torch.cat(parts, dim=-1).to(value.dtype)


def _heads(value_BSH: Tensor, heads: int) -> Tensor:
    B, S, _ = value_BSH.shape
    return value_BSH.view(B, S, heads, -1).transpose(1, 2)


@dataclass(frozen=True, kw_only=True)
class PointerSentinelTransformerConfig(PointerConfig, TransformerConfig):
    """The Transformer's sizes and rates, and the pointer's."""

    pointer_window: Window = 100


class PointerSentinelTransformer(PointerSentinel):
    """Mixes the Transformer's softmax with a pointer, which has its own window; ours, no paper has it."""

    reads_segments_whole = True  # like the Transformer

    def __init__(self, config: PointerSentinelTransformerConfig) -> None:
        inner = Transformer(config)
        super().__init__("transformer", inner, config, size=config.hidden_size, window=config.pointer_window)
