"""Many values in little memory: packed one after the other, and on the disk if they are many."""

from __future__ import annotations

import heapq
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import eq
from tempfile import TemporaryFile
from typing import IO, Any, Final, Generic, TypeVar, overload

from msgspec import msgpack

from wikitext_builder.errors import BuilderError

Item = TypeVar("Item")
IN_MEMORY: Final = 2**20  # bytes of packed values; more are kept in a temporary file
RUN: Final = 2**14  # values that are sorted in memory


class Packed(Sequence[Item], Generic[Item]):
    """Values of a flat dataclass, which are made again at each access.

    A million revisions take 8 MB of memory and 150 MB of disk; as objects they take 500 MB of memory.
    """

    def __init__(self, kind: type[Item], values: Iterable[Item]) -> None:
        self._kind = kind
        self._decoder = msgpack.Decoder(kind)
        self._data, self._ends = bytearray(), array("Q", [0])
        self._file: IO[bytes] | None = None
        for value in values:
            data = msgpack.encode(value)
            self._data += data
            self._ends.append(self._ends[-1] + len(data))
            if len(self._data) > IN_MEMORY:
                self._to_file()
        if self._ends[-1] > len(self._data):  # some are in the file already
            self._to_file()

    def _to_file(self) -> None:
        try:
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - it is removed with this object
            while self._data:
                del self._data[: self._file.write(self._data)]
        except OSError as error:
            raise BuilderError(
                f"{tempfile.tempdir or 'TMPDIR'}: {error.strerror or error}; make room there, or name another"
                " folder for temporary files in TMPDIR"
            ) from error

    def _bytes(self, start: int, end: int) -> bytes | bytearray:
        if self._file is None:
            return self._data[start:end]
        return os.pread(self._file.fileno(), end - start, start)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Packed[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Packed[Item]:
        if isinstance(index, slice):
            return Packed(self._kind, map(self.__getitem__, range(len(self))[index]))
        place = range(len(self))[index]
        return self._decoder.decode(self._bytes(self._ends[place], self._ends[place + 1]))

    def __iter__(self) -> Iterator[Item]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __repr__(self) -> str:
        return repr(list(self))


def in_order(kind: type[Item], values: Iterable[Item], key: Callable[[Item], Any]) -> Iterator[Item]:
    """Values of a flat dataclass in the order of a key; memory holds some thousand of them at a time."""
    left = iter(values)
    runs = iter(lambda: sorted(islice(left, RUN), key=key), [])
    there = Packed(kind, (value for run in runs for value in run))
    starts = range(0, len(there), RUN)
    return heapq.merge(
        *(map(there.__getitem__, range(len(there))[start : start + RUN]) for start in starts), key=key
    )
