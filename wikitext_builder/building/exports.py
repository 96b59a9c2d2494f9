"""The files of a dataset: texts joined from the pieces of its batches, and the same texts in export formats.

Workers write the rows of parquet files from the pieces, a file per task; what needs whole text files is
written from these. A new format of the second kind is an entry of `FORMATS` and the function that it names.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain, islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wikitext_builder.building.batches import WrittenBatch, damaged
from wikitext_builder.building.licence import LICENCE, NOTE
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.manifest import FileEntry, entry_of
from wikitext_builder.dataset.plain import ARTICLES, PlainArticle
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.progress import Progress, reported
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import Runner
from wikitext_builder.store.lock import ATTRIBUTION, ATTRIBUTION_HEAD

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip: its bytes do not depend on the clock
LINES: Final = ("tokens", "raw")  # kinds of text files

Entries = dict[Path, FileEntry]  # the files that a task wrote


# --- parquet


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """How the lines of pieces become rows."""

    folder: str  # of the dataset
    rows_per_file: int
    rows_per_group: int
    row: Callable[[str], dict[str, Any]]  # of a line, by column
    types: Mapping[str, str]  # of the columns, as `_schema` names them


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetTask:
    """Consecutive rows of a split, which become one file."""

    kind: str  # a key of `TABLES`
    pieces: tuple[str, ...]  # locations of the pieces with these rows, of which each line is one
    skip: int  # lines of the first piece, which belong to the file before
    rows: int
    location: str  # of the file that a worker writes
    name: str  # of the file in the dataset


def parquet_tasks(kind: str, split: str, pieces: Mapping[str, int], location: str) -> Iterator[ParquetTask]:
    """The parquet files of a split, in a folder.

    `pieces` are the location of each piece, in the order of the dataset, and how many lines it has.
    """
    table, where, ends = TABLES[kind], tuple(pieces), list(accumulate(pieces.values()))
    total, step = (ends[-1] if ends else 0), table.rows_per_file
    files = max(1, -(-total // step))
    for index in range(files):
        start, end = index * step, min((index + 1) * step, total)
        first, last = bisect_right(ends, start), bisect_left(ends, end)
        name = f"{table.folder}/{split}-{index:05}-of-{files:05}.parquet"
        yield ParquetTask(
            kind=kind,
            pieces=where[first : last + 1],
            skip=start - (ends[first - 1] if first else 0),
            rows=end - start,
            location=f"{location}/{name}",
            name=name,
        )


def write_parquet(task: ParquetTask) -> ParquetTask:
    """Write the rows of a task group by group, unless that is done already."""
    import pyarrow as pa  # here, because the import is slow
    import pyarrow.parquet as pq

    if not blobs.exists(task.location):
        table = TABLES[task.kind]
        schema = _schema(table.types)
        rows = map(table.row, islice(_lines(task.pieces), task.skip, task.skip + task.rows))
        with (
            blobs.new_file(task.location) as file,
            pq.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            while group := list(islice(rows, table.rows_per_group)):
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
    return task


def _lines(pieces: Sequence[str]) -> Iterator[str]:
    for piece in pieces:  # one at a time
        yield from blobs.read(piece).decode().split("\n")[:-1]


def _text_row(line: str) -> dict[str, Any]:
    r"""The row of a line: `' tokens \n'`, or `''` for a blank one, as in the WikiText of `datasets`."""
    return {"text": "" if line == " " else f"{line}\n"}


def _schema(types: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    section = pa.struct([("heading", pa.string()), ("level", pa.int32()), ("text", pa.string())])
    kinds = {"text": pa.string(), "texts": pa.list_(pa.string()), "number": pa.int64()}
    kinds["sections"] = pa.list_(section)
    return pa.schema([(name, kinds[kind]) for name, kind in types.items()], {"licence": NOTE})


_ARTICLE_TYPES: Final = {
    **{field.name: "text" for field in fields(PlainArticle)},
    "page_id": "number",
    "revision_id": "number",
    "sections": "sections",
    **dict.fromkeys(("categories", "formulas", "left_out"), "texts"),
}

# WikiText-103's train, 1.8 million lines and 28,475 articles, becomes four files and six; groups have MBs.
TABLES: Final[dict[str, Table]] = {
    **{
        kind: Table(
            folder=f"parquet/{kind}",
            rows_per_file=500_000,
            rows_per_group=10_000,
            row=_text_row,
            types={"text": "text"},
        )
        for kind in LINES
    },
    ARTICLES: Table(
        folder=ARTICLES, rows_per_file=5_000, rows_per_group=200, row=json.loads, types=_ARTICLE_TYPES
    ),
}


# --- formats that are written from whole text files


def export(task: tuple[str, str, Recipe, Path]) -> Entries:
    """Write the text files of a kind of `LINES` in a format of `FORMATS`."""
    form, kind, recipe, dataset = task
    return {path: entry_of(path) for path in FORMATS[form](kind, recipe, dataset)}


def _write_zip(kind: str, recipe: Recipe, dataset: Path) -> list[Path]:
    """Write an archive in the original layout, uncompressed: deflate's bytes depend on the build of zlib."""
    folder = recipe.name + ("-raw" if kind == "raw" else "")
    path = dataset / f"{folder}-v1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in (*(f"wiki.{split}.{kind}" for split in recipe.splits), ATTRIBUTION, LICENCE):
            member = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            member.external_attr = 0o644 << 16
            with (dataset / name).open("rb") as file, archive.open(member, "w", force_zip64=True) as target:
                shutil.copyfileobj(file, target, 1 << 20)
    return [path]


