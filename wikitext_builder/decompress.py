"""The bytes of a file in pieces, whether it is plain or compressed with bzip2, gzip or Zstandard."""

from __future__ import annotations

import bz2
import hashlib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

import zstandard

from wikitext_builder.errors import BuilderError

READ = 2**16  # bytes of the file taken at a time
PIECE = 2**18  # bytes given at a time, at most
EXPANSION_LIMIT = 2**26  # bytes that READ bytes of a file may become: 1,024 to 1; text stays below 100 to 1
WINDOW_LIMIT = 2**27  # bytes of memory of a Zstandard frame; `zstd -d` itself refuses more without --long
KNOWN_BUT_NOT_READ = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "ZIP",
}


class Source:
    """A file being read, with the count and the digest of the bytes taken so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.taken = 0

    def read(self, size: int = READ) -> bytes:
        """The next bytes, `READ` at most, so that a piece given can be set against the bytes taken for it."""
        data = self._file.read(min(size, READ) if size > 0 else READ)
        self._digest.update(data)
        self.taken += len(data)
        return data

    @property
    def sha256(self) -> str:
        """Of the bytes taken so far, hexadecimal."""
        return self._digest.hexdigest()


def decompressed(source: Source) -> Iterator[bytes]:
    """The content of a file in pieces of at most `PIECE` bytes; the next is made when it is asked for.

    Everything that can be unpacked before a damaged spot comes before the error. This is the seam for
    reading the streams of a multistream dump side by side: the parser asks for nothing but pieces in order.

    Raises:
        BuilderError: The file is empty, of a compression that is not read here, damaged, breaks off, or
            unpacks to more than any text does.
    """
    head = source.read()
    if not head:
        raise BuilderError("the file is empty; download it again")
    for magic, name in KNOWN_BUT_NOT_READ.items():
        if head.startswith(magic):
            raise BuilderError(
                f"a file compressed with {name}; plain XML, bzip2, gzip and Zstandard are read:"
                " unpack it first or take the .bz2 file"
            )
    unpack = next((way for magic, way in _WAYS.items() if head.startswith(magic)), _plain)
    taken, given = 0, 0
    for piece in unpack(head, source):
        taken, given = (taken, given + len(piece)) if source.taken == taken else (source.taken, len(piece))
        if given > EXPANSION_LIMIT:
            raise BuilderError(
                f"{READ:,} bytes of the file unpack to more than {EXPANSION_LIMIT:,}: no text does,"
                " such files are made to fill memory and disk; get the dump from another place"
            )
        yield piece


def _plain(head: bytes, source: Source) -> Iterator[bytes]:
    while head:
        yield head
        head = source.read()


def _bzip2(head: bytes, source: Source) -> Iterator[bytes]:
    """Streams one after the other, as in `…-multistream.xml.bz2`."""
    data = head
    while data:
        stream = bz2.BZ2Decompressor()
        while not stream.eof:
            try:
                piece = stream.decompress(data, PIECE)
            except (OSError, ValueError) as error:
                raise _damaged("bzip2", source, error) from error
            if piece:
                yield piece
            data = b""
            if stream.needs_input and not stream.eof and not (data := source.read()):
                raise _breaks_off("bzip2", source)
        data = stream.unused_data or source.read()


def _gzip(head: bytes, source: Source) -> Iterator[bytes]:
    """Members one after the other, as `cat a.gz b.gz` makes them."""
    data = head
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                piece = member.decompress(data, PIECE)
            except zlib.error as error:
                raise _damaged("gzip", source, error) from error
            if piece:
                yield piece
            data = member.unconsumed_tail
            if not data and not member.eof and not (data := source.read()):
                raise _breaks_off("gzip", source)
        data = member.unused_data or source.read()


def _zstandard(head: bytes, source: Source) -> Iterator[bytes]:
    """Frames one after the other.

    A frame that breaks off just ends here; the XML in it is not closed then, and the parser says so.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW_LIMIT)
    with decompressor.stream_reader(
        cast("IO[bytes]", _Joined(head, source)), read_across_frames=True
    ) as stream:
        while True:
            try:
                piece = stream.read(PIECE)
            except zstandard.ZstdError as error:
                raise _damaged("Zstandard", source, error) from error
            if not piece:
                return
            yield piece


class _Joined:
    """The head of a file put back before the rest of it."""

    def __init__(self, head: bytes, source: Source) -> None:
        self._head = head
        self._source = source

    def read(self, size: int = READ) -> bytes:
        """The head in parts of the size asked for, then the rest."""
        if not self._head:
            return self._source.read(size)
        data, self._head = self._head[:size], self._head[size:]
        return data


def _damaged(compression: str, source: Source, error: Exception) -> BuilderError:
    return BuilderError(
        f"the {compression} data are damaged within the first {source.taken:,} bytes of the file ({error});"
        " download it again and run the same command: it goes on"
    )


def _breaks_off(compression: str, source: Source) -> BuilderError:
    return BuilderError(
        f"the {compression} data break off at the end of the file after {source.taken:,} bytes;"
        " download it again and run the same command: it goes on"
    )


_WAYS: dict[bytes, Callable[[bytes, Source], Iterator[bytes]]] = {
    b"BZh": _bzip2,
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstandard,
    **{
        bytes((0x50 + n, 0x2A, 0x4D, 0x18)): _zstandard for n in range(16)
    },  # skippable frames, as pzstd writes
}


def sha256_of_file(path: Path) -> str:
    """SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
