"""The export formats of a dataset: Parquet files, archives in the original layout, and `croissant.json`.

`croissant.toml` has the terms of Croissant 1.1. No day is of the build: the same input gives the same bytes.
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

from wikitext_builder.building.card import ADDRESS, GFDL, LICENCE, NOTE, licences_of
from wikitext_builder.building.plan import Plan
from wikitext_builder.citation import dataset_entry
from wikitext_builder.dataset.load import ARTICLES, PlainArticle
from wikitext_builder.dataset.manifest import CARD, CROISSANT, Manifest
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.store.lock import ATTRIBUTION

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


SPLIT: Final = "splits/name"  # the field that says which split a record is of
# A path names its split. mlcroissant applies this to what it found again, so it also matches the split alone.
SPLIT_OF_PATH: Final = r"(?:.*[/.])?(train|valid|test)(?:[-.].*)?"


def write_croissant(directory: Path, plan: Plan, manifest: Manifest, days: Sequence[str]) -> None:
    """Write the description of a dataset whose other files are there; `days` are of its revisions, sorted.

    Its address is that of the wiki, because no build knows where the dataset will be published. It leaves out
    the card.
    """
    terms = tomllib.loads((files("wikitext_builder.building") / "croissant.toml").read_text("utf-8"))
    index, host = plan.language.index_address, urlsplit(plan.language.index_address).netloc
    articles = sum(one.articles for one in manifest.splits.values())
    sets = dict(_sets(plan))

    def media_type(path: str) -> str:
        return str(terms["media_types"].get(path.rpartition(".")[2], "text/plain"))

    described = {
        "@context": terms["context"],
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": plan.recipe.name,
        "description": f"{articles:,} articles of {host} for word-level language modelling, in the format of"
        f" WikiText, made by WikiText Builder. {CARD} says more.",
        "url": index.removesuffix("w/index.php"),
        "license": [*map(ADDRESS.format, licences_of(days)), GFDL],
        "creator": {"@type": "sc:Organization", "name": f"The editors of {host}"},
        "citeAs": dataset_entry(manifest, days[-1]),
        "version": f"1.0.0+{manifest.source[:8]}",
        "datePublished": days[-1],  # of its newest revision
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
                for name, (pattern, _) in sets.items()
            ),
        ],
        "recordSet": [
            _node("RecordSet", "splits", dataType="cr:Split", key={"@id": SPLIT})
            | {"field": [_node("Field", name, dataType=one) for name, one in terms["splits"].items()]}
            | {"data": [{SPLIT: name, "splits/url": terms["uses"][name]} for name in plan.recipe.splits]},
            *(
                _node("RecordSet", name, field=list(_fields(name, columns, terms)))
                for name, (_, columns) in sets.items()
            ),
        ],
    }
    text = json.dumps(described, indent=1, ensure_ascii=False)
    (directory / CROISSANT).write_text(text + "\n", encoding="utf-8", newline="\n")


def _sets(plan: Plan) -> Iterator[tuple[str, tuple[str, Mapping[str, str]]]]:
    """The sets of records: the name of each, its files and its columns; a text file is one record."""
    name = plan.recipe.name
    for kind, config in zip(LINES, (f"{name}-v1", f"{name}-raw-v1"), strict=True):
        yield config, (f"{TABLES[kind].folder}/*.parquet", TABLES[kind].types)
        yield f"{config}-text", (f"wiki.*.{kind}", {"content": "text"})
    if plan.recipe.articles:
        yield f"{name}-articles-v1", (f"{ARTICLES}/*.parquet", TABLES[ARTICLES].types)


def _fields(name: str, columns: Mapping[str, str], terms: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The fields of a set of records: the split, and each column."""
    source = {"fileSet": {"@id": f"{name}-files"}}
    of_split = source | {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": SPLIT_OF_PATH}}
    split = _node("Field", f"{name}/split", source=of_split, references={"field": {"@id": SPLIT}})
    yield split | terms["kinds"]["text"]
    for column, kind in columns.items():
        found = source | {"extract": {"fileProperty" if column == "content" else "column": column}}
        field = _node("Field", f"{name}/{column}", source=found) | terms["kinds"][kind]
        if kind == "sections":
            field["subField"] = [
                _node("Field", f"{name}/{column}/{part}", source=found | {"transform": {"jsonPath": part}})
                | terms["kinds"][kind_of_part]
                for part, kind_of_part in terms["sections"].items()
            ]
        yield field


def _node(kind: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name, **properties}
