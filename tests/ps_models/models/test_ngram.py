"""KN-5 against the textbook's equations, its laws, and its perplexities on real data."""

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ps_models.dataset import read_texts
from ps_models.errors import ModelError
from ps_models.invariants import check_language_model
from ps_models.models.baselines import BASELINES, NGram, NGramConfig, Unigram
from ps_models.models.interpolation import UnigramCache, UnigramCacheConfig, tuned_cache
from ps_models.models.kneser_ney import FALLBACK, _discounts, _distinct, estimate
from ps_models.scoring import score_texts
from ps_models.signature import Score
from tests.conftest import data
from tests.ps_models.textbook import END, START, KneserNey
from tests.ps_models.tiny import make_dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary

V, EOS = 7, 1
lines = st.lists(st.lists(st.sampled_from([0, 2, 3, 4, 5]), max_size=9), min_size=1, max_size=40)


def stream_of(text: Sequence[Sequence[int]]) -> torch.Tensor:
    return torch.tensor([token for line in text for token in (*line, EOS)])


def ngram_of(text: Sequence[Sequence[int]], order: int, vocab_size: int = V) -> NGram:
    return NGram.of_text(NGramConfig(vocab_size=vocab_size, order=order), stream_of(text))


def zipfian(count: int, types: int, seed: int = 3) -> list[list[int]]:
    """Lines whose words depend on the words before, so that n-grams of all counts occur."""
    generator = np.random.default_rng(seed)
    text = []
    for _ in range(count):
        line = [2]
        for step in generator.zipf(1.6, generator.integers(0, 12)):
            line.append(2 + (line[-1] * 3 + int(step)) % (types - 2))
        text.append(line[1:])
    return text


@settings(max_examples=60, deadline=None)
@given(lines, lines, st.integers(1, 5))
def test_probabilities_are_the_textbooks(train, text, order):
    model, oracle = ngram_of(train, order), KneserNey(train, V, order)
    scores, _ = model(stream_of(text)[None], model.initial_state(1))
    expected = []
    for line in text:
        words = (START, *line, END)
        expected += [oracle.probability(words[i], words[:i]) for i in range(1, len(words))]
    np.testing.assert_allclose(np.exp(scores[0].numpy()), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_discounts_are_the_textbooks_where_the_text_is_large_enough(order):
    train = zipfian(400, 60)
    tables = estimate(stream_of(train).numpy(), 60, order, EOS)
    oracle = KneserNey(train, 60, order)
    assert tables[-1].discounts != FALLBACK
    for length, table in enumerate(tables, start=1):
        assert table.discounts == pytest.approx(oracle.discounts(length)[1:], rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "discounts"),
    [
        ([1, 1, 2, 3], (0.5, 0.5, 3)),  # no count of 4: D of 3 or more is 3, the most that it may be
        ([1, 1, 2, 3, 4, 5], (0.5, 0.5, 1)),
        ([1, 1, 1, 1, 2, 3], FALLBACK),  # D of 2 would be 0
        ([1, 1, 2, 3, 4, 4], FALLBACK),  # D of 3 or more would be below 0
        ([2, 3, 4], FALLBACK),
        ([1, 3, 4], FALLBACK),
        ([1, 2, 4], FALLBACK),
    ],
)
def test_discounts_are_equation_26_where_they_can_be(counts, discounts):
    assert _discounts(np.array(counts)) == pytest.approx(discounts, abs=1e-15)


@pytest.mark.parametrize("order", [0, 1, 2, 5], ids=lambda order: f"{order or 'uni'}gram")
def test_keeps_the_laws(order):
    text = zipfian(300, 20)
    model = ngram_of(text, order, 20) if order else Unigram.of_text(20, stream_of(text))
    check_language_model(model, 20, tolerance=1e-12)


def test_unigrams_are_scored_where_the_words_are():
    model = Unigram.of_text(4, torch.tensor([1, 2, 1, 0]))
    words = torch.zeros(2, 3, dtype=torch.int64, device="meta")  # a device that every machine has
    scores, _ = model(words, model.initial_state(2))
    assert (scores.device.type, scores.shape) == ("meta", words.shape)
    assert model.next_log_probs(words).device.type == "meta"


