"""A pointer sentinel on a Transformer: what it adds to a model that attends to its past already.

Ours; no paper has it. The window of the Transformer's attention and the pointer's are apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from ps_models.hyperparameters import Amount, Share, Window
from ps_models.models.pointer_sentinel import PointerSentinel
from ps_models.models.transformer import Transformer, TransformerConfig


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
