"""Rows of Parquet files, which a stranger may have made to fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from wikitext_builder.errors import RejectedError
from wikitext_builder.pages.decompress import EXPANSION_LIMIT, READ

VALUE_LIMIT: Final = 2**26  # bytes of a value, as of a line of JSON
EXPANSION: Final = EXPANSION_LIMIT // READ  # times the size of a file that its text may have
NO_TEXT: Final = "no text is packed so small, but files that are made to fill the memory"


def most_text(path: Path) -> int:
    """How much text a file can have, in bytes."""
    return max(VALUE_LIMIT, EXPANSION * path.stat().st_size)


def parquet_rows(path: Path, column: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, one at a time: all columns, or one, which can be `a.b`.

    Raises:
        RejectedError: The file is damaged, has no such column, or unpacks to much more than it has.
    """
    import pyarrow as pa  # here, because the import is slow
    import pyarrow.parquet as pq

    try:
        found = pq.read_metadata(path)
        nested = [found.schema.column(number).path for number in range(len(found.schema))]
        if column not in (None, *found.schema.to_arrow_schema().names, *nested):
            raise RejectedError("no-column", f"no column {column!r}; found {', '.join(nested[:20])}")
        _expect_small(found, most_text(path))
        # Not in memory once per row, if a dictionary has it.
        repeated = [name for name in nested if column in (None, name)]
        with pq.ParquetFile(path, read_dictionary=repeated) as file:
            for batch in file.iter_batches(batch_size=64, columns=None if column is None else [column]):
                for place in range(len(batch)):
                    yield batch.slice(place, 1).to_pylist()[0]
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise RejectedError("damaged", f"{type(error).__name__}: {error}") from error


def _expect_small(metadata: Any, most: int) -> None:  # noqa: ANN401 - pyarrow has no types
    """Refuse a file whose pages unpack to much more than it has, before any is unpacked.

    Raises:
        RejectedError: A column does.
    """
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.total_uncompressed_size > most:
                size = f"{column.path_in_schema!r} has {column.total_uncompressed_size:,} bytes in a group"
                raise RejectedError("too-large", f"{size}; {NO_TEXT}")
