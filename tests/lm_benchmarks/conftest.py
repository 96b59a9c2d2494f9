"""A tiny dataset, its test split, and a small model of pieces."""

import pytest
from lm_benchmarks.measuring.models import make_inputs

from ps_models.dataset import read_stream
from tests.lm_benchmarks.tiny_llama import write_folder
from tests.ps_models.tiny import make_dataset


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """About 900 tokens of train in WikiText's layout, three articles of valid and of test."""
    return make_dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def inputs(data):
    return make_inputs(data, "test", device="cpu")


@pytest.fixture(scope="session")
def stream(inputs):
    return read_stream(inputs.dataset, "test", inputs.vocabulary)


@pytest.fixture(scope="session")
def llama(tmp_path_factory):
    """The folder of a model of `transformers` that is the same on every machine."""
    pytest.importorskip("transformers", reason="needs the package transformers")
    return write_folder(tmp_path_factory.mktemp("llama"), adds_bos=True)
