"""The benchmark for a GPU runs where there is none, and says what it left out."""

import json

import pytest
import torch
from speed.gpu import Row, arguments_of, main, measured

from tests.ps_models.tape import Tape
from tests.ps_models.tiny import make_dataset


@pytest.mark.parametrize("graphs", ["as they are", "on tape"])
def test_a_tiny_benchmark_runs_on_any_machine(tmp_path, capsys, monkeypatch, graphs):
    if graphs == "on tape":
        monkeypatch.setattr("speed.gpu.CudaGraphs", lambda _device: Tape())
    main(arguments_of([str(make_dataset(tmp_path)), "--out", str(tmp_path / "out"), "--smoke"]))
    rows = [json.loads(line) for line in (tmp_path / "out" / "gpu.jsonl").read_text().splitlines()]
    replayed = [row for row in rows if row["what"] == "CUDA graphs" and not row["left_out"]]
    recurrences = [row for row in rows if "recurrence alone" in row["what"] and not row["left_out"]]
    if graphs == "on tape" or torch.cuda.is_available():
        assert [row["K"] for row in replayed] == [1, 8]
        assert {row["same"] for row in replayed} == {"yes"}
        assert len(recurrences) > 1
    assert all(row["left_out"] or row["tokens"] / row["seconds"] > 0 for row in rows)
    left_out = {row["left_out"] for row in rows} - {""}
    without = {"as they are": {"needs a GPU", "RuntimeError: torch.cuda.Stream requires CUDA support"}}
    assert left_out == (set() if torch.cuda.is_available() else without.get(graphs, {"needs a GPU"}))
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
