"""Parquet files from pieces: the same rows and bytes as from one text, however it is cut into pieces."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.building.exports import LINES, TABLES, parquet_tasks, write_parquet
from wikitext_builder.building.licence import NOTE
from wikitext_builder.dataset.plain import ARTICLES


@given(st.lists(st.integers(1, 40)), st.integers(1, 50))
def test_each_row_is_in_one_file_and_only_the_last_file_is_short(sizes: list[int], step: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TABLES, "raw", replace(TABLES["raw"], rows_per_file=step, rows_per_group=3))
        tasks = list(parquet_tasks("raw", "train", {f"piece {n}": size for n, size in enumerate(sizes)}, ""))
    rows = [(f"piece {n}", row) for n, size in enumerate(sizes) for row in range(size)]
    for index, task in enumerate(tasks):
        found = [(piece, row) for piece in task.pieces for row in range(sizes[int(piece.split()[1])])]
        assert found[task.skip : task.skip + task.rows] == rows[index * step : (index + 1) * step]
        assert len(task.pieces) == len({piece for piece, _ in rows[index * step : (index + 1) * step]})
        assert task.name == f"parquet/raw/train-{index:05}-of-{len(tasks):05}.parquet"
    assert sum(task.rows for task in tasks) == len(rows)
    assert all(task.rows == step for task in tasks[:-1])


def test_the_bytes_are_those_of_the_whole_text_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TABLES, "tokens", replace(TABLES["tokens"], rows_per_file=10, rows_per_group=4))
    lines = [" \n" if n % 5 == 0 else f" word {n} \u2028 more \n" for n in range(23)]
    pieces = {}
    for start in range(0, len(lines), 7):
        path = tmp_path / f"piece {start}"
        path.write_text("".join(lines[start : start + 7]), encoding="utf-8", newline="\n")
        pieces[str(path)] = len(lines[start : start + 7])
    tasks = list(parquet_tasks("tokens", "test", pieces, str(tmp_path / "made")))
    assert len(tasks) == 3
    texts = ["" if line == " \n" else line for line in lines]
    for index, task in enumerate(tasks):
        schema = pa.schema([("text", pa.string())], {"licence": NOTE})
        with pq.ParquetWriter(tmp_path / "oracle", schema, compression="zstd") as writer:
            for start in range(10 * index, min(10 * index + 10, 23), 4):
                rows = texts[start : min(start + 4, 10 * index + 10)]
                writer.write_table(pa.table({"text": pa.array(rows, pa.string())}, schema=schema))
        write_parquet(task)
        assert Path(task.location).read_bytes() == (tmp_path / "oracle").read_bytes()


@pytest.mark.parametrize("kind", [*LINES, ARTICLES])
def test_a_split_without_rows_is_one_file_without_rows(tmp_path: Path, kind: str) -> None:
    (task,) = parquet_tasks(kind, "valid", {}, str(tmp_path))
    write_parquet(task)
    table = pq.read_table(task.location)
    assert (table.num_rows, table.column_names) == (0, list(TABLES[kind].types))


def test_articles_keep_their_types_and_a_file_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    row = {"title": "A\nB", "page_id": 2**40, "sections": [{"heading": "", "level": 1, "text": "x"}]}
    (tmp_path / "piece").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (task,) = parquet_tasks(ARTICLES, "train", {str(tmp_path / "piece"): 1}, str(tmp_path / "made"))
    write_parquet(task)
    (found,) = pq.read_table(task.location).to_pylist()
    assert found == dict.fromkeys(TABLES[ARTICLES].types) | row
    (tmp_path / "piece").unlink()
    assert write_parquet(task) == task
