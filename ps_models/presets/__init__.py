"""Hyperparameters by name, each with its source; a file for each model's."""

from __future__ import annotations

from collections.abc import Mapping

from ps_models.errors import ModelError
from ps_models.models import MODELS
from ps_models.presets.awd_lstm import AWD_LSTM_PRESETS
from ps_models.presets.char_cnn import CHAR_CNN_PRESETS
from ps_models.presets.lstm import LSTM_PRESETS
from ps_models.presets.pointer_sentinel import POINTER_SENTINEL_PRESETS
from ps_models.presets.preset import Preset
from ps_models.presets.recurrent_highway import RECURRENT_HIGHWAY_PRESETS
from ps_models.presets.rnn import RNN_PRESETS
from ps_models.presets.rnn_lda import RNN_LDA_PRESETS
from ps_models.presets.sum_product import SUM_PRODUCT_PRESETS
from ps_models.presets.transformer import TRANSFORMER_PRESETS

PRESETS: dict[str, Mapping[str, Preset]] = {
    "awd-lstm": AWD_LSTM_PRESETS,
    "char-cnn": CHAR_CNN_PRESETS,
    "lstm": LSTM_PRESETS,
    "pointer-sentinel-lstm": POINTER_SENTINEL_PRESETS,
    "rhn": RECURRENT_HIGHWAY_PRESETS,
    "rnn": RNN_PRESETS,
    "rnn-lda": RNN_LDA_PRESETS,
    "sum-product-network": SUM_PRODUCT_PRESETS,
    "transformer": TRANSFORMER_PRESETS,
}


def preset_of(model: str, name: str | None) -> Preset:
    """A preset by name; the model's own defaults where there is no name.

    Raises:
        ModelError: There is no such model or preset.
    """
    if model not in MODELS:
        raise ModelError(f"{model}: no such model; there are {', '.join(MODELS)}")
    presets = PRESETS.get(model, {})
    if name is None:
        return Preset(about="the defaults")
    if name not in presets:
        raise ModelError(f"{name}: no such preset of {model}; there are {', '.join(presets) or 'none'}")
    return presets[name]