FORMATS: Final[dict[str, Callable[[str, Recipe, Path], list[Path]]]] = {"zip": _write_zip}


# --- all files of a dataset


def join_files(
    plan: Plan, written: list[WrittenBatch], dataset: Path, here: Runner, progress: Progress
) -> Entries:
    """Join the text files from their pieces."""
    shutil.rmtree(dataset, ignore_errors=True)
    dataset.mkdir()
    names = [ATTRIBUTION, *(f"wiki.{split}.{kind}" for split in plan.recipe.splits for kind in LINES)]
    if "jsonl" in plan.recipe.articles:
        names += [f"{ARTICLES}/{split}.jsonl" for split in plan.recipe.splits]
    tasks = [
        (dataset / name, [(one.piece(name), one.pieces[name]) for one in written if name in one.pieces])
        for name in names
    ]
    return _all_entries(reported(here.map(_join, tasks), "join", progress, len(tasks)))


def _join(task: tuple[Path, list[tuple[str, int]]]) -> Entries:
    """Join the pieces of a file, one at a time, each with its size."""
    path, pieces = task
    digest, size = hashlib.sha256(), 0
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        head = ATTRIBUTION_HEAD if path.name == ATTRIBUTION else ""
        for data in chain([head.encode()], starmap(_piece, pieces)):
            size += file.write(data)
            digest.update(data)
    return {path: FileEntry(sha256=digest.hexdigest(), bytes=size)}


def _piece(location: str, size: int) -> bytes:
    if len(data := blobs.read(location)) != size:
        raise damaged(location, f"{len(data):,} of {size:,} bytes")
    return data


def export_files(
    plan: Plan,
    written: list[WrittenBatch],
    location: str,
    dataset: Path,
    runners: tuple[Runner, Runner],
    progress: Progress,
) -> Entries:
    """Write the export formats: parquet from the pieces, anywhere; the others from the text files, here."""
    recipe, (runner, here) = plan.recipe, runners
    tables = [*LINES, *([ARTICLES] if "parquet" in recipe.articles else [])]
    parquet = [
        task
        for split in recipe.splits
        for kind in tables
        for task in parquet_tasks(kind, split, _pieces(written, kind, split), location)
    ]
    others = [(form, kind, recipe, dataset) for form in FORMATS for kind in LINES]
    total = len(parquet) + len(others)
    for task in reported(runner.map(write_parquet, parquet), "export", progress, total):
        (dataset / task.name).parent.mkdir(parents=True, exist_ok=True)
        blobs.move(task.location, dataset / task.name)
    return _all_entries(reported(here.map(export, others), "export", progress, total, before=len(parquet)))


def _pieces(written: list[WrittenBatch], kind: str, split: str) -> dict[str, int]:
    """The location of each piece of a table, and how many rows it has."""
    name = f"{ARTICLES}/{split}.jsonl" if kind == ARTICLES else f"wiki.{split}.{kind}"
    counts = [(one.piece(name), one.counts[split]) for one in written if name in one.pieces]
    return {piece: found.articles if kind == ARTICLES else found.lines for piece, found in counts}


def _all_entries(results: Iterable[Entries]) -> Entries:
    return {path: entry for entries in results for path, entry in entries.items()}
