"""Charts: curves are inside their frame, ticks differ, error bars are as long as statistics says."""

import math
import re
from itertools import pairwise
from statistics import stdev

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lm_benchmarks.reporting.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LEGEND,
    RIGHT,
    WIDTH,
    Axis,
    Bar,
    bar_chart,
    line_chart,
)
from lm_benchmarks.reporting.report import two_errors

VALUES = st.floats(1e-3, 1e6)


def numbers(pattern, svg):
    return [tuple(float(one) for one in found) for found in re.findall(pattern, svg)]


@given(st.lists(st.tuples(st.floats(1, 1e4), VALUES), min_size=1, max_size=9), st.booleans())
@example([(1.0, 1.0), (1.0, 1.0000000000000002)], False)  # the smallest difference there is
def test_curves_are_inside_their_frame(points, log):
    svg = line_chart("t", {"a": points, "b": points[:1]}, x_label="x", y_label="y", log_x=log, log_y=log)
    top = 2 * LEGEND + 10
    drawn = [
        tuple(map(float, pair.split(",")))
        for line in re.findall(r'points="([^"]+)"', svg)
        for pair in line.split(" ")
    ]
    assert len(drawn) == len(points) + 1
    assert all(LEFT < x < WIDTH - RIGHT and top < y < top + HEIGHT - BOTTOM for x, y in drawn)


@given(VALUES, st.floats(1.001, 1e5), st.booleans())
def test_ticks_rise_and_are_inside(low, factor, log):
    ticks = Axis(low=low, high=low * factor, begin=0, end=100, log=log).ticks()
    assert 1 <= len(ticks) <= 14
    assert all(a < b for a, b in pairwise(ticks))
    assert all(low * (1 - 1e-6) <= tick <= low * factor * (1 + 1e-6) for tick in ticks)


def test_ticks_of_a_perplexity_are_not_doubled():
    svg = line_chart(
        "t", {"a": [(1, 345.2), (2, 180.0), (3, 85.9)]}, x_label="epoch", y_label="y", log_y=True
    )
    labels = re.findall(r">([\d.k]+)</text>", svg)
    assert labels.count("100") == 1
    assert "1.5" not in labels  # half an epoch


def test_each_of_many_curves_looks_different():
    svg = line_chart("t", {f"{n}": [(1, n + 1), (2, n)] for n in range(18)}, x_label="x", y_label="y")
    looks = re.findall(r'<polyline points="[^"]+" fill="none" (stroke="[^"]+" stroke-width="2"[^/]*)/>', svg)
    assert len(set(looks)) == 18


def test_bars_are_pale_and_have_error_bars_where_they_should():
    rows: dict[str, list[Bar | None]] = {
        "x": [Bar(2.0, 0.5), Bar(-1.0), None],
        "y": [Bar(1.0), Bar(float("nan")), Bar(3.0, 4.0)],
    }
    svg = bar_chart("t", ["a", "b", "c"], rows, y_label="y", pale=[True, False, False])
    bars = re.findall(
        r'<rect x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)" fill="[^"]+"([^/]*)/>', svg
    )
    assert [bool(paleness) for _, paleness in bars[2:]] == [True, True, False, False]  # two are in the legend
    (two, one), errors = (
        [float(height) for height, _ in bars[2:4]],
        numbers(r'd="M([\d.]+) ([\d.]+)V([\d.]+)', svg),
    )
    assert two == pytest.approx(2 * one, abs=0.2)
    assert [low - high for _, low, high in errors] == pytest.approx([one, 8 * one], abs=0.6)


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50)), min_size=5, max_size=20))
def test_errors_of_equal_parts_are_those_of_a_mean(nats):
    first, second = (tuple((7, pair[side]) for pair in nats) for side in (0, 1))
    differences = [(a - b) / 7 for a, b in nats]
    assert two_errors(first, second) == pytest.approx(2 * stdev(differences) / len(nats) ** 0.5, abs=1e-9)
    assert two_errors(first, first) == 0


def test_errors_of_unlike_or_too_few_parts_are_not_known():
    some = ((5, 1.0), (5, 2.0), (5, 3.0), (5, 1.0))
    assert two_errors(some, some) is None
    assert two_errors((), ()) is None
    assert two_errors((*some, (5, 1.0)), (*some, (4, 1.0))) is None
    assert two_errors((*some, (0, 0.0)), (*some, (0, 0.0))) is None


EDGES = (0.0, 5e-324, 1e-320, 1e-300, 1.0, 1e149, 1e299, 1.7e308, -1e308, math.inf, math.nan)


@pytest.mark.parametrize("one", EDGES)
@pytest.mark.parametrize("other", EDGES)
def test_numbers_at_the_edge_of_arithmetic_leave_a_chart(one, other):
    points = {"a": [(1.0, one), (2.0, other), (3.0, 2.0)]}
    bars = {"a": [Bar(one, abs(other)), Bar(other), Bar(2.0)]}
    for chart in (
        line_chart("t", points, x_label="x", y_label="y", log_y=True),
        line_chart("t", points, x_label="x", y_label="y"),
        bar_chart("t", ["p", "q", "r"], bars, y_label="y"),
    ):
        assert chart
        assert not re.search("nan|inf", chart)
