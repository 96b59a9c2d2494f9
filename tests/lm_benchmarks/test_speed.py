"""The benchmark of GPU speed also runs on machines without a GPU."""

import json
import re

import pytest
import torch
from speed import gpu
from speed.gpu import Row, measured

from tests.ps_models.tiny import make_dataset


def test_a_tiny_benchmark_runs_on_any_machine(tmp_path, capsys):
    gpu.main(gpu.arguments_of([str(make_dataset(tmp_path)), "--out", str(tmp_path / "out"), "--smoke"]))
    rows = [json.loads(line) for line in (tmp_path / "out" / "gpu.jsonl").read_text().splitlines()]
    plain = [row for row in rows if row["way"] == "kernel by kernel" and row["precision"] != "tf32"]
    recurrences = [row for row in rows if "recurrence alone" in row["name"]]
    exact, single = (row for row in rows if row["way"] == "on the CPU")
    assert {row["stride"] for row in plain} == {1, 4, 8, 100}
    assert exact["precision"] == "float64"
    assert re.fullmatch(r"loss to \de-0[6-8], gradient to \de-0[5-8]", single["deviation"])
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
def test_a_failed_row_has_its_reason_and_later_rows_run(ends, reason):
    def fails():
        raise RuntimeError("out of memory\nand more")

    assert measured(Row(name="it"), fails, on_gpu=True, ends=ends) == [Row(name="it", left_out=reason)]
