"""The benchmark for a GPU runs where there is none, and says what it left out."""

import json

import pytest
import torch

from benchmarks.speed.gpu import Row, arguments_of, main, measured
from tests.ps_models.tiny import make_dataset


def test_a_tiny_benchmark_runs_on_any_machine(tmp_path, capsys):
    main(arguments_of([str(make_dataset(tmp_path)), "--out", str(tmp_path / "out"), "--smoke"]))
    rows = [json.loads(line) for line in (tmp_path / "out" / "gpu.jsonl").read_text().splitlines()]
    graphs = [row for row in rows if row["what"].startswith("CUDA graphs") and not row["left_out"]]
    assert [row["K"] for row in graphs] == [1, 8]
    assert {row["same"] for row in graphs} == {"yes"}
    assert all(row["left_out"] or row["tokens"] / row["seconds"] > 0 for row in rows)
    left_out = {row["left_out"] for row in rows} - {""}
    assert left_out == (set() if torch.cuda.is_available() else {"needs a GPU"})
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
