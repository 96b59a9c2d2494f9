"""Language models over words: the pointer sentinel-LSTM, its baselines, their training and evaluation.

`MODELS` names what can be trained: the dataclass of its configuration and the module made of it. Each keeps
`Trainable`'s contract, and none inherits from another.
"""

from __future__ import annotations

from ps_models.lstm import LSTM, LSTMConfig
from ps_models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.rnn import RNN, RNNConfig

MODELS = {
    "lstm": (LSTMConfig, LSTM),
    "pointer-sentinel-lstm": (PointerSentinelConfig, PointerSentinelLSTM),
    "rnn": (RNNConfig, RNN),
}
