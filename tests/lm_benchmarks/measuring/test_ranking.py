"""All models of a file: Holm's correction keeps its promise, and ranks use only significant differences."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_benchmarks.measuring.compare import compare
from lm_benchmarks.measuring.ranking import compare_all, holm, rank
from lm_benchmarks.records import Result, append_record
from msgspec.structs import replace

from tests.conftest import ROOT
from tests.lm_benchmarks.results import error_of, made

RECORDS = ROOT / "benchmarks" / "results"
GAINS = {"a": 0.0, "b": 0.006, "c": 0.3, "d": 0.31}  # nats per token worse than the best


def models(gains=GAINS, noise=0.02, passages=30, seed=4, **fields) -> list[Result]:
    generator = np.random.default_rng(seed)
    tokens = generator.integers(1000, 3000, passages)
    hardness = generator.normal(4.5, 0.3, passages)
    return [
        made(tokens * (hardness + gain + generator.normal(0, noise, passages)), tokens, model=name, **fields)
        for name, gain in gains.items()
    ]


@pytest.fixture
def file(tmp_path):
    """A file of four models, in no order."""
    for one in models()[::-1]:
        append_record(tmp_path / "r.jsonl", one)
    return tmp_path / "r.jsonl"


def test_holm_is_that_of_r():
    expected = {
        (0.04,): [0.04],
        (0.01, 0.04, 0.03, 0.005): [0.03, 0.06, 0.06, 0.02],  # R: p.adjust(c(…), "holm")
        (0.5, 0.9): [1.0, 1.0],
        (0.01, 0.01, 0.01): [0.03, 0.03, 0.03],
    }
    assert holm([]) == []
    assert {ps: pytest.approx(holm(list(ps))) for ps in expected} == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holm_rejects_what_the_closed_test_rejects(ps):
    """Closed testing: a hypothesis falls if each set with it has a p-value of level / its size or less."""
    numbers = range(len(ps))
    sets = [some for n in numbers for some in itertools.combinations(numbers, n + 1)]
    for place, adjusted in enumerate(holm(ps)):
        of_sets = max(min(1.0, len(some) * min(ps[n] for n in some)) for some in sets if place in some)
        assert adjusted == pytest.approx(of_sets)
        assert adjusted >= ps[place]


def test_the_best_is_first_and_each_pair_is_that_of_compare(file):
    found = compare_all(file)
    assert [model.model for model in found.models] == ["a", "b", "c", "d"]
    assert [(pair.first, pair.second) for pair in found.pairs] == list(itertools.combinations(range(1, 5), 2))
    for pair in found.pairs:
        names = [found.models[place - 1].model for place in (pair.first, pair.second)]
        assert pair.difference == compare(file, *names)
        assert pair.p is not None
        assert pair.p_adjusted is not None
        assert pair.p == 2 * (pair.difference.p_one_sided or 0)
        assert (pair.p < 0.05) == pair.difference.is_significant
        assert pair.p <= pair.p_adjusted <= 1
    assert [model.ranks for model in found.models] == ["1-2", "1-2", "3-4", "3-4"]
    for place, model in enumerate(found.models, start=1):  # significantly better or worse ones are counted
        assert model.best_rank == 1 + sum(pair.is_significant for pair in found.pairs if pair.second == place)
        assert model.worst_rank == 4 - sum(pair.is_significant for pair in found.pairs if pair.first == place)
        assert model.best_rank <= place <= model.worst_rank
    fewer = compare_all(file, ["c", "a", "c"])
    assert [model.model for model in fewer.models] == ["a", "c"]
    assert [pair.p == pair.p_adjusted for pair in fewer.pairs] == [True]


def test_ranks_say_no_more_than_is_sure():
    """Ten equal models on 20 passages: some pairs are significant alone, none after the adjustment."""
    found = rank([[model] for model in models(dict.fromkeys("abcdefghij", 0.0), passages=20, seed=6)])
    assert any(pair.difference.is_significant for pair in found.pairs)
    assert not any(pair.is_significant for pair in found.pairs)
    assert {model.ranks for model in found.models} == {"1-10"}
    first, second = models({"a": 0.0, "b": 1e-6}, noise=0.0)  # a difference that rounding explains
    (pair,) = rank([[first], [second]]).pairs
    assert pair.p_adjusted is not None
    assert pair.p_adjusted < 1e-6
    assert not pair.is_significant
    few = rank([[model] for model in models(passages=4)])
    assert {(pair.p, pair.p_adjusted, pair.is_significant) for pair in few.pairs} == {(None, None, False)}
    assert {model.ranks for model in few.models} == {"1-4"}


def test_what_does_not_compare_is_left_out_with_its_reason(file):
    (other,) = models({"elsewhere": 0.0}, data="wikitext-2+99")
    (broken,) = models({"cheat": -1.0})
    (longer,) = models({"longer": 0.0}, passages=31)
    for one in (other, replace(broken, checks={"sum": "1.1", "future": ""}), longer):
        append_record(file, one)
    found = compare_all(file)
    assert [one.model for one in found.models] == ["a", "b", "c", "d"]
    why = dict(found.left_out)
    assert why["elsewhere"] == "different data (data: ptb+1f and wikitext-2+99)"
    assert why["cheat"] == "violates sum: its number is meaningless"
    assert "different tokens were scored" in why["longer"]
    assert "elsewhere" in {one.model for one in compare_all(file, allow=["data"]).models}


def test_of_the_results_of_a_model_the_last_one_that_compares_is_ranked(file):
    """Also if it was measured later on other data; but not if it violates an invariant."""
    elsewhere = models({"a": 0.0, "c": 0.5}, data="wikitext-2+99")
    again = models({"b": 0.6, "d": 0.6})
    for one in (*elsewhere, again[0], replace(again[1], checks={"sum": "1.1"})):
        append_record(file, one)
    found = compare_all(file)
    assert [one.model for one in found.models] == ["a", "c", "b"]
    assert dict(found.left_out).keys() == {"d"}


def test_what_cannot_be_ranked_is_refused(file):
    for message, names, options in (
        ("0 models on test", [], {"metric": "lm-eval-bits-per-byte"}),
        (" a: lm-eval-bits-per-byte was not counted", [], {"metric": "lm-eval-bits-per-byte"}),
        ("metric 'f1'; expected one of perplexity", [], {"metric": "f1"}),
        ("0 models on valid to compare; expected two or more", [], {"split": "valid"}),
        ("1 models on test to compare", ["a"], {}),
    ):
        assert message in error_of(compare_all, file, names, **options)


def test_seeds_of_one_recipe_are_one_model():
    chosen, every = (
        compare_all(RECORDS / "ptb.jsonl", names) for names in (["lstm medium-tied-sgd", "kn-5"], [])
    )
    assert [(model.model, model.seeds) for model in chosen.models] == [
        ("lstm medium-tied-sgd", 3),
        ("KN-5", 1),
    ]
    assert {model.model: model.seeds for model in every.models}["lstm medium-tied-sgd"] == 3


def test_models_of_one_name_have_distinct_names_in_ranks_and_pairs(tmp_path):
    """Two checkpoints of one preset could not be told apart, and seeds of a recipe keep its name."""
    for one in models({"lstm+aa": 0.0, "lstm+bb": 0.1, "other": 0.2}):
        append_record(tmp_path / "r.jsonl", replace(one, model=one.model.partition("+")[0]))
    found = compare_all(tmp_path / "r.jsonl")
    names = [model.model for model in found.models]
    assert names == ["lstm, lstm+aa", "lstm, lstm+bb", "other"]
    pair = compare(tmp_path / "r.jsonl", *names[:2])
    assert (pair.first_model, pair.second_model) == tuple(names[:2])
    recorded = [model.model for model in compare_all(RECORDS / "ptb.jsonl").models]
    assert len(set(recorded)) == len(recorded)
