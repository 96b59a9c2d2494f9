"""A pointer sentinel on models that came after the paper: AWD-LSTM and the Transformer.

Ours; no paper has them. On AWD-LSTM the pointer reads what the softmax reads, the last outputs after their
dropout. The window of the Transformer's attention and the pointer's are apart.
"""

# Shapes: B = batch, T = time.

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ps_models.hyperparameters import Amount, Share, Window
from ps_models.models.awd_lstm import AWDLSTM, AWDLSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinel, PointerSentinelState
from ps_models.models.stream import scored_and_advance
from ps_models.models.transformer import Transformer, TransformerConfig


@dataclass(frozen=True, kw_only=True)
class PointerSentinelAWDLSTMConfig(AWDLSTMConfig):
    """AWD-LSTM's sizes and rates, and the pointer's as in `PointerSentinelConfig`."""

    window: Window = 100
    initial_gate: Share | None = None
    pointer_rate: Amount = 1.0


class PointerSentinelAWDLSTM(PointerSentinel):
    """Mixes AWD-LSTM's softmax with a pointer; `loss_and_penalty` as there."""

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
        """Nats of the last `scored` tokens, and the activations' penalty; see `Penalised`."""
        scored, advance = scored_and_advance(tokens, scored, advance)
        outputs, inner = self.inner.outputs(tokens, state.inner, at=advance)
        nats_BT, after = self._loss((outputs.dropped_BTE, inner), tokens, state, scored, advance)
        return nats_BT, self.inner.penalty(outputs, scored), after


@dataclass(frozen=True, kw_only=True)
class PointerSentinelTransformerConfig(TransformerConfig):
    """The Transformer's sizes and rates, and the pointer's as in `PointerSentinelConfig`."""

    pointer_window: Window = 100
    initial_gate: Share | None = None
    pointer_rate: Amount = 1.0


class PointerSentinelTransformer(PointerSentinel):
    """Mixes the Transformer's softmax with a pointer."""

    reads_segments_whole = True  # as the Transformer

    def __init__(self, config: PointerSentinelTransformerConfig) -> None:
        inner = Transformer(config)
        super().__init__("transformer", inner, config, size=config.hidden_size, window=config.pointer_window)
