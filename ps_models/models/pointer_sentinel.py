"""Implements the pointer sentinel mixture model of Merity et al. (2016), arXiv 1609.07843, section 2.

    q = tanh(W h + b)                         a = softmax([q . h_1, ..., q . h_L, q . s])
    p(w) = g p_vocab(w) + sum of a_i over the places i of w in the window        g = a_(L+1)

h_i is the output after reading word x_i, with which it is paired; the window ends with the last word read.
With zoneout h_i is the LSTM's output, not the state that it reads in the next step. All is in log space:
-log p(w) comes from log g and the sums of a, with the same normaliser. From the same sums follows the pointer
loss, which training adds `pointer_loss` times; the paper does not say whether its training does:

    -log(g + sum of a_i over the places i of w in the window)

The paper's model inside is an LSTM. `PointerSentinel` takes any model with outputs that a softmax reads.
"""

# Shapes: B = batch, T = time, W = window, P = W - 1, S = P + T: positions that any step looks back on,
# H = hidden.

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.hyperparameters import Amount, Share, Window
from ps_models.language_model import AnyState, detach
from ps_models.layers.softmax import widen
from ps_models.layers.window import NO_WORD, look_back, windows
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.stream import Masks, StreamModel, scored_and_advance

Inner = Any  # the inner model, or its configuration, of any class; see `PointerSentinel`


@dataclass(frozen=True, kw_only=True)
class PointerConfig:
    """The configuration of every pointer, apart from its window."""

    initial_gate: Share | None = None  # g before training, over a full window; None: as the weights give it
    pointer_rate: Amount = 1.0  # the learning rate of query and sentinel, relative to that of other weights
    pointer_loss: Amount = 0.0  # the weight of the pointer loss in training; 0: the mixture's loss alone


@dataclass(frozen=True, kw_only=True)
class PointerSentinelConfig(PointerConfig, LSTMConfig):
    """The LSTM's sizes and rates, and the pointer's."""

    window: Window = 100  # L, section 5.2


class PointerSentinelState(NamedTuple):
    """The state of the inner model, and the window: the last W words, the outputs after all but the last."""

    inner: AnyState
    words_BW: Tensor  # NO_WORD before the text began
    hidden_BPH: Tensor  # outputs of the inner model


class Inspection(NamedTuple):
    """The parts of predictions, for pictures and statistics."""

    log_probs_BT: Tensor  # of the tokens, by the mixture
    vocab_log_probs_BT: Tensor  # of the tokens, by the softmax alone
    gate_BT: Tensor  # g, the share of the softmax
    words_BTW: Tensor  # the window of each prediction, oldest word first; NO_WORD before the text began
    attention_BTW: Tensor  # a; with the gate they sum to one
    hidden_BTH: Tensor  # outputs, from which `vocab_log_probs` computes the softmax over all words


