"""The unigram cache against its definition, mixtures against sums, EM against a search; their laws."""

import math
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ps_models.dataset import Text
from ps_models.errors import ModelError
from ps_models.invariants import check_language_model
from ps_models.models.baselines import NGram, NGramConfig, Unigram
from ps_models.models.interpolation import (
    Interpolation,
    UnigramCache,
    UnigramCacheConfig,
    _caches_log_probs,
    fit_weights,
    interpolate,
    tuned_cache,
)
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.scoring import score_texts
from ps_models.signature import Score

V = 9
TRAIN = torch.randint(V, (600,), generator=torch.Generator().manual_seed(4)) ** 2 % V
UNIGRAM = Unigram.of_text(V, TRAIN)
BIGRAM = NGram.of_text(NGramConfig(vocab_size=V, order=2), TRAIN)
CONFIGS = [
    UnigramCacheConfig(window=1, weight=0.4),
    UnigramCacheConfig(window=4, decay=0.7, weight=0.3),
    UnigramCacheConfig(window=50, decay=0.99, weight=0.05),
]


def lstm() -> LSTM:
    torch.manual_seed(2)
    return LSTM(LSTMConfig(vocab_size=V, hidden_size=5, init=0.8)).eval()


def repeating(length: int) -> torch.Tensor:
    """A text in which words come back soon: its topic changes every 20 tokens."""
    generator = torch.Generator().manual_seed(6)
    topics = torch.randint(V, (length // 20 + 1,), generator=generator).repeat_interleave(20)[:length]
    chance = torch.rand(length, generator=generator) < 0.5
    return torch.where(chance, topics, torch.randint(V, (length,), generator=generator))


# --- cache


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_cache_is_its_definition(config):
    model, tokens = UnigramCache(UNIGRAM, config), repeating(60)
    found, _ = model(tokens[None], model.initial_state(1))
    text = tokens.tolist()
    for t, word in enumerate(text):
        p = UNIGRAM.log_probs[word].exp().item()
        past = [(config.decay ** (t - 1 - i), text[i]) for i in range(max(0, t - config.window), t)]
        if past:
            share = sum(d for d, w in past if w == word) / sum(d for d, _ in past)
            p = (1 - config.weight) * p + config.weight * share
        assert found[0, t].item() == pytest.approx(math.log(p), rel=1e-12)


EXACT: dict[str, Any] = {
    **{f"unigram {config}": UnigramCache(UNIGRAM, config) for config in CONFIGS},
    **{f"bigram {config}": UnigramCache(BIGRAM, config) for config in CONFIGS},
    "mixture": Interpolation([UNIGRAM, UnigramCache(BIGRAM, CONFIGS[1])], [0.3, 0.7]),
}


@pytest.mark.parametrize("model", EXACT.values(), ids=EXACT)
def test_caches_and_mixtures_keep_the_laws(model):
    check_language_model(model, V, tolerance=1e-12)


def test_caches_and_mixtures_over_an_lstm_keep_the_laws():
    check_language_model(UnigramCache(lstm(), CONFIGS[1]), V)
    check_language_model(Interpolation([UNIGRAM, lstm(), BIGRAM], [0.25, 0.25, 0.5]), V)


def test_long_texts_and_many_rows_score_as_short_ones(monkeypatch):
    model, tokens = UnigramCache(UNIGRAM, CONFIGS[2]), repeating(300).reshape(3, 100)
    whole, _ = model(tokens, model.initial_state(3))
    monkeypatch.setattr(
        "ps_models.models.interpolation.PLACES_AT_ONCE", 700
    )  # four steps of three rows at once
    parts, _ = model(tokens, model.initial_state(3))
    torch.testing.assert_close(parts, whole, rtol=1e-14, atol=0)


def test_tuning_finds_the_best_of_the_grid_and_its_weight():
    texts = [Text(repeating(800), 1), Text(repeating(400), 1)]
    grid = [UnigramCacheConfig(window=window, decay=0.9) for window in (1, 15, 300)]
    tuned = tuned_cache(UNIGRAM, texts, grid)

    def nats(config):
        return sum(score_texts(UnigramCache(UNIGRAM, config), texts), Score()).nats

    best = nats(tuned.config)
    assert best < sum(score_texts(UNIGRAM, texts), Score()).nats
    for window in (1, 15, 300):
        for weight in torch.linspace(0.01, 0.99, 50).tolist():
            config = UnigramCacheConfig(window=window, decay=0.9, weight=weight)
            assert nats(config) >= best - 1e-6


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_caches_are_tried_together_as_each_scores_alone(words):
    stream = torch.tensor(words)
    scored = UNIGRAM(stream[None], UNIGRAM.initial_state(1))[0][0]
    together = _caches_log_probs(stream, scored, CONFIGS)
    for config, found in zip(CONFIGS, together, strict=True):
        alone = UnigramCache(UNIGRAM, config)
        mixed = torch.logaddexp(
            math.log(1 - config.weight) + scored.double(), math.log(config.weight) + found
        )
        scores, _ = alone(stream[None], alone.initial_state(1))
        torch.testing.assert_close(mixed, scores[0], rtol=1e-12, atol=0)


# --- interpolation


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=2))
@example([0.0, 1.0])
@settings(max_examples=20, deadline=None)
def test_mixture_is_the_sum_of_probabilities(weights):
    weights = [weight / sum(weights) for weight in weights]
    models: list[Any] = [UNIGRAM, BIGRAM]
    mixture, tokens = Interpolation(models, weights), repeating(40)[None]
    found, _ = mixture(tokens, mixture.initial_state(1))
    expected = sum(
        weight * model(tokens, model.initial_state(1))[0].exp()
        for weight, model in zip(weights, models, strict=True)
    )
    torch.testing.assert_close(found.exp(), expected, rtol=1e-12, atol=0)


