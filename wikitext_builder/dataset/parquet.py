"""Rows of Parquet files, read in a process with a limit of memory: a hostile file can end it or fill it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from wikitext_builder.errors import RejectedError
from wikitext_builder.programs import command_of

MEMORY: Final = 2**30  # bytes, besides twice those of the file
# The limit counts what is only reserved, too: a gigabyte by Arrow's usual allocator, 8 MB by each thread.
SMALL: Final = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}
BATCH: Final = 64  # rows
VALUE_LIMIT: Final = 2**26  # bytes of a row, as of a line of JSON


def parquet_lines(path: Path, column: str | None = None) -> Iterator[bytes]:
    """Yield the rows of a file as lines of JSON: all columns, or one, which can be `a.b`.

    Values that are neither texts nor numbers are null. RejectedError: the file is damaged, has no such
    column, or unpacks to much more than it has.
    """
    command = command_of(__name__, str(path), *([] if column is None else [column]))
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | SMALL
    ) as child:
        for line in child.stdout or ():
            if line.startswith(b"["):
                raise RejectedError(*msgspec.json.decode(line))
            yield line
    if child.returncode:
        raise RejectedError("damaged", f"it ended its reader with status {child.returncode}")


def _rows(path: Path, column: str | None) -> Iterator[Any]:
    import pyarrow as pa  # here, because the import is slow
    import pyarrow.parquet as pq

    try:
        # Opened here: Arrow takes only paths in UTF-8.
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:
            nested = [file.schema.column(number).path for number in range(len(file.schema))]
            if column not in (None, *file.schema_arrow.names, *nested):
                raise RejectedError("no-column", f"no column {column!r}; found {', '.join(nested[:20])}")
            for batch in file.iter_batches(batch_size=BATCH, columns=None if column is None else [column]):
                step = 1 if batch.nbytes > VALUE_LIMIT else BATCH
                for place in range(0, len(batch), step):
                    yield from batch.slice(place, step).to_pylist()
    except MemoryError as error:
        raise RejectedError("too-large", "it fills the memory; no text is packed so small") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise RejectedError("damaged", f"{type(error).__name__}: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float) else None


def _main(path: str, column: str | None = None) -> None:
    most = MEMORY + 2 * Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        for row in _rows(Path(path), column):
            sys.stdout.buffer.write(_line(row) + b"\n")
    except RejectedError as error:
        sys.stdout.buffer.write(msgspec.json.encode([error.reason, error.detail]))


def _line(row: object) -> bytes:
    line = msgspec.json.encode(_plain(row))
    if len(line) > VALUE_LIMIT:
        raise RejectedError("too-large", f"a row has {len(line):,} bytes")
    return line


if __name__ == "__main__":
    _main(*sys.argv[1:])
