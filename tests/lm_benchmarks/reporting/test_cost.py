"""Cost beside quality: hours of training by device, tokens per second, and their charts."""

import csv
import io
import re

import pytest
from lm_benchmarks.reporting.collect import arranged
from lm_benchmarks.reporting.report import make_report, report_text
from lm_benchmarks.reporting.tables import core_hours, gpu_hours, tokens_per_second
from msgspec.structs import replace

from tests.lm_benchmarks.results import RESULT, result

(TRAINED,) = RESULT.trained
CODE = "wikitext-builder 0.1.0 5d8ab20, torch 2.13.0+cpu"
ONE, TWO = (f"{CODE}, cpu (x86_64, {threads} threads)" for threads in (1, 2))
GPU = f"{CODE}, NVIDIA H100 80GB HBM3 (2 threads)"


def trained(seconds, *sessions):
    return replace(TRAINED, seconds=seconds, sessions=sessions)


COSTS = {
    "one core": ([trained(7200.0, ONE)], 2.0, None),
    "two cores": ([trained(1800.0, TWO)], 1.0, None),
    "of several sessions the most threads": ([trained(3600.0, ONE, TWO, ONE)], 2.0, None),
    "a GPU": ([trained(1800.0, GPU)], None, 0.5),
    "a mixture": ([trained(3600.0, ONE), trained(3600.0, GPU), trained(1800.0, TWO)], 2.0, 1.0),
    "both in one run": ([trained(3600.0, ONE, GPU)], None, None),
    "a part is not recorded": ([trained(3600.0, "not recorded", ONE)], None, None),
    "nothing is recorded": ([trained(3600.0)], None, None),
    "no such machine": ([trained(3600.0, ONE, f"{CODE}, cpu (x, {'9' * 400} threads)")], None, None),
    "no log": ([trained(None, ONE)], None, None),
    "one of two is unknown": ([trained(3600.0, ONE), trained(3600.0)], None, None),
    "nothing was trained": ([], None, None),
}


def test_hours_are_those_of_cores_and_of_gpus():
    results = {case: replace(RESULT, trained=tuple(runs)) for case, (runs, _, _) in COSTS.items()}
    hours = {case: (core_hours(one), gpu_hours(one)) for case, one in results.items()}
    assert hours == {case: (cores, gpus) for case, (_, cores, gpus) in COSTS.items()}


def test_speed_is_that_of_the_measurement():
    one = result("x", 5.0, seconds=2.0)
    assert tokens_per_second(one) == 6127 / 2
    assert tokens_per_second(replace(one, seconds=0.0)) is None


@pytest.fixture(scope="module")
def report():
    hours = {"a <b>": (4.5, 3600.0), "b": (4.8, 900.0), "c": (5.0, None)}
    return make_report(
        "Cost",
        [
            result(name, nats, seconds=10.0, trained=(trained(seconds, ONE),))
            for name, (nats, seconds) in hours.items()
        ],
    )


def test_costs_are_columns_if_one_asks_for_them(report):
    names = ["parameters", "tokens/s", "training core-hours", "training GPU-hours"]
    (table,) = arranged(report.tables, columns=names, sort="training core-hours")
    assert table.frame.to_numpy().tolist() == [
        ["b", "1,234,567", "613", "0.25", ""],
        ["a <b>", "1,234,567", "613", "1.00", ""],
        ["c", "1,234,567", "613", "", ""],
    ]
    assert "training core-hours" not in report.tables[0].frame.columns
    found = arranged(report.tables, columns=["training_core_hours"], csv=True)
    lines = list(csv.DictReader(io.StringIO(found[0].numbers.to_csv(index=False))))
    assert [line["training_core_hours"] for line in lines] == ["1.0", "0.25", ""]
    assert "training_core_hours" not in report.tables[0].numbers.columns


def test_charts_show_quality_against_each_cost_that_two_models_have(report):
    titles = [title for title, _ in report.charts if title != "Training"]
    start = "Perplexity on test of wikitext-2 against"
    assert titles == [f"{start} core-hours of training", "Training by core-hours"]
    chart = report.charts[0][1]
    assert re.findall(r'<g class="curve"><title>([^<]*)', chart) == ["a &lt;b&gt;", "b"]
    assert "against core-hours" in report_text(report, ".html")
    alone = make_report("One", [one for one in report.results if one.model != "b"])
    assert not [title for title, _ in alone.charts if "against" in title]
