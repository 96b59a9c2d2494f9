"""Benchmarks of speed: that for a GPU runs where there is none, that of threads marks what it chooses."""

import json
import re

import lm_benchmarks as lb
import pytest
import torch
from speed import core_hours, gpu, threads
from speed.gpu import Row, measured

import ps_models as pm
from tests.ps_models.tiny import make_dataset


def test_a_tiny_benchmark_runs_on_any_machine(tmp_path, capsys):
    gpu.main(gpu.arguments_of([str(make_dataset(tmp_path)), "--out", str(tmp_path / "out"), "--smoke"]))
    rows = [json.loads(line) for line in (tmp_path / "out" / "gpu.jsonl").read_text().splitlines()]
    plain = [row for row in rows if row["way"] == "kernel by kernel" and row["precision"] != "tf32"]
    recurrences = [row for row in rows if "recurrence alone" in row["what"]]
    exact, single = (row for row in rows if row["way"] == "on the CPU")
    assert {row["stride"] for row in plain} == {1, 4, 8, 100}
    assert exact["precision"] == "float64"
    assert re.fullmatch(r"loss to \de-0[6-8], gradient to \de-0[5-8]", single["same"])
    assert len(recurrences) > 1
    assert all(row["left_out"] or row["tokens"] / row["seconds"] > 0 for row in rows)
    if not torch.cuda.is_available():
        assert {row["left_out"] for row in rows} == {"", "needs a GPU"}
        assert not any(row["left_out"] for row in (*plain, *recurrences))
    table = (tmp_path / "out" / "gpu.md").read_text()
    assert capsys.readouterr().out == table
    assert len([line for line in table.splitlines() if line.startswith("| ")]) == len(rows) + 1


@pytest.mark.parametrize(
    ("ends", "reason"), [(float("inf"), "RuntimeError: out of memory"), (0, "no time was left")]
)
def test_a_row_that_failed_says_why_and_the_others_go_on(ends, reason):
    def fails():
        raise RuntimeError("out of memory\nand more")

    assert measured(Row(what="it"), fails, on_gpu=True, ends=ends) == [Row(what="it", left_out=reason)]


def test_a_small_model_is_measured_and_gets_one_thread(capsys):
    threads.main(
        ["rnn", "--preset", "mikolov", "--vocabulary", "50", "--seconds", "0.01", "--threads", "1,2"]
    )
    torch.set_num_threads(1)  # as for all tests
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["tokens/s", "by"]
    assert [line.split()[0] for line in lines] == ["train", "evaluate"]
    for line in lines:
        assert re.fullmatch(r"\w+ rnn mikolov +\d\.\d +[\d,]+\* +[\d,]+ +\d+%", line), line


def test_a_recorded_training_is_timed_again_and_drawn(tmp_path, capsys):
    data = make_dataset(tmp_path)
    settings = ["hidden_size=4", "epochs=2", "stride=3"]
    pm.train("lstm", data, tmp_path / "run", preset="tiny", settings=settings, device="cpu")
    results, splits = tmp_path / "results.jsonl", ["valid", "test"]
    lb.measure([str(tmp_path / "run"), "unigram"], data, results=results, splits=splits)
    few = ["--rounds", "1", "--seconds", "0.01"]
    core_hours.main([str(results), str(data), "--out", str(tmp_path / "chart.svg"), *few])
    torch.set_num_threads(1)
    *_, row = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\| `lstm/tiny` \| 2 \| [\d,]+ \| .* \| \d+\.\d\d / \d+\.\d\d \|", row), row
    assert "core-hours of training" in (tmp_path / "chart.svg").read_text()
