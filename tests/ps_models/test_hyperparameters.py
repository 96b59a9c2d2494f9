"""A range stands with its field; every number of a configuration has one, or is meant to have none."""

from dataclasses import fields
from typing import get_args, get_type_hints

import msgspec
import pytest

from ps_models.configs import converted
from ps_models.errors import ModelError
from ps_models.hyperparameters import SCHEDULES, Schedule, TrainingConfig, update_factor
from ps_models.models import MODELS
from ps_models.models.add_ons import NeuralCacheConfig
from ps_models.models.baselines import NGramConfig
from ps_models.models.interpolation import UnigramCacheConfig

CONFIGS = (
    *(TrainingConfig, NeuralCacheConfig, NGramConfig, UnigramCacheConfig),
    *(config for config, _ in MODELS.values()),
)
FREE = {"vocab_size"}  # given by the dataset


@pytest.mark.parametrize(
    ("config", "setting", "expected"),
    [
        (UnigramCacheConfig, "window=0", "int >= 1"),
        (UnigramCacheConfig, "decay=0", "float > 0.0"),
        (UnigramCacheConfig, "decay=1.1", "float <= 1.0"),
        (UnigramCacheConfig, "weight=1", "float < 1.0"),
        (TrainingConfig, "precision=fp8", "fp32, tf32, bf16, auto"),
        # A window that no memory holds.
        (MODELS["pointer-sentinel-lstm"][0], "window=65537", "int <= 65536"),
        (MODELS["pointer-sentinel-awd-lstm"][0], "window=2147483648", "int <= 65536"),
        (MODELS["pointer-sentinel-transformer"][0], "pointer_window=65537", "int <= 65536"),
        (MODELS["transformer"][0], "window=65537", "int <= 65536"),
        (MODELS["rnn-lda"][0], "topic_decay=-0.1", "float >= 0.0"),
        (MODELS["sum-product-network"][0], "powers=16", "int <= 15"),
        (MODELS["sum-product-network"][0], "least_bias=0", "float > 0.0"),
    ],
)
def test_a_value_out_of_its_range_is_refused(config, setting, expected):
    name, _, text = setting.partition("=")
    with pytest.raises(ModelError, match=f"^{setting}: expected {expected}$"):
        converted(name, text, get_type_hints(config, include_extras=True)[name])


def test_every_number_of_a_configuration_has_a_range():
    free = {
        field.name
        for config in CONFIGS
        for field in fields(config)
        if get_type_hints(config, include_extras=True)[field.name] in (int, float, float | None)
    }
    assert free == FREE


def test_each_default_is_in_its_range():
    for config in CONFIGS:
        words = {"vocab_size": 9} if "vocab_size" in {field.name for field in fields(config)} else {}
        made = config(**words)
        assert msgspec.convert(vars(made), config) == made


def test_each_schedule_can_be_set():
    assert set(get_args(Schedule)) == SCHEDULES.keys()


def test_the_rate_of_an_update_warms_up_and_falls_to_nothing():
    config = TrainingConfig(schedule="cosine", warmup=4)
    assert [update_factor(config, update, 0.0) for update in (0, 1, 3, 9)] == [0.25, 0.5, 1.0, 1.0]
    assert [update_factor(config, 9, done) for done in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 0.5, 0.0])
