"""The neural cache against a loop over its definition; Monte Carlo dropout against single samples."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from ps_models.dataset import Text
from ps_models.errors import ModelError
from ps_models.models.add_ons import MonteCarloDropout, NeuralCache, NeuralCacheConfig, tuned_neural_cache
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.scoring import score_texts
from ps_models.signature import Score

V = 6
CONFIG = LSTMConfig(vocab_size=V, hidden_size=5, init=0.8, type_dropout=0.3, recurrent_dropout=0.3)


@pytest.mark.parametrize(("window", "theta"), [(1, 0.7), (3, 0.7), (50, 0.7), (4, 0.0)])
def test_cache_is_its_definition(window: int, theta: float):
    """With a theta of 0 it is a unigram cache; the first word is left to the model."""
    model, tokens = LSTM(CONFIG).double().eval(), torch.randint(V, (2, 15))
    cache = NeuralCache(model, NeuralCacheConfig(window=window, theta=theta, weight=0.3))
    with torch.no_grad():
        found, _ = cache(tokens, cache.initial_state(2))
        scores, hidden, _ = model.scores_and_hidden(tokens, model.initial_state(2))
    for row in range(2):
        for t, word in enumerate(tokens[row].tolist()):
            past = range(max(0, t - window), t)
            weights = {i: math.exp(theta * (hidden[row, t] @ hidden[row, i]).item()) for i in past}
            p = scores[row, t].exp().item()
            if past:
                copied = sum(weight for i, weight in weights.items() if tokens[row, i] == word)
                p = 0.7 * p + 0.3 * copied / sum(weights.values())
            assert found[row, t].item() == pytest.approx(math.log(p), abs=1e-10)


def test_tuning_finds_the_best_of_the_grid_and_its_weight():
    model = LSTM(CONFIG).eval()
    stream = torch.tensor([2, 3, 2, 3, 4, 2, 4, 4, 2, 5, 5, 5] * 10)
    texts = [Text(stream[:50], 0), Text(stream[50:], 0)]
    grid = [NeuralCacheConfig(window=window, theta=theta) for window in (2, 9) for theta in (0, 0.5, 2)]
    tuned = tuned_neural_cache(model, texts, grid=grid).config

    def nats(config):
        return sum(score_texts(NeuralCache(model, config), texts), Score()).nats

    best = nats(tuned)
    for candidate in grid:
        for weight in (0.02, 0.3, 0.6, 0.98, tuned.weight):
            assert nats(replace(candidate, weight=weight)) >= best - 1e-3
    for weight in (tuned.weight - 0.03, tuned.weight + 0.03):
        assert nats(replace(tuned, weight=min(max(weight, 0.001), 0.999))) >= best - 1e-3


def test_a_cache_cannot_be_tuned_on_a_word():
    with pytest.raises(ModelError, match="on 1 tokens; expected 2 or more"):
        tuned_neural_cache(LSTM(CONFIG).eval(), [Text(torch.tensor([2]), 0)])


def test_monte_carlo_is_the_mean_of_probabilities():
    model, tokens = LSTM(CONFIG).eval(), torch.randint(V, (2, 9))
    mixed = MonteCarloDropout(model, 4, torch.Generator().manual_seed(1))
    found, state = mixed(tokens, mixed.initial_state(2))
    assert state.h_BLH.shape == (2, 4, 2, 5)
    single = []
    for sample in range(4):
        masks = mixed.masks._replace(
            types=mixed.masks.types[sample : sample + 1].expand(2, -1),  # type: ignore[index]
            inputs=tuple(mask[:, sample : sample + 1] for mask in mixed.masks.inputs),  # type: ignore[index]
            recurrent=tuple(mask[sample : sample + 1] for mask in mixed.masks.recurrent),  # type: ignore[index]
            output=mixed.masks.output[:, sample : sample + 1],  # type: ignore[index]
        )
        single.append(model(tokens, model.initial_state(2), masks)[0].exp())
    torch.testing.assert_close(found.exp(), torch.stack(single).mean(0))
    assert not torch.allclose(single[0], single[1])


def test_monte_carlo_of_no_dropout_is_the_model():
    rates = ("type_dropout", "recurrent_dropout", "input_dropout", "layer_dropout", "output_dropout")
    none: Any = dict.fromkeys(rates, 0)
    model, tokens = LSTM(replace(CONFIG, **none)).eval(), torch.randint(V, (2, 9))
    mixed = MonteCarloDropout(model, 3, torch.Generator())
    torch.testing.assert_close(
        mixed(tokens, mixed.initial_state(2))[0], model(tokens, model.initial_state(2))[0]
    )


def test_monte_carlo_over_the_pointer_repeats_with_its_seed():
    model = PointerSentinelLSTM(PointerSentinelConfig(vocab_size=V, hidden_size=5, window=3)).eval()
    tokens, scores = torch.randint(V, (2, 9)), []
    for seed in (1, 1, 2):
        mixed = MonteCarloDropout(model, 2, torch.Generator().manual_seed(seed))
        scores.append(mixed(tokens, mixed.initial_state(2))[0])
    assert torch.equal(scores[0], scores[1])
    assert not torch.equal(scores[0], scores[2])
