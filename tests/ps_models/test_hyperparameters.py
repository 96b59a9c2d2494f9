"""A range stands with its field; every number of a configuration has one, or is meant to have none."""

import math
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

import pytest

from ps_models.configs import make_configs
from ps_models.errors import ModelError
from ps_models.hyperparameters import Amount, Config, Share, Size, TrainingConfig, _limits
from ps_models.models import MODELS
from ps_models.models.add_ons import NeuralCacheConfig
from ps_models.models.baselines import NGramConfig
from ps_models.models.unigram_cache import UnigramCacheConfig

ADD_ONS = (NeuralCacheConfig, NGramConfig, UnigramCacheConfig)
FREE = {"vocab_size", "transform_bias", "gate_bias"}  # any number, or given by the dataset


@dataclass(frozen=True, kw_only=True)
class Sizes(Config):
    size: Size = 1
    amount: Amount = 0.0
    share: Share | None = None
    free: float = 0.0


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (Sizes, {"size": 0}, r"^size=0: expected 1 or more$"),
    (Sizes, {"amount": -0.5}, r"^amount=-0.5: expected 0 or more, and finite$"),
    (Sizes, {"amount": math.nan}, "finite"),
    (Sizes, {"share": 0.0}, r"^share=0.0: expected more than 0, and less than 1$"),
    (Sizes, {"share": 1}, "less than 1"),
    (Sizes, {"size": "1"}, "expected a number"),
    (TrainingConfig, {"stride": 0}, "1 or more"),
    (TrainingConfig, {"epochs": 0}, "epochs=0: expected 1 or more"),
    (TrainingConfig, {"stride": "5"}, "expected a number"),
    (TrainingConfig, {"precision": "fp8"}, "bf16"),
    (UnigramCacheConfig, {"window": 0}, "window=0: expected 1 or more"),
    (UnigramCacheConfig, {"decay": 0.0}, "decay=0.0: expected more than 0, and at most 1"),
    (UnigramCacheConfig, {"decay": 1.1}, "decay=1.1: expected more than 0, and at most 1"),
    (UnigramCacheConfig, {"weight": 1.0}, "weight=1.0: expected 0 or more, and less than 1"),
    # A window that no memory holds.
    ("pointer-sentinel-lstm", {"window": 2**16 + 1}, r"window=\d+: expected 1 or more, and at most 65536"),
    ("pointer-sentinel-awd-lstm", {"window": 2**31}, r"window=\d+: expected 1 or more, and at most 65536"),
    ("pointer-sentinel-transformer", {"pointer_window": 2**31}, "window=.*at most 65536"),
    ("transformer", {"window": 2**31}, r"window=\d+: expected 1 or more, and at most 65536"),
    ("transformer", {"window": 0}, "window=0"),
    ("transformer", {"hidden_size": 12, "heads": 5}, "heads=5"),
    ("rnn-lda", {"topic_decay": -0.1}, "topic_decay"),
    ("rnn-lda", {"topic_decay": 1.0}, "topic_decay"),
    *(
        ("sum-product-network", {name: 0}, name)
        for name in ("context", "hidden_size", "powers", "least_bias")
    ),
]


@pytest.mark.parametrize(("config", "values", "message"), REFUSED)
def test_a_value_out_of_its_range_is_refused(config, values, message):
    made, of_words = (MODELS[config][0], {"vocab_size": 9}) if config in MODELS else (config, {})
    with pytest.raises(ModelError, match=message):
        made(**of_words, **values)


def test_a_pointer_rate_that_has_no_effect_is_refused():
    with pytest.raises(ModelError, match=r"pointer_rate=0\.04 with optimizer=adamw.*use pointer_rate=1"):
        make_configs("pointer-sentinel-lstm", "tiny", ["pointer_rate=0.04"], 9)
    model, training = make_configs("pointer-sentinel-lstm", "tiny", ["pointer_rate=0.04", "optimizer=sgd"], 9)
    assert (model.pointer_rate, training.optimizer) == (0.04, "sgd")


def test_values_in_their_ranges_are_taken():
    assert Sizes(size=10**9, amount=1e300, share=0.5, free=-math.inf).share == 0.5


@pytest.mark.parametrize("config", [TrainingConfig, *ADD_ONS, *(config for config, _ in MODELS.values())])
def test_every_number_of_a_configuration_has_a_range(config):
    limited = {name for name, _ in _limits(config)}
    kinds = get_type_hints(config)
    numbers = {one.name for one in fields(config) if kinds[one.name] in (int, float, float | None)}
    assert numbers - limited <= FREE
