"""Honest models keep the laws; each cheat is found by the law that is meant for it."""

import pytest
import torch
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.check import LAWS, check_model, raise_if_broken
from lm_benchmarks.measuring.models import NAMES, Opened, open_model

from ps_models.data.dataset import read_stream
from tests.lm_benchmarks import cheats


@pytest.fixture(scope="module")
def stream(inputs):
    return read_stream(inputs.dataset, "test", inputs.vocabulary)


def checked(inputs, stream, model, **options):
    opened = Opened(name="x", identity="x", model=model, vocabulary=inputs.vocabulary, **options)
    return check_model(opened, stream)


@pytest.mark.parametrize("name", [*NAMES, "mix:unigram,kn-5"])
def test_models_of_ours_keep_the_laws(inputs, stream, name):
    findings = check_model(open_model(name, inputs), stream)
    assert findings == dict.fromkeys(LAWS, "")
    raise_if_broken(findings)


@pytest.mark.parametrize(
    ("cheat", "law"),
    [
        (cheats.Peeks, "future"),
        (cheats.TooMuch, "sum"),
        (cheats.Remembers, "memory"),
        (cheats.Chunks, "chunks"),
        (cheats.Batches, "batch"),
        (cheats.Fails, "contract"),
    ],
)
def test_cheats_are_found(inputs, stream, cheat, law):
    findings = checked(inputs, stream, cheat(len(inputs.vocabulary)))
    assert findings[law]
    with pytest.raises(HarnessError, match=law):
        raise_if_broken(findings)


def test_an_open_vocabulary_may_sum_to_less_but_not_to_more(inputs, stream):
    size = len(inputs.vocabulary)
    assert not checked(inputs, stream, cheats.Uniform(2 * size), open_vocabulary=True)["sum"]
    assert "0.5" in checked(inputs, stream, cheats.Uniform(2 * size))["sum"]
    assert "2.0" in checked(inputs, stream, cheats.TooMuch(size), open_vocabulary=True)["sum"]


def test_a_peek_only_at_what_is_far_away_is_found(inputs):
    """The contract's texts of a few tokens are too short to find it."""

    class PeeksFar(cheats.Uniform):
        def __call__(self, tokens, state):
            scores, _ = super().__call__(tokens, state)
            scores[:, :-100] += 0.1 * (tokens[:, 100:] == 1)
            return scores, state

    findings = checked(inputs, torch.arange(300) % len(inputs.vocabulary), PeeksFar(len(inputs.vocabulary)))
    assert not findings["contract"]
    assert findings["future"]
    assert findings["chunks"]
