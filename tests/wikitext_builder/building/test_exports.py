"""Parquet files: the same rows and bytes as from all rows at once, however they come."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.building.card import NOTE
from wikitext_builder.building.exports import TABLES, TEXT_KINDS, ParquetFiles
from wikitext_builder.dataset.load import ARTICLES

TABLE = replace(TABLES["tokens"], rows_per_file=12, rows_per_group=4)


@given(st.lists(st.integers(0, 30), max_size=6))
def test_each_row_is_in_one_file_and_the_bytes_do_not_depend_on_how_rows_come(sizes: list[int]) -> None:
    rows = [{"text": f" word {number} \u2028 more \n" if number % 5 else ""} for number in range(sum(sizes))]
    schema = pa.schema([("text", pa.string())], {"licence": NOTE})
    with TemporaryDirectory() as folder:
        with ParquetFiles(Path(folder), "test", TABLE) as files:
            for index, size in enumerate(sizes):
                files.add(rows[sum(sizes[:index]) :][:size])
        paths = sorted(Path(folder, "parquet", "tokens").iterdir())
        count = max(1, -(-len(rows) // 12))
        assert [path.name for path in paths] == [
            f"test-{number:05}-of-{count:05}.parquet" for number in range(count)
        ]
        for number, path in enumerate(paths):
            part = rows[12 * number :][:12]
            with pq.ParquetWriter(Path(folder, "oracle"), schema, compression="zstd") as writer:
                for start in range(0, len(part), 4):
                    texts = [row["text"] for row in part[start : start + 4]]
                    writer.write_table(pa.table({"text": pa.array(texts, pa.string())}, schema=schema))
            assert path.read_bytes() == Path(folder, "oracle").read_bytes()


@pytest.mark.parametrize("kind", [*TEXT_KINDS, ARTICLES])
def test_a_split_without_rows_is_one_file_without_rows(tmp_path: Path, kind: str) -> None:
    with ParquetFiles(tmp_path, "valid", TABLES[kind]):
        pass
    (path,) = (tmp_path / TABLES[kind].folder).iterdir()
    table = pq.read_table(path)
    assert (table.num_rows, table.column_names) == (0, list(TABLES[kind].types))
