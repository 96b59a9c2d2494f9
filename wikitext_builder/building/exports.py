"""The files of a dataset: texts joined from pieces, and the same texts in export formats.

A new export format is an entry of `FORMATS` and the function that it names.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import chain, islice
from pathlib import Path
from typing import Final

from wikitext_builder.dataset.files import file_line, read_lines
from wikitext_builder.dataset.manifest import FileEntry, SplitCounts, entry_of
from wikitext_builder.dataset.plain import ARTICLES, PlainArticle
from wikitext_builder.runners import blobs

ROWS_PER_PARQUET: Final = 500_000  # WikiText-103's train, 1.8 million lines, becomes four shards
ROWS_PER_GROUP: Final = 10_000
ARTICLES_PER_PARQUET: Final = 5_000  # WikiText-103's train, 28,475 articles, becomes six shards
ARTICLES_PER_GROUP: Final = 200  # some 10 MB
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip: its bytes do not depend on the clock

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


# --- export formats


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A text file of the dataset, which exports read."""

    path: Path
    split: str
    kind: str  # tokens, raw, or articles: JSON
    lines: int


def text_files(folder: Path, splits: Mapping[str, SplitCounts]) -> list[TextFile]:
    """The text files of lines of a dataset in a folder."""
    return [
        TextFile(path=folder / f"wiki.{split}.{kind}", split=split, kind=kind, lines=splits[split].lines)
        for split in splits
        for kind in ("tokens", "raw")
    ]


def article_files(paths: Mapping[str, Path], splits: Mapping[str, SplitCounts]) -> list[TextFile]:
    """The text files of whole articles, one JSON object per line, of which there is one per split."""
    return [
        TextFile(path=path, split=split, kind=ARTICLES, lines=splits[split].articles)
        for split, path in paths.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTask:
    """Text files to write in another format."""

    format: str  # a key of `FORMATS`
    files: tuple[TextFile, ...]  # of one kind
    name: str  # of the dataset
    folder: Path  # of the dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An export format."""

    write: Callable[[ExportTask], list[Path]]  # writes the files of a task and returns their paths
    kinds: tuple[str, ...]  # of text files that it reads
    per_file: bool  # one task per file; or one for the three splits of a kind


def export_tasks(files: list[TextFile], *, name: str, folder: Path) -> list[ExportTask]:
    """What to write: each format in turn, its largest tasks first.

    Args:
        files: The text files of the dataset.
        name: Of the dataset.
        folder: Of the dataset.
    """
    tasks: list[ExportTask] = []
    for key, form in FORMATS.items():
        kinds = [tuple(file for file in files if file.kind == kind) for kind in form.kinds]
        chosen = [(file,) for some in kinds for file in some] if form.per_file else kinds
        chosen.sort(key=lambda some: -sum(file.lines for file in some))
        tasks += [ExportTask(format=key, files=some, name=name, folder=folder) for some in chosen]
    return tasks


def export(task: ExportTask) -> Entries:
    """Write the files of a task."""
    return {path: entry_of(path) for path in FORMATS[task.format].write(task)}


def _write_parquet(task: ExportTask) -> list[Path]:
    r"""Write a row per line into the column `text`: `' tokens \n'`, and `''` for a blank line.

    The WikiText of the `datasets` library has the same rows.
    """
    import pyarrow as pa  # here, because the import is slow
    import pyarrow.parquet as pq

    (file,) = task.files
    folder = task.folder / "parquet" / file.kind
    folder.mkdir(parents=True, exist_ok=True)
    lines = read_lines(file.path)
    shards = max(1, -(-file.lines // ROWS_PER_PARQUET))
    paths = []
    for index in range(shards):
        path = folder / f"{file.split}-{index:05}-of-{shards:05}.parquet"
        schema = pa.schema([("text", pa.string())])
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for rows in _row_groups(islice(lines, ROWS_PER_PARQUET)):
                writer.write_table(pa.table({"text": pa.array(rows, pa.string())}, schema=schema))
        paths.append(path)
    return paths


def _row_groups(lines: Iterator[str]) -> Iterator[list[str]]:
    while rows := [file_line(line) if line else "" for line in islice(lines, ROWS_PER_GROUP)]:
        yield rows


def _write_articles(task: ExportTask) -> list[Path]:
    """Write a row per article, with the columns of `PlainArticle`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (file,) = task.files
    folder = task.folder / ARTICLES
    folder.mkdir(exist_ok=True)
    texts = pa.list_(pa.string())
    section = pa.struct([("heading", pa.string()), ("level", pa.int32()), ("text", pa.string())])
    types = {"page_id": pa.int64(), "revision_id": pa.int64(), "sections": pa.list_(section)}
    types |= dict.fromkeys(("categories", "formulas", "left_out"), texts)
    schema = pa.schema([(one.name, types.get(one.name, pa.string())) for one in fields(PlainArticle)])
    shards = max(1, -(-file.lines // ARTICLES_PER_PARQUET))
    paths = [folder / f"{file.split}-{index:05}-of-{shards:05}.parquet" for index in range(shards)]
    with file.path.open(encoding="utf-8", newline="\n") as lines:
        for path in paths:
            rows = islice(lines, ARTICLES_PER_PARQUET)
            with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                while group := [json.loads(line) for line in islice(rows, ARTICLES_PER_GROUP)]:
                    writer.write_table(pa.Table.from_pylist(group, schema=schema))
    return paths


def _write_zip(task: ExportTask) -> list[Path]:
    """Write an archive in the original layout, uncompressed: deflate's bytes depend on the build of zlib."""
    folder = task.name + ("-raw" if task.files[0].kind == "raw" else "")
    path = task.folder / f"{folder}-v1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for one in task.files:
            member = zipfile.ZipInfo(f"{folder}/{one.path.name}", EPOCH)
            member.external_attr = 0o644 << 16
            with one.path.open("rb") as file, archive.open(member, "w", force_zip64=True) as target:
                while piece := file.read(1 << 20):
                    target.write(piece)
    return [path]


FORMATS: Final[dict[str, Format]] = {
    "parquet": Format(write=_write_parquet, kinds=("tokens", "raw"), per_file=True),
    "zip": Format(write=_write_zip, kinds=("tokens", "raw"), per_file=False),
    "articles": Format(write=_write_articles, kinds=(ARTICLES,), per_file=True),
}
