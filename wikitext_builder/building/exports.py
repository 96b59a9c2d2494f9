"""Exports a dataset as Parquet files, as archives in the original layout, and as `croissant.json`.

`croissant.toml` has the terms of Croissant 1.1. No file has the date of the build, so the same input gives
the same bytes.
"""

from __future__ import annotations

import json
import shutil
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from wikitext_builder.building.card import GFDL_URL, LICENCE, LICENCE_URL, NOTE, licences_of
from wikitext_builder.building.plan import Plan
from wikitext_builder.citation import dataset_entry
from wikitext_builder.dataset.load import ARTICLES, PlainArticle
from wikitext_builder.dataset.manifest import CARD, CROISSANT, Manifest
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.store.lock import ATTRIBUTION

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# The earliest date of the format, so that bytes do not depend on the clock.
ZIP_DATE: Final = (1980, 1, 1, 0, 0, 0)
TEXT_KINDS: Final = ("tokens", "raw")  # of text files


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The distribution of rows over files."""

    folder: str  # in the dataset
    rows_per_file: int  # a multiple of `rows_per_group`
    rows_per_group: int
    types: Mapping[str, str]  # of the columns, as `_schema` names them


# WikiText-103's train becomes four files of lines (1.8 million) and six of articles (28,475); groups have
# MBs.
TABLES: Final[dict[str, Table]] = {
    **{
        kind: Table(
            folder=f"parquet/{kind}", rows_per_file=500_000, rows_per_group=10_000, types={"text": "text"}
        )
        for kind in TEXT_KINDS
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
    """Writes the rows of a split group by group into numbered files.

    A split without rows gets one file without rows.
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
        """Append rows."""
        self._waiting += rows
        size = self._table.rows_per_group
        while len(self._waiting) >= size:
            self._write(self._waiting[:size])
            del self._waiting[:size]

    def _write(self, group: list[dict[str, Any]]) -> None:
        import pyarrow as pa  # imported here, because the import is slow
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
        """Write the remaining rows, and put the number of files into their names."""
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
            member = zipfile.ZipInfo(f"{folder}/{name}", ZIP_DATE)
            member.external_attr = 0o644 << 16
            with (dataset / name).open("rb") as file, archive.open(member, "w", force_zip64=True) as target:
                shutil.copyfileobj(file, target, 1 << 20)


SPLIT_FIELD: Final = "splits/name"  # the field with the split of a record
# The split in a path. mlcroissant applies the pattern to its own result again, so a split alone matches too.
SPLIT_OF_PATH: Final = r"(?:.*[/.])?(train|valid|test)(?:[-.].*)?"


def write_croissant(directory: Path, plan: Plan, manifest: Manifest, days: Sequence[str]) -> None:
    """Write `croissant.json` after all other files; `days` are the sorted days of the revisions.

    The URL is the wiki's, because a build does not know where the dataset will be published. The description
    leaves out the card.
    """
    terms = tomllib.loads((files("wikitext_builder.building") / "croissant.toml").read_text("utf-8"))
    index, host = plan.language.index_address, urlsplit(plan.language.index_address).netloc
    articles = sum(counts.articles for counts in manifest.splits.values())
    record_sets = dict(_record_sets(plan))

    def media_type(path: str) -> str:
        return str(terms["media_types"].get(path.rpartition(".")[2], "text/plain"))

    description = {
        "@context": terms["context"],
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": plan.recipe.name,
        "description": f"{articles:,} articles of {host} for word-level language modelling, in the format of"
        f" WikiText, made by WikiText Builder. {CARD} says more.",
        "url": index.removesuffix("w/index.php"),
        "license": [*map(LICENCE_URL.format, licences_of(days)), GFDL_URL],
        "creator": {"@type": "sc:Organization", "name": f"The editors of {host}"},
        "citeAs": dataset_entry(manifest, days[-1]),
        "version": f"1.0.0+{manifest.source[:8]}",
        "datePublished": days[-1],  # the day of the newest revision
        "temporalCoverage": f"{days[0]}/{days[-1]}",
        "inLanguage": plan.language.text_language,
        "distribution": [
            *(
                _node("FileObject", path, contentUrl=path, encodingFormat=media_type(path))
                | {"contentSize": f"{entry.bytes} B", "sha256": entry.sha256}
                for path, entry in manifest.files.items()
                if path != CARD
            ),
            *(
                _node("FileSet", f"{name}-files", encodingFormat=media_type(pattern), includes=pattern)
                for name, (pattern, _) in record_sets.items()
            ),
        ],
        "recordSet": [
            _node("RecordSet", "splits", dataType="cr:Split", key={"@id": SPLIT_FIELD})
            | {
                "field": [
                    _node("Field", name, dataType=data_type) for name, data_type in terms["splits"].items()
                ]
            }
            | {
                "data": [
                    {SPLIT_FIELD: name, "splits/url": terms["uses"][name]} for name in plan.recipe.splits
                ]
            },
            *(
                _node("RecordSet", name, field=list(_fields(name, columns, terms)))
                for name, (_, columns) in record_sets.items()
            ),
        ],
    }
    text = json.dumps(description, indent=1, ensure_ascii=False)
    (directory / CROISSANT).write_text(text + "\n", encoding="utf-8", newline="\n")


def _record_sets(plan: Plan) -> Iterator[tuple[str, tuple[str, Mapping[str, str]]]]:
    """Yield the name of each record set, its files and its columns; a text file is one record."""
    name = plan.recipe.name
    for kind, config in zip(TEXT_KINDS, (f"{name}-v1", f"{name}-raw-v1"), strict=True):
        yield config, (f"{TABLES[kind].folder}/*.parquet", TABLES[kind].types)
        yield f"{config}-text", (f"wiki.*.{kind}", {"content": "text"})
    if plan.recipe.articles:
        yield f"{name}-articles-v1", (f"{ARTICLES}/*.parquet", TABLES[ARTICLES].types)


def _fields(name: str, columns: Mapping[str, str], terms: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the fields of a record set: the split, and each column."""
    file_set = {"fileSet": {"@id": f"{name}-files"}}
    path_split = file_set | {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": SPLIT_OF_PATH}}
    split = _node("Field", f"{name}/split", source=path_split, references={"field": {"@id": SPLIT_FIELD}})
    yield split | terms["kinds"]["text"]
    for column, kind in columns.items():
        source = file_set | {"extract": {"fileProperty" if column == "content" else "column": column}}
        field = _node("Field", f"{name}/{column}", source=source) | terms["kinds"][kind]
        if kind == "sections":
            field["subField"] = [
                _node("Field", f"{name}/{column}/{part}", source=source | {"transform": {"jsonPath": part}})
                | terms["kinds"][part_kind]
                for part, part_kind in terms["sections"].items()
            ]
        yield field


def _node(kind: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name, **properties}
