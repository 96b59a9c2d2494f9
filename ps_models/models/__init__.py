"""Names the models that can be trained: `MODELS` has the dataclass of each configuration, and the module.

They satisfy the invariants and share `StreamModel`; those with a pointer share `PointerSentinel`. Models that
only count words are in `ps_models.models.baselines`.
"""

from __future__ import annotations

from ps_models.models.awd_lstm import (
    AWDLSTM,
    AWDLSTMConfig,
    PointerSentinelAWDLSTM,
    PointerSentinelAWDLSTMConfig,
)
from ps_models.models.char_cnn import CharCNN, CharCNNConfig
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.models.rnn import (
    RNN,
    RNNLDA,
    RecurrentHighway,
    RecurrentHighwayConfig,
    RNNConfig,
    RNNLDAConfig,
)
from ps_models.models.sum_product import SumProductConfig, SumProductNetwork
from ps_models.models.transformer import (
    PointerSentinelTransformer,
    PointerSentinelTransformerConfig,
    Transformer,
    TransformerConfig,
)

MODELS = {
    "awd-lstm": (AWDLSTMConfig, AWDLSTM),
    "char-cnn": (CharCNNConfig, CharCNN),
    "lstm": (LSTMConfig, LSTM),
    "pointer-sentinel-awd-lstm": (PointerSentinelAWDLSTMConfig, PointerSentinelAWDLSTM),
    "pointer-sentinel-lstm": (PointerSentinelConfig, PointerSentinelLSTM),
    "pointer-sentinel-transformer": (PointerSentinelTransformerConfig, PointerSentinelTransformer),
    "rhn": (RecurrentHighwayConfig, RecurrentHighway),
    "rnn": (RNNConfig, RNN),
    "rnn-lda": (RNNLDAConfig, RNNLDA),
    "sum-product-network": (SumProductConfig, SumProductNetwork),
    "transformer": (TransformerConfig, Transformer),
}
