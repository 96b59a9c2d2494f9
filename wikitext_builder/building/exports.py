"""The export formats of a dataset: rows in Parquet files, and archives in the original layout."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wikitext_builder.building.licence import LICENCE, NOTE
from wikitext_builder.dataset.plain import ARTICLES, PlainArticle
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.store.attribution import ATTRIBUTION

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip: its bytes do not depend on the clock
LINES: Final = ("tokens", "raw")  # kinds of text files


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """How rows are distributed over files."""

    folder: str  # of the dataset
    rows_per_file: int  # a multiple of the next
    rows_per_group: int
    types: Mapping[str, str]  # of the columns, as `_schema` names them


# WikiText-103's train, 1.8 million lines and 28,475 articles, becomes four files and six; groups have MBs.
TABLES: Final[dict[str, Table]] = {
    **{
        kind: Table(
            folder=f"parquet/{kind}", rows_per_file=500_000, rows_per_group=10_000, types={"text": "text"}
        )
        for kind in LINES
    },
    ARTICLES: Table(
        folder=ARTICLES,
        rows_per_file=5_000,
        rows_per_group=200,
        types={
            **{column.name: "text" for column in fields(PlainArticle)},
            "page_id": "number",
            "revision_id": "number",
            "sections": "sections",
            **dict.fromkeys(("categories", "formulas", "left_out"), "texts"),
        },
    ),
}


class ParquetFiles(AbstractContextManager["ParquetFiles"]):
    """The rows of a split, which are written group by group into numbered files.

    A split without rows is one file without rows.
    """

    def __init__(self, dataset: Path, split: str, table: Table) -> None:
        self._folder, self._split, self._table = dataset / table.folder, split, table
        self._schema = _schema(table.types)
        self._waiting: list[dict[str, Any]] = []
        self._paths: list[Path] = []
        self._rows_in_file = 0
        self._writer: pq.ParquetWriter | None = None
        self._folder.mkdir(parents=True, exist_ok=True)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows behind those that were added before."""
        self._waiting += rows
        size = self._table.rows_per_group
        while len(self._waiting) >= size:
            self._write(self._waiting[:size])
            del self._waiting[:size]

    def _write(self, group: list[dict[str, Any]]) -> None:
        import pyarrow as pa  # here, because the import is slow
        import pyarrow.parquet as pq

        if self._writer is None or self._rows_in_file >= self._table.rows_per_file:
            self._close_file()
            self._paths.append(self._folder / f"{self._split}-{len(self._paths):05}.part")
            self._writer = pq.ParquetWriter(self._paths[-1], self._schema, compression="zstd")
            self._rows_in_file = 0
        if group:
            self._writer.write_table(pa.Table.from_pylist(group, schema=self._schema))
        self._rows_in_file += len(group)

    def _close_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __exit__(self, *error: object) -> None:
        """Write what is left; the names of the files say how many there are."""
        if error == (None, None, None) and (self._waiting or not self._paths):
            self._write(self._waiting)
        self._close_file()
        for number, path in enumerate(self._paths):
            path.rename(path.with_name(f"{self._split}-{number:05}-of-{len(self._paths):05}.parquet"))


def _schema(types: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    section = pa.struct([("heading", pa.string()), ("level", pa.int32()), ("text", pa.string())])
    kinds = {"text": pa.string(), "texts": pa.list_(pa.string()), "number": pa.int64()}
    kinds["sections"] = pa.list_(section)
    return pa.schema([(name, kinds[kind]) for name, kind in types.items()], {"licence": NOTE})


def write_archive(dataset: Path, recipe: Recipe, kind: str) -> None:
    """Write an archive in the original layout, uncompressed: deflate's bytes depend on the build of zlib."""
    folder = recipe.name + ("-raw" if kind == "raw" else "")
    with zipfile.ZipFile(dataset / f"{folder}-v1.zip", "w", zipfile.ZIP_STORED) as archive:
        for name in (*(f"wiki.{split}.{kind}" for split in recipe.splits), ATTRIBUTION, LICENCE):
            member = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            member.external_attr = 0o644 << 16
            with (dataset / name).open("rb") as file, archive.open(member, "w", force_zip64=True) as target:
                shutil.copyfileobj(file, target, 1 << 20)
