"""Charts: curves are inside their frame, ticks differ, error bars are as long as statistics says."""

import math
import re
from itertools import pairwise
from statistics import stdev

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lm_benchmarks.reporting.collect import two_errors

from wikitext_builder.charts import Bar, bar_chart, line_chart

VALUES = st.floats(1e-3, 1e6)


def paths(kind, svg):
    """The corners of each path of a kind."""
    found = re.findall(rf'<g class="{kind}">(?:<title>[^<]*</title>)?\s*<path d="([^"]+)"', svg)
    numbers = ([float(one) for one in re.findall(r"-?[\d.]+", path)] for path in found)
    return [list(zip(each[::2], each[1::2], strict=True)) for each in numbers]


def labels(svg):
    return re.findall(r">([^<>]+)</text>", svg)


@given(st.lists(st.tuples(st.floats(1, 1e4), VALUES), min_size=1, max_size=9), st.booleans())
@example([(1.0, 1.0), (1.0, 1.0000000000000002)], False)  # the smallest difference there is
@settings(max_examples=8, deadline=None)
def test_curves_are_inside_their_frame_and_ticks_differ(points, log):
    svg = line_chart("t", {"a": points, "b": points[:1]}, x_label="x", y_label="y", log_x=log, log_y=log)
    _, frame = paths("patch", svg)[:2]
    (left, top), (right, base) = (tuple(map(end, zip(*frame, strict=True))) for end in (min, max))
    curves = paths("curve", svg)
    assert len(curves) == 2
    assert all(left < x < right and top < y < base for curve in curves for x, y in curve)
    assert 2 <= len(set(labels(svg)) - {"a", "b", "x", "y"}) <= 28


def test_ticks_of_a_perplexity_are_not_doubled():
    curve = [(1.0, 345.2), (2.0, 180.0), (3.0, 85.9)]
    svg = line_chart("t", {"a": curve}, x_label="epoch", y_label="y", log_y=True)
    assert labels(svg).count("100") == 1
    assert "1.5" not in labels(svg)  # half an epoch


def test_each_of_many_curves_looks_different_and_a_fit_has_the_colour_of_its_data():
    for alike, count in ((1, 18), (2, 12), (3, 18)):
        many = {f"{n}": [(1.0, n + 1.0), (2.0, n)] for n in range(count)}
        svg = line_chart("t", many, x_label="x", y_label="y", curves_per_color=alike)
        looks = re.findall(r'<g class="curve"><title>[^<]*</title>\s*<path d="[^"]+"([^>]*)/>', svg)
        assert len(set(looks)) == count
        colors = [re.findall(' stroke="([^"]+)"', look) for look in looks]
        assert [a == b for a, b in pairwise(colors)] == [n % alike > 0 for n in range(1, count)]


def test_curves_have_titles_and_long_names_keep_their_ends():
    one, two = (f"a name that a legend has no room for, because it is longer than a line {n}" for n in "12")
    curves: dict[str, list[tuple[float, float]]] = {one: [(1, 2.5)], "no": [], two: [(1, 2), (3, 1)]}
    svg = line_chart("t", curves, x_label="x", y_label="y")
    assert re.findall("<title>(.*?)</title>", svg) == ["t", one, two]
    cut = [f"{name[:24]}…{name[-23:]}" for name in (one, two)]
    assert [label for label in labels(svg) if "…" in label] == cut
    svg = bar_chart("t", ["a"], {two: [Bar(1.0)]}, y_label="y", baseline=one)
    assert [label for label in labels(svg) if "…" in label] == [f"0: {cut[0]}", cut[1]]


def test_a_chart_has_the_same_bytes_again_and_hostile_names_are_text():
    name = '_$x$ <img src=x> "q" style="x" \x1b[2J 中'
    one, two = (line_chart(name, {name: [(1, 2)]}, x_label="x", y_label="y") for _ in range(2))
    assert one == two
    assert "<img" not in one
    assert any("$x$ &lt;img src=x&gt;" in text and "\\x1b" in text for text in labels(one))
    assert not re.search(r'<[a-z][^<>]* style="', one)


def test_bars_have_their_heights_and_error_bars_where_they_should():
    rows: dict[str, list[Bar | None]] = {
        "x": [Bar(2.0, 0.5), Bar(-1.0), None],
        "y": [Bar(1.0), Bar(float("nan")), Bar(3.0, 4.0)],
    }
    svg = bar_chart("t", ["a", "b", "c"], rows, y_label="y")
    heights = [max(y for _, y in bar) - min(y for _, y in bar) for bar in paths("bar", svg)]
    assert heights == pytest.approx([2 * heights[1], heights[1], heights[1], 3 * heights[1]], abs=0.2)
    errors = [abs(first[1] - second[1]) for first, second in paths("error", svg)]
    assert errors == pytest.approx([heights[1], 8 * heights[1]], abs=0.6)


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50)), min_size=5, max_size=20))
@settings(max_examples=30)
def test_errors_of_equal_parts_are_those_of_a_mean(nats):
    first, second = (tuple((7, pair[side]) for pair in nats) for side in (0, 1))
    differences = [(a - b) / 7 for a, b in nats]
    assert two_errors(first, second) == pytest.approx(2 * stdev(differences) / len(nats) ** 0.5, abs=1e-9)
    assert two_errors(first, first) == 0


def test_errors_of_unlike_or_too_few_parts_are_not_known():
    some = ((5, 1.0), (5, 2.0), (5, 3.0), (5, 1.0))
    pairs = [(some, some), ((), ()), ((*some, (5, 1.0)), (*some, (4, 1.0))), ((*some, (0, 0.0)),) * 2]
    assert [two_errors(*pair) for pair in pairs] == [None] * 4


EDGES = (0.0, 5e-324, 1e-320, 1e-300, 1.0, 1e149, 1e299, 1.7e308, -1e308, math.inf, math.nan)


def test_numbers_at_the_edge_of_arithmetic_leave_a_chart():
    for one in (0.0, 5e-324, 1e149, 1.7e308, math.nan):
        points = {f"{other}": [(1.0, one), (2.0, other), (3.0, 2.0)] for other in EDGES}
        bars = {f"{other}": [Bar(one, abs(other)), Bar(other), Bar(2.0)] for other in EDGES}
        charts = [line_chart("t", points, x_label="x", y_label="y", log_y=log) for log in (True, False)]
        charts.append(bar_chart("t", ["p", "q", "r"], bars, y_label="y"))
        assert all(charts)
        assert not re.search(r"[\" ](nan|inf)", "".join(charts))


def test_charts_with_nothing_to_show_are_not_drawn():
    curves: list[dict[str, list[tuple[float, float]]]] = [{}, {"a": [(1.0, math.nan)]}, {"a": [(0.0, 1.0)]}]
    charts = [line_chart("t", curve, x_label="x", y_label="y", log_x=True) for curve in curves]
    charts += [bar_chart("t", ["a"], {"x": [bar]}, y_label="y") for bar in (None, Bar(math.nan))]
    assert charts == [""] * 5
    assert "<use" in line_chart("t", {"a": [(1.0, 2.0)]}, x_label="x", y_label="y", log_y=True)