def test_what_is_no_mixture_is_refused():
    for weights in ([0.5], [0.5, 0.6], [-0.5, 1.5], []):
        with pytest.raises(ModelError, match="expected a weight per model, none below 0, with a sum of 1"):
            Interpolation([UNIGRAM, BIGRAM], weights)
    with pytest.raises(ModelError, match="each with a probability above 0"):
        fit_weights(torch.tensor([[-math.inf, -1.0], [-math.inf, -2.0]]))
    with pytest.raises(ModelError, match="0 models and 1 texts"):
        interpolate([], [Text(TRAIN, 1)])


probabilities = st.lists(st.tuples(*[st.floats(1e-6, 1)] * 3), min_size=1, max_size=30)


@given(probabilities)
@example([(1.0, 1.0, 0.99999)])  # EM lowers the last weight by 1e-5 of it per round
@settings(max_examples=30, deadline=None)
def test_no_other_weights_are_better(rows):
    probs = torch.tensor(rows, dtype=torch.float64).T
    weights = fit_weights(probs.log())
    assert weights.sum().item() == pytest.approx(1)
    others = [(first, second, 10 - first - second) for first in range(11) for second in range(11 - first)]
    means = (torch.tensor([*others], dtype=torch.float64) / 10 @ probs).log().mean(dim=1)
    assert float(means.max()) <= (weights @ probs).log().mean().item() + 1e-6


def test_weights_survive_what_underflows_as_a_probability():
    far = torch.tensor([[-2000.0, -2000.0, -1.0], [-2001.0, -2001.0, -3.0]])
    assert fit_weights(far).tolist() == pytest.approx([1, 0], abs=1e-3)


def test_the_tuned_mixture_is_at_least_as_good_as_its_best_model():
    texts = [Text(repeating(500), 1)]
    models: list[Any] = [UNIGRAM, BIGRAM, UnigramCache(UNIGRAM, CONFIGS[1])]
    mixture = interpolate(models, texts)
    found = sum(score_texts(mixture, texts), Score()).nats
    assert found <= min(sum(score_texts(model, texts), Score()).nats for model in models) + 1e-6


def test_a_cache_that_alone_is_best_keeps_some_of_the_model():
    """Of a text of one word EM finds a weight of 1, which would leave nothing of the model."""
    tuned = tuned_cache(UNIGRAM, [Text(torch.full((400,), 5), 0)])
    assert 0.99 < tuned.config.weight < 1
