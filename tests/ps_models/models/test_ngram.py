"""KN-5 against the textbook's equations and KenLM's estimate, its laws, and its perplexities on real data."""

import math
import shutil
import subprocess
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

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
from ps_models.models.kneser_ney import ABSENT, FALLBACK, Grams, _count, _discounts, _distinct, estimate
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


@given(st.sets(st.integers(0, 9)), st.lists(st.integers(-V, 10)))
def test_an_n_gram_has_the_place_of_its_key(keys, wanted):
    table = Grams(
        keys=np.array(sorted(keys), dtype=np.int64),
        log_probs=np.zeros(0),
        log_backoffs=np.zeros(0),
        discounts=FALLBACK,
    )
    places = {key: place for place, key in enumerate(sorted(keys))}
    found = table.find(np.array(wanted, dtype=np.int64))
    assert found.tolist() == [places.get(key, ABSENT) for key in wanted]


def test_five_words_are_the_default():
    config = NGramConfig(vocab_size=V)
    assert (config.order, config.eos) == (5, EOS)
    assert NGram.of_text(config, stream_of([[2, 3]])).initial_state(3).tolist() == [[EOS] * 4] * 3


@settings(max_examples=60, deadline=None)
@given(lines, st.lists(st.integers(0, V - 1), max_size=8), st.integers(1, 5))
def test_all_words_sum_to_one_after_any_text(train, before, order):
    model = ngram_of(train, order)
    state = model(torch.tensor([before], dtype=torch.int64), model.initial_state(1))[1]
    following = model.next_log_probs(state)
    assert float(following.exp().sum()) == pytest.approx(1, abs=1e-13)
    scores = [model(torch.tensor([[word]]), state)[0].item() for word in range(V)]
    assert following[0].tolist() == pytest.approx(scores, rel=1e-12)


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


def test_a_distinct_n_gram_takes_17_bytes_while_counting():
    orders = _count(stream_of(zipfian(300, 20)).numpy(), 20, 5, EOS)
    assert {
        sum(column.itemsize for column in (one.keys, one.occurrences, one.suffixes, one.at_start))
        for one in orders
    } == {17}


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


def test_no_text_is_refused():
    with pytest.raises(ModelError, match="0 tokens to count"):
        NGram.of_text(NGramConfig(vocab_size=V), torch.tensor([], dtype=torch.int64))


def test_more_tokens_than_can_be_numbered_are_refused():
    stream = np.broadcast_to(np.int64(EOS), 2**31 - 1)  # takes no memory
    with pytest.raises(ModelError, match="2147483647 tokens to count n-grams in; expected 1 to 2147483646"):
        estimate(stream, V, 5, EOS)


# --- KenLM


def kenlm_grams(text: str, order: int, folder: Path) -> list[dict[tuple[str, ...], tuple[float, float]]]:
    """log10 probability and backoff of each n-gram in KenLM's estimate, order by order."""
    if shutil.which("lmplz") is None:
        pytest.skip("needs KenLM's lmplz on PATH; kenlm's source distribution builds it with CMake and Boost")
    arpa = folder / "model.arpa"
    command = ["lmplz", "-o", str(order), "--discount_fallback", "-S", "200M", "-T", str(folder)]
    subprocess.run([*command, "--arpa", str(arpa)], input=text.encode(), check=True, capture_output=True)
    orders: list[dict[tuple[str, ...], tuple[float, float]]] = []
    for line in arpa.read_text(encoding="utf-8").splitlines():
        if line.endswith("-grams:"):
            orders.append({})
        elif "\t" in line:
            probability, words, *backoff = line.split("\t")
            orders[-1][tuple(words.split())] = (float(probability), float(backoff[0]) if backoff else 0.0)
    return orders


def number_of(model: NGram, gram: Sequence[int]) -> int:
    number = gram[0]
    for table, word in zip(model.tables[1:], gram[1:], strict=False):
        number = int(table.find(np.array([number * model.config.vocab_size + word]))[0])
    return number


def with_a_common_word_last(tokens: list[list[int]]) -> list[list[int]]:
    """The same lines in an order in which the word that is new last is common.

    KenLM (0.3.0, end of adjust_counts.cc) counts how often counts occur, but takes that of the very last
    n-gram of each order, which ends in the word that was new last, before the adjustment. For Penn Treebank
    as it stands, that is a word with a count of 4, and D of 3 or more is 1.26492, not 1.26227. Common words
    have no part in these numbers.
    """
    lines_of: dict[int, list[int]] = {}
    for number, line in enumerate(tokens):
        for word in set(line):
            lines_of.setdefault(word, []).append(number)
    for word, numbers in sorted(lines_of.items()):
        moved = Counter(other for number in numbers for other in set(tokens[number]) - {word})
        if len(numbers) > 20 and all(len(lines_of[other]) > count for other, count in moved.items()):
            last = set(numbers)
            return [line for n, line in enumerate(tokens) if n not in last] + [tokens[n] for n in numbers]
    raise AssertionError("a text without such a word")


def check_against_kenlm(
    tokens: list[list[int]], vocab_size: int, order: int, folder: Path, never_met: int
) -> None:
    """All probabilities and backoffs. KenLM has a word that never occurs, <unk>; so ours must have one."""
    tokens = with_a_common_word_last(tokens)
    text = "".join(" ".join(f"w{word}" for word in line) + "\n" for line in tokens)
    model = ngram_of(tokens, order, vocab_size)
    ids = {"<s>": EOS, "</s>": EOS, "<unk>": never_met}
    kenlm = kenlm_grams(text, order, folder)
    for length, (table, grams) in enumerate(zip(model.tables, kenlm, strict=True), start=1):
        if length > 1:
            assert len(table.keys) == len(grams)
        pairs: list[tuple[float, float]] = []
        for gram, (probability, backoff) in grams.items():
            number = number_of(model, [ids[w] if w in ids else int(w[1:]) for w in gram])
            assert number != ABSENT
            if gram != ("<s>",):
                pairs.append((table.log_probs[number], probability))
            if length < order and gram[-1] != "</s>":
                pairs.append((table.log_backoffs[number], backoff))
        ours, theirs = np.array(pairs).T
        np.testing.assert_allclose(ours / math.log(10), theirs, rtol=0, atol=2e-6)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_estimates_are_kenlms(order, tmp_path):
    text = zipfian(600, 80)
    present = sorted({word for line in text for word in line})
    ids = {word: index + 2 for index, word in enumerate(present)}
    check_against_kenlm([[ids[w] for w in line] for line in text], len(ids) + 2, order, tmp_path, never_met=0)


@pytest.mark.slow
def test_estimates_are_kenlms_on_penn_treebank(tmp_path):
    dataset = load_dataset(data("ptb"))
    vocabulary = Vocabulary.of_file(dataset.file("train"))
    rows = dataset.file("train").read_text(encoding="utf-8").splitlines()
    tokens, size = [vocabulary.encode(row.split()) for row in rows], len(vocabulary)
    check_against_kenlm(tokens, size + 1, 5, tmp_path, never_met=size)


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
    assert found == pytest.approx({"unigram": 914.384, "kn-5": 220.138, "kn-5+cache": 165.389}, abs=0.001)
