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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wikitext_builder.building.batches import WrittenBatch
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.manifest import FileEntry, entry_of
from wikitext_builder.dataset.plain import ARTICLES, PlainArticle
from wikitext_builder.pages.attribution import ATTRIBUTION, HEAD
from wikitext_builder.progress import Progress
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import Runner

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip: its bytes do not depend on the clock
LINES: Final = ("tokens", "raw")  # kinds of text files

Entries = dict[Path, FileEntry]  # the files that a task wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTask:
    """Pieces that make up a file, one after the other."""

    head: str
    pieces: tuple[str, ...]  # locations
    path: Path


def join_pieces(task: JoinTask) -> Entries:
    """Join the pieces of a file."""
    digest, size = hashlib.sha256(), 0
    task.path.parent.mkdir(exist_ok=True)
    with task.path.open("wb") as file:
        for data in chain([task.head.encode()], map(blobs.read, task.pieces)):  # one piece at a time
            size += file.write(data)
            digest.update(data)
    return {task.path: FileEntry(sha256=digest.hexdigest(), bytes=size)}


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
    """The parquet files of a split.

    Args:
        kind: A key of `TABLES`.
        split: Its name.
        pieces: The location of each piece, in the order of the dataset, and how many lines it has.
        location: A folder for the files.
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
    return pa.schema([(name, kinds[kind]) for name, kind in types.items()])


_LINE_TYPES: Final = {"text": "text"}
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
            types=_LINE_TYPES,
        )
        for kind in LINES
    },
    ARTICLES: Table(
        folder=ARTICLES, rows_per_file=5_000, rows_per_group=200, row=json.loads, types=_ARTICLE_TYPES
    ),
}


# --- formats that are written from whole text files


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTask:
    """Text files of the dataset to write in another format."""

    format: str  # a key of `FORMATS`
    kind: str  # one of `LINES`
    files: tuple[Path, ...]  # one per split
    name: str  # of the dataset
    folder: Path  # of the dataset


def export_tasks(splits: Sequence[str], *, name: str, folder: Path) -> list[ExportTask]:
    """What to write: each format for each kind of text files.

    Args:
        splits: Of the dataset.
        name: Of the dataset.
        folder: Of the dataset.
    """
    files = {kind: tuple(folder / f"wiki.{split}.{kind}" for split in splits) for kind in LINES}
    return [
        ExportTask(format=form, kind=kind, files=files[kind], name=name, folder=folder)
        for form in FORMATS
        for kind in LINES
    ]


def export(task: ExportTask) -> Entries:
    """Write the files of a task."""
    return {path: entry_of(path) for path in FORMATS[task.format](task)}


def _write_zip(task: ExportTask) -> list[Path]:
    """Write an archive in the original layout, uncompressed: deflate's bytes depend on the build of zlib."""
    folder = task.name + ("-raw" if task.kind == "raw" else "")
    path = task.folder / f"{folder}-v1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for one in task.files:
            member = zipfile.ZipInfo(f"{folder}/{one.name}", EPOCH)
            member.external_attr = 0o644 << 16
            with one.open("rb") as file, archive.open(member, "w", force_zip64=True) as target:
                while piece := file.read(1 << 20):
                    target.write(piece)
    return [path]


FORMATS: Final[dict[str, Callable[[ExportTask], list[Path]]]] = {"zip": _write_zip}


# --- all files of a dataset


def join_files(
    plan: Plan, written: list[WrittenBatch], dataset: Path, here: Runner, progress: Progress
) -> Entries:
    """Join the text files from their pieces."""
    shutil.rmtree(dataset, ignore_errors=True)
    dataset.mkdir()
    names = plan.recipe.splits
    heads = {f"wiki.{split}.{kind}": "" for split in names for kind in LINES} | {ATTRIBUTION: HEAD}
    if "jsonl" in plan.recipe.articles:
        heads |= {f"{ARTICLES}/{split}.jsonl": "" for split in names}
    tasks = []
    for name, head in heads.items():
        pieces = tuple(one.pieces[name] for one in written if name in one.pieces)
        tasks.append(JoinTask(head=head, pieces=pieces, path=dataset / name))
    return _entries(here.map(join_pieces, tasks), len(tasks), "join", progress)


def export_files(
    plan: Plan,
    written: list[WrittenBatch],
    location: str,
    dataset: Path,
    runners: tuple[Runner, Runner],
    progress: Progress,
) -> Entries:
    """Write the export formats: parquet from the pieces, anywhere; the others from the text files, here."""
    runner, here = runners
    parquet = list(_parquet_tasks(plan, written, location))
    others = export_tasks(plan.recipe.splits, name=plan.recipe.name, folder=dataset)
    for done, task in enumerate(runner.map(write_parquet, parquet), start=1):
        (dataset / task.name).parent.mkdir(parents=True, exist_ok=True)
        blobs.move(task.location, dataset / task.name)
        progress("export", done, len(parquet) + len(others))
    return _entries(here.map(export, others), len(others), "export", progress, before=len(parquet))


def _parquet_tasks(plan: Plan, written: list[WrittenBatch], location: str) -> Iterator[ParquetTask]:
    for split in plan.recipe.splits:
        for kind in LINES:
            file = f"wiki.{split}.{kind}"
            pieces = {one.pieces[file]: one.counts[split].lines for one in written if file in one.pieces}
            yield from parquet_tasks(kind, split, pieces, location)
        if "parquet" in plan.recipe.articles:
            file = f"{ARTICLES}/{split}.jsonl"
            pieces = {one.pieces[file]: one.counts[split].articles for one in written if file in one.pieces}
            yield from parquet_tasks(ARTICLES, split, pieces, location)


def _entries(
    results: Iterator[Entries], total: int, stage: str, progress: Progress, *, before: int = 0
) -> Entries:
    entries: Entries = {}
    for done, written in enumerate(results, start=before + 1):
        entries |= written
        progress(stage, done, before + total)
    return entries