def test_sorting_takes_half_of_60_bytes_a_token_if_few_n_grams_differ():
    keys = np.arange(100_000) % 100
    tracemalloc.start()
    _distinct(keys)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / len(keys) < 30


def test_baselines_are_made_by_their_names(tmp_path):
    dataset = load_dataset(make_dataset(tmp_path))
    made = {name: one.make(dataset, dataset.vocabulary) for name, one in BASELINES.items()}
    assert {name: type(model).__name__ for name, model in made.items()} == {
        "unigram": "Unigram",
        "kn-5": "NGram",
        "kn-5+cache": "UnigramCache",
    }
    assert [one.title for one in BASELINES.values()] == ["unigram", "KN-5", "KN-5 + cache"]
    assert all(one.about for one in BASELINES.values())
    kneser_ney = made["kn-5"]
    assert isinstance(kneser_ney, NGram)
    assert kneser_ney.config.order == 5


def test_parameters_are_counted():
    model = ngram_of([[2, 2]], 2)
    assert [len(table.keys) for table in model.tables] == [V, 3]  # <eos> 2, 2 2, 2 <eos>
    assert model.parameter_count() == V + V + 3


def test_a_text_of_no_tokens_or_of_more_than_can_be_numbered_is_refused():
    with pytest.raises(ModelError, match="0 tokens to count"):
        NGram.of_text(NGramConfig(vocab_size=V), torch.tensor([], dtype=torch.int64))
    stream = np.broadcast_to(np.int64(EOS), 2**31 - 1)  # takes no memory
    with pytest.raises(ModelError, match="2147483647 tokens to count n-grams in; expected 1 to 2147483646"):
        estimate(stream, V, 5, EOS)


# --- real data


def perplexity(model, dataset, split, vocabulary):
    return sum(score_texts(model, read_texts(dataset, split, vocabulary)), Score()).perplexity


@pytest.fixture(scope="module")
def penn_treebank():
    """The dataset, its vocabulary, and KN-5."""
    dataset = load_dataset(data("ptb"))
    vocabulary = Vocabulary.of_file(dataset.file("train"))
    return dataset, vocabulary, BASELINES["kn-5"].make(dataset, vocabulary)


def test_penn_treebank(penn_treebank):
    dataset, vocabulary, model = penn_treebank
    assert perplexity(model, dataset, "valid", vocabulary) == pytest.approx(148.008, abs=0.001)
    assert perplexity(model, dataset, "test", vocabulary) == pytest.approx(141.186, abs=0.001)  # paper: 141.2
    cached = UnigramCache(model, UnigramCacheConfig())
    assert perplexity(cached, dataset, "test", vocabulary) == pytest.approx(126.769, abs=0.001)


@pytest.mark.slow
def test_tuned_baselines_on_penn_treebank(penn_treebank):
    dataset, vocabulary, model = penn_treebank
    unigram = BASELINES["unigram"].make(dataset, vocabulary)
    assert perplexity(unigram, dataset, "test", vocabulary) == pytest.approx(639.790, abs=0.001)
    tuned = tuned_cache(model, list(read_texts(dataset, "valid", vocabulary)))
    assert perplexity(tuned, dataset, "test", vocabulary) == pytest.approx(125.215, abs=0.001)  # paper: 125.7


@pytest.mark.slow
def test_baselines_on_wikitext_2():
    dataset = load_dataset(data("wikitext-2"))
    vocabulary = Vocabulary.of_file(dataset.file("train"))
    cached = BASELINES["kn-5+cache"].make(dataset, vocabulary)
    unigram = BASELINES["unigram"].make(dataset, vocabulary)
    models = {"unigram": unigram, "kn-5": cached.model, "kn-5+cache": cached}  # type: ignore[attr-defined]
    found = {name: perplexity(model, dataset, "test", vocabulary) for name, model in models.items()}
    assert found == pytest.approx({"unigram": 914.384, "kn-5": 220.138, "kn-5+cache": 166.009}, abs=0.001)
