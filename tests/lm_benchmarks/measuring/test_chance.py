"""The jackknife and Student's t, against tables, matrices and loops; intervals hold the truth as they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_benchmarks.measuring.compare import (
    Chance,
    combined,
    degrees_of_freedom,
    expect_level,
    expected_variance,
    jackknife,
    why_no_sample,
)

from tests.lm_benchmarks.populations import POPULATIONS, coverage
from tests.lm_benchmarks.results import error_of


def test_intervals_have_the_quantiles_of_students_t():
    expected = {
        (0.95, 1): 12.7062,
        (0.95, 60): 2.00030,
        (0.90, 4): 2.13185,
        (0.99, 9): 3.24984,
    }  # of any book
    for (level, degrees), quantile in expected.items():
        low, high = Chance(4.0, degrees).interval(7.0, level)
        assert (7 - low, high - 7) == pytest.approx((2 * quantile, 2 * quantile), rel=3e-6)


def test_degrees_of_alike_passages_and_of_one_with_most_tokens():
    for counts in ([1.0, 1.0], [3.0] * 7, [7.0] * 900):
        assert degrees_of_freedom(np.array(counts)) == pytest.approx(len(counts) - 1)
    for counts in ([36.0, 1.0, 1.0, 1.0, 1.0], [9.0 * 999, *[1.0] * 999]):
        assert 1 < degrees_of_freedom(np.array(counts)) < 1.01


@given(st.lists(st.floats(1, 1e4), min_size=2, max_size=12).filter(lambda some: max(some) < 0.9 * sum(some)))
def test_degrees_are_those_of_the_matrix(counts):
    """The eigenvalues of the sum of squares: (their sum)^2 / the sum of their squares."""
    w, ones = np.array(counts) / sum(counts), np.ones(len(counts))
    residuals = np.diag(w / (1 - w)) @ (np.eye(len(counts)) - np.outer(ones, w))
    eigenvalues = np.linalg.eigvalsh(residuals.T @ residuals)
    found = degrees_of_freedom(np.array(counts))
    assert found == pytest.approx(eigenvalues.sum() ** 2 / (eigenvalues**2).sum(), rel=1e-6)
    assert 1 - 1e-6 <= found <= len(counts) - 1 + 1e-6
    assert degrees_of_freedom(3 * np.array(counts[::-1])) == pytest.approx(found, rel=1e-6)


def test_of_a_mean_the_jackknife_is_the_classical_variance():
    values = np.array([3.0, 5, 9, 1, 7])
    found = jackknife((values.sum() - values) / 4, np.ones(5))
    assert found.variance == pytest.approx(values.var(ddof=1) / 5)
    assert found.degrees == pytest.approx(4)
    low, high = found.interval(5, 0.95)
    moved = 2.776445 * values.std(ddof=1) / math.sqrt(5)
    assert (low, high) == pytest.approx((5 - moved, 5 + moved), rel=1e-6)


def test_variances_add_up_and_degrees_are_those_of_welch():
    """Two samples of 4 and 9, whose variances are 2 and 45: 0.5 + 5, and the degrees of Welch's formula."""
    found = combined([Chance(0.5, 3.0), Chance(5.0, 8.0)])
    assert found == Chance(5.5, 9.0)  # 5.5^2 / (0.5^2 / 3 + 5^2 / 8) = 9.43, rounded down
    assert combined([Chance(0.3, 7.5)]) == Chance(0.3, 7.5)
    assert combined([Chance(1.0, 0.5), Chance(1e-9, 3.0)]).degrees == pytest.approx(0.5)  # not 0
    assert combined([Chance(0.0, 2.0), Chance(0.1, 3.0)]) == Chance(0.1, 3.0)
    assert combined([Chance(0.1, 7.0), Chance(0.1, 7.0), Chance(0.1, 7.0)]).degrees == 21.0
    assert combined([Chance(0.0, 4.0), Chance(0.0, 2.0)]) == Chance(0.0, 2.0)
    assert combined([Chance(math.inf, 4.0), Chance(1.0, 5.0)]) == Chance(math.inf, 4.0)


def test_the_probability_is_that_of_one_side():
    cases = [(4.0, 2 * 4.302653, 0.025), (4.0, -2 * 4.302653, 0.025), (4.0, 0.0, 0.5)]
    cases += [(0.0, 0.0, 0.5), (0.0, 1e-9, 0.0)]
    found = [Chance(variance, 2.0).p_one_sided(value) for variance, value, _ in cases]
    assert found == pytest.approx([expected for *_, expected in cases], rel=1e-5)


def test_levels_are_fractions():
    expect_level(0.0001)
    for level in (0.0, 1.0, 1.5, -0.5, math.nan):
        assert error_of(expect_level, level) == f"level {level}; expected a number between 0 and 1"


def test_what_is_no_sample():
    most = "one has {} of the text, which is too much for an interval"
    expected = {
        (9, 9, 9, 9): "too few for an interval",
        (9, 9, 9, 9, 9): "",
        (1, 1, 1, 1, 36): "",
        (1, 1, 1, 1, 37): most.format("90%"),
        (1, 1, 1, 1, 96): most.format("96%"),
    }
    assert {counts: why_no_sample(np.array(counts, float)) for counts in expected} == expected


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("passages", [5, 8, 20])
def test_intervals_hold_the_truth_as_often_as_they_say(population, passages):
    """In 95 % of a thousand sets, give or take 1.4 % (two standard errors)."""
    assert coverage(population, passages) >= 0.94


@pytest.mark.parametrize("seeds", [2, 3])
def test_so_do_intervals_with_the_chance_of_seeds(seeds):
    assert coverage("skewed", 20, seeds, 0.01) >= 0.94


def test_the_variance_of_the_jackknife_is_expected_right():
    """The mean over many draws, in each of which passages vary by 1."""
    unequal = np.exp(np.random.default_rng(1).normal(8, 0.75, 40))
    for counts in (np.full(30, 2000.0), unequal, np.array([5.0, 1, 1, 2, 3, 4])):
        generator, found = np.random.default_rng(2), []
        for _ in range(4000):
            nats = generator.normal(size=len(counts)) * counts
            without = (nats.sum() - nats) / (counts.sum() - counts)
            found.append(jackknife(without, counts).variance)
        assert np.mean(found) == pytest.approx(expected_variance(counts), rel=0.05)
