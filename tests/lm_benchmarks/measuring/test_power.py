"""Which differences a test set can show: what it states is found as often as it says."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.choices import ENOUGH, HarnessError
from lm_benchmarks.measuring.power import SPREADS, detectable, nats_of, power, power_of

from tests.lm_benchmarks.populations import found as fraction_found

EQUAL = np.full(30, 2000.0)
UNEQUAL = np.exp(np.random.default_rng(1).normal(8, 0.75, 40))

OF_BOOKS = [  # power of a one-sample t test, two-sided at 5 %: passages, difference by spread, power
    (10, 1.0, 0.8031),
    (20, 0.5, 0.5645),
    (34, 0.5, 0.8078),
    (6, 1.5, 0.8327),
    (100, 0.2, 0.5083),
]


@pytest.mark.parametrize(("passages", "ratio", "expected"), OF_BOOKS)
def test_of_equal_passages_it_is_the_power_of_a_t_test(passages, ratio, expected):
    assert power_of(ratio, 1.0, np.full(passages, 50.0), hardness=0.0) == pytest.approx(expected, abs=2e-4)


def test_a_text_of_which_one_passage_decides_shows_nothing():
    counts = np.array([8e4, 3e3, 2e3, 3e3, 3e3])
    assert detectable(0.02, counts) is None
    assert power_of(100.0, 0.02, counts) < 0.5
    assert power_of(0.01, 0.02, EQUAL) < power_of(0.01, 0.02, EQUAL, hardness=0.0)


def test_of_no_difference_it_is_half_of_the_rest():
    """Only the right side of zero counts."""
    assert power_of(0.0, 1.0, EQUAL) == pytest.approx(0.025, abs=1e-4)
    assert power_of(0.0, 1.0, EQUAL, 0.9) == pytest.approx(0.05, abs=1e-4)


@settings(max_examples=20)
@given(st.floats(0.001, 0.5), st.floats(0.001, 0.5), st.sampled_from([EQUAL, UNEQUAL]))
def test_more_is_found_of_larger_differences_and_of_evener_ones(difference, spread, counts):
    here = power_of(difference, spread, counts)
    assert 0 <= here <= 1 + 1e-12
    assert power_of(1.1 * difference, spread, counts) >= here - 1e-9
    assert power_of(difference, 1.1 * spread, counts) <= here + 1e-9
    assert power_of(3 * difference, 3 * spread, counts) == pytest.approx(here, abs=1e-9)
    assert power_of(difference, spread, 7 * counts) == pytest.approx(here, abs=1e-9)


@pytest.mark.parametrize("counts", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_the_detectable_difference_is_the_smallest_with_enough_power(counts, spread):
    size = detectable(spread, counts)
    assert size is not None
    assert power_of(size, spread, counts) == pytest.approx(ENOUGH, abs=1e-6)


@pytest.mark.parametrize(
    ("difference", "perplexity", "expected"),
    [("1%", None, 0.010050), ("0.5", 50, 0.010050), (0.5, 50.0, 0.010050), (" 50% ", 7, math.log(2))],
)
def test_differences_are_percent_or_points(difference, perplexity, expected):
    assert nats_of(difference, perplexity) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("difference", "perplexity", "message"),
    [
        ("0.5", None, "difference 0.5: points need the --perplexity that they are subtracted from; or"),
        ("0%", None, "expected percent between 0% and 100%"),
        ("100%", None, "expected percent"),
        ("-1%", None, "expected percent"),
        ("65", 65.0, "points between 0 and the perplexity"),
        ("much", 65.0, "difference much; expected percent"),
        ("nan%", None, "expected percent"),
    ],
)  # fmt: skip
def test_what_is_no_difference_is_refused(difference, perplexity, message):
    with pytest.raises(HarnessError, match=message):
        nats_of(difference, perplexity)


def test_a_dataset_is_counted_and_nothing_is_measured(tmp_path):
    lines = "".join(f" \n = Title {n} = \n \n" + " a b c \n" * (40 + n) for n in range(12))
    (tmp_path / "wiki.test.tokens").write_text(lines, encoding="utf-8")
    found = power(tmp_path, difference="2%")
    assert (found.passages, found.tokens) == (12, 12 * 7 + 4 * sum(range(40, 52)))
    assert found.perplexity is None
    counts = np.array([7.0 + 4 * (40 + n) for n in range(12)])
    assert [(pair.kind, pair.spread, pair.power, pair.detectable) for pair in found.kinds] == [
        (kind, spread, power_of(found.difference, spread, counts), detectable(spread, counts))
        for kind, spread in SPREADS.items()
    ]
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "wiki.test.tokens").write_text(" \n = T = \n \n a b \n", encoding="utf-8")
    with pytest.raises(HarnessError, match=r"few: test has \d passages: too few for an interval"):
        power(tmp_path / "few", difference="1%")


SETS = 1000  # 80 % of these, give or take 2.5 % (two standard errors)


@pytest.mark.parametrize("population", ["windows", "skewed"])
@pytest.mark.parametrize("passages", [20, 60])
def test_a_difference_of_the_stated_size_is_found_in_four_of_five_sets(population, passages):
    assert fraction_found(population, passages, SPREADS["usual"], SETS) >= ENOUGH - 0.025
