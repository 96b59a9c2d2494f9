"""Which differences a test set can show: what it states is found as often as it says."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.choices import TARGET_POWER
from lm_benchmarks.measuring.power import SPREADS, detectable, nats_of, power, power_of

from tests.lm_benchmarks.populations import found as fraction_found
from tests.lm_benchmarks.results import error_of

EQUAL = np.full(30, 2000.0)
UNEQUAL = np.exp(np.random.default_rng(1).normal(8, 0.75, 40))

OF_BOOKS = [  # power of a one-sample t test, two-sided at 5 %: passages, difference by spread, power
    (10, 1.0, 0.8031),
    (20, 0.5, 0.5645),
    (34, 0.5, 0.8078),
    (6, 1.5, 0.8327),
    (100, 0.2, 0.5083),
]


def test_of_equal_passages_it_is_the_power_of_a_t_test():
    for passages, ratio, expected in OF_BOOKS:
        found = power_of(ratio, 1.0, np.full(passages, 50.0), hardness=0.0)
        assert found == pytest.approx(expected, abs=2e-4)
    for level, expected in ((0.95, 0.025), (0.9, 0.05)):  # only the right side of zero counts
        assert power_of(0.0, 1.0, EQUAL, level) == pytest.approx(expected, abs=1e-4)


def test_a_text_of_which_one_passage_decides_shows_nothing():
    counts = np.array([8e4, 3e3, 2e3, 3e3, 3e3])
    assert detectable(0.02, counts) is None
    assert power_of(100.0, 0.02, counts) < 0.5
    assert power_of(0.01, 0.02, EQUAL) < power_of(0.01, 0.02, EQUAL, hardness=0.0)


@settings(max_examples=20)
@given(st.floats(0.001, 0.5), st.floats(0.001, 0.5), st.sampled_from([EQUAL, UNEQUAL]))
def test_more_is_found_of_larger_differences_and_of_evener_ones(difference, spread, counts):
    here = power_of(difference, spread, counts)
    assert 0 <= here <= 1 + 1e-12
    assert power_of(1.1 * difference, spread, counts) >= here - 1e-9
    assert power_of(difference, 1.1 * spread, counts) <= here + 1e-9
    assert power_of(3 * difference, 3 * spread, counts) == pytest.approx(here, abs=1e-9)
    assert power_of(difference, spread, 7 * counts) == pytest.approx(here, abs=1e-9)


def test_the_detectable_difference_is_the_smallest_with_enough_power():
    for spread, counts in itertools.product((0.02, 0.1), (EQUAL, UNEQUAL)):
        size = detectable(spread, counts)
        assert size is not None
        assert power_of(size, spread, counts) == pytest.approx(TARGET_POWER, abs=1e-6)


def test_differences_are_percent_or_points():
    for difference, perplexity in (("1%", None), ("0.5", 50), (0.5, 50.0)):
        assert nats_of(difference, perplexity) == pytest.approx(0.010050, rel=1e-4)
    assert nats_of(" 50% ", 7) == pytest.approx(math.log(2))
    points = "difference 0.5: points need the --perplexity that they are subtracted from; or"
    faults = []
    for difference, perplexity, message in (
        ("0.5", None, points),
        ("0%", None, "expected percent between 0% and 100%"),
        ("100%", None, "expected percent"),
        ("-1%", None, "expected percent"),
        ("65", 65.0, "points between 0 and the perplexity"),
        ("much", 65.0, "difference much; expected percent"),
        ("nan%", None, "expected percent"),
    ):
        if message not in (why := error_of(nats_of, difference, perplexity)):
            faults.append((difference, why))
    assert faults == []


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
    why = error_of(power, tmp_path / "few", difference="1%")
    assert re.search(r"few: test has \d passages: too few for an interval", why)


SETS = 1000  # 80 % of these, give or take 2.5 % (two standard errors)


@pytest.mark.parametrize("population", ["windows", "skewed"])
@pytest.mark.parametrize("passages", [20, 60])
def test_a_difference_of_the_stated_size_is_found_in_four_of_five_sets(population, passages):
    assert fraction_found(population, passages, SPREADS["usual"], SETS) >= TARGET_POWER - 0.025