class PointerSentinel(StreamModel[PointerSentinelState]):
    """Mixes the softmax of the inner model with a pointer to the words of a window.

    The inner model has `initial_state`, `score` and `softmax`, and a `run` like `LSTM.run`. Names of its
    weights begin with `name`. The configuration is a `PointerConfig` that also has `init`.
    """

    def __init__(self, name: str, inner: nn.Module, config: Inner, *, size: int, window: int) -> None:
        """Draw the weights of query and sentinel; `size` is the size of the outputs."""
        super().__init__()
        self.inner_name, self.config, self.window = name, config, window
        self.add_module(name, inner)
        self.query = nn.Linear(size, size)
        self.sentinel = nn.Parameter(torch.empty(size))
        for parameter in (self.query.weight, self.query.bias, self.sentinel):
            nn.init.uniform_(parameter, -config.init, config.init)
        if config.initial_gate is not None:
            self._set_gate(config.initial_gate)

    @property
    def inner(self) -> Inner:
        """The inner model."""
        return getattr(self, self.inner_name)

    @torch.no_grad()
    def _set_gate(self, gate: float) -> None:
        """Set q . s so that g has this value while all q . h_i are near 0, as they are at first."""
        bias, H = 0.1, len(self.sentinel)
        score = math.log(self.window * gate / (1 - gate))
        self.query.bias.fill_(bias)
        self.sentinel.fill_(score / (H * math.tanh(bias)))

    def initial_state(self, batch_size: int) -> PointerSentinelState:
        """Return the state at the start of a text: only `<eos>` is in the window."""
        inner, W = self.inner.initial_state(batch_size), self.window
        words_BW = inner.token_B.new_full((batch_size, W), NO_WORD)
        words_BW[:, -1] = inner.token_B
        hidden_BPH = widen(self.sentinel.new_zeros(batch_size, W - 1, len(self.sentinel)))
        return PointerSentinelState(inner, words_BW, hidden_BPH)

    def scores_and_hidden(
        self, tokens: Tensor, state: PointerSentinelState, masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, PointerSentinelState]:
        """Return scores and the outputs that they came from; see `StreamModel`."""
        T = tokens.shape[1]
        given_masks: dict[str, Any] = {} if masks is None else {"masks": masks}
        outputs = self.inner.run(tokens, state.inner, advance=T, **given_masks)
        past_BSH, words_BS, next_state = self._past(outputs, tokens, state, T)
        log_probs_BT, _ = self._mixture(past_BSH, words_BS, tokens)
        return log_probs_BT, past_BSH[:, -T:], next_state

    def loss_and_penalty(
        self,
        tokens: Tensor,
        state: PointerSentinelState,
        scored: int | None = None,
        advance: int | None = None,
    ) -> tuple[Tensor, Tensor | float, PointerSentinelState]:
        """Return the nats of the last `scored` tokens, and their weighted pointer losses; see `StreamModel`.

        With `scored` + W - 1 tokens or more, every window consists of outputs that this call computes.
        """
        scored, advance = scored_and_advance(tokens, scored, advance)
        return self._loss(
            self.inner.run(tokens, state.inner, advance=advance), tokens, state, scored, advance
        )

    @torch.no_grad()
    def next_log_probs(self, state: PointerSentinelState) -> Tensor:
        """Return log-probabilities of all words as the next one; see `StreamModel`."""
        parts, _ = self.inspect(state.inner.token_B[:, None], state)
        vocab_BV = self.vocab_log_probs(parts.hidden_BTH[:, 0])
        words_BW = parts.words_BTW[:, 0].clamp(min=0)
        pointer_BV = torch.zeros_like(vocab_BV).scatter_add_(1, words_BW, parts.attention_BTW[:, 0])
        return torch.logaddexp(parts.gate_BT.log() + vocab_BV, pointer_BV.log())

    def vocab_log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Return log-probabilities of all words by the softmax alone, (N, V)."""
        log_probs_NV: Tensor = self.inner.softmax.log_probs(hidden_NH)
        return log_probs_NV

    @torch.no_grad()
    def inspect(self, tokens: Tensor, state: PointerSentinelState) -> tuple[Inspection, PointerSentinelState]:
        """Return the parts of the prediction of each token, and the state after the tokens.

        They have (B, T, W) numbers: inspect a long text in chunks.
        """
        T, W = tokens.shape[1], self.window
        outputs = self.inner.run(tokens, state.inner, advance=T)
        past_BSH, words_BS, next_state = self._past(outputs, tokens, state, T)
        hidden_BTH = past_BSH[:, -T:]
        query_BTH = self._query(hidden_BTH)
        keys_BTWH, words_BTW = windows(past_BSH, W), windows(words_BS, W)
        scores_BTW = (widen(keys_BTWH) @ query_BTH[..., None])[..., 0]
        scores_BTW = scores_BTW.masked_fill(words_BTW == NO_WORD, -torch.inf)
        scores = torch.cat([scores_BTW, self._sentinel_score(query_BTH)[..., None]], dim=-1)
        weights = scores.softmax(dim=-1)
        parts = Inspection(
            log_probs_BT=self._mixture(past_BSH, words_BS, tokens)[0],
            vocab_log_probs_BT=self.inner.score(hidden_BTH, tokens),
            gate_BT=weights[..., -1],
            words_BTW=words_BTW,
            attention_BTW=weights[..., :-1],
            hidden_BTH=hidden_BTH,
        )
        return parts, next_state

    def _past(
        self, outputs: tuple[Tensor, AnyState], tokens_BT: Tensor, state: PointerSentinelState, advance: int
    ) -> tuple[Tensor, Tensor, PointerSentinelState]:
        """Return outputs and words that any step looks back on, and the state after `advance`."""
        W, (hidden_BTH, inner) = self.window, outputs
        past_BSH = torch.cat([state.hidden_BPH, hidden_BTH], dim=1)
        words = torch.cat([state.words_BW, tokens_BT], dim=1)
        next_state = PointerSentinelState(
            inner, words[:, advance : advance + W], past_BSH[:, advance : advance + W - 1]
        )
        return past_BSH, words[:, :-1], next_state

    def _loss(
        self,
        outputs: tuple[Tensor, AnyState],
        tokens: Tensor,
        state: PointerSentinelState,
        scored: int,
        advance: int,
    ) -> tuple[Tensor, Tensor | float, PointerSentinelState]:
        past_BSH, words_BS, next_state = self._past(outputs, tokens, state, advance)
        reach = scored + self.window - 1  # positions that the scored tokens look back on
        log_probs_BT, pointer_BT = self._mixture(
            past_BSH[:, -reach:], words_BS[:, -reach:], tokens[:, -scored:]
        )
        weight = self.config.pointer_loss
        return -log_probs_BT, -weight * pointer_BT if weight else 0.0, detach(next_state)

    def _mixture(self, past_BSH: Tensor, words_BS: Tensor, tokens_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of tokens, each from its output and the window that ends with that output.

        Also return the logarithms of g plus the attention at the token's places, which need no softmax.
        """
        hidden_BTH = past_BSH[:, -tokens_BT.shape[1] :]
        query_BTH = self._query(hidden_BTH)
        sentinel_BT = self._sentinel_score(query_BTH)
        total_BT, match_BT = look_back(query_BTH, past_BSH, words_BS, tokens_BT, self.window)
        vocab_BT = sentinel_BT + self.inner.score(hidden_BTH, tokens_BT)
        normaliser_BT = torch.logaddexp(sentinel_BT, total_BT)
        pointer_BT = torch.logaddexp(sentinel_BT, match_BT) - normaliser_BT
        return torch.logaddexp(vocab_BT, match_BT) - normaliser_BT, pointer_BT

    def _query(self, hidden_BTH: Tensor) -> Tensor:
        rate = self.config.pointer_rate
        weight_HH, bias_H = (slowed(parameter, rate) for parameter in (self.query.weight, self.query.bias))
        return torch.tanh(widen(functional.linear(hidden_BTH, weight_HH, bias_H)))

    def _sentinel_score(self, query_BTH: Tensor) -> Tensor:
        """Return the scores q . s, in float32 even under autocast."""
        with torch.autocast(query_BTH.device.type, enabled=False):
            return query_BTH @ slowed(self.sentinel, self.config.pointer_rate)


class PointerSentinelLSTM(PointerSentinel):
    """The paper's model."""

    def __init__(self, config: PointerSentinelConfig) -> None:
        super().__init__("lstm", LSTM(config), config, size=config.hidden_size, window=config.window)

    def locked_masks(self, samples: int, generator: torch.Generator) -> Masks:
        """Draw the masks of the LSTM."""
        masks: Masks = self.inner.locked_masks(samples, generator)
        return masks


def slowed(parameter: Tensor, rate: float) -> Tensor:
    """Return the same numbers, with a gradient that is multiplied by the rate.

    All scores of a window change with q, so at the LSTM's learning rate for SGD, 25 per token, an update
    moves the sentinel's score by several nats. After a few updates g is 1 and has no gradient any more.
    """
    return parameter if rate == 1 else torch.lerp(parameter.detach(), parameter, rate)
