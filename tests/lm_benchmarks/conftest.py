"""A tiny dataset, and small models."""

import pytest
from lm_benchmarks.measuring.loaded_model import Inputs
from lm_benchmarks.measuring.passages import vocabulary_of

from tests.ps_models.tiny import make_dataset
from wikitext_builder.dataset.load import load as load_dataset


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """About 900 tokens of train in WikiText's layout, three articles of valid and of test."""
    return make_dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def inputs(data):
    dataset = load_dataset(data)
    return Inputs(dataset=dataset, vocabulary=vocabulary_of(dataset, "test"))
