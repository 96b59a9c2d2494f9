"""The files of a dataset: put together from pieces, as zip archives in the original layout, as parquet."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from wikitext_builder.dataset.files import file_line, read_lines
from wikitext_builder.dataset.manifest import FileEntry, entry_of
from wikitext_builder.runners import blobs

ROWS_A_PARQUET = 500_000  # WikiText-103's train, 1.8 million lines, becomes four shards
ROWS_A_GROUP = 10_000
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can hold: the same bytes whenever it is made

Entries = dict[Path, FileEntry]  # what a task has written


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinTask:
    """Pieces that make up a file, one after the other."""

    head: str
    pieces: tuple[str, ...]  # locations
    path: Path


def join_pieces(task: JoinTask) -> Entries:
    """Put a file together."""
    digest, size = hashlib.sha256(), 0
    with task.path.open("wb") as file:
        for data in chain([task.head.encode()], map(blobs.read, task.pieces)):  # one piece at a time
            size += file.write(data)
            digest.update(data)
    return {task.path: FileEntry(sha256=digest.hexdigest(), bytes=size)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipTask:
    """Files that go into an archive, all in one folder there."""

    sources: tuple[Path, ...]
    folder: str
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetTask:
    """A file of lines that becomes parquet shards in a folder."""

    source: Path
    split: str
    lines: int
    folder: Path


def export(task: ZipTask | ParquetTask) -> Entries:
    """Write an archive or parquet shards."""
    paths = write_zip(task) if isinstance(task, ZipTask) else write_parquet(task)
    return {path: entry_of(path) for path in paths}


def write_zip(task: ZipTask) -> list[Path]:
    """Write an archive, uncompressed: deflate's bytes differ between builds of zlib, stored ones do not."""
    with zipfile.ZipFile(task.path, "w", zipfile.ZIP_STORED) as archive:
        for source in task.sources:
            member = zipfile.ZipInfo(f"{task.folder}/{source.name}", EPOCH)
            member.external_attr = 0o644 << 16
            with source.open("rb") as file, archive.open(member, "w", force_zip64=True) as target:
                while piece := file.read(1 << 20):
                    target.write(piece)
    return [task.path]


def write_parquet(task: ParquetTask) -> list[Path]:
    r"""Write a line a row into the column `text`: `' tokens \n'`, and `''` for a blank line.

    So are the rows of the WikiText that the `datasets` library's users know.
    """
    import pyarrow as pa  # here, since it takes long
    import pyarrow.parquet as pq

    lines = read_lines(task.source)
    shards = max(1, -(-task.lines // ROWS_A_PARQUET))
    paths = []
    for index in range(shards):
        path = task.folder / f"{task.split}-{index:05}-of-{shards:05}.parquet"
        schema = pa.schema([("text", pa.string())])
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for rows in _row_groups(islice(lines, ROWS_A_PARQUET)):
                writer.write_table(pa.table({"text": pa.array(rows, pa.string())}, schema=schema))
        paths.append(path)
    return paths


def _row_groups(lines: Iterator[str]) -> Iterator[list[str]]:
    while rows := [file_line(line) if line else "" for line in islice(lines, ROWS_A_GROUP)]:
        yield rows
